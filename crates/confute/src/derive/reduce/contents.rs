//! Contents: what the only cell of a part can hold, and contents from which a later read cannot find what it observed.
//!
//! Many questions of other reductions are about *effects*: given this content, does that delivery give its observed
//! response, and what does it leave behind? Where the answer needs no secret and no choice it holds for every hypothesis,
//! so it is computed once and kept. If the contents that all deliveries together can bring about are few, they are all
//! listed; "no content makes this turn write" is then a statement about every hypothesis.
//!
//! *Lost contents* leaves out hypotheses from which one of the next reads can no longer find what it observed.
//!
//! *Why no verdict changes*: starting from the present content, everything is explored that deliveries in flight, and
//! those that are sent before the response of the read, lead to, each any number of times and in any order. Every
//! explanation takes them in some order, each at most once, so the content that the read finds is among these. If the
//! read gives its response at none of them, the hypothesis explains nothing.
//!
//! *Premises*:
//! - *One cell without secrets, and no growing texts*: otherwise a content is not a value that can be listed.
//! - *What is in flight counts, and what is sent before the response comes*: a write of the value that is read may be
//!   either.
//! - *An effect that is not certain* (a choice, a fact, a mistake) *ends the exploration without a result.* So do too
//!   many contents.
//! - *Responses that became known since an effect was computed* make it be computed again.
//!
//! *Place in the order*: after a content changed, behind [`known`](super::known), which removes reads and is cheaper, and
//! [`scenes`](super::scenes), which asks the same of contents with secrets; they never apply to one hypothesis both.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Reduction;
use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::dualize::Task;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Delivery, Hypothesis};
use crate::derive::inquire::Effect;
use crate::derive::search::Part;
use crate::fingerprint::Fingerprint;
use crate::lang::{Access, Val};

/// Maximum number of contents of a cell that are explored in advance.
pub(super) const MOST_CONTENTS: usize = 24;

/// Number of upcoming reads for which it is checked that the content they observed can still come about.
const READS_AHEAD: usize = 4;

/// Knowledge of a part about its deliveries that holds for every hypothesis.
pub(in crate::derive) struct Contents {
    /// Effects on the only cell, by delivery and content.
    effects: FxHashMap<(u32, u128), Option<Effect>>,
    /// Number of times that looking ahead is skipped after it was in vain; `blurred` is the number of skips left.
    pub(super) blur: u32,
    pub(super) blurred: u32,
    /// Number of consecutive rankings in which the observation's own delivery spoilt no other: uninformative
    /// responses need no ranking.
    pub(super) unspoilt: u32,
    /// Length of the log that was already scanned.
    scanned: usize,
    /// `true` if some delivery appends to texts.
    pub(super) grows: bool,
    /// Deliveries that only read and were alone on their connection, each with its index in the log.
    pub(super) readers: Vec<(usize, Rc<Delivery>)>,
    /// Deliveries that write and do more than append.
    pub(super) overwriters: Vec<Rc<Delivery>>,
    /// Deliveries that write at all.
    writers: Vec<Rc<Delivery>>,
    /// Every content that the only cell can ever have, as far as the log goes; `None` if there are too many, or the
    /// effect of a delivery is not known.
    all: Option<Vec<Option<Val>>>,
    /// By number of a delivery: `true` if it changes one of these contents while giving its observed response.
    pub(super) changes: FxHashMap<u32, bool>,
    /// By number of a read: the overwriters from whose content its response could come; `None` if that is unknown.
    pub(super) origins: FxHashMap<u32, Option<Rc<[(u32, u64)]>>>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            effects: FxHashMap::default(),
            blur: 0,
            blurred: 0,
            unspoilt: 0,
            scanned: 0,
            grows: false,
            readers: Vec::new(),
            overwriters: Vec::new(),
            writers: Vec::new(),
            all: Some(Vec::new()),
            changes: FxHashMap::default(),
            origins: FxHashMap::default(),
        }
    }
}

impl Contents {
    /// Copies from an earlier search the counters that show if looking ahead is in vain.
    pub(in crate::derive) fn inherit(&mut self, earlier: &Self) {
        self.blur = earlier.blur;
        self.blurred = earlier.blurred;
        self.unspoilt = earlier.unspoilt;
    }

    fn scan(&mut self, index: Option<usize>, delivery: &Rc<Delivery>) {
        match (index, delivery.foot.cells.iter().map(|(_, access)| *access).max()) {
            (Some(index), Some(Access::Read)) if delivery.alone => {
                self.readers.push((index, Rc::clone(delivery)));
            }
            (_, Some(Access::Grow)) => self.grows = true,
            (_, Some(Access::Write)) => self.overwriters.push(Rc::clone(delivery)),
            _ => {}
        }
    }
}

