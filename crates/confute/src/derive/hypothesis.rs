//! One hypothesis: a possible state of server and network, with everything that is conjectured about it.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use smallvec::SmallVec;

use super::book::Seen;
use super::reduce::late::touches;
use super::turn::Path;
use crate::erased::{Letter, Message, Shown};
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Knowledge, Term, Value};
use crate::lang::{Access, Cause, Conn, Incoming, Val};

/// The cells and connections that the turn of a message can touch. They follow from the message alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// `true` if the turn may touch anything.
    pub(crate) whole: bool,
    pub(crate) cells: SmallVec<[(u32, Access); 2]>,
    /// Number of messages that the turn sends on its own connection, unless `whole`.
    pub(crate) replies: u32,
    /// `true` if the turn closes its own connection, unless `whole`.
    pub(crate) closes: bool,
    /// `true` if the turn acts alike in every state: it writes without a look.
    pub(crate) blind: bool,
    /// `true` if the turn is `blind` and also leaves the same content in every state.
    pub(crate) fixed: bool,
    /// `true` if the turn writes its one cell without a look and sends one response.
    pub(crate) mute: bool,
    /// `true` if the model never takes the message: the notice of a closed connection that no turn receives.
    pub(crate) ignored: bool,
    pub(crate) reads_only: bool,
    pub(crate) late: bool,
    /// Tables in which the turn creates objects, each with the cell of an object whose id no message contains.
    pub(crate) creates: SmallVec<[(&'static str, u32); 1]>,
    /// `true` if the turn lists objects.
    pub(crate) lists: bool,
    /// Ids that objects of this turn can have, if it creates or lists any.
    pub(crate) ids: Option<Rc<Ids>>,
}

/// The ids that matter to a turn which creates or lists objects.
pub(crate) struct Ids {
    /// The response; `None` if it will not be observed, or is not known.
    pub(crate) response: Option<Rc<Message>>,
    /// The ids that the response tells. Without a response an object may have any id.
    pub(crate) told: Vec<Value>,
    /// Number of cells when this was determined: objects in later cells do not matter.
    pub(crate) limit: u32,
    /// Number of objects at that time that may have been created although no response tells their id.
    pub(crate) loose: u32,
}

impl PartialEq for Ids {
    fn eq(&self, other: &Self) -> bool {
        (&self.told, self.limit, self.loose) == (&other.told, other.limit, other.loose)
    }
}

impl Eq for Ids {}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ids").field("told", &self.told).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Footprint {
    /// Derives the properties that are looked up most often.
    pub(crate) fn complete(mut self) -> Self {
        let keeps_to_itself = !self.whole && !self.closes;
        self.reads_only = keeps_to_itself && self.cells.iter().all(|(_, access)| *access == Access::Read);
        self.mute = keeps_to_itself && self.blind && self.cells.len() == 1 && self.replies == 1;
        self.late = keeps_to_itself && !self.blind && self.cells.len() == 1;
        self
    }

    /// Returns `true` if the time of the turn can be determined afterwards: it concerns one cell, and may leave it
    /// unchanged.
    pub(crate) fn may_be_late(&self) -> bool {
        self.late
    }

    /// Returns `true` if the turn changes nothing, in any state.
    pub(crate) fn is_reader(&self) -> bool {
        self.reads_only
    }
}

/// A message in flight to the server, shared by all hypotheses.
pub(crate) struct Delivery {
    /// Number of the message, in sending order.
    pub(crate) sent: u32,
    /// Number of the tester's connection.
    pub(crate) wire: u32,
    /// `true` if the server opened that connection: each hypothesis then has its own name for it.
    pub(crate) accepted: bool,
    pub(crate) item: Incoming<Message>,
    pub(crate) foot: Footprint,
    /// Lane of the delivery; deliveries on the same lane keep their order.
    pub(crate) lane: u64,
    /// Position in the trace at which the message was sent.
    pub(crate) place: u64,
    /// `true` if nothing else was in flight on its connection when it was sent.
    pub(crate) alone: bool,
    /// `true` if deliveries behind this one on its lane may see an earlier state than it does: see
    /// [`ServerModel::is_parallel`](crate::lang::ServerModel::is_parallel).
    pub(crate) parallel: bool,
    /// `true` if another message was sent behind it before its response came.
    pub(crate) followed: Cell<bool>,
    /// First observation on its connection after it was sent, with its position; `None` if there never was one. Empty
    /// as long as that is unknown.
    pub(crate) answer: OnceCell<Option<(u64, Seen)>>,
    /// Contribution to the fingerprint of a hypothesis in which it is pending.
    pub(crate) print: Fingerprint,
}

impl Delivery {
    /// Returns a delivery that is alone on a connection opened by the tester, at the start of the trace.
    pub(crate) fn new(sent: u32, wire: u32, item: Incoming<Message>, foot: Footprint) -> Self {
        Self {
            sent,
            wire,
            accepted: false,
            item,
            foot,
            lane: 0,
            place: 0,
            alone: true,
            parallel: false,
            followed: Cell::new(false),
            answer: OnceCell::new(),
            print: Fingerprint::of(&(0xde_u8, sent)),
        }
    }
}

