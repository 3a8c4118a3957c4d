//! One hypothesis: a state in which server and network may be, and all that is conjectured about it.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use smallvec::SmallVec;

use super::book::Seen;
use super::turn::Path;
use crate::erased::{Letter, Message, Shown};
use crate::fingerprint::{Fingerprint, FingerprintHasher};
use crate::knowledge::{Knowledge, Term};
use crate::lang::{Access, Cause, Conn, Incoming, Val};

/// What a message's turn can touch. It follows from the message alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Anything.
    pub(crate) whole: bool,
    pub(crate) cells: SmallVec<[(u32, Access); 2]>,
    /// How many messages it sends to its own connection, unless whole.
    pub(crate) replies: u32,
    /// Whether it closes its own connection, unless whole.
    pub(crate) closes: bool,
    /// Whether it does the same in every state: it writes without a look.
    pub(crate) blind: bool,
    /// Whether it also leaves the same content in every state.
    pub(crate) fixed: bool,
    /// Whether it writes its one cell without a look, and answers once.
    pub(crate) mute: bool,
    /// The model never takes it (the news of a closed connection, where nobody asks).
    pub(crate) ignored: bool,
    pub(crate) reads_only: bool,
    pub(crate) late: bool,
}

impl Footprint {
    /// Works out what is asked most.
    pub(crate) fn complete(mut self) -> Self {
        let keeps_to_itself = !self.whole && !self.closes;
        self.reads_only = keeps_to_itself && self.cells.iter().all(|(_, access)| *access == Access::Read);
        self.mute = keeps_to_itself && self.blind && self.cells.len() == 1 && self.replies == 1;
        self.late = keeps_to_itself && !self.blind && self.cells.len() == 1;
        self
    }

    /// Whether it can be found out afterwards when it happened: it concerns one cell, and may leave it as it is.
    pub(crate) fn may_be_late(&self) -> bool {
        self.late
    }

    /// Whether it changes nothing, in any state.
    pub(crate) fn is_reader(&self) -> bool {
        self.reads_only
    }
}

/// A message on its way to the server. All hypotheses share it.
pub(crate) struct Delivery {
    /// Its number, in the order of sending.
    pub(crate) sent: u32,
    /// The tester's connection.
    pub(crate) wire: u32,
    /// Whether that connection was opened by the server: then each hypothesis has its own name for it.
    pub(crate) accepted: bool,
    pub(crate) item: Incoming<Message>,
    pub(crate) foot: Footprint,
    /// Packets with the same number keep their order.
    pub(crate) lane: u64,
    /// Where in the trace it was sent.
    pub(crate) place: u64,
    /// Whether nothing else was under way on its connection then.
    pub(crate) alone: bool,
    /// Whether packets behind it on its lane may see an earlier state than it does: see
    /// [`ServerModel::is_parallel`](crate::lang::ServerModel::is_parallel).
    pub(crate) parallel: bool,
    /// Whether another one was sent behind it before it was answered.
    pub(crate) followed: Cell<bool>,
    /// Whether some turn of it has changed something.
    pub(crate) loud: Cell<bool>,
    /// What was seen first on its connection after it was sent, and where; `None` if nothing ever was. Empty as long as
    /// that is not known.
    pub(crate) answer: OnceCell<Option<(u64, Seen)>>,
    /// Its share in the fingerprint of a hypothesis where it is pending.
    pub(crate) print: Fingerprint,
}

impl Delivery {
    /// A message that is alone on a connection of the tester's, from the start of the trace.
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
            loud: Cell::new(false),
            answer: OnceCell::new(),
            print: Fingerprint::of(&(0xde_u8, sent)),
        }
    }
}

/// A packet to the server that is still in the network.
pub(crate) struct Pending {
    pub(crate) delivery: Rc<Delivery>,
    /// How many turns had started when it was sent.
    pub(crate) since: u32,
    /// How often it was delivered already.
    pub(crate) taken: u8,
    /// Whether it may be lost because its connection has ended.
    pub(crate) loose: bool,
    /// Whether its answer is known and no content of its cell up to now gives it; new contents are tried as they come.
    pub(crate) watched: bool,
    /// Whether its cell was overwritten since it was sent: then it may have come just before that, and left no trace.
    pub(crate) covered: bool,
    /// Whether all came to rest since it was sent, on a network that loses packets: then it was lost or taken before
    /// that, and nobody saw its answer.
    pub(crate) stale: bool,
}

impl Clone for Pending {
    fn clone(&self) -> Self {
        Self { delivery: Rc::clone(&self.delivery), ..*self }
    }
}

/// What travels to the tester.
pub(crate) enum Parcel {
    Message(Rc<Packed>),
    Close,
    /// A message that was found to be the right one already, because what was seen later is known.
    Verified,
}