impl Contents {
    /// Adds a content. Returns `true` if it is new.
    fn add(&mut self, value: Option<&Val>) -> bool {
        let Some(contents) = &mut self.all else { return false };
        if contents.iter().any(|known| print(known.as_ref()) == print(value)) {
            return false;
        }
        if contents.len() == MOST_CONTENTS {
            self.all = None;
            return false;
        }
        contents.push(value.cloned());
        true
    }
}

impl Part {
    /// Scans the entries that were added to the log.
    pub(super) fn scan(&mut self, world: &Composed<'_>) {
        if self.memory.contents.scanned == self.log.len() || self.cells.len() != 1 {
            return;
        }
        if self.memory.contents.scanned == 0 {
            let base = std::mem::take(&mut self.origin.hypotheses);
            self.scan_start(world, &base);
            self.origin.hypotheses = base;
        }
        while self.memory.contents.scanned < self.log.len() {
            match &mut self.log[self.memory.contents.scanned].task {
                Task::Given(delivery) => {
                    let delivery = Rc::clone(delivery);
                    self.memory.contents.scan(Some(self.memory.contents.scanned), &delivery);
                    self.reach(world, &delivery);
                }
                Task::Join(others) => {
                    let others = std::mem::take(others);
                    self.scan_start(world, &others);
                    self.log[self.memory.contents.scanned].task = Task::Join(others);
                }
                _ => {}
            }
            self.memory.contents.scanned += 1;
        }
    }

    /// Scans the hypotheses from which the search starts.
    fn scan_start(&mut self, world: &Composed<'_>, start: &[Hypothesis]) {
        for hypothesis in start {
            for pending in &hypothesis.pending {
                self.memory.contents.scan(None, &pending.delivery);
                self.reach(world, &pending.delivery);
            }
            if !hypothesis.facts.is_empty() {
                self.memory.contents.all = None;
            }
            for cell in &hypothesis.cells {
                let past = cell.past().iter().map(|(value, _)| value);
                past.chain([&cell.now]).for_each(|value| _ = self.memory.contents.add(value.as_ref()));
            }
        }
        self.memory.contents.add(None);
        self.reach_all(world);
    }

    /// Returns `true` if the part is one cell whose possible contents are all listed ([`Foresight::contents`], which
    /// gives up if there are many), and no text grows.
    pub(super) fn has_few_contents(&mut self, world: &Composed<'_>) -> bool {
        self.scan(world);
        self.is_plain(world) && self.memory.contents.all.is_some() && !self.memory.contents.grows
    }

    /// Returns the effect of a pending delivery on the only cell if that held `value`.
    pub(super) fn packet_effect(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        index: usize,
        value: Option<&Val>,
    ) -> Option<Effect> {
        self.effect(world, &hypothesis.pending[index].delivery, self.cells[0], value)
    }

    /// Adds the contents that this delivery can lead to.
    fn reach(&mut self, world: &Composed<'_>, delivery: &Rc<Delivery>) {
        if delivery.foot.is_reader() || self.memory.contents.all.is_none() {
            return;
        }
        self.memory.contents.writers.push(Rc::clone(delivery));
        if self.reach_by(world, self.memory.contents.writers.len() - 1) {
            self.reach_all(world);
        }
    }

    /// Applies every delivery to every content until no new content results.
    fn reach_all(&mut self, world: &Composed<'_>) {
        while (0..self.memory.contents.writers.len()).any(|writer| self.reach_by(world, writer)) {}
    }

    fn reach_by(&mut self, world: &Composed<'_>, writer: usize) -> bool {
        let writer = Rc::clone(&self.memory.contents.writers[writer]);
        let mut grown = false;
        let mut at = 0;
        while let Some(value) =
            self.memory.contents.all.as_ref().and_then(|contents| contents.get(at).cloned())
        {
            match self.effect(world, &writer, self.cells[0], value.as_ref()) {
                None => self.memory.contents.all = None,
                Some(Effect { after: Some(after), matches: true, .. }) => {
                    grown |= self.memory.contents.add(after.as_ref());
                }
                Some(_) => {}
            }
            at += 1;
        }
        grown
    }

