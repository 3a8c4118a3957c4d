//! Scripts: the steps that the tester performs in a case.

use serde::{Deserialize, Serialize};

use crate::protocol::{Generator, Protocol, View};

/// A connection of a case, identified by the side that opened it and a number that counts from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// Opened by the tester: when it is first used, and again when it is used after its end.
    Opened(u32),
    /// Opened by the server under test, and accepted. The numbers follow the order of the first messages.
    Accepted(u32),
}

/// Condition of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// At most this many responses are outstanding. Zero is a barrier. Responses on a held connection do not
    /// count, and the wait ends early when the server sends the tester a request, which only the tester can
    /// answer.
    Outstanding(usize),
    /// The ask of this step, counted from zero, is answered, or never will be. The driver adds such waits
    /// where a generator went on after a response without having waited for it: the responses received before
    /// a request are part of the script.
    Answered(usize),
    /// A message or the end of a connection was received.
    Something,
    /// A message or the end of a connection was received, or this many milliseconds have passed.
    Soon(u64),
    /// This many milliseconds have passed.
    Millis(u64),
}

/// One action of the tester. `A` is the type of the protocol's asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step<A> {
    /// Sends a message. References to earlier responses are resolved when it is sent.
    Ask {
        /// Connection to send on.
        on: Peer,
        /// The ask that becomes the message.
        ask: A,
        /// Offsets at which the bytes are cut, with a pause in milliseconds: the bytes after a cut are sent
        /// once all bytes before it are written and the pause is over.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cuts: Vec<(usize, u64)>,
    },
    /// Collects the requests that follow, and sends them all at once at the next wait. Requests that are
    /// written one by one reach a server one by one.
    Gather,
    /// Stops reading from this connection until it is released.
    Hold(Peer),
    /// Resumes reading from a held connection.
    Release(Peer),
    /// Waits for a condition.
    Wait(Until),
    /// Closes the connection.
    HangUp(Peer),
    /// Ends the tester's side of the connection, and continues to read.
    Finish(Peer),
}

impl<A> Step<A> {
    /// Replaces the ask of the step, if it has one.
    pub fn map<B>(self, change: impl FnOnce(A) -> B) -> Step<B> {
        let Ok(step) = self.try_map(|ask| Ok::<_, std::convert::Infallible>(change(ask)));
        step
    }

    /// Replaces the ask of the step, if it has one and the replacement succeeds.
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

/// Generator that repeats recorded steps.
#[derive(Clone, Debug)]
pub struct Replay<A> {
    steps: std::vec::IntoIter<Step<A>>,
}

impl<A> Replay<A> {
    /// Creates a replay of these steps.
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
