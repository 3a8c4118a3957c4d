//! The search by tables: requests are handled when a response has to be explained, and the way back undoes it.

use smallvec::SmallVec;

use super::{Change, Choice, NEVER, Outcome, Place, Step, Tables};
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::reduce::Reduction;
use crate::derive::search::Progress;
use crate::engine::{Meter, Pulse};
use crate::fingerprint::Fingerprint;

/// Mark of the alternative that the request whose response is due was handled unseen, before the present content was
/// written.
const COVERED: u32 = 1 << 31;

impl Tables {
    /// Searches until the log is explained, no alternative is left, or the meter is spent.
    pub(super) fn search(
        &mut self,
        world: &Composed<'_>,
        meter: &mut Meter<'_>,
        pulse: &dyn Fn(&Self) -> Pulse,
    ) -> Progress {
        if self.place.at > 0 && self.place.at as usize == self.steps.len() {
            return Progress::Explained;
        }
        // After a pause the search goes on with the next alternative; at first there is none.
        let mut goes_on = self.choices.is_empty();
        loop {
            if goes_on && self.forward(world) {
                return Progress::Explained;
            }
            if self.has_failed()
                || world.tally.mistake.borrow().is_some()
                || meter.is_spent(world.tally.runs.get(), || pulse(self))
            {
                return Progress::Unfinished;
            }
            match self.next_alternative(world) {
                Some(alternative) => goes_on = self.take(world, alternative),
                None => return Progress::Failed,
            }
        }
    }

    /// Goes through the log until a response has no explanation yet. Returns `true` at the end of the log; otherwise
    /// lists the alternatives.
    fn forward(&mut self, world: &Composed<'_>) -> bool {
        let takes_reads = world.reduces(Reduction::KnownReads);
        while let Some(step) = self.steps.get(self.place.at as usize) {
            self.furthest = self.furthest.max(self.place.at);
            match *step {
                Step::Called(request) => {
                    self.add(request);
                    if takes_reads && self.is_known_read(request) {
                        self.try_read(world, request);
                    }
                }
                Step::Answered(request) if self.handled_at[request as usize] == NEVER => {
                    self.choose(world, request);
                    return false;
                }
                Step::Answered(_) => {}
            }
            self.place.at += 1;
        }
        true
    }

    /// Lists the requests that may be handled next, the likeliest last, unless that was done before in the same state.
    fn choose(&mut self, world: &Composed<'_>, due: u32) {
        if world.reduces(Reduction::Remembering) && !self.met.insert(self.fingerprint()) {
            world.left_out(Reduction::Remembering);
            return;
        }
        let first = self.alternatives.len();
        self.choices.push(Choice {
            place: self.place,
            trail: self.trail.len() as u32,
            alternatives: first as u32,
        });
        let hides = world.reduces(Reduction::UnseenWrites);
        let is_unseen = hides
            && (self.place.unseen_until > self.place.at
                || (self.place.unseen_until > 0 && planted(Fault::TabulatedUnseenThoughAnswered)));
        let fits_now = self.outcome(world, due, self.place.content).fits();
        self.push_others(world, (due, fits_now), is_unseen);
        let own = &self.requests[due as usize];
        let is_covered = hides && own.mute && own.called < self.place.covered_until;
        let overwrites_unseen = is_unseen && own.fixed;
        if !overwrites_unseen && fits_now {
            self.alternatives.push(due);
        }
        if is_covered && fits_now {
            self.alternatives.push(due | COVERED);
        }
    }

    /// Lists the requests in flight that fit at the present content, but for the one that is due.
    fn push_others(&mut self, world: &Composed<'_>, (due, fits_now): (u32, bool), is_unseen: bool) {
        // With projections, the order in which requests are due says much about the order in which they were handled;
        // otherwise those sent first come first.
        let by_due = self.projections.is_some();
        let asks_leads = if by_due { !fits_now } else { self.requests[due as usize].reads };
        let mut options: SmallVec<[(u8, u32, u32); 16]> = SmallVec::new();
        let mut next = self.before[self.requests.len()];
        while (next as usize) < self.requests.len() {
            let request = next;
            next = self.before[request as usize];
            let outcome = match self.outcome(world, request, self.place.content) {
                // Without a response it need not have been handled at all.
                Outcome::Same if self.requests[request as usize].answered == NEVER => continue,
                outcome if !outcome.fits() => continue,
                outcome => outcome,
            };
            if request == due {
                continue;
            }
            let it = &self.requests[request as usize];
            if is_unseen && it.fixed {
                world.left_out(Reduction::UnseenWrites);
                continue;
            }
            let fits_seldom = u8::from(by_due && !it.mute);
            let order = if by_due { !it.answered } else { options.len() as u32 };
            let leads =
                asks_leads && matches!(outcome, Outcome::To(after) if self.outcome(world, due, after).fits());
            options.push((if leads { 2 } else { fits_seldom }, order, request));
        }
        // Those that lead to the response at once come last, and are tried first.
        options.sort_unstable();
        self.alternatives.extend(options.into_iter().map(|(.., request)| request));
    }