/// A message with its fingerprint, made when first asked for.
pub(crate) struct Packed {
    pub(crate) message: Box<dyn Letter>,
    pub(crate) by: SmallVec<[&'static crate::lang::Rule; 1]>,
    fingerprint: OnceCell<Fingerprint>,
}

impl Packed {
    pub(crate) fn new(message: Box<dyn Letter>, by: SmallVec<[&'static crate::lang::Rule; 1]>) -> Rc<Self> {
        Rc::new(Self { message, by, fingerprint: OnceCell::new() })
    }

    /// The message as a person would read it: secrets by their value where the facts fix it, and otherwise numbered.
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

    fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| self.message.fingerprint())
    }
}

/// A text in which variables go by other names.
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

/// A packet to the tester that is still in the network.
pub(crate) struct Outgoing {
    pub(crate) lane: u64,
    pub(crate) conn: Conn,
    pub(crate) parcel: Parcel,
    /// How often it was seen already.
    pub(crate) taken: u8,
    /// Where in the trace it will be seen next, if that is conjectured already; else 0.
    pub(crate) due: u64,
}

impl Clone for Outgoing {
    fn clone(&self) -> Self {
        Self { parcel: self.parcel.clone(), ..*self }
    }
}

/// A cell's content, now and before.
#[derive(Clone)]
pub(crate) struct CellState {
    pub(crate) number: u32,
    pub(crate) now: Option<Val>,
    /// Earlier contents that a pending read may still have seen, oldest first, each with the number of the turn that
    /// ended it.
    pub(crate) past: Past,
}

/// Earlier contents of a cell. Mostly there are none.
pub(crate) type Past = Option<Rc<Vec<(Option<Val>, u32)>>>;

impl CellState {
    /// Earlier contents, oldest first.
    pub(crate) fn past(&self) -> &[(Option<Val>, u32)] {
        self.past.as_ref().map_or(&[], |past| past.as_slice())
    }
}

/// A turn that waits for another message.
pub(crate) struct Suspended {
    pub(crate) cause: Cause,
    pub(crate) inbox: Vec<(Conn, Incoming<Message>)>,
    /// The numbers of those messages.
    pub(crate) sent: Vec<u32>,
    pub(crate) path: Path,
    pub(crate) acted: usize,
    /// The number of this turn.
    pub(crate) started: u32,
}

/// What happened to a hypothesis since its pending reads were last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stir {
    Calm,
    /// There is a new one.
    Admitted,
    /// A cell has new content.
    Written,
}

/// A state in which server and network may be.
pub(crate) struct Hypothesis {
    /// Ordered by number.
    pub(crate) cells: SmallVec<[CellState; 1]>,
    /// In the order of sending.
    pub(crate) pending: SmallVec<[Pending; 4]>,
    /// In the order of being sent.
    pub(crate) out: SmallVec<[Outgoing; 1]>,
    pub(crate) facts: Knowledge,
    pub(crate) suspended: Option<Rc<Suspended>>,
    /// Connections that the server opened and what the tester knows them as.
    pub(crate) links: Vec<(Conn, Option<u32>)>,
    /// Internal actions since a message touched their cells.
    pub(crate) fired: Vec<(Fingerprint, u32)>,
    /// Lanes whose next packet must not be placed before this turn.
    pub(crate) floors: Vec<(u64, u32)>,
    /// The packet that is only of interest if it changes something: that it may have changed nothing is looked into
    /// elsewhere.
    pub(crate) must_write: Option<u32>,
    /// How many turns have started.
    pub(crate) turns: u32,
    /// How many internal turns.
    pub(crate) internals: u32,
    pub(crate) deviations: u32,
    pub(crate) stirred: Stir,
    /// The only cell was written, by a packet that is answered here, and nobody has looked since. 0 if not so.
    pub(crate) unseen_until: u64,
    /// Up to here nobody sees what the only cell holds, nor what it grows into, and by then it was overwritten. 0 if
    /// that is not known.
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

    /// The server's name for the tester's connection.
    pub(crate) fn bound(&self, wire: u32) -> Option<Conn> {
        self.links.iter().find(|(_, bound)| *bound == Some(wire)).map(|(conn, _)| *conn)
    }

    pub(crate) fn floor(&self, lane: u64) -> u32 {
        self.floors.iter().find(|(number, _)| *number == lane).map_or(0, |(_, floor)| *floor)
    }

