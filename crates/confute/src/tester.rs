//! The tester that is derived from a model: a typed face of the [`Engine`].

use std::marker::PhantomData;
use std::rc::Rc;

use crate::engine::{self, Engine, Options};
use crate::erased;
use crate::lang::ServerModel;
use crate::network::Network;
use crate::trace::{Event, WireConn};
use crate::verdict::{Expectation, Verdict};

/// Judges a server while it is talked to.
///
/// It is a pure state machine: it has no clock, no sockets and no threads. It does not decide what to send; it says which
/// hypotheses are alive, so that a generator can.
pub struct Tester<'m, S: ServerModel> {
    engine: Engine<'m>,
    model: PhantomData<&'m S>,
}

impl<'m, S: ServerModel> Tester<'m, S> {
    /// Derives a tester from a model of the server and one of the network.
    pub fn new(model: &'m S, network: &'m dyn Network, options: Options<'m>) -> Self {
        Self { engine: Engine::new(model, network, options), model: PhantomData }
    }

    /// Takes the next event and says what to think of the server now.
    pub fn observe(&mut self, event: Event<S::Msg>) -> &Verdict {
        self.engine.observe(event.map(|message| Rc::new(message) as _))
    }

    /// What it thinks of the server so far. `Unrefuted` may still change for the last [`Tester::lag`] events.
    pub fn so_far(&self) -> &Verdict {
        self.engine.so_far()
    }

    /// What it thinks of the server, all events considered.
    pub fn verdict(&mut self) -> &Verdict {
        self.engine.verdict()
    }

    /// How many events wait to be explained: while requests are under way whose answers will tell in which order they
    /// were handled, the tester waits for these instead of trying every order. So a violation may be told a few events
    /// late, as many as are outstanding.
    pub fn lag(&self) -> usize {
        self.engine.lag()
    }

    /// How many events it has seen.
    pub fn events(&self) -> u64 {
        self.engine.events()
    }

    /// How many turns of the model it has tried.
    pub fn turns(&self) -> u64 {
        self.engine.turns()
    }

    /// How many alternatives are open, over all parts.
    pub fn alternatives(&self) -> usize {
        self.engine.alternatives()
    }

    /// About how many bytes the search holds.
    pub fn bytes(&self) -> usize {
        self.engine.bytes()
    }

    /// How many parts are searched apart.
    pub fn parts(&self) -> usize {
        self.engine.parts()
    }

    /// What the hypotheses expect to come next on this connection, merged into classes; how many hypotheses there are;
    /// and whether some were left out.
    pub fn expectations(&mut self, conn: WireConn) -> (Vec<Expectation>, usize, bool) {
        self.engine.expectations(conn)
    }

    /// How many different things the live hypotheses expect in answer to this message, were it sent now on a connection of
    /// its own: if more than one, the answer may tell them apart. A hypothesis that leaves open what the server chose counts
    /// for each choice on which the answer depends; an answer that is free anyway counts once. At most so many hypotheses
    /// are asked. 0 if nobody knows: while answers are awaited, or where the message concerns what was never talked about.
    pub fn disagreement(&mut self, message: &S::Msg, most: usize) -> usize
    where
        S::Msg: Clone,
    {
        self.engine.disagreement(Rc::new(message.clone()), most)
    }
}

/// Judges a whole trace. What came later is known from the start, and used.
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
