//! The tester that is derived from a model: a typed interface of the [`Engine`].

use std::marker::PhantomData;
use std::rc::Rc;

use crate::derive::reduce::Reduction;
use crate::engine::{self, Engine, Options};
use crate::erased;
use crate::lang::ServerModel;
use crate::network::Network;
use crate::trace::{Event, WireConn};
use crate::verdict::{Expectation, Verdict};

/// Judge of a server during a conversation.
///
/// A tester is a pure state machine: it has no clock, no sockets and no threads. It does not decide what to send; it
/// reports the live hypotheses, so that a generator can.
pub struct Tester<'m, S: ServerModel> {
    engine: Engine<'m>,
    model: PhantomData<&'m S>,
}

impl<'m, S: ServerModel> Tester<'m, S> {
    /// Derives a tester from a server model and a network model.
    pub fn new(model: &'m S, network: &'m dyn Network, options: Options<'m>) -> Self {
        Self { engine: Engine::new(model, network, options), model: PhantomData }
    }

    /// Takes the next event and returns the verdict so far.
    pub fn observe(&mut self, event: Event<S::Msg>) -> &Verdict {
        self.engine.observe(event.map(|message| Rc::new(message) as _))
    }

    /// Returns the verdict so far. `Unrefuted` may still change for the last [`Tester::lag`] events.
    pub fn so_far(&self) -> &Verdict {
        self.engine.so_far()
    }

    /// Returns the verdict, all events considered.
    pub fn verdict(&mut self) -> &Verdict {
        self.engine.verdict()
    }

    /// Returns the number of events that wait to be explained. While requests are in flight whose responses will show
    /// in which order they were handled, the tester waits for these instead of trying every order. A violation may
    /// thus be reported late, by at most as many events as are outstanding.
    pub fn lag(&self) -> usize {
        self.engine.lag()
    }

    /// Returns `false` if an id became known after a request was judged that may have created its object: nothing is refuted any
    /// more, and what is unrefuted need not have an explanation. [`judge`] is always exact.
    pub fn is_exact(&self) -> bool {
        self.engine.is_exact()
    }

    /// Returns the number of events observed.
    pub fn events(&self) -> u64 {
        self.engine.events()
    }

    /// Returns the number of turns of the model tried.
    pub fn turns(&self) -> u64 {
        self.engine.turns()
    }

    /// Returns, by reduction, the number of times that it left something out.
    pub fn left_out(&self) -> impl Iterator<Item = (Reduction, u64)> {
        self.engine.left_out()
    }

    /// Returns the number of open alternatives, over all parts.
    pub fn alternatives(&self) -> usize {
        self.engine.alternatives()
    }

    /// Returns the approximate number of bytes that the search holds.
    pub fn bytes(&self) -> usize {
        self.engine.bytes()
    }

    /// Returns the number of parts that are searched separately.
    pub fn parts(&self) -> usize {
        self.engine.parts()
    }

    /// Returns what the hypotheses expect next on this connection, merged into classes; the number of hypotheses; and
    /// `true` if some were left out.
    pub fn expectations(&mut self, conn: WireConn) -> (Vec<Expectation>, usize, bool) {
        self.engine.expectations(conn)
    }

    /// Returns the number of different responses that the live hypotheses expect to this message, were it sent now on
    /// a connection of its own: if more than one, the response may distinguish them. A hypothesis that leaves a
    /// choice of the server open counts once for each choice on which the response depends; a response that is free
    /// anyway counts once. At most `most` hypotheses are considered. Returns 0 if the number is unknown: while
    /// responses are awaited, or if the message concerns cells that no message has touched yet.
    pub fn disagreement(&mut self, message: &S::Msg, most: usize) -> usize
    where
        S::Msg: Clone,
    {
        self.engine.disagreement(Rc::new(message.clone()), most)
    }
}

/// Judges a whole trace. Later observations are known from the start, and used.
pub fn judge<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    options: &Options<'_>,
) -> Verdict
where
    S::Msg: Clone,
{
    engine::judge(model, network, &erased::events(events), options)
}
