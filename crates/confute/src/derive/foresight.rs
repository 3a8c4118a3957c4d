//! Foresight: later observations decide earlier choices.
//!
//! When the search goes back, or lags behind, later observations are known. A read whose response is known is taken
//! at the first content that gives it; a content from which some observed response can no longer come is given up.
//! Both are exact: nothing is given up that could have explained the trace.

use std::cell::Cell;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::backtrack::{Part, versions};
use super::book::Seen;
use super::compose::Composed;
use super::dualize::Task;
use super::hypothesis::{Delivery, Hypothesis, Stir, touches};
use super::inquire::Effect;
use crate::erased::Message;
use crate::fingerprint::Fingerprint;
use crate::lang::{Access, Conn, Val};

/// Maximum number of contents of a cell that are explored in advance.
const MOST_CONTENTS: usize = 24;

/// Number of upcoming reads for which it is checked that the content they observed can still come about.
const READS_AHEAD: usize = 4;

/// Result of comparing a delivery, at some content of its cell, with its observed response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The delivery gives that response, and does nothing else.
    Now,
    /// The delivery might give that response, but not without learning something, choosing or changing something.
    Perhaps,
    /// The delivery does not give that response.
    No,
    /// The delivery does not give that response, and will not once the content has grown either.
    Never,
}

/// The ways in which a delivery can still give its observed response: without changing anything (`quiet`) or by
/// changing something (`loud`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    pub(super) quiet: bool,
    pub(super) loud: bool,
}

/// Knowledge of a part about its deliveries that holds for every hypothesis.
pub(super) struct Foresight {
    /// Effects on the only cell, by delivery and content.
    effects: FxHashMap<(u32, u128), Option<Effect>>,
    /// Number of times that looking ahead is skipped after it was in vain; `blurred` is the number of skips left.
    blur: u32,
    blurred: u32,
    /// Number of consecutive rankings in which the observation's own delivery spoilt no other: uninformative
    /// responses need no ranking.
    pub(super) unspoilt: Cell<u32>,
    /// Length of the log that was already scanned.
    scanned: usize,
    /// `true` if some delivery appends to texts.
    pub(super) grows: bool,
    /// Deliveries that only read and were alone on their connection, each with its index in the log.
    readers: Vec<(usize, Rc<Delivery>)>,
    /// Deliveries that write and do more than append.
    overwriters: Vec<Rc<Delivery>>,
    /// Deliveries that write at all.
    writers: Vec<Rc<Delivery>>,
    /// Every content that the only cell can ever have, as far as the log goes; `None` if there are too many, or the
    /// effect of a delivery is not known.
    contents: Option<Vec<Option<Val>>>,
    /// By number of a delivery: `true` if it changes one of these contents while giving its observed response.
    changes: FxHashMap<u32, bool>,
    /// By number of a read: the overwriters from whose content its response could come; `None` if that is unknown.
    origins: FxHashMap<u32, Option<Rc<[(u32, u64)]>>>,
}

impl Default for Foresight {
    fn default() -> Self {
        Self {
            effects: FxHashMap::default(),
            blur: 0,
            blurred: 0,
            unspoilt: Cell::new(0),
            scanned: 0,
            grows: false,
            readers: Vec::new(),
            overwriters: Vec::new(),
            writers: Vec::new(),
            contents: Some(Vec::new()),
            changes: FxHashMap::default(),
            origins: FxHashMap::default(),
        }
    }
}

