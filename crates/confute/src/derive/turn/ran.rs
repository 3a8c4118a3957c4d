//! The effects of one run of a turn, and the first difference between two runs.

use std::fmt::{self, Display};

use smallvec::SmallVec;

use crate::derive::book::CellBook;
use crate::derive::hypothesis::{Footprint, Hypothesis};
use crate::erased::Letter;
use crate::fingerprint::Fingerprint;
use crate::knowledge::Knowledge;
use crate::lang::{Access, Conn, Rule, Stop, Turn, Val};

/// An action of a turn that is visible outside.
pub(crate) enum Act {
    Send(Conn, Box<dyn Letter>),
    Connect(Conn),
    Close(Conn),
}

impl Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Send(to, message) => write!(f, "send {message} on {to}"),
            Act::Connect(conn) => write!(f, "open {conn}"),
            Act::Close(conn) => write!(f, "close {conn}"),
        }
    }
}

impl Act {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Act::Send(to, message), Act::Send(other_to, other)) => to == other_to && message.is(&**other),
            (Act::Connect(conn), Act::Connect(other)) | (Act::Close(conn), Act::Close(other)) => {
                conn == other
            }
            _ => false,
        }
    }
}

/// The effects of one run.
pub(crate) struct Ran {
    pub(crate) end: Turn,
    pub(crate) acts: SmallVec<[Act; 1]>,
    pub(crate) writes: SmallVec<[(u32, Option<Val>); 1]>,
    pub(crate) opened: SmallVec<[(u32, Access); 2]>,
    pub(crate) facts: Knowledge,
    pub(crate) deviations: SmallVec<[&'static Rule; 1]>,
    /// Rules that were consulted and kept.
    pub(crate) kept: SmallVec<[&'static Rule; 1]>,
    /// `true` if the turn touches more than its own connection and the cells that its footprint lists.
    pub(crate) whole: bool,
    /// `true` if the turn has seen a content or made a choice, so that later steps may depend on the state.
    pub(crate) looked: bool,
    /// Number of choices made.
    pub(crate) asked: usize,
    /// `true` if the run listed the cells of a table.
    pub(crate) scanned: bool,
    /// `true` if the run made new content from old without a look.
    pub(crate) updated: bool,
    /// Tables in which the run created objects, each with the cell of an object whose id no message contains.
    pub(crate) creates: SmallVec<[(&'static str, u32); 1]>,
    /// `true` if the run listed objects.
    pub(crate) lists: bool,
    pub(crate) replies: Option<u32>,
    pub(crate) received: usize,
    /// Identity of an internal turn: its choices before it opened any cell.
    pub(crate) action: Fingerprint,
}

impl Ran {
    /// Describes the first difference between two runs over the same answers, if there is one.
    pub(crate) fn differs(&self, other: &Self, book: &CellBook) -> Option<(String, String)> {
        let tell = |what: fn(&Self, &CellBook) -> String| Some((what(self, book), what(other, book)));
        let is_same = |(one, two): (&Act, &Act)| one.is(two);
        if self.acts.len() != other.acts.len() || !std::iter::zip(&self.acts, &other.acts).all(is_same) {
            return tell(Self::acts_in_words);
        }
        if self.opened != other.opened {
            return tell(Self::opened_in_words);
        }
        let print = |ran: &Self| -> SmallVec<[_; 2]> {
            let print = |value: &Option<Val>| value.as_ref().map(|value| value.fingerprint);
            ran.writes.iter().map(|(cell, value)| (*cell, print(value))).collect()
        };
        if print(self) != print(other) {
            return tell(Self::writes_in_words);
        }
        if self.asked != other.asked {
            return tell(|ran, _| format!("made {} choices", ran.asked));
        }
        if self.end != other.end {
            return tell(|ran, _| ran.end_in_words().to_owned());
        }
        let learnt = |ran: &Self| (ran.facts.fingerprint(), ran.received, ran.replies, ran.whole);
        let names =
            |ran: &Self| -> SmallVec<[_; 4]> { ran.deviations.iter().map(|rule| rule.name).collect() };
        let is_other = learnt(self) != learnt(other) || names(self) != names(other);
        is_other.then(|| ("one thing".to_owned(), "another".to_owned()))
    }

    fn acts_in_words(&self, _: &CellBook) -> String {
        in_words(self.acts.iter().map(ToString::to_string), "sent nothing")
    }

    fn opened_in_words(&self, book: &CellBook) -> String {
        let tell = |(cell, access): &(u32, Access)| {
            let access = if *access == Access::Read { "to read" } else { "to write" };
            format!("opened {} {access}", book.cells[*cell as usize].describe())
        };
        in_words(self.opened.iter().map(tell), "opened no cell")
    }

    fn writes_in_words(&self, book: &CellBook) -> String {
        let tell = |(cell, value): &(u32, Option<Val>)| {
            let cell = book.cells[*cell as usize].describe();
            match value {
                Some(value) => format!("wrote {:?} to {cell}", &value.data),
                None => format!("cleared {cell}"),
            }
        };
        in_words(self.writes.iter().map(tell), "wrote nothing")
    }

    fn end_in_words(&self) -> &'static str {
        match self.end {
            Ok(()) => "came to its end",
            Err(Stop::Blocked) => "waited for another message",
            Err(Stop::Refused) => "left the message waiting",
            Err(Stop::Dead) => "contradicted what is known",
            Err(Stop::Idle) => "did nothing",
            Err(Stop::Looked) => "looked at the state",
            Err(Stop::Mistake(_)) => "made a mistake",
        }
    }
}

fn in_words(parts: impl Iterator<Item = String>, none: &str) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(", ") }
}

impl Ran {
    /// Returns `true` if the server took all of these messages, whatever came of it.
    pub(crate) fn took(&self, messages: usize) -> bool {
        self.received >= messages && !matches!(self.end, Err(Stop::Mistake(_) | Stop::Refused))
    }

    /// Returns `true` if the turn has looked at the last of these messages, and leaves it where it is: it waits.
    pub(crate) fn waits(&self, messages: usize) -> bool {
        self.received >= messages && matches!(self.end, Err(Stop::Refused))
    }

    /// Returns a table in which the run created an object whose id the response does not tell, though it is this response.
    pub(crate) fn untold(&self, foot: &Footprint) -> Option<&'static str> {
        let response = foot.ids.as_ref()?.response.as_ref()?;
        let is_written = |cell: &u32| self.writes.iter().any(|(written, _)| written == cell);
        let (table, _) = self.creates.iter().find(|(_, cell)| is_written(cell))?;
        let [Act::Send(_, message)] = self.acts.as_slice() else { return None };
        let fits = self.end.is_ok() && message.unify(&**response, &mut self.facts.clone()).is_ok();
        fits.then_some(table)
    }

    /// Returns `true` if the run left every cell unchanged, and taught no fact.
    pub(crate) fn changes_nothing(&self, before: &Hypothesis) -> bool {
        self.writes.is_empty() && self.facts.fingerprint() == before.facts.fingerprint()
    }
}
