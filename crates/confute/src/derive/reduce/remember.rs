//! Remembering: a hypothesis that was met before at the same place is not tried again.
//!
//! *Leaves out*: the second of two hypotheses with the same [fingerprint](crate::derive::fingerprint) at the same
//! position of the trace.
//!
//! *Premises*: the fingerprint is a function of the hypothesis and its place alone, and two hypotheses with one
//! fingerprint have the same futures.
//!
//! *Why no verdict changes*: the first of the two was put on the stack with all its moves, so whatever explains the
//! rest of the trace from the second is found from the first, or has been looked for in vain. The fingerprint has 128
//! bits of a hash that no input can aim at; a refutation would need a collision among fewer than 2^32 of them to be wrong.
//! The first premise excludes a key that depends on what other hypotheses have done: one that was noted when less was
//! kept would stand for one that keeps more. The second is argued part by part where the fingerprint is made, and each
//! part has a planted fault that leaves it out.
//!
//! *Place in the order*: after the reductions that take a read in passing, which lead to hypotheses that need not be
//! stored; before all that explore, which would repeat their work for every copy.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use super::Reduction;
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Hypothesis;
use crate::derive::search::Part;

/// Fingerprints of the hypotheses met so far.
#[derive(Default)]
pub(crate) struct Remembered(HashSet<u128, BuildHasherDefault<Print>>);

impl Remembered {
    pub(crate) fn forget_all(&mut self) {
        if !planted(Fault::VisitedOfPartsKept) {
            self.0.clear();
        }
    }

    /// Returns the number of bytes in use, approximately.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * 17
    }
}

/// Hasher of fingerprints, which are hashes already.
#[derive(Default)]
struct Print(u64);

impl Hasher for Print {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u128(&mut self, print: u128) {
        self.0 = print as u64;
    }
}

impl Part {
    /// Returns `true` if this hypothesis was not met at this place before; notes it.
    pub(in crate::derive) fn is_new(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        place: u64,
    ) -> bool {
        if !world.reduces(Reduction::Remembering) {
            return true;
        }
        let print = hypothesis.fingerprint(place, self.whole);
        #[cfg(feature = "faults")]
        assert_eq!(print, hypothesis.rebuilt().fingerprint(place, self.whole), "a fingerprint is a function");
        let is_new = self.memory.remembered.0.insert(print.0);
        if !is_new {
            world.left_out(Reduction::Remembering);
        }
        is_new
    }
}
