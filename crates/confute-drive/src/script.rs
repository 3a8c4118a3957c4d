//! What the tester does: a script.

use serde::{Deserialize, Serialize};

use crate::protocol::{Generator, Protocol, View};

/// A connection of a case, by who opened it, counted from zero in the order of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// Opened by the tester. It is opened when it is first used, and again when it is used after its end.
    Opened(u32),
    /// Opened by the server under test, and accepted.
    Accepted(u32),
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// So many answers are still outstanding, or fewer. Zero is a barrier. What is outstanding on a connection that is
    /// held does not count; and the wait ends when the server asks the tester something that only it can answer.
    Outstanding(usize),
    /// The ask of this step, counted from zero, is answered, or will never be. The driver adds such waits where a generator
    /// went on after an answer without having waited for it: what came before an ask is part of what was done.
    Answered(usize),
    /// Something has come: an answer, an end, a connection.
    Something,
    /// The same, or so many milliseconds have passed.
    Soon(u64),
    /// So many milliseconds have passed.
    Millis(u64),
}

/// One thing that the tester does. `A` is what a protocol can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step<A> {
    /// Sends this. What it refers to is looked up when it is sent.
    Ask {
        /// On this connection.
        on: Peer,
        /// What.
        ask: A,
        /// Where to cut its bytes: what comes after a cut is sent once everything before has been and the
        /// milliseconds have passed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cuts: Vec<(usize, u64)>,
    },
    /// What is asked next is kept until something has to be waited for, and then sent all at once: requests that are written
    /// one after the other reach a server one after the other.
    Gather,
    /// Reads nothing more from this connection,
    Hold(Peer),
    /// until it is released.
    Release(Peer),
    /// Waits.
    Wait(Until),
    /// Closes the connection.
    HangUp(Peer),
    /// Says that nothing more will be sent on it, and goes on reading.
    Finish(Peer),
}

impl<A> Step<A> {
    /// The same step with another ask.
    pub fn map<B>(self, change: impl FnOnce(A) -> B) -> Step<B> {
        let Ok(step) = self.try_map(|ask| Ok::<_, std::convert::Infallible>(change(ask)));
        step
    }

    /// The same step with another ask, if there is one.
    pub fn try_map<B, E>(self, change: impl FnOnce(A) -> Result<B, E>) -> Result<Step<B>, E> {
        Ok(match self {
            Step::Ask { on, ask, cuts } => Step::Ask { on, ask: change(ask)?, cuts },
            Step::Gather => Step::Gather,
            Step::Hold(peer) => Step::Hold(peer),
            Step::Release(peer) => Step::Release(peer),
            Step::Wait(until) => Step::Wait(until),
            Step::HangUp(peer) => Step::HangUp(peer),
            Step::Finish(peer) => Step::Finish(peer),
        })
    }
}

/// Does again what was done before.
#[derive(Clone, Debug)]
pub struct Replay<A> {
    steps: std::vec::IntoIter<Step<A>>,
}

impl<A> Replay<A> {
    /// Does these steps.
    pub fn new(steps: Vec<Step<A>>) -> Self {
        Self { steps: steps.into_iter() }
    }
}

impl<P: Protocol> Generator<P> for Replay<P::Ask> {
    fn next(&mut self, _: &View<'_, P>, _: &mut dyn FnMut(u64) -> u64) -> Option<Step<P::Ask>> {
        self.steps.next()
    }

    fn is_replay(&self) -> bool {
        true
    }
}