/// A delivery that is still in the network, in one hypothesis.
pub(crate) struct Pending {
    pub(crate) delivery: Rc<Delivery>,
    /// Number of turns that had started when it was sent.
    pub(crate) since: u32,
    /// Number of times it was already delivered.
    pub(crate) taken: u8,
    /// `true` if it may be lost because its connection has ended.
    pub(crate) loose: bool,
    /// `true` if its response is known and no content of its cell has given it so far; new contents are tried as they
    /// are written.
    pub(crate) watched: bool,
    /// `true` if its cell was overwritten after it was sent: the server may have taken it just before that,
    /// unnoticed.
    pub(crate) covered: bool,
    /// `true` if all came to rest after it was sent, on a network that loses messages: it was lost or taken before
    /// that, and its response was not observed.
    pub(crate) stale: bool,
}

impl Clone for Pending {
    fn clone(&self) -> Self {
        Self { delivery: Rc::clone(&self.delivery), ..*self }
    }
}

/// Content of an outgoing item.
pub(crate) enum Parcel {
    Message(Rc<Packed>),
    Close,
    /// A message that is known to match already, because the observation that it explains was known when it was sent.
    Verified,
}

/// An outgoing message with its fingerprint, which is computed on first use.
pub(crate) struct Packed {
    pub(crate) message: Box<dyn Letter>,
    pub(crate) by: SmallVec<[&'static crate::lang::Rule; 1]>,
    fingerprint: OnceCell<Fingerprint>,
}

impl Packed {
    pub(crate) fn new(message: Box<dyn Letter>, by: SmallVec<[&'static crate::lang::Rule; 1]>) -> Rc<Self> {
        Rc::new(Self { message, by, fingerprint: OnceCell::new() })
    }

    /// Formats the message for people: secrets are shown by their value where the facts fix it, and numbered
    /// otherwise.
    pub(crate) fn describe(&self, facts: &Knowledge) -> String {
        let (mut names, mut open) = (BTreeMap::new(), 0);
        self.message.vars(&mut |var| {
            names.entry(var.to_string()).or_insert_with(|| {
                if let Some(value) = facts.value(&Term::Var(var)) {
                    return value.to_string();
                }
                open += 1;
                format!("?{open}")
            });
        });
        if open == 0 {
            let mut value = |var| facts.value(&Term::Var(var)).expect("every secret in it is known");
            return Shown(&*self.message.instantiate(&mut value)).to_string();
        }
        renamed(&self.message.to_string(), &names)
    }

    /// Returns the fingerprint of the message, computed once.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| self.message.fingerprint())
    }
}

/// Returns the text with its variables replaced by the given names.
fn renamed(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut parts = text.split('?');
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        match names.get(&format!("?{}", &part[..end])) {
            Some(name) => told.push_str(name),
            None => told.extend(["?", &part[..end]]),
        }
        told.push_str(&part[end..]);
    }
    told
}

impl Clone for Parcel {
    fn clone(&self) -> Self {
        match self {
            Parcel::Message(message) => Parcel::Message(Rc::clone(message)),
            Parcel::Close => Parcel::Close,
            Parcel::Verified => Parcel::Verified,
        }
    }
}

/// A message to the tester that is still in the network.
pub(crate) struct Outgoing {
    pub(crate) lane: u64,
    pub(crate) conn: Conn,
    pub(crate) parcel: Parcel,
    /// Number of times it was already observed.
    pub(crate) taken: u8,
    /// Position in the trace at which it will be observed next, if that is conjectured already; otherwise 0.
    pub(crate) due: u64,
}

impl Clone for Outgoing {
    fn clone(&self) -> Self {
        Self { parcel: self.parcel.clone(), ..*self }
    }
}

/// The present content of a cell, and the earlier ones.
#[derive(Clone)]
pub(crate) struct CellState {
    pub(crate) number: u32,
    pub(crate) now: Option<Val>,
    /// Earlier contents that a pending read may still have seen, oldest first, each with the number of the turn that
    /// replaced it.
    pub(crate) past: Past,
}

/// Earlier contents of a cell; usually there are none.
pub(crate) type Past = Option<Rc<Vec<(Option<Val>, u32)>>>;

impl CellState {
    /// Returns the earlier contents, oldest first.
    pub(crate) fn past(&self) -> &[(Option<Val>, u32)] {
        self.past.as_ref().map_or(&[], |past| past.as_slice())
    }
}

/// A turn that waits for another message.
pub(crate) struct Suspended {
    pub(crate) cause: Cause,
    pub(crate) inbox: Vec<(Conn, Incoming<Message>)>,
    /// Numbers of the messages in `inbox`.
    pub(crate) sent: Vec<u32>,
    pub(crate) path: Path,
    pub(crate) acted: usize,
    /// Number of this turn.
    pub(crate) started: u32,
}

/// The largest change of a hypothesis since its pending reads were last checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stir {
    Calm,
    /// A new read is pending.
    Admitted,
    /// A cell has new content.
    Written,
}

