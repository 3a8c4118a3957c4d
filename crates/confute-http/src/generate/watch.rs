//! Watches: reads of a resource after a conditional write whose outcome is open.
//!
//! A server may perform such a write later, but has to evaluate its condition then. If the condition is false and
//! nothing else is written, the content must not change. The reads are spread over a while because nobody knows when
//! the server gets to it; without them the next write would soon cover the traces of a late one.

use std::sync::Arc;

use confute_drive::{Step, Until, View};

use super::Traffic;
use super::known::{Known, left_open};
use crate::message::{Message, Request, Response, Tag, Tags};
use crate::protocol::Http;

/// Milliseconds before each of the reads.
const PAUSES: [u64; 4] = [10, 30, 60, 100];
/// Most watches in a case, because each takes as long as its pauses.
const WATCHES: u32 = 2;

/// The watches of a case so far.
#[derive(Clone, Debug)]
pub(super) struct Watches {
    /// Number of exchanges that were examined.
    examined: usize,
    /// Number of watches that are left.
    left: u32,
}

impl Default for Watches {
    fn default() -> Self {
        Self { examined: 0, left: WATCHES }
    }
}

impl Traffic {
    /// Queues the reads of a watch if the latest writes include one with an open outcome and a false condition, and
    /// nothing is outstanding. Returns `true` if it did.
    pub(super) fn watch(&mut self, view: &View<'_, Http>) -> bool {
        if self.watches.left == 0 || view.outstanding.iter().any(|count| *count > 0) {
            return false;
        }
        let latest = view.past.exchanges.get(self.watches.examined..).unwrap_or_default();
        self.watches.examined = view.past.exchanges.len();
        let watched = latest.iter().rev().find_map(|exchange| {
            let (ask, request) = (exchange.ask.own_request()?, exchange.request.request()?);
            let response = exchange.replies.iter().find_map(Message::response);
            let is_open = !request.method.is_safe() && response.is_none_or(Response::leaves_open);
            let is_in_use = || left_open(view.past, &ask.name) <= self.most_open();
            (is_open && is_false(request, view, &ask.name) && is_in_use()).then(|| ask.name.clone())
        });
        let Some(watched) = watched else { return false };
        self.watches.left -= 1;
        // The name is that of the first resource in whose place this one is, see `current`.
        let name: Arc<str> = watched.split('.').next().unwrap_or_default().into();
        for pause in PAUSES {
            self.queue.push_back(Step::Wait(Until::Millis(pause)));
            self.exchange(0, Self::get(&name));
        }
        true
    }
}

/// Returns `true` if `If-Match` or `If-None-Match` of a request is false for the state that the resource seems to have.
fn is_false(request: &Request, view: &View<'_, Http>, name: &Arc<str>) -> bool {
    let known = Known::of(view.past, name);
    let step = |step| view.past.exchanges.iter().rev().find(|exchange| exchange.step == step);
    let replies = known.tag.and_then(step).map_or(&[][..], |exchange| &exchange.replies);
    let current = replies.iter().rev().find_map(|reply| reply.response()?.etag.as_ref());
    let has = |tags: &Tags, is_equal: fn(&Tag, &Tag) -> bool| match tags {
        Tags::Any => known.exists,
        Tags::Lines(lines) => {
            known.exists
                && lines.iter().flatten().any(|tag| current.is_some_and(|other| is_equal(tag, other)))
        }
    };
    let strongly = |one: &Tag, other: &Tag| one == other && !one.weak;
    let weakly = |one: &Tag, other: &Tag| one.opaque == other.opaque;
    request.if_match.as_ref().is_some_and(|tags| !has(tags, strongly))
        || request.if_none_match.as_ref().is_some_and(|tags| has(tags, weakly))
}
