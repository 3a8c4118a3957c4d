//! The fingerprint of a hypothesis: everything that can make a difference from here on.
//!
//! A refutation may rest on two fingerprints being different, so no two states with different futures share one. Nothing
//! else enters it: it is a function of the hypothesis and its place alone, not of what other hypotheses have done or of
//! when it is computed. With the feature `faults` every fingerprint is computed again from a rebuilt hypothesis.
//!
//! These parts of a hypothesis are left out, for these reasons:
//! - *Numbers of turns* name no state; only their order with versions does, which [`Hypothesis::hash_past`] covers.
//! - *`watched`*: such a read does not fit the present content, so one that is not watched is not taken there either, and
//!   the versions that only the latter can see are hashed with it.
//! - *Verified messages*, if turns keep to themselves: the position determines what was sent and observed, and every
//!   delivery has a fixed number of responses, so they follow from the pending deliveries.
//! - *`loose`* follows from the position. *`floors`* make a difference only by the versions that they hide.

use std::hash::{Hash, Hasher};
#[cfg(feature = "faults")]
use std::rc::Rc;

use super::fault::{Fault, planted};
use super::hypothesis::{CellState, Hypothesis, Parcel, UNORDERED};
use super::reduce::late::touches;
use crate::fingerprint::{Fingerprint, FingerprintHasher};

impl Hypothesis {
    /// Returns a fingerprint of everything that can make a difference from here on, so that no two different states
    /// share one.
    pub(crate) fn fingerprint(&self, place: u64, whole: bool) -> Fingerprint {
        let mut hasher = FingerprintHasher::default();
        if !planted(Fault::PrintWithoutPlace) {
            hasher.write_u64(place);
        }
        self.hash_cells(place, &mut hasher);
        self.hash_pending(&mut hasher);
        let unseen = self.unseen_until > place && !planted(Fault::PrintWithoutUnseen);
        hasher.write_u8(u8::from(unseen) | u8::from(self.dead_until > place) << 1);
        if !self.out.is_empty() && !planted(Fault::PrintWithoutOut) {
            self.hash_out(whole, &mut hasher);
        }
        self.hash_turns(&mut hasher);
        if !self.facts.is_empty() && !planted(Fault::PrintWithoutFacts) {
            hasher.write_u128(self.facts.fingerprint().0);
        }
        let deviations = if planted(Fault::PrintWithoutDeviations) { 0 } else { self.deviations };
        let must_write = self.must_write.filter(|_| !planted(Fault::PrintWithoutMustWrite));
        hasher.write_u64(u64::from(deviations) << 32 | u64::from(must_write.map_or(0, |sent| sent + 1)));
        hasher.fingerprint()
    }

    fn hash_cells(&self, place: u64, hasher: &mut FingerprintHasher) {
        let mut pipelined = None;
        for cell in &self.cells {
            hasher.write_u32(cell.number);
            // Content that nothing will see makes no difference.
            let now = if self.dead_until > place { None } else { cell.now.as_ref() };
            hasher.write_u128(now.map_or(1, |value| value.fingerprint.0));
            if cell.past.is_some() && !planted(Fault::PrintWithoutVersions) {
                let pipelined = *pipelined.get_or_insert_with(|| self.is_pipelined());
                self.hash_past(cell, pipelined, hasher);
            }
        }
    }

    /// Hashes the deliveries in flight. They are in sending order in every hypothesis, so their order need not be
    /// hashed.
    fn hash_pending(&self, hasher: &mut FingerprintHasher) {
        let mut sum = Fingerprint::default();
        for pending in &self.pending {
            if !planted(Fault::PrintWithoutPending) {
                sum = sum.plus(pending.delivery.print);
            }
            if (pending.taken > 0 || pending.covered || pending.stale) && !planted(Fault::PrintWithoutCopies)
            {
                let more = (pending.delivery.sent, pending.taken, pending.covered, pending.stale);
                sum = sum.plus(Fingerprint::of(&more));
            }
        }
        hasher.write_u128(sum.0);
    }

    /// Hashes a suspended turn, the connections that the server opened, and the internal actions that happened.
    fn hash_turns(&self, hasher: &mut FingerprintHasher) {
        if let Some(suspended) = &self.suspended {
            hasher.write_u64(0x5e);
            suspended.cause.hash(hasher);
            for ((conn, _), sent) in suspended.inbox.iter().zip(&suspended.sent) {
                conn.hash(hasher);
                hasher.write_u32(*sent);
            }
            if !planted(Fault::PrintWithoutAnswers) {
                suspended.path.hash(hasher);
            }
            hasher.write_usize(suspended.acted);
        }
        if !self.links.is_empty() && !planted(Fault::PrintWithoutLinks) {
            let sum =
                self.links.iter().fold(Fingerprint::default(), |sum, link| sum.plus(Fingerprint::of(link)));
            hasher.write_u128(sum.0);
        }
        if !self.fired.is_empty() && !planted(Fault::PrintWithoutFired) {
            let sum =
                self.fired.iter().fold(Fingerprint::default(), |sum, fired| sum.plus(Fingerprint::of(fired)));
            hasher.write_u128(sum.0);
        }
    }

    /// Hashes the earlier contents that pending deliveries can still see, and which deliveries these are: nothing
    /// else of the past makes a difference.
    fn hash_past(&self, cell: &CellState, pipelined: bool, hasher: &mut FingerprintHasher) {
        let mut sum = Fingerprint::default();
        for (index, (value, until)) in cell.past().iter().enumerate() {
            let mut visible = false;
            let mut mask = FingerprintHasher::default();
            for pending in self.pending.iter().filter(|pending| touches(pending, cell.number)) {
                if pending.since.max(self.floor(pending.delivery.lane)) < *until {
                    visible = true;
                    if !planted(Fault::PrintWithoutWhoSees) {
                        mask.write_u32(pending.delivery.sent);
                    }
                }
            }
            if !visible {
                continue;
            }
            mask.write_u128(value.as_ref().map_or(1, |value| value.fingerprint.0));
            // With several deliveries on a lane the order of versions makes a difference too.
            if pipelined && !planted(Fault::PrintWithoutVersionOrder) {
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
        // Order makes a difference within a lane only.
        let mut sum = Fingerprint::default();
        for (index, item) in self.out.iter().enumerate() {
            let drops = !whole || planted(Fault::PrintWithoutVerified);
            if drops && matches!(item.parcel, Parcel::Verified) {
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

    /// Returns the hypothesis built anew from its parts, without anything that was computed or noted before.
    #[cfg(feature = "faults")]
    pub(crate) fn rebuilt(&self) -> Self {
        use super::hypothesis::{Delivery, Packed};
        let mut again = self.clone();
        for pending in &mut again.pending {
            let Delivery { sent, wire, accepted, lane, place, alone, parallel, .. } = *pending.delivery;
            let (item, foot) = (pending.delivery.item.clone(), pending.delivery.foot.clone());
            let plain = Delivery::new(sent, wire, item, foot);
            pending.delivery = Rc::new(Delivery { accepted, lane, place, alone, parallel, ..plain });
        }
        for item in &mut again.out {
            if let Parcel::Message(packed) = &item.parcel {
                item.parcel = Parcel::Message(Packed::new(packed.message.copied(), packed.by.clone()));
            }
        }
        again
    }
}