/// A possible state of server and network.
pub(crate) struct Hypothesis {
    /// Cells, ordered by number.
    pub(crate) cells: SmallVec<[CellState; 1]>,
    /// Deliveries in flight, in sending order.
    pub(crate) pending: SmallVec<[Pending; 4]>,
    /// Messages to the tester in flight, in sending order.
    pub(crate) out: SmallVec<[Outgoing; 1]>,
    pub(crate) facts: Knowledge,
    pub(crate) suspended: Option<Rc<Suspended>>,
    /// Connections that the server opened, each with the tester's number for it, if known.
    pub(crate) links: Vec<(Conn, Option<u32>)>,
    /// Internal actions that happened since a message touched their cells, each with such a cell.
    pub(crate) fired: Vec<(Fingerprint, u32)>,
    /// Lanes, each with the turn before which its next delivery must not be placed.
    pub(crate) floors: Vec<(u64, u32)>,
    /// Number of a delivery that has to change something: the case that it changes nothing is another alternative.
    pub(crate) must_write: Option<u32>,
    /// Number of turns started.
    pub(crate) turns: u32,
    /// Number of internal turns started.
    pub(crate) internals: u32,
    pub(crate) deviations: u32,
    pub(crate) stirred: Stir,
    /// Position of the response to the delivery that wrote the only cell, if nothing has read the cell since;
    /// otherwise 0.
    pub(crate) unseen_until: u64,
    /// Position up to which nothing sees the content of the only cell, nor what it grows into, and by which it has
    /// been overwritten; 0 if that is not known.
    pub(crate) dead_until: u64,
}

impl Clone for Hypothesis {
    fn clone(&self) -> Self {
        Self {
            cells: self.cells.clone(),
            pending: self.pending.clone(),
            out: self.out.clone(),
            facts: self.facts.clone(),
            suspended: self.suspended.clone(),
            links: self.links.clone(),
            fired: self.fired.clone(),
            floors: self.floors.clone(),
            ..*self
        }
    }
}

impl Default for Hypothesis {
    fn default() -> Self {
        Self {
            cells: SmallVec::new(),
            pending: SmallVec::new(),
            out: SmallVec::new(),
            facts: Knowledge::new(),
            suspended: None,
            links: Vec::new(),
            fired: Vec::new(),
            floors: Vec::new(),
            must_write: None,
            turns: 0,
            internals: 0,
            deviations: 0,
            stirred: Stir::Calm,
            unseen_until: 0,
            dead_until: 0,
        }
    }
}

impl Hypothesis {
    pub(crate) fn cell(&self, number: u32) -> Option<&CellState> {
        match self.cells.as_slice() {
            [only] => (only.number == number).then_some(only),
            cells => {
                cells.binary_search_by_key(&number, |cell| cell.number).ok().map(|index| &self.cells[index])
            }
        }
    }

    /// Returns the server's name for one of the tester's connections.
    pub(crate) fn bound(&self, wire: u32) -> Option<Conn> {
        self.links.iter().find(|(_, bound)| *bound == Some(wire)).map(|(conn, _)| *conn)
    }

    pub(crate) fn floor(&self, lane: u64) -> u32 {
        self.floors.iter().find(|(number, _)| *number == lane).map_or(0, |(_, floor)| *floor)
    }

    /// Returns `true` if some lane holds more than one delivery, or has a floor from the time when it did.
    pub(super) fn is_pipelined(&self) -> bool {
        !self.floors.is_empty()
            || self.pending.iter().enumerate().any(|(index, pending)| {
                self.pending[..index].iter().any(|other| other.delivery.lane == pending.delivery.lane)
            })
    }

    /// Drops floors of empty lanes, and what only they held, after an observation.
    pub(crate) fn tidy_floors(&mut self) {
        if !self.floors.is_empty() {
            self.tidy();
        }
    }

    /// Drops versions that no pending delivery can see, and floors of empty lanes.
    pub(crate) fn tidy(&mut self) {
        if !self.floors.is_empty() {
            let pending = &self.pending;
            self.floors.retain(|(lane, _)| pending.iter().any(|pending| pending.delivery.lane == *lane));
        }
        for index in 0..self.cells.len() {
            let Some(past) = &self.cells[index].past else { continue };
            let number = self.cells[index].number;
            let oldest = self
                .pending
                .iter()
                .filter(|pending| touches(pending, number))
                .map(|pending| pending.since)
                .min();
            let kept: Vec<_> = past
                .iter()
                .filter(|(_, until)| oldest.is_some_and(|oldest| *until > oldest))
                .cloned()
                .collect();
            self.cells[index].past = if kept.is_empty() { None } else { Some(Rc::new(kept)) };
        }
    }
}

/// Bit that marks the lane of a message that is not ordered with others.
pub(crate) const UNORDERED: u64 = 1 << 61;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_go_by_other_names() {
        let names = [("?2".to_owned(), "?1".to_owned()), ("?20a".to_owned(), "\"x\"".to_owned())].into();
        assert_eq!(renamed("tag ?20a (from ?2 on), why?", &names), "tag \"x\" (from ?1 on), why?");
        assert_eq!(renamed("?3?2", &names), "?3?1", "what is unknown stays");
    }
}
