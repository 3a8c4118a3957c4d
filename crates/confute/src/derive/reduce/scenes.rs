//! Scenes: a content with secrets from which some observed response can no longer come is given up.
//!
//! A scene is the content of the only cell with the facts about its secrets, and nothing else. From a scene every
//! delivery that is in flight or will be sent leads to others, in any number and order.
//!
//! *Leaves out*: hypotheses in which a delivery can never again give its observed response, and earlier contents that no
//! delivery in flight can have seen, with the facts about their secrets.
//!
//! *Why no verdict changes*: a scene ignores which deliveries were taken already and the relations of its secrets to
//! others, so it admits more than is possible: a delivery that gives its response in none of the scenes within reach gives
//! it in no future of the hypothesis. An earlier content is dropped only if no delivery in flight, placed there, gives its
//! known response and leaves the content as it was.
//!
//! *Premises*:
//! - *Alone on its connection*: then the first observation there is the response of this delivery, not of another.
//! - *Earlier versions count* (the response may have been given before), *and where all that is in flight or sent before the
//!   response leads*.
//! - *Nothing else is behind a delivery on its connection* where versions are dropped: the start of an earlier content
//!   makes a difference to the next one there.
//! - *A covered write* may be taken without effect, so it is not asked.
//! - *One cell with facts about secrets; no growing texts; no internal turns; no turn that waits.*
//!
//! *Place in the order*: after the known reads, which are taken at no cost. It explores, so it pauses after it met too
//! many scenes.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Reduction;
use super::late::{touches, versions};
use crate::derive::book::Seen;
use crate::derive::compose::{Brood, Composed};
use crate::derive::dualize::Task;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{CellState, Delivery, Hypothesis, Pending};
use crate::derive::search::Part;
use crate::lang::Val;

/// Number of scenes that are explored before everything is assumed to be possible.
const MOST_SCENES: usize = 48;

/// The scenes that a part has met, and the transitions between them.
#[derive(Default)]
pub(in crate::derive) struct Scenes {
    numbers: FxHashMap<u128, usize>,
    all: Vec<Rc<Hypothesis>>,
    /// Scenes that follow, by delivery and scene; `true` if its response was known when they were computed.
    after: FxHashMap<(u32, usize), (bool, SmallVec<[usize; 2]>)>,
    /// Number of times that exploring is skipped after it was in vain; `blurred` is the number of skips left.
    blur: u32,
    blurred: u32,
}

impl Scenes {
    fn number(&mut self, scene: Hypothesis) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(scene.fingerprint(0, true).0).or_insert(next);
        if number == next {
            self.all.push(Rc::new(scene));
        }
        number
    }

    /// Returns the scene of this hypothesis if its cell holds, or when it held, this value.
    fn of(&mut self, hypothesis: &Hypothesis, cell: u32, value: Option<&Val>) -> usize {
        let mut scene = Hypothesis { facts: hypothesis.facts.clone(), ..Hypothesis::default() };
        scene.cells.push(CellState { number: cell, now: value.cloned(), past: None });
        scene.forget();
        self.number(scene)
    }

    /// Returns the scenes to which a delivery leads from a scene, with its response if that is known. The delivery
    /// must have been alone on its connection: the first observation there since it was sent is then its response.
    fn after(&mut self, world: &Composed<'_>, delivery: &Rc<Delivery>, scene: usize) -> SmallVec<[usize; 2]> {
        let answered = world.is_answered(delivery);
        let key = (delivery.sent, scene);
        if let Some((known, after)) = self.after.get(&key)
            && *known == answered
        {
            return after.clone();
        }
        let mut start = Hypothesis::clone(&self.all[scene]);
        let number = start.cells[0].number;
        start.pending.push(Pending {
            delivery: Rc::clone(delivery),
            since: 0,
            taken: 0,
            loose: false,
            watched: false,
            covered: false,
            stale: false,
        });
        let mut brood = Brood::new();
        world.deliver(Rc::new(start), 0, delivery.place, &mut brood);
        let after: SmallVec<[usize; 2]> = brood
            .iter()
            .map(|next| self.of(next, number, next.cell(number).and_then(|cell| cell.now.as_ref())))
            .collect();
        self.after.insert(key, (answered, after.clone()));
        after
    }
}