    /// Goes back to the latest alternative, and removes it from the list.
    fn next_alternative(&mut self, world: &Composed<'_>) -> Option<u32> {
        loop {
            let choice = self.choices.last()?;
            let (place, trail) = (choice.place, choice.trail);
            if self.alternatives.len() > choice.alternatives as usize {
                self.undo(trail);
                self.place = place;
                return self.alternatives.pop();
            }
            if self.is_hopeless(world, place.at) {
                self.choices.clear();
                return None;
            }
            self.choices.pop();
            self.retreats += 1;
        }
    }

    /// Handles a request. Returns `false` if what follows can be left out.
    fn take(&mut self, world: &Composed<'_>, alternative: u32) -> bool {
        world.tally.runs.set(world.tally.runs.get() + 1);
        let request = alternative & !COVERED;
        self.note_step(world, request);
        if alternative != request {
            // The content is the same as without it.
            self.remove(request);
            return true;
        }
        let outcome = self.outcome(world, request, self.place.content);
        self.remove(request);
        let (fixed, answered) =
            (self.requests[request as usize].fixed, self.requests[request as usize].answered);
        self.place.unseen_until = if fixed { answered } else { 0 };
        if fixed {
            self.place.covered_until = self.place.at;
        }
        if self.is_contradicted(world, request, self.place.content) {
            return false;
        }
        let Outcome::To(content) = outcome else { return true };
        let old = std::mem::replace(&mut self.place.content, content);
        if world.reduces(Reduction::KnownReads) {
            let mut next = self.behind[self.requests.len()];
            while (next as usize) < self.requests.len() {
                let read = next;
                next = self.behind[read as usize];
                if self.is_known_read(read) {
                    self.try_read(world, read);
                }
            }
        }
        !self.is_lost(world, old)
    }

    /// Notes in the log of the search, if there is one, that a request is handled now.
    fn note_step(&self, world: &Composed<'_>, request: u32) {
        if world.log.is_some()
            && let Some(Step::Answered(due)) = self.steps.get(self.place.at as usize)
        {
            let due = &self.requests[*due as usize].delivery;
            let event = world.answer(due).map_or(due.place, |(place, _)| *place);
            world.note_handled(&self.requests[request as usize].delivery, event, self.alternatives.len());
        }
    }

    /// Returns `true` if the request is handled at the first content that gives its response.
    pub(super) fn is_known_read(&self, request: u32) -> bool {
        let request = &self.requests[request as usize];
        request.reads || planted(Fault::TabulatedReadsThatWrite)
    }

    /// Handles a read if the present content gives its response.
    fn try_read(&mut self, world: &Composed<'_>, read: u32) {
        if self.outcome(world, read, self.place.content) == Outcome::Same {
            self.remove(read);
            if !planted(Fault::TabulatedUnseenThoughRead) {
                self.place.unseen_until = 0;
            }
            world.left_out(Reduction::KnownReads);
        }
    }

    /// Returns the fingerprint of the present state. Of the last write without a look it matters only which requests
    /// it covers, and of an unseen content only until when it may stay so.
    fn fingerprint(&self) -> u128 {
        let Place { at, content, unseen_until, covered_until } = self.place;
        let mut covered = self.before[self.requests.len()];
        while self
            .requests
            .get(covered as usize)
            .is_some_and(|it| it.called >= covered_until || !it.mute || it.answered == NEVER)
        {
            covered = self.before[covered as usize];
        }
        let unseen = if unseen_until > at { unseen_until } else { 0 };
        let here = (u64::from(at) << 32 | u64::from(content), u64::from(covered) << 32 | u64::from(unseen));
        Fingerprint::of(&here).plus(Fingerprint(self.print)).0
    }

    /// Adds a request to the end of the list.
    fn add(&mut self, request: u32) {
        let ends = self.requests.len() as u32;
        let last = self.before[ends as usize];
        self.before[request as usize] = last;
        self.behind[request as usize] = ends;
        self.behind[last as usize] = request;
        self.before[ends as usize] = request;
        self.print = self.print.wrapping_add(self.requests[request as usize].print);
        self.trail.push(Change::Added(request));
    }

    /// Removes a request from the list. Its own neighbours stay noted, so that it can be put back.
    fn remove(&mut self, request: u32) {
        self.unlink(request);
        self.handled_at[request as usize] = self.trail.len() as u32;
        self.trail.push(Change::Removed(request));
    }

    fn unlink(&mut self, request: u32) {
        let (before, behind) = (self.before[request as usize], self.behind[request as usize]);
        self.behind[before as usize] = behind;
        self.before[behind as usize] = before;
        self.print = self.print.wrapping_sub(self.requests[request as usize].print);
    }

    /// Undoes the changes since the trail had this length, in reverse order.
    fn undo(&mut self, length: u32) {
        while self.trail.len() > length as usize {
            match self.trail.pop() {
                Some(Change::Added(request)) => self.unlink(request),
                Some(Change::Removed(request)) => {
                    let (before, behind) = (self.before[request as usize], self.behind[request as usize]);
                    self.behind[before as usize] = request;
                    self.before[behind as usize] = request;
                    self.handled_at[request as usize] = NEVER;
                    self.print = self.print.wrapping_add(self.requests[request as usize].print);
                }
                None => return,
            }
        }
    }
}
