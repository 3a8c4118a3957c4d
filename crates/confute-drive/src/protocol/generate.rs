//! Generators: their view of a case, and the steps that they choose.

use std::fmt::{self, Debug};
use std::sync::atomic::AtomicU64;

use super::{Msg, Protocol};
use crate::script::{Peer, Step};

/// An ask with the request that was sent for it and the responses to it.
#[derive(Clone, Debug)]
pub struct Exchange<A, M> {
    /// Index of the step in the script, counted from zero.
    pub step: usize,
    /// Connection of the request.
    pub on: Peer,
    /// The ask.
    pub ask: A,
    /// The request that was sent.
    pub request: M,
    /// The responses received so far.
    pub replies: Vec<M>,
}

/// Everything that a case has sent and received so far.
pub struct Past<P: Protocol> {
    /// The exchanges, in the order of their requests.
    pub exchanges: Vec<Exchange<P::Ask, Msg<P>>>,
    /// The messages on connections that the server opened, in order, answered or not.
    pub asked: Vec<(Peer, Msg<P>)>,
}

impl<P: Protocol> Default for Past<P> {
    fn default() -> Self {
        Self { exchanges: Vec::new(), asked: Vec::new() }
    }
}

impl<P: Protocol> Clone for Past<P> {
    fn clone(&self) -> Self {
        Self { exchanges: self.exchanges.clone(), asked: self.asked.clone() }
    }
}

impl<P: Protocol> Debug for Past<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").field("exchanges", &self.exchanges).field("asked", &self.asked).finish()
    }
}

/// A generator's view of a case.
pub struct View<'a, P: Protocol> {
    /// Everything sent and received so far.
    pub past: &'a Past<P>,
    /// Number of steps done.
    pub steps: usize,
    /// Number of connections that may compete for the same resource.
    pub connections: u32,
    /// Number of connections that the tester may have open if their requests have little to do with each
    /// other.
    pub wide: u32,
    /// Number of outstanding responses on each connection that the tester opened.
    pub outstanding: &'a [u32],
    /// Requests of the server to the tester as origin that are not answered yet.
    pub asked: &'a [(Peer, &'a Msg<P>)],
    /// Number of alternatives that the search has open.
    pub alternatives: usize,
    /// Number of times that each of the [branches](super::Evidence::branches) was reached, over the cases of
    /// this thread. Empty if they are not counted.
    pub reached: &'a [AtomicU64],
    /// Number of different responses to an ask that the live hypotheses expect: if there are several, the
    /// response decides between hypotheses. 0 if unknown, as while responses are outstanding.
    pub disagreement: &'a dyn Fn(&P::Ask) -> usize,
}

/// Source of the steps of one case.
pub trait Generator<P: Protocol> {
    /// Returns the next step, or `None` when the case is over. `pick(n)` is a random number below `n`.
    fn next(&mut self, view: &View<'_, P>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<P::Ask>>;

    /// Returns `true` if the steps were done before. Then an ask that refers to something not seen yet waits
    /// for it, because the last time it was there, and nothing is added to the script.
    fn is_replay(&self) -> bool {
        false
    }
}

impl<P: Protocol, G: Generator<P> + ?Sized> Generator<P> for &mut G {
    fn next(&mut self, view: &View<'_, P>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<P::Ask>> {
        (**self).next(view, pick)
    }
    fn is_replay(&self) -> bool {
        (**self).is_replay()
    }
}