impl Foresight {
    /// Copies from an earlier search the counters that show if looking ahead is in vain.
    pub(super) fn inherit(&mut self, earlier: &Self) {
        self.blur = earlier.blur;
        self.blurred = earlier.blurred;
        self.unspoilt.clone_from(&earlier.unspoilt);
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

impl Foresight {
    /// Adds a content. Returns `true` if it is new.
    fn add(&mut self, value: Option<&Val>) -> bool {
        let Some(contents) = &mut self.contents else { return false };
        if contents.iter().any(|known| print(known.as_ref()) == print(value)) {
            return false;
        }
        if contents.len() == MOST_CONTENTS {
            self.contents = None;
            return false;
        }
        contents.push(value.cloned());
        true
    }
}

impl Part {
    /// Takes the pending reads whose known responses the present content gives. Returns `false` if some response can
    /// no longer come.
    pub(super) fn absorb(&mut self, world: &Composed<'_>, hypothesis: &mut Hypothesis, at: usize) -> bool {
        let stirred = std::mem::replace(&mut hypothesis.stirred, Stir::Calm);
        let place = self.log.get(at).or(self.log.last()).map_or(0, |entry| entry.place);
        if self.whole || !world.transport.is_reliable || world.transport.is_direct || !world.late.get() {
            return true;
        }
        let written = stirred == Stir::Written;
        self.scan(world);
        if written && hypothesis.dead_until > place {
            // The content has grown, and nothing sees that either.
            return true;
        }
        let judges =
            written && self.memory.foresight.grows && self.cells.len() == 1 && hypothesis.facts.is_empty();
        let mut unseen = true;
        let mut index = 0;
        while index < hypothesis.pending.len() {
            let pending = &hypothesis.pending[index];
            let watched = pending.watched;
            unseen &= watched || pending.delivery.foot.mute;
            let foot = &pending.delivery.foot;
            if !pending.delivery.alone
                || foot.replies != 1
                || (watched && !written)
                || foot.mute
                || world.answer(&pending.delivery).is_none()
            {
                index += 1;
                continue;
            }
            let delivery = Rc::clone(&pending.delivery);
            let foot = &delivery.foot;
            let Some((_, Seen::Message(seen))) = world.answer(&delivery) else {
                unseen = false;
                index += 1;
                continue;
            };
            if !world.is_deliverable(hypothesis, index)
                || (!foot.is_reader() && !watched && self.may_change(world, &delivery))
            {
                unseen = false;
                index += 1;
                continue;
            }
            let mut fit = Fit::No;
            let mut perhaps = false;
            let tried = if watched { SmallVec::from_elem(None, 1) } else { versions(hypothesis, index) };
            for version in tried {
                fit = world.passes_unnoticed(hypothesis, index, version, &**seen);
                perhaps |= fit == Fit::Perhaps;
                // Deliveries behind it on its connection are not taken before it, so it must not be placed later than
                // the first version that might fit.
                if fit == Fit::Now || (perhaps && delivery.followed.get()) {
                    break;
                }
            }
            if fit == Fit::Now {
                world.answer_now(hypothesis, delivery.wire);
                continue;
            }
            if judges && fit == Fit::Never && !self.has_origin(world, hypothesis, &delivery, at) {
                return false;
            }
            // If it might fit, the present content is one of its versions to come back to.
            hypothesis.pending[index].watched = !perhaps;
            unseen &= fit == Fit::Never && !perhaps;
            index += 1;
        }
        if written {
            if self.is_doomed(world, hypothesis, at) || self.is_lost(world, hypothesis, at) {
                return false;
            }
            self.drop_versions(world, hypothesis);
        }
        !judges || self.suits_next_read(world, hypothesis, at, unseen)
    }

    /// Returns `true` if this delivery would overwrite a write that nothing has read. The step can then be left out:
    /// the same state is found by delivering the overwriting message alone, and the other write, still pending, is
    /// covered by it.
    pub(super) fn is_idle_write(
        &self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        index: usize,
        place: u64,
    ) -> bool {
        let delivery = &hypothesis.pending[index].delivery;
        hypothesis.unseen_until > place
            && delivery.alone
            && delivery.foot.mute
            && delivery.foot.fixed
            && self.is_plain(world)
            // A delivery whose response is not known yet may have read it.
            && !hypothesis.pending.iter().any(|pending| touches(pending, delivery.foot.cells[0].0))
    }

    /// Notes the consequences of a delivery for those that are still pending.
    pub(super) fn note_write(
        &self,
        world: &Composed<'_>,
        (delivery, unseen): (&Delivery, u64),
        next: &mut Hypothesis,
    ) {
        if !delivery.foot.mute || !delivery.alone || !self.is_plain(world) {
            return;
        }
        let answer = world.answer(delivery);
        // Deliveries behind it on its connection cannot be taken before it: the time of its write then makes a
        // difference.
        let followed = delivery.followed.get()
            || (answer.is_none() && !world.foresees && !world.has_ended_at_all(delivery));
        next.unseen_until = if followed { 0 } else { answer.map_or(u64::MAX, |(place, _)| *place) };
        if delivery.foot.fixed {
            for pending in &mut next.pending {
                let delivery = &pending.delivery;
                // A delivery that never gets a response need not have been taken at all.
                let answered = !world.has_ended_at_all(delivery) || world.answer(delivery).is_some();
                pending.covered |= delivery.foot.mute && delivery.alone && answered;
            }
        } else {
            next.unseen_until = next.unseen_until.max(unseen);
        }
    }

    /// Returns `true` if the part consists of one cell, which only deliveries touch.
    pub(super) fn is_plain(&self, world: &Composed<'_>) -> bool {
        self.cells.len() == 1
            && !self.whole
            && world.transport.is_reliable
            && !world.transport.is_direct
            && world.late.get()
    }

    /// Scans the entries that were added to the log.
    fn scan(&mut self, world: &Composed<'_>) {
        if self.memory.foresight.scanned == self.log.len() || self.cells.len() != 1 {
            return;
        }
        if self.memory.foresight.scanned == 0 {
            let base = std::mem::take(&mut self.origin.hypotheses);
            self.scan_start(world, &base);
            self.origin.hypotheses = base;
        }
        while self.memory.foresight.scanned < self.log.len() {
            match &mut self.log[self.memory.foresight.scanned].task {
                Task::Given(delivery) => {
                    let delivery = Rc::clone(delivery);
                    self.memory.foresight.scan(Some(self.memory.foresight.scanned), &delivery);
                    self.reach(world, &delivery);
                }
                Task::Join(others) => {
                    let others = std::mem::take(others);
                    self.scan_start(world, &others);
                    self.log[self.memory.foresight.scanned].task = Task::Join(others);
                }
                _ => {}
            }
            self.memory.foresight.scanned += 1;
        }
    }

    /// Scans the hypotheses from which the search starts.
    fn scan_start(&mut self, world: &Composed<'_>, start: &[Hypothesis]) {
        for hypothesis in start {
            for pending in &hypothesis.pending {
                self.memory.foresight.scan(None, &pending.delivery);
                self.reach(world, &pending.delivery);
            }
            if !hypothesis.facts.is_empty() {
                self.memory.foresight.contents = None;
            }
            for cell in &hypothesis.cells {
                let past = cell.past().iter().map(|(value, _)| value);
                past.chain([&cell.now]).for_each(|value| _ = self.memory.foresight.add(value.as_ref()));
            }
        }
        self.memory.foresight.add(None);
        self.reach_all(world);
    }

    /// Returns `true` if the part is one cell whose possible contents are all listed ([`Foresight::contents`], which
    /// gives up if there are many), and no text grows.
    pub(super) fn has_few_contents(&mut self, world: &Composed<'_>) -> bool {
        self.scan(world);
        self.is_plain(world) && self.memory.foresight.contents.is_some() && !self.memory.foresight.grows
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
        if delivery.foot.is_reader() || self.memory.foresight.contents.is_none() {
            return;
        }
        self.memory.foresight.writers.push(Rc::clone(delivery));
        if self.reach_by(world, self.memory.foresight.writers.len() - 1) {
            self.reach_all(world);
        }
    }

    /// Applies every delivery to every content until no new content results.
    fn reach_all(&mut self, world: &Composed<'_>) {
        while (0..self.memory.foresight.writers.len()).any(|writer| self.reach_by(world, writer)) {}
    }

    fn reach_by(&mut self, world: &Composed<'_>, writer: usize) -> bool {
        let writer = Rc::clone(&self.memory.foresight.writers[writer]);
        let mut grown = false;
        let mut at = 0;
        while let Some(value) =
            self.memory.foresight.contents.as_ref().and_then(|contents| contents.get(at).cloned())
        {
            match self.effect(world, &writer, self.cells[0], value.as_ref()) {
                None => self.memory.foresight.contents = None,
                Some(Effect { after: Some(after), matches: true, .. }) => {
                    grown |= self.memory.foresight.add(after.as_ref());
                }
                Some(_) => {}
            }
            at += 1;
        }
        grown
    }

    /// Returns `true` if a delivery with its observed response may have changed something, or if that is unknown.
    fn may_change(&mut self, world: &Composed<'_>, delivery: &Delivery) -> bool {
        if self.memory.foresight.contents.is_none() || !delivery.foot.may_be_late() || self.cells.len() != 1 {
            return true;
        }
        if let Some(changes) = self.memory.foresight.changes.get(&delivery.sent) {
            return *changes;
        }
        let mut changes = false;
        let mut at = 0;
        while let Some(value) =
            self.memory.foresight.contents.as_ref().and_then(|contents| contents.get(at).cloned())
        {
            at += 1;
            changes |= match self.effect(world, delivery, self.cells[0], value.as_ref()) {
                None => true,
                Some(Effect { matches: false, .. } | Effect { after: None, .. }) => false,
                Some(Effect { after: Some(after), .. }) => print(after.as_ref()) != print(value.as_ref()),
            };
        }
        self.memory.foresight.changes.insert(delivery.sent, changes);
        changes
    }

    /// Returns `true` if the next read that is yet to be sent can still find the content that it observed. If that
    /// requires the present content to be overwritten, and nothing sees it before, not even deliveries in flight
    /// (`unseen`), that is noted in `dead_until`.
    fn suits_next_read(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        at: usize,
        unseen: bool,
    ) -> bool {
        let first = self.memory.foresight.readers.partition_point(|(index, _)| *index < at);
        let Some((_, next)) = self.memory.foresight.readers.get(first) else { return true };
        let next = Rc::clone(next);
        let Some((answered, Seen::Message(seen))) = world.answer(&next) else { return true };
        if world.fit(hypothesis, &next, 0, None, &**seen) != Fit::Never {
            return true;
        }
        if unseen && self.is_unseen_until(world, hypothesis, at, *answered) {
            hypothesis.dead_until = *answered;
        }
        self.has_origin(world, hypothesis, &next, at)
    }

    /// Returns `true` if one of the next reads that are yet to be sent observed a content that nothing can bring
    /// about any more. Where every content of the only cell is known, everything that deliveries in flight or sent by
    /// then lead to is explored, in any number and order.
    fn is_lost(&mut self, world: &Composed<'_>, hypothesis: &Hypothesis, at: usize) -> bool {
        if hypothesis.cells.len() != 1 || !hypothesis.facts.is_empty() || !self.has_few_contents(world) {
            return false;
        }
        let first = self.memory.foresight.readers.partition_point(|(index, _)| *index < at);
        for ahead in first..first + READS_AHEAD {
            let Some((_, reader)) = self.memory.foresight.readers.get(ahead) else { return false };
            let reader = Rc::clone(reader);
            let Some((answered, Seen::Message(_))) = world.answer(&reader) else { continue };
            if self.may_find(world, hypothesis, at, &reader, *answered) == Some(false) {
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
        let mut contents: SmallVec<[Option<Val>; 16]> = SmallVec::new();
        contents.push(cell.now.clone());
        let mut next = 0;
        while let Some(content) = contents.get(next).cloned() {
            next += 1;
            if self.effect(world, reader, cell.number, content.as_ref())?.matches {
                return Some(true);
            }
            let later = self.log[at.min(self.log.len())..].iter();
            let later =
                later.take_while(|entry| entry.place < answered).filter_map(|entry| match &entry.task {
                    Task::Given(delivery) => Some(delivery),
                    _ => None,
                });
            let under_way = hypothesis.pending.iter().map(|pending| &pending.delivery);
            let writers: SmallVec<[Rc<Delivery>; 16]> =
                under_way.chain(later).filter(|delivery| !delivery.foot.is_reader()).cloned().collect();
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

    /// Returns `true` if no delivery sent before `place` can have seen the present content of the only cell, nor what
    /// it grows into.
    fn is_unseen_until(&self, world: &Composed<'_>, hypothesis: &Hypothesis, at: usize, place: u64) -> bool {
        self.log[at..].iter().take_while(|entry| entry.place < place).all(|entry| match &entry.task {
            Task::Given(delivery) if delivery.foot.mute => true,
            Task::Given(delivery) if delivery.foot.is_reader() && delivery.alone => {
                matches!(world.answer(delivery), Some((_, Seen::Message(seen)))
                    if world.fit(hypothesis, delivery, 0, None, &**seen) == Fit::Never)
            }
            Task::Explain(..) => true,
            _ => false,
        })
    }

    /// Returns `true` if a delivery in flight or yet to come could leave behind the content that this read observed,
    /// or one that grows into it.
    fn has_origin(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        reader: &Rc<Delivery>,
        at: usize,
    ) -> bool {
        let Foresight { origins, overwriters, .. } = &mut self.memory.foresight;
        let origins = origins.entry(reader.sent).or_insert_with(|| {
            let (answered, Seen::Message(seen)) = world.answer(reader)? else { return None };
            let mut found = Vec::new();
            for writer in overwriters.iter().filter(|writer| writer.place < *answered) {
                if !writer.foot.fixed {
                    return None;
                }
                if world.leads_to(writer, reader, &**seen) {
                    found.push((writer.sent, writer.place));
                }
            }
            Some(found.into())
        });
        let Some(origins) = origins else { return true };
        let now = self.log.get(at).map_or(u64::MAX, |entry| entry.place);
        origins.iter().any(|(sent, place)| {
            *place >= now || hypothesis.pending.iter().any(|pending| pending.delivery.sent == *sent)
        })
    }

    /// Takes the observation's own delivery if it only reads, and one version of its cell explains the observation
    /// without teaching anything. Returns `true` if so: no alternative is needed then.
    pub(super) fn settle_read(
        &self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        conn: Conn,
        seen: &Message,
    ) -> bool {
        let wire = conn.wire();
        // On a reliable network only the first may be taken.
        let Some(index) = hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == wire) else {
            return false;
        };
        let delivery = Rc::clone(&hypothesis.pending[index].delivery);
        let foot = &delivery.foot;
        if !world.late.get()
            || !foot.is_reader()
            || foot.replies != 1
            || !world.is_deliverable(hypothesis, index)
        {
            return false;
        }
        let passes = versions(hypothesis, index).into_iter().find_map(|version| {
            match world.passes_unnoticed(hypothesis, index, version, seen) {
                Fit::Now => Some(true),
                // Deliveries behind it on its connection are not taken before it, so it must not be placed later than
                // this.
                Fit::Perhaps if delivery.followed.get() => Some(false),
                _ => None,
            }
        });
        passes.unwrap_or(false)
    }

    /// Determines if the delivery at `index` can ever give its observed response, whatever the others do: by changing
    /// something (`loud`), or without (`quiet`). Explores every content to which the others could bring the only
    /// cell, in any number and order; `None` where that is too much.
    pub(super) fn outlook(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        index: usize,
    ) -> Option<Outlook> {
        let [cell] = hypothesis.cells.as_slice() else { return None };
        if !hypothesis.facts.is_empty() || world.has_internal || self.memory.foresight.grows {
            return None;
        }
        // Where contents never repeat, looking ahead is in vain; it is tried again now and then.
        if self.memory.foresight.blurred > 0 {
            self.memory.foresight.blurred -= 1;
            return None;
        }
        let number = cell.number;
        let mut contents: SmallVec<[Option<Val>; 16]> = SmallVec::new();
        contents.push(cell.now.clone());
        let mut outlook = Outlook { quiet: false, loud: false };
        for version in versions(hypothesis, index).into_iter().flatten() {
            let past = cell.past()[version].0.clone();
            outlook.quiet |=
                self.effect(world, &hypothesis.pending[index].delivery, number, past.as_ref())?.matches;
        }
        let mut at = 0;
        while at < contents.len() {
            for (other, pending) in hypothesis.pending.iter().enumerate() {
                if pending.delivery.foot.is_reader() && other != index {
                    continue;
                }
                let Effect { matches, after, .. } =
                    self.effect(world, &pending.delivery, number, contents[at].as_ref())?;
                if !matches {
                    continue;
                }
                if other == index {
                    outlook.quiet |= after.is_none();
                    outlook.loud |= after.is_some();
                } else if let Some(after) = after
                    && !contents.iter().any(|known| print(known.as_ref()) == print(after.as_ref()))
                {
                    if contents.len() == MOST_CONTENTS {
                        self.memory.foresight.blur = (self.memory.foresight.blur * 4).clamp(16, 1 << 20);
                        self.memory.foresight.blurred = self.memory.foresight.blur;
                        return None;
                    }
                    contents.push(after);
                }
            }
            at += 1;
        }
        Some(outlook)
    }

    fn effect(
        &mut self,
        world: &Composed<'_>,
        delivery: &Delivery,
        cell: u32,
        value: Option<&Val>,
    ) -> Option<Effect> {
        let key = (delivery.sent, value.map_or(1, |value| value.fingerprint.0));
        match self.memory.foresight.effects.get(&key) {
            Some(None) => return None,
            // A response may have come since.
            Some(Some(effect)) if effect.answered || !world.is_answered(delivery) => {
                return Some(effect.clone());
            }
            _ => {}
        }
        let effect = world.effect(delivery, cell, value);
        self.memory.foresight.effects.insert(key, effect.clone());
        effect
    }
}

fn print(value: Option<&Val>) -> Option<Fingerprint> {
    value.map(|value| value.fingerprint)
}
