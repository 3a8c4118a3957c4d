//! Storms: for each resource one writer, or two rivals, and several readers, each of which sends its next request as
//! soon as it has its response.
//!
//! With so few writers the order of the writes is known, or nearly, so every read is judged at once, however much goes
//! on: a read has thousands of chances a second to meet a write halfway. Races between many writers are left to bursts
//! and floods.

use std::sync::Arc;

use confute_drive::{Step, Until, View};

use super::conditional::{ReadMove, race, read};
use super::known::Known;
use super::{Pick, Traffic};
use crate::ask::AskRequest;
use crate::mark;
use crate::message::Method;
use crate::protocol::Http;

/// Number of connections that share a resource.
const SHARERS: u32 = 4;
/// Number of resources of which one has two writers.
const RIVALLED: u32 = 4;
/// Number of rounds after which new resources are used: a violation then has few messages before it, so blame is found
/// soon.
const ROUNDS: u64 = 32;
/// Marks in most content, so that its length mostly does not identify it.
const MARKS: usize = 3;

/// The part of a connection among those that share a resource.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// One of two that write, mostly on the condition that the resource has not changed.
    Rival,
    /// The only one that writes, without conditions.
    Writer,
    Reader,
}

impl Role {
    /// Returns the role of a connection.
    fn of(on: u32, view: &View<'_, Http>) -> Self {
        // Where fewer connections may compete, each resource has one writer.
        let has_rivals = on / SHARERS % RIVALLED == 1 && view.connections == view.wide;
        let writers = if has_rivals { 2 } else { 1 };
        match on % SHARERS < writers {
            true if has_rivals => Role::Rival,
            true => Role::Writer,
            false => Role::Reader,
        }
    }
}

impl Traffic {
    /// Sends a request on every idle connection, all at the same moment, and waits for any response.
    pub(super) fn storm(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let idle: Vec<u32> = (0..view.wide.max(2))
            .filter(|on| view.outstanding.get(*on as usize).is_none_or(|count| *count == 0))
            .collect();
        let groups = u64::from(view.wide.max(2).div_ceil(SHARERS));
        let latest = self.rounds / ROUNDS * groups;
        self.rounds += 1;
        self.names = self.names.max(latest + groups);
        if idle.len() > 1 {
            self.queue.push_back(Step::Gather);
        }
        for on in idle {
            let name: Arc<str> = format!("r{}", latest + u64::from(on / SHARERS)).into();
            let ask = match Role::of(on, view) {
                Role::Rival => race(&Known::of(view.past, &name), &name, self.content(pick), pick),
                Role::Writer => {
                    AskRequest { method: Method::Put, body: Some(self.content(pick)), ..Self::get(&name) }
                }
                Role::Reader if pick(8) == 0 => {
                    read(&Known::of(view.past, &name), &name, ReadMove::any(pick), pick)
                }
                Role::Reader => Self::get(&name),
            };
            self.ask(on, ask);
        }
        self.queue.push_back(Step::Wait(Until::Something));
    }

    /// Returns content that no other request has, mostly of the same length.
    fn content(&mut self, pick: &mut Pick<'_>) -> Arc<str> {
        self.bodies += 1;
        mark::mark(self.bodies).repeat(if pick(8) == 0 { 2 * MARKS } else { MARKS }).into()
    }
}
