//! Notes about the search for a [`SearchLog`](crate::SearchLog). Without a log nothing here does anything.

use std::fmt::{self, Display};

use super::compose::Composed;
use super::hypothesis::{Delivery, Hypothesis};
use super::search::stack::{Move, Node};
use super::search::{Part, Progress};
use crate::account::Note;
use crate::erased::Shown;
use crate::lang::Incoming;

/// Maximum number of cells of a part that are named.
const NAMED: usize = 3;

impl Composed<'_> {
    /// Notes that the search of a part begins or goes on.
    pub(crate) fn note_part(&self, number: usize, part: &Part) {
        let cells = Cells(self, part);
        self.note(|| Note::Part { number, cells: &cells, entries: part.lag() });
    }

    /// Notes that an alternative is taken up.
    #[inline]
    pub(super) fn note_step(&self, part: &Part, node: &Node) {
        if self.log.is_some() {
            self.send_step(part, node);
        }
    }

    #[cold]
    #[inline(never)]
    fn send_step(&self, part: &Part, node: &Node) {
        let action = Action(&node.hypothesis, node.next_move);
        let event = part.place_of(node.at);
        self.note(|| Note::Taken { event, action: &action, depth: node.depth, open: part.open() });
    }

    /// Notes that a part is searched by tables.
    pub(super) fn note_tables(&self, part: &Part) {
        self.note(|| Note::Taken { event: part.place_of(0), action: &"by tables", depth: 0, open: 0 });
    }

    /// Notes that a request is handled in a search by tables, to explain the response at this position.
    pub(super) fn note_handled(&self, delivery: &Delivery, event: u64, open: usize) {
        let action = Handled(delivery);
        self.note(|| Note::Taken { event, action: &action, depth: 0, open });
    }

    /// Notes that the search of a part ends for now.
    pub(crate) fn note_outcome(&self, part: &Part, progress: Progress) {
        let outcome = match progress {
            Progress::Explained => "explained",
            Progress::Failed => "nothing explains this, and no alternative is left",
            Progress::Unfinished => "stopped for now",
        };
        self.note(|| Note::Outcome { event: part.place_of(part.front.furthest) + 1, outcome });
    }
}

impl Part {
    /// Returns the position in the trace of the log entry at this index, or of the last one.
    fn place_of(&self, at: usize) -> u64 {
        self.log.get(at).or(self.log.last()).map_or(self.origin.place, |entry| entry.place)
    }
}

/// The cells of a part.
struct Cells<'a>(&'a Composed<'a>, &'a Part);

impl Display for Cells<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(world, part) = self;
        let book = world.book.borrow();
        if part.cells.is_empty() {
            f.write_str("no cell")?;
        }
        for (place, cell) in part.cells.iter().take(NAMED).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{}", book.cells[*cell as usize].describe())?;
        }
        let more = part.cells.len().saturating_sub(NAMED);
        if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

/// The move of an alternative.
struct Action<'a>(&'a Hypothesis, Move);

impl Display for Action<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(hypothesis, next_move) = self;
        let (what, index) = match *next_move {
            Move::Go => return f.write_str("go on"),
            Move::Internal => return f.write_str("internal turn"),
            Move::Deliver(index) => ("deliver", index),
            Move::Read(index, None) => ("read", index),
            Move::Read(index, Some(_)) => ("read, at an earlier content,", index),
        };
        let Some(pending) = hypothesis.pending.get(index) else { return f.write_str(what) };
        describe(f, what, &pending.delivery)
    }
}

/// A request that is handled in a search by tables.
struct Handled<'a>(&'a Delivery);

impl Display for Handled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "deliver", self.0)
    }
}

fn describe(f: &mut fmt::Formatter<'_>, what: &str, delivery: &Delivery) -> fmt::Result {
    match &delivery.item {
        Incoming::Message(message) => write!(f, "{what} {}", Shown(&**message))?,
        Incoming::Closed => write!(f, "{what} the close of its connection")?,
    }
    write!(f, " of event {} on connection {}", delivery.place + 1, delivery.wire)
}