impl Part {
    /// Returns `true` if scenes are informative for this hypothesis.
    fn has_scenes(&self, world: &Composed<'_>, hypothesis: &Hypothesis) -> bool {
        world.reduces(Reduction::Scenes)
            && hypothesis.cells.len() == 1
            && !hypothesis.facts.is_empty()
            && hypothesis.suspended.is_none()
            && !self.memory.contents.grows
            && !world.has_internal
            && self.is_plain(world)
    }

    /// Drops earlier contents that no delivery in flight can turn out to have seen, so that the facts about their
    /// secrets can be forgotten too.
    pub(super) fn drop_versions(&mut self, world: &Composed<'_>, hypothesis: &mut Hypothesis) {
        if !self.has_scenes(world, hypothesis)
            || hypothesis.cells[0].past.is_none()
            // The start of an earlier content makes a difference to deliveries behind on the same connection.
            || hypothesis.is_pipelined()
            || (!hypothesis.pending.iter().all(|pending| pending.delivery.alone)
                && !planted(Fault::VersionsDroppedBesideOthers))
        {
            return;
        }
        let cell = &hypothesis.cells[0];
        let mut kept = Vec::new();
        for (value, until) in cell.past() {
            let scene = self.memory.scenes.of(hypothesis, cell.number, value.as_ref());
            let print = value.as_ref().map(|value| value.fingerprint);
            let seen = hypothesis.pending.iter().any(|pending| {
                touches(pending, cell.number) && pending.since < *until && {
                    let after = self.memory.scenes.after(world, &pending.delivery, scene);
                    after.into_iter().any(|after| {
                        let now = &self.memory.scenes.all[after].cells[0].now;
                        now.as_ref().map(|value| value.fingerprint) == print
                    })
                }
            });
            if seen {
                kept.push((value.clone(), *until));
            }
        }
        if kept.len() < cell.past().len() {
            hypothesis.cells[0].past = if kept.is_empty() { None } else { Some(Rc::new(kept)) };
            hypothesis.forget();
        }
    }

    /// Returns the order in which to try the observation's own delivery (`mine`) and the others: those that spoil the
    /// responses of the fewest others first.
    pub(super) fn rank_by_scenes(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        mine: usize,
        others: &[usize],
        depth: usize,
    ) -> Option<SmallVec<[(usize, usize); 8]>> {
        if !self.has_scenes(world, hypothesis) || self.memory.scenes.blurred > 0 {
            return None;
        }
        let cell = &hypothesis.cells[0];
        let now = self.memory.scenes.of(hypothesis, cell.number, cell.now.as_ref());
        let mut able: SmallVec<[(usize, SmallVec<[usize; 2]>); 8]> = SmallVec::new();
        for index in others.iter().copied().chain([mine]) {
            let delivery = &hypothesis.pending[index].delivery;
            if !delivery.alone || delivery.foot.whole {
                return None;
            }
            let after = self.memory.scenes.after(world, delivery, now);
            // A read may have been taken when the content was different.
            if !after.is_empty() || delivery.foot.is_reader() {
                able.push((index, after));
            }
        }
        if self.thorough {
            let deep = |(index, _)| (index, if index == mine { depth } else { depth + 1 });
            return Some(able.into_iter().map(deep).collect());
        }
        let mut ranked: SmallVec<[_; 8]> = SmallVec::new();
        for (index, after) in &able {
            let spoilt = match after.first() {
                None => usize::MAX,
                Some(scene) => able
                    .iter()
                    .filter(|(other, _)| {
                        let delivery = &hypothesis.pending[*other].delivery;
                        other != index
                            && world.is_answered(delivery)
                            && self.memory.scenes.after(world, delivery, *scene).is_empty()
                    })
                    .count(),
            };
            ranked.push((spoilt, *index));
        }
        let by_mine =
            ranked.iter().find(|(_, index)| *index == mine).map_or(usize::MAX, |(spoilt, _)| *spoilt);
        ranked.sort_by_key(|(spoilt, index)| match (by_mine, *index == mine) {
            (0, true) => (0, 0),
            (_, own) => (*spoilt, usize::from(!own)),
        });
        let deep =
            |(spoilt, index)| (index, if index == mine || spoilt < by_mine { depth } else { depth + 1 });
        Some(ranked.into_iter().map(deep).collect())
    }

