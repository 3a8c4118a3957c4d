//! Lost contents and growing texts, in a search by tables: a content from which one of the next reads can no longer find
//! what it observed is given up.
//!
//! *Leaves out*: states in which a read, in flight or among the next that are sent, can no longer find what it observed.
//!
//! *Why no verdict changes*: a read that is not handled yet finds its response at the present content, or at one that a
//! request leaves behind which is not handled yet either, and which is sent before the response of the read. If the present
//! content does not give its response, and none of these requests leaves a content that does, nothing explains the read.
//! Where texts grow, the present content and those that are left behind count if they may grow into the response
//! ([`may_grow_into`](crate::lang::ServerModel::may_grow_into)), and additions lead to no other text than what they are
//! added to.
//!
//! *Premises*:
//! - *Requests in flight count, and those that are sent before the response*.
//! - *The content that a request leaves is certain* only if its turn looks at nothing. Any other may leave anything, unless
//!   all contents that can occur at all are few, and listed ([`Tables::list_contents`]).
//! - *A read that changes nothing*: what else it may do is not asked. A turn that changes none of the listed contents while
//!   it gives its response counts as a read from then on; a compare-and-swap that failed is an example. One that changes
//!   only some of them does not: it may have been handled where it did.
//!
//! *Place in the order*: after the reads that the new content answers were taken. Growing texts are compared at once;
//! contents are asked for once the search had to go back now and then, because that costs more than a step.

use rustc_hash::FxHashMap;

use super::{NEVER, Outcome, Step, Tables};
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::reduce::Reduction;
use crate::derive::reduce::contents::MOST_CONTENTS;

/// Number of retreats after which it is asked if contents are lost: at once in the tests, whose traces are short.
const PATIENCE: Option<u64> = if cfg!(feature = "faults") { None } else { Some(8) };

/// Number of reads yet to be sent that are asked.
const READS_AHEAD: usize = 12;

/// Number of reads yet to be sent whose texts are compared.
const TEXTS_AHEAD: usize = 2;

/// Number of requests above which contents are not listed: their effects at each would cost more than that saves.
const MOST_LISTED: usize = 4096;

/// Knowledge about which request can lead to the response of which read.
#[derive(Default)]
pub(super) struct Outlook {
    leads: FxHashMap<u64, bool>,
    /// `true` if some request adds to a text.
    grows: bool,
    /// Requests that replace the content, in sending order.
    overwriters: Vec<u32>,
    /// `true` if it was tried to list the contents.
    asked: bool,
    /// `true` if every content that can occur is listed.
    listed: bool,
}

impl Outlook {
    /// Notes a request.
    pub(super) fn note(&mut self, request: u32, adds: bool, reads: bool) {
        self.grows |= adds;
        if !adds && !reads {
            self.overwriters.push(request);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.leads.capacity() * 10 + self.overwriters.capacity() * 4
    }
}

impl Tables {
    /// Returns `true` if one of the next reads cannot find what it observed any more, now that `old` was replaced.
    pub(super) fn is_lost(&mut self, world: &Composed<'_>, old: u32) -> bool {
        let (reduction, is_lost) = if self.outlook.grows {
            (Reduction::GrowingTexts, world.reduces(Reduction::GrowingTexts) && self.is_stunted(world))
        } else {
            let is_asked = PATIENCE.is_none_or(|patience| self.retreats >= patience)
                && world.reduces(Reduction::LostContents);
            (Reduction::LostContents, is_asked && self.is_missed(world, old))
        };
        if is_lost {
            world.left_out(reduction);
        }
        is_lost
    }

    /// Returns `true` if the present text cannot grow into what one of the next reads observed, and none that could
    /// will take its place.
    fn is_stunted(&mut self, world: &Composed<'_>) -> bool {
        let mut next = self.behind[self.requests.len()];
        while (next as usize) < self.requests.len() {
            if self.is_out_of_reach(world, next) {
                return true;
            }
            next = self.behind[next as usize];
        }
        let mut ahead = 0;
        let mut at = self.place.at as usize;
        while let (Some(step), true) = (self.steps.get(at), ahead < TEXTS_AHEAD) {
            at += 1;
            if let Step::Called(read) = *step
                && self.requests[read as usize].reads
            {
                ahead += 1;
                if self.is_out_of_reach(world, read) {
                    return true;
                }
            }
        }
        false
    }

