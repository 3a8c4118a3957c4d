//! Routing of events to the parts that they concern.
//!
//! The cells that a message's turn can touch follow from the message alone (a dry run determines them), so two parts
//! are independent until a message touches both, or until a connection has requests in flight in both, whose order
//! ties them. Then they become one part. The state of a model whose turns may touch anything is one part from the
//! start.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::Engine;
use super::arrive::Arrived;
use crate::derive::book::Seen;
use crate::derive::compose::End;
use crate::derive::dualize::{Entry, Task};
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Delivery, Footprint, Hypothesis};
use crate::derive::inquire::InternalKind;
use crate::derive::search::Part;
use crate::derive::unify::Spot;
use crate::erased::Message;
use crate::lang::{Conn, Incoming};
use crate::trace::{Event, WireConn};

impl Engine<'_> {
    /// Adds an event to the log of the part that it concerns, and returns that part.
    pub(super) fn enter(&mut self, arrived: Arrived) -> Option<usize> {
        let (place, event) = (arrived.place, arrived.event.clone());
        match event {
            Event::Opened(conn) => {
                self.connections.entry(conn.0).or_default();
                None
            }
            Event::Accepted(conn) => {
                self.connections.entry(conn.0).or_default().accepted = true;
                None
            }
            Event::Sent(conn, message) => self.give(conn, Incoming::Message(message), &arrived),
            Event::Received(conn, message) => Some(self.explain(conn, Seen::Message(message), place)),
            Event::Closed(conn) => {
                let part = self.explain(conn, Seen::Closed, place);
                self.end(conn, place, true);
                Some(part)
            }
            Event::HungUp(conn) => {
                let spot = self.spot(conn);
                let owner = self.connections.entry(conn.0).or_default().part.or(self.whole);
                self.end(conn, place, false);
                if let Some(part) = owner {
                    self.log(part, place, Task::Severed(spot));
                }
                self.give(conn, Incoming::Closed, &arrived).or(owner)
            }
            Event::Quiescent => {
                for part in 0..self.parts.len() {
                    if self.parts[part].is_some() {
                        self.log(part, place, Task::Rest);
                        self.lagging.push(part);
                    }
                }
                self.lagging.pop()
            }
        }
    }

    pub(super) fn spot(&self, conn: WireConn) -> Spot {
        match self.connections.get(&conn.0) {
            Some(connection) if connection.accepted => Spot::Accepted(conn.0),
            _ => Spot::Client(Conn::client(conn.0)),
        }
    }

    fn end(&mut self, conn: WireConn, place: u64, by_server: bool) {
        let conn_name = match self.spot(conn) {
            Spot::Client(conn) => conn,
            Spot::Accepted(wire) => Conn::accepted(wire),
        };
        let connection = self.connections.entry(conn.0).or_default();
        connection.ended = true;
        connection.owed = 0;
        self.world.ended.insert(conn_name, End { place, by_server });
    }

    fn log(&mut self, part: usize, place: u64, task: Task) {
        if let Some(part) = &mut self.parts[part] {
            part.log.push(Entry { place, task });
        }
    }

    fn give(&mut self, conn: WireConn, item: Incoming<Message>, arrived: &Arrived) -> Option<usize> {
        let (place, sent) = (arrived.place, arrived.sent);
        let spot = self.spot(conn);
        let (accepted, name) = match spot {
            Spot::Client(conn) => (false, conn),
            Spot::Accepted(wire) => (true, Conn::accepted(wire)),
        };
        let mut foot = self.footprint_of(name, &item, arrived)?;
        if accepted {
            foot.whole = true;
            foot = foot.complete();
        }
        if foot.whole
            && (accepted || !planted(Fault::WholeTurnsApart))
            && !self.whole.is_some_and(|part| self.parts[part].as_ref().is_some_and(|part| part.whole))
        {
            self.unite(true);
        }
        let lane = self.world.lane_in(name, sent);
        let part = self.home(conn, &foot);
        let connection = self.connections.entry(conn.0).or_default();
        let alone = connection.owed == 0 && !connection.silent && !accepted;
        connection.part = Some(part);
        connection.owed += u64::from(foot.replies) + u64::from(foot.closes);
        connection.silent |=
            foot.replies == 0 && !foot.is_reader() && !planted(Fault::SilentRequestsForgotten);
        let parallel = foot.is_reader()
            && matches!(&item, Incoming::Message(message) if self.world.model.is_parallel(&**message));
        let facts = Delivery::new(sent, conn.0, item, foot);
        let delivery = Rc::new(Delivery { accepted, lane, place, alone, parallel, ..facts });
        if let Some(before) = self.latest.insert(conn.0, Rc::clone(&delivery)) {
            before.followed.set(!alone);
        }
        self.log(part, place, Task::Given(delivery));
        Some(part)
    }

    fn explain(&mut self, conn: WireConn, seen: Seen, place: u64) -> usize {
        let spot = self.spot(conn);
        let connection = self.connections.entry(conn.0).or_default();
        let part = self.whole.or(connection.part);
        connection.owed = connection.owed.saturating_sub(1);
        if connection.owed == 0 && !connection.silent {
            connection.part = None;
        }
        let part = match part {
            Some(part) => part,
            // No request is outstanding: the observation goes to a part without any hypothesis that could have sent
            // it.
            None if self.internal == InternalKind::None => {
                self.add(Part::new(Vec::new(), vec![Hypothesis::default()], false))
            }
            None => {
                self.unite(true);
                self.whole.unwrap_or_default()
            }
        };
        self.log(part, place, Task::Explain(spot, seen));
        part
    }

    /// Returns the part that a message belongs to; creates or merges parts where needed.
    fn home(&mut self, conn: WireConn, foot: &Footprint) -> usize {
        if let Some(whole) = self.whole {
            if let Some(part) = &mut self.parts[whole] {
                foot.cells.iter().for_each(|(cell, _)| part.adopt(&self.world, *cell));
            }
            return whole;
        }
        let connection = self.connections.entry(conn.0).or_default();
        if connection.silent && connection.owed == 0 {
            let clear = connection
                .part
                .is_none_or(|part| self.parts[part].as_ref().is_none_or(|part| part.is_clear_of(conn.0)));
            if clear {
                connection.silent = false;
                connection.part = None;
            }
        }
        let mut home = connection.part.filter(|_| !planted(Fault::ConnectionInTwoParts));
        if foot.cells.is_empty() && home.is_none() {
            home = connection.detached;
        }
        for (cell, _) in &foot.cells {
            let theirs = self.part_of.get(cell).copied();
            home = match (home, theirs) {
                (Some(home), Some(_)) if planted(Fault::PartsNotMerged) => Some(home),
                (Some(home), Some(theirs)) if home != theirs => Some(self.merge(home, theirs)),
                (home, theirs) => home.or(theirs),
            };
        }
        let home =
            home.unwrap_or_else(|| self.add(Part::new(Vec::new(), vec![Hypothesis::default()], false)));
        if foot.cells.is_empty() {
            self.connections.entry(conn.0).or_default().detached = Some(home);
        }
        for (cell, _) in &foot.cells {
            if self.part_of.insert(*cell, home) != Some(home)
                && let Some(part) = &mut self.parts[home]
            {
                part.adopt(&self.world, *cell);
            }
        }
        home
    }

    fn add(&mut self, part: Part) -> usize {
        if let Some(free) = self.free.pop() {
            self.parts[free] = Some(part);
            return free;
        }
        self.parts.push(Some(part));
        self.parts.len() - 1
    }

    fn merge(&mut self, into: usize, from: usize) -> usize {
        if let (Some(left), Some(right)) = (self.parts[into].take(), self.parts[from].take()) {
            for cell in &right.cells {
                self.part_of.insert(*cell, into);
            }
            #[expect(
                clippy::iter_over_hash_type,
                reason = "each is changed by itself, so the order is all the same"
            )]
            for connection in self.connections.values_mut() {
                for held in [&mut connection.part, &mut connection.detached] {
                    if *held == Some(from) {
                        *held = Some(into);
                    }
                }
            }
            self.lagging.retain(|part| *part != from);
            if !self.lagging.contains(&into) {
                self.lagging.push(into);
            }
            self.parts[into] = Some(left.merge(right));
            self.free.push(from);
        }
        into
    }

    /// Searches everything together from now on.
    pub(super) fn unite(&mut self, touches_anything: bool) {
        let numbers: Vec<usize> = (0..self.parts.len()).filter(|part| self.parts[*part].is_some()).collect();
        let first = match numbers.first() {
            Some(first) => *first,
            None => self.add(Part::new(Vec::new(), vec![Hypothesis::default()], false)),
        };
        for other in numbers.into_iter().skip(1) {
            self.merge(first, other);
        }
        self.whole = Some(first);
        if touches_anything {
            if let Some(part) = &mut self.parts[first]
                && !part.whole
            {
                part.whole = true;
                // Steps that were left out because no turn could touch more than its footprint may be relevant now.
                part.restart();
                if !self.lagging.contains(&first) {
                    self.lagging.push(first);
                }
            }
            self.world.timeless = planted(Fault::LateReadsBesideWhole);
        }
    }

    /// Forgets data that no part needs any more.
    pub(super) fn trim(&mut self) {
        if self.world.foresees {
            return;
        }
        let oldest = self
            .parts
            .iter()
            .flatten()
            .filter_map(|part| part.log.first().map(|entry| entry.place))
            .chain(self.arrivals.queue.front().map(|arrived| arrived.place))
            .min()
            .unwrap_or(self.events);
        self.world.sightings.forget_before(oldest);
        let used: FxHashSet<usize> = self
            .connections
            .values()
            .flat_map(|connection| [connection.part, connection.detached])
            .flatten()
            .collect();
        for number in 0..self.parts.len() {
            let idle =
                self.parts[number].as_ref().is_some_and(|part| part.is_idle() && part.cells.is_empty());
            if idle && !used.contains(&number) && self.whole != Some(number) {
                self.parts[number] = None;
                self.free.push(number);
            }
        }
    }
}