    /// Returns `true` if some delivery in flight can never again give its observed response.
    pub(super) fn is_doomed(&mut self, world: &Composed<'_>, hypothesis: &Hypothesis, at: usize) -> bool {
        let [cell] = hypothesis.cells.as_slice() else { return false };
        if !self.has_scenes(world, hypothesis) {
            return false;
        }
        if self.memory.scenes.blurred > 0 {
            self.memory.scenes.blurred -= 1;
            return false;
        }
        let number = cell.number;
        // Deliveries that have yet to give their responses.
        let mut open: SmallVec<[(Rc<Delivery>, u64); 8]> = SmallVec::new();
        for (index, pending) in hypothesis.pending.iter().enumerate() {
            let foot = &pending.delivery.foot;
            if !pending.delivery.alone {
                return false;
            }
            if pending.covered || foot.replies != 1 || foot.closes || foot.whole || foot.cells.len() != 1 {
                continue;
            }
            let Some((place, Seen::Message(_))) = world.answer(&pending.delivery) else { continue };
            let mut earlier = versions(hypothesis, index).into_iter().flatten();
            let came_earlier = !planted(Fault::DoomedWithoutPast)
                && foot.may_be_late()
                && !pending.watched
                && earlier.any(|version| {
                    let scene = self.memory.scenes.of(hypothesis, number, cell.past()[version].0.as_ref());
                    !self.memory.scenes.after(world, &pending.delivery, scene).is_empty()
                });
            if !came_earlier {
                open.push((Rc::clone(&pending.delivery), *place));
            }
        }
        let mut todo: SmallVec<[usize; 16]> = SmallVec::new();
        todo.push(self.memory.scenes.of(hypothesis, number, cell.now.as_ref()));
        let mut next = 0;
        while let Some(scene) = todo.get(next).copied() {
            next += 1;
            open.retain(|(delivery, _)| self.memory.scenes.after(world, delivery, scene).is_empty());
            let Some(last) = open.iter().map(|(_, place)| *place).max() else { return false };
            let sent = self.log[at.min(self.log.len())..].iter();
            let later = sent.take_while(|entry| entry.place < last).filter_map(|entry| match &entry.task {
                Task::Given(delivery) => Some(delivery),
                _ => None,
            });
            let under_way = if planted(Fault::DoomedWithoutOthers) { 0 } else { usize::MAX };
            let to_come = if planted(Fault::DoomedWithoutLater) { 0 } else { usize::MAX };
            let pending = hypothesis.pending.iter().map(|pending| &pending.delivery).take(under_way);
            let all = pending.chain(later.take(to_come));
            for delivery in all.filter(|delivery| !delivery.foot.is_reader()) {
                if !delivery.alone || delivery.foot.whole {
                    return false;
                }
                for after in self.memory.scenes.after(world, delivery, scene) {
                    if !todo.contains(&after) {
                        todo.push(after);
                    }
                }
            }
            if todo.len() > MOST_SCENES {
                self.memory.scenes.blur = (self.memory.scenes.blur * 4).clamp(16, 1 << 16);
                self.memory.scenes.blurred = self.memory.scenes.blur;
                return false;
            }
        }
        true
    }
}