    /// Covers everything that can make a difference from here on, so that no two different states share it: a
    /// refutation may rest on it.
    ///
    /// Where turns keep to themselves (not `whole`), what was found to be right and is on its way follows from what is
    /// still pending: the place says what was sent and seen, and every packet has a fixed number of answers.
    pub(crate) fn fingerprint(&self, place: u64, whole: bool) -> Fingerprint {
        let mut hasher = FingerprintHasher::default();
        hasher.write_u64(place);
        let mut pipelined = None;
        for cell in &self.cells {
            hasher.write_u32(cell.number);
            // What nobody will see makes no difference.
            let now = if self.dead_until > place { None } else { cell.now.as_ref() };
            hasher.write_u128(now.map_or(1, |value| value.fingerprint.0));
            if cell.past.is_some() {
                let pipelined = *pipelined.get_or_insert_with(|| self.is_pipelined());
                self.hash_past(cell, pipelined, &mut hasher);
            }
        }
        // Pending packets are in the order of sending in every hypothesis.
        let mut sum = Fingerprint::default();
        for pending in &self.pending {
            sum = sum.plus(pending.delivery.print);
            if pending.taken > 0 || pending.covered || pending.stale {
                let more = (pending.delivery.sent, pending.taken, pending.covered, pending.stale);
                sum = sum.plus(Fingerprint::of(&more));
            }
        }
        hasher.write_u128(sum.0);
        hasher.write_u8(u8::from(self.unseen_until > place) | u8::from(self.dead_until > place) << 1);
        if !self.out.is_empty() {
            self.hash_out(whole, &mut hasher);
        }
        if let Some(suspended) = &self.suspended {
            hasher.write_u64(0x5e);
            suspended.cause.hash(&mut hasher);
            for ((conn, _), sent) in suspended.inbox.iter().zip(&suspended.sent) {
                conn.hash(&mut hasher);
                hasher.write_u32(*sent);
            }
            suspended.path.hash(&mut hasher);
            hasher.write_usize(suspended.acted);
        }
        if !self.links.is_empty() {
            let sum =
                self.links.iter().fold(Fingerprint::default(), |sum, link| sum.plus(Fingerprint::of(link)));
            hasher.write_u128(sum.0);
        }
        if !self.fired.is_empty() {
            let sum =
                self.fired.iter().fold(Fingerprint::default(), |sum, fired| sum.plus(Fingerprint::of(fired)));
            hasher.write_u128(sum.0);
        }
        if !self.facts.is_empty() {
            hasher.write_u128(self.facts.fingerprint().0);
        }
        hasher.write_u64(
            u64::from(self.deviations) << 32 | u64::from(self.must_write.map_or(0, |sent| sent + 1)),
        );
        hasher.fingerprint()
    }

    /// Of the past only what pending packets can still see makes a difference, and for whom.
    fn hash_past(&self, cell: &CellState, pipelined: bool, hasher: &mut FingerprintHasher) {
        let mut sum = Fingerprint::default();
        for (index, (value, until)) in cell.past().iter().enumerate() {
            let mut visible = false;
            let mut mask = FingerprintHasher::default();
            for pending in self.pending.iter().filter(|pending| touches(pending, cell.number)) {
                if pending.since.max(self.floor(pending.delivery.lane)) < *until {
                    visible = true;
                    mask.write_u32(pending.delivery.sent);
                }
            }
            if !visible {
                continue;
            }
            mask.write_u128(value.as_ref().map_or(1, |value| value.fingerprint.0));
            // With several packets on a lane the order of versions counts too.
            if pipelined {
                mask.write_usize(cell.past().len() - index);
                for other in &self.cells {
                    mask.write_usize(other.past().iter().filter(|(_, other)| other >= until).count());
                }
            }
            sum = sum.plus(mask.fingerprint());
        }
        hasher.write_u128(sum.0);
    }

    fn hash_out(&self, whole: bool, hasher: &mut FingerprintHasher) {
        // The order counts within a lane only.
        let mut sum = Fingerprint::default();
        for (index, item) in self.out.iter().enumerate() {
            if !whole && matches!(item.parcel, Parcel::Verified) {
                continue;
            }
            let mut one = FingerprintHasher::default();
            let rank = self.out[..index].iter().filter(|other| other.lane == item.lane).count();
            one.write_u64(item.lane);
            one.write_usize(if item.lane & UNORDERED == 0 { rank } else { 0 });
            item.conn.hash(&mut one);
            one.write_u8(item.taken);
            one.write_u64(item.due);
            match &item.parcel {
                Parcel::Message(message) => one.write_u128(message.fingerprint().0),
                Parcel::Close => one.write_u8(1),
                Parcel::Verified => one.write_u8(2),
            }
            sum = sum.plus(one.fingerprint());
        }
        hasher.write_u128(sum.0);
    }

    /// Whether some lane holds more than one packet.
    pub(super) fn is_pipelined(&self) -> bool {
        !self.floors.is_empty()
            || self.pending.iter().enumerate().any(|(index, pending)| {
                self.pending[..index].iter().any(|other| other.delivery.lane == pending.delivery.lane)
            })
    }

    /// Drops versions that no pending packet can see, and floors of empty lanes.
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

/// The bit that marks the lane of a packet that travels by itself.
pub(crate) const UNORDERED: u64 = 1 << 61;

/// Whether this pending packet may turn out to have looked at an earlier version of the cell.
pub(crate) fn touches(pending: &Pending, cell: u32) -> bool {
    let foot = &pending.delivery.foot;
    matches!(foot.cells.as_slice(), [(only, _)] if *only == cell)
        && foot.may_be_late()
        && !pending.watched
        && (foot.is_reader() || !pending.delivery.loud.get())
}

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
