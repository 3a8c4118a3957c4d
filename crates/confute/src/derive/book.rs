//! Data that all hypotheses share: the cells that exist, and the observations on each connection.
//!
//! Nothing here is a conjecture. A cell's number is assigned once and denotes the same cell in every hypothesis;
//! observations are facts. The search looks into the future here: when it goes back to an earlier choice, later
//! observations are known, and offline all of them are.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::erased::Message;
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Sort, Var};
use crate::lang::{Cause, CellKey, CellSpec, Conn, Fresh, Val};

/// One cell of the model's state.
pub(crate) struct CellInfo {
    pub(crate) table: &'static str,
    pub(crate) key: Rc<dyn CellKey>,
    /// Unknown initial content, if its table has any.
    pub(crate) initial: Option<Val>,
    /// Secrets in the initial content.
    pub(crate) secrets: Vec<(Var, Sort)>,
}

impl CellInfo {
    pub(crate) fn describe(&self) -> String {
        format!("{}[{:?}]", self.table, self.key)
    }
}

/// All cells that any turn has opened.
#[derive(Default)]
pub(crate) struct CellBook {
    index: FxHashMap<u128, u32>,
    pub(crate) cells: Vec<CellInfo>,
}

impl CellBook {
    /// Returns the number of a cell, new or known.
    pub(crate) fn number(&mut self, spec: &CellSpec<'_>) -> u32 {
        let fingerprint = Fingerprint::of(&(spec.table, spec.key.fingerprint().0)).0;
        let next = self.cells.len() as u32;
        let number = *self.index.entry(fingerprint).or_insert(next);
        if number == next {
            let mut secrets = Vec::new();
            let mut declare = |var, sort| secrets.push((var, sort));
            let mut fresh = Fresh { cause: Cause::Cell(number), next: 0, declare: &mut declare };
            let initial = spec.initial.map(|make| make(&mut fresh));
            self.cells.push(CellInfo { table: spec.table, key: spec.key.keep(), initial, secrets });
        }
        number
    }
}

/// One observation on a connection.
pub(crate) enum Seen {
    Message(Rc<Message>),
    Closed,
}

impl Clone for Seen {
    fn clone(&self) -> Self {
        match self {
            Seen::Message(message) => Seen::Message(Rc::clone(message)),
            Seen::Closed => Seen::Closed,
        }
    }
}

/// Observations by connection, each with its position in the trace.
#[derive(Default)]
pub(crate) struct Sightings {
    by_conn: FxHashMap<Conn, VecDeque<(u64, Seen)>>,
}

impl Sightings {
    /// Adds an observation; positions never decrease.
    pub(crate) fn push(&mut self, conn: Conn, place: u64, seen: Seen) {
        self.by_conn.entry(conn).or_default().push_back((place, seen));
    }

    /// Returns the `nth` observation on a connection at or after a position in the trace.
    pub(crate) fn nth_since(&self, conn: Conn, place: u64, nth: usize) -> Option<&(u64, Seen)> {
        let seen = self.by_conn.get(&conn)?;
        // Usually the wanted one is near the front or the only one.
        let first = if seen.front().is_some_and(|(at, _)| *at >= place) {
            0
        } else {
            seen.partition_point(|(at, _)| *at < place)
        };
        seen.get(first + nth)
    }

    /// Forgets the observations before a position.
    pub(crate) fn forget_before(&mut self, place: u64) {
        self.by_conn.retain(|_, seen| {
            while seen.front().is_some_and(|(at, _)| *at < place) {
                seen.pop_front();
            }
            !seen.is_empty()
        });
    }
}
