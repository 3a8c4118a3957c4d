//! What generators see of a case, and what they decide.

use std::fmt::{self, Debug};
use std::sync::atomic::AtomicU64;

use super::{Msg, Protocol};
use crate::script::{Peer, Step};

/// An ask of a step, and what came of it.
#[derive(Clone, Debug)]
pub struct Exchange<A, M> {
    /// The step of the script, counted from zero.
    pub step: usize,
    /// The connection.
    pub on: Peer,
    /// The ask.
    pub ask: A,
    /// The message that was sent for it.
    pub request: M,
    /// The messages that came back.
    pub replies: Vec<M>,
}

/// Everything that a case has done and seen so far.
pub struct Past<P: Protocol> {
    /// The exchanges, in the order of asking.
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

/// The view that a generator has of a case.
pub struct View<'a, P: Protocol> {
    /// The exchanges so far.
    pub past: &'a Past<P>,
    /// The number of steps done.
    pub steps: usize,
    /// The number of connections that may compete for the same thing.
    pub connections: u32,
    /// The number of connections that the tester may have open if what they ask for has little to do with each other.
    pub wide: u32,
    /// The number of outstanding answers, per connection that the tester opened.
    pub outstanding: &'a [u32],
    /// Requests that the server sent to the tester as origin and that were not answered yet.
    pub asked: &'a [(Peer, &'a Msg<P>)],
    /// The number of alternatives that the tester has open.
    pub alternatives: usize,
    /// The number of times that each of the [branches](super::Evidence::branches) was reached, over the cases of this thread. Empty
    /// where nobody counts.
    pub reached: &'a [AtomicU64],
    /// The number of different answers that the live hypotheses would give to an ask: more than one, and the answer tells them apart. 0
    /// if nobody knows, as while answers are outstanding.
    pub disagreement: &'a dyn Fn(&P::Ask) -> usize,
}

/// Decides what to do next in one case.
pub trait Generator<P: Protocol> {
    /// The next step, or `None` when the case is over. `pick(n)` is a random number below `n`.
    fn next(&mut self, view: &View<'_, P>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<P::Ask>>;

    /// `true` if this was done before. Then an ask that refers to something not seen yet waits for it, because last time it was there,
    /// and nothing is added to the script.
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