    /// Returns `true` if a delivery with its observed response may have changed something, or if that is unknown.
    pub(super) fn may_change(&mut self, world: &Composed<'_>, delivery: &Delivery) -> bool {
        if self.memory.contents.all.is_none() || !delivery.foot.may_be_late() || self.cells.len() != 1 {
            return true;
        }
        if let Some(changes) = self.memory.contents.changes.get(&delivery.sent) {
            return *changes;
        }
        let mut changes = false;
        let mut at = 0;
        while let Some(value) =
            self.memory.contents.all.as_ref().and_then(|contents| contents.get(at).cloned())
        {
            at += 1;
            changes |= match self.effect(world, delivery, self.cells[0], value.as_ref()) {
                None => true,
                Some(Effect { matches: false, .. } | Effect { after: None, .. }) => false,
                Some(Effect { after: Some(after), .. }) => print(after.as_ref()) != print(value.as_ref()),
            };
        }
        let changes = changes && !planted(Fault::QuietThoughItMayChange);
        self.memory.contents.changes.insert(delivery.sent, changes);
        changes
    }

    /// Returns `true` if one of the next reads that are yet to be sent observed a content that nothing can bring
    /// about any more. Where every content of the only cell is known, everything that deliveries in flight or sent by
    /// then lead to is explored, in any number and order.
    pub(super) fn is_lost(&mut self, world: &Composed<'_>, hypothesis: &Hypothesis, at: usize) -> bool {
        if !world.reduces(Reduction::LostContents)
            || hypothesis.cells.len() != 1
            || !hypothesis.facts.is_empty()
            || !self.has_few_contents(world)
        {
            return false;
        }
        let first = self.memory.contents.readers.partition_point(|(index, _)| *index < at);
        for ahead in first..first + READS_AHEAD {
            let Some((_, reader)) = self.memory.contents.readers.get(ahead) else { return false };
            let reader = Rc::clone(reader);
            let Some((answered, Seen::Message(_))) = world.answer(&reader) else { continue };
            if self.may_find(world, hypothesis, at, &reader, *answered) == Some(false) {
                world.left_out(Reduction::LostContents);
                return true;
            }
        }
        false
    }

    /// Returns `true` if the only cell can still come to hold the content that a read yet to be sent observed; `None`
    /// if that is unknown.
    fn may_find(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        at: usize,
        reader: &Delivery,
        answered: u64,
    ) -> Option<bool> {
        let cell = &hypothesis.cells[0];
        let until = if planted(Fault::LostWithoutWhatComes) { 0 } else { answered };
        let most = if planted(Fault::LostWithoutWhatIsUnderWay) { 0 } else { usize::MAX };
        let mut contents: SmallVec<[Option<Val>; 16]> = SmallVec::new();
        contents.push(cell.now.clone());
        let mut next = 0;
        while let Some(content) = contents.get(next).cloned() {
            next += 1;
            if self.effect(world, reader, cell.number, content.as_ref())?.matches {
                return Some(true);
            }
            let later = self.log[at.min(self.log.len())..].iter();
            let later = later.take_while(|entry| entry.place < until).filter_map(|entry| match &entry.task {
                Task::Given(delivery) => Some(delivery),
                _ => None,
            });
            let under_way = hypothesis.pending.iter().map(|pending| &pending.delivery);
            let writers: SmallVec<[Rc<Delivery>; 16]> = under_way
                .take(most)
                .chain(later)
                .filter(|delivery| !delivery.foot.is_reader())
                .cloned()
                .collect();
            for writer in &writers {
                let Effect { matches, after, .. } =
                    self.effect(world, writer, cell.number, content.as_ref())?;
                if let Some(after) = after.filter(|_| matches)
                    && !contents.iter().any(|known| print(known.as_ref()) == print(after.as_ref()))
                {
                    contents.push(after);
                }
            }
        }
        Some(false)
    }

    /// Returns the effect of a delivery on the only cell if that held `value`; `None` if it is not certain.
    pub(super) fn effect(
        &mut self,
        world: &Composed<'_>,
        delivery: &Delivery,
        cell: u32,
        value: Option<&Val>,
    ) -> Option<Effect> {
        let key = (delivery.sent, value.map_or(1, |value| value.fingerprint.0));
        match self.memory.contents.effects.get(&key) {
            Some(None) => return None,
            // A response may have come since.
            Some(Some(effect)) if effect.answered || !world.is_answered(delivery) => {
                return Some(effect.clone());
            }
            _ => {}
        }
        let effect = world.effect(delivery, cell, value);
        self.memory.contents.effects.insert(key, effect.clone());
        effect
    }
}

/// Returns the fingerprint of a content.
pub(super) fn print(value: Option<&Val>) -> Option<Fingerprint> {
    value.map(|value| value.fingerprint)
}