    fn is_out_of_reach(&mut self, world: &Composed<'_>, read: u32) -> bool {
        let request = &self.requests[read as usize];
        request.reads
            && request.answered != NEVER
            && self.outcome(world, read, self.place.content) == Outcome::Never
            && !self.may_come(world, read)
    }

    /// Returns `true` if one of the next reads needs the content that was just replaced, and it cannot come back.
    fn is_missed(&mut self, world: &Composed<'_>, old: u32) -> bool {
        if !std::mem::replace(&mut self.outlook.asked, true) {
            self.list_contents(world);
        }
        let mut ahead = 0;
        let mut at = self.place.at as usize;
        while ahead < READS_AHEAD {
            let Some(step) = self.steps.get(at) else { return false };
            at += 1;
            let Step::Called(read) = *step else { continue };
            if !self.requests[read as usize].reads {
                continue;
            }
            ahead += 1;
            // If it did not find its response in the old content either, the loss is older.
            if self.outcome(world, read, old) == Outcome::Same
                && self.outcome(world, read, self.place.content) != Outcome::Same
                && !self.may_come(world, read)
            {
                return true;
            }
        }
        false
    }

    /// Returns `true` if a request that is not handled yet may lead to the response of this read.
    fn may_come(&mut self, world: &Composed<'_>, read: u32) -> bool {
        let mut next = self.behind[self.requests.len()];
        while (next as usize) < self.requests.len() {
            if self.leads(world, next, read) && !planted(Fault::TabulatedLostWithoutWhatIsInFlight) {
                return true;
            }
            next = self.behind[next as usize];
        }
        let (now, end) = (self.place.at, self.requests[read as usize].answered);
        let first = self.outlook.overwriters.partition_point(|it| self.requests[*it as usize].called < now);
        for index in first..self.outlook.overwriters.len() {
            let writer = self.outlook.overwriters[index];
            if self.requests[writer as usize].called > end {
                break;
            }
            if self.leads(world, writer, read) && !planted(Fault::TabulatedLostWithoutWhatComes) {
                return true;
            }
        }
        false
    }

    /// Returns `true` if this request may leave a content that gives the response of the read, or grows into one that
    /// does.
    fn leads(&mut self, world: &Composed<'_>, writer: u32, read: u32) -> bool {
        let request = &self.requests[writer as usize];
        if request.reads || request.adds {
            return false;
        }
        let is_fixed = request.fixed;
        if !is_fixed && !self.outlook.listed {
            return true;
        }
        let key = u64::from(writer) << 32 | u64::from(read);
        if let Some(leads) = self.outlook.leads.get(&key) {
            return *leads;
        }
        // What looks at nothing leaves the same content in every state.
        let states = if is_fixed { 1 } else { self.effects.len() as u32 };
        let leads = (0..states).any(|state| {
            let after = match self.outcome(world, writer, state) {
                Outcome::To(after) => after,
                Outcome::Same if is_fixed => state,
                _ => return false,
            };
            let found = self.outcome(world, read, after);
            found == Outcome::Same || (self.outlook.grows && found == Outcome::Differs)
        });
        self.outlook.leads.insert(key, leads);
        leads
    }

    /// Lists every content that can occur, unless there are many. Requests that change none of them while they give their
    /// response are reads from now on.
    fn list_contents(&mut self, world: &Composed<'_>) {
        if self.requests.len() > MOST_LISTED {
            return;
        }
        let mut content = 0;
        while (content as usize) < self.effects.len() {
            if self.effects.len() > MOST_CONTENTS || self.has_failed() {
                return;
            }
            for request in 0..self.requests.len() as u32 {
                if !self.requests[request as usize].reads {
                    self.outcome(world, request, content);
                }
            }
            content += 1;
        }
        self.outlook.listed = true;
        for request in 0..self.requests.len() as u32 {
            let some = if planted(Fault::TabulatedQuietAtOneContent) { 1 } else { content };
            let changes =
                (0..some).any(|content| matches!(self.outcome(world, request, content), Outcome::To(_)));
            let it = &mut self.requests[request as usize];
            it.reads |= !changes && it.answered != NEVER;
        }
    }
}
