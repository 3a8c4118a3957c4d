//! The shipped models by name, each behind one face whatever its messages are.
//!
//! [`Named`] is a model that the command line can list, load a file for, simulate and soak; [`Case`] is a sequence of
//! events that can be judged, with its messages shown as text. Nothing here decides anything: reading, judging, blaming
//! and simulating are the library's, and this only forgets their types.

mod case;
mod load;

use std::io::BufRead;

#[cfg(feature = "soak")]
use confute::Options;
#[cfg(feature = "soak")]
use confute::lang::Mistake;
use confute::lang::Rule;
use confute::network::{Direct, Network, Tcp, Udp};
#[cfg(feature = "soak")]
use confute::simulate::Plan;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use case::Case;
pub use load::{Limits, Loaded, Problem, load};

use crate::recorded::{self, Misfit, Recorded};
#[cfg(feature = "soak")]
use crate::soak::{self, Accused, Soaked};
use crate::{Workload, accumulator, conditional, echo, kv, proxy, register, swap, ticket};
use case::Told;

/// A model with a name.
pub trait Named: Sync {
    /// What the command line calls it.
    fn name(&self) -> &'static str;

    /// What it models, in one sentence.
    fn summary(&self) -> &'static str;

    /// The rules that it can deviate from.
    fn rules(&self) -> &'static [Rule];

    /// Whether histories of operations can be read as its traces.
    fn reads_histories(&self) -> bool;

    /// Reads a trace of this model. What the header says is not looked at.
    fn trace(&self, file: &mut dyn BufRead, limits: Limits) -> Result<Loaded, Problem>;

    /// Reads a history as a trace of this model.
    fn history(&self, file: &mut dyn BufRead, limits: Limits) -> Result<Loaded, Problem>;

    /// Runs the model as a server under its own traffic and keeps what was seen.
    #[cfg(feature = "soak")]
    fn simulate(&self, network: &dyn Network, plan: &Plan) -> Result<Box<dyn Case>, Mistake>;

    /// Tests the model against itself, message by message: see [`soak::soak`].
    #[cfg(feature = "soak")]
    fn soak(
        &self,
        network: &dyn Network,
        plan: &Plan,
        options: &Options<'_>,
        progress: &mut soak::Progress<'_>,
    ) -> Result<Soaked, Mistake>;

    /// Tests the model against one that deviates: see [`soak::accuse`].
    #[cfg(feature = "soak")]
    fn accuse(
        &self,
        network: &dyn Network,
        plan: &Plan,
        options: &Options<'_>,
    ) -> Result<Option<Accused>, Mistake>;
}

/// Every shipped model, in the order in which to read them.
pub fn models() -> &'static [&'static dyn Named] {
    &MODELS
}

/// The model of this name.
pub fn model(name: &str) -> Option<&'static dyn Named> {
    MODELS.into_iter().find(|model| model.name() == name)
}

/// The rule of this name, and the model that has it.
pub fn rule(name: &str) -> Option<(&'static dyn Named, &'static Rule)> {
    MODELS.into_iter().find_map(|model| {
        let rule = model.rules().iter().find(|rule| rule.name == name)?;
        Some((model, rule))
    })
}

/// Every network that has a name, plainest first.
pub fn networks() -> &'static [&'static (dyn Network + Sync)] {
    const UDP: Udp = Udp { loss: true, duplication: true, reordering: true };
    &[&Direct, &Tcp { breaks: false }, &UDP]
}

/// The network of this name.
pub fn network(name: &str) -> Option<&'static dyn Network> {
    networks().iter().find(|network| network.name() == name).map(|network| *network as &dyn Network)
}

static MODELS: [&dyn Named; 8] = [
    &Shipped {
        name: "echo",
        summary: "A server that says what it is told.",
        model: echo::Echo,
        recorded: None,
    },
    &Shipped {
        name: "accumulator",
        summary: "A server that adds up the numbers it is told.",
        model: accumulator::Accumulator,
        recorded: None,
    },
    &Shipped {
        name: "proxy",
        summary: "A proxy that forwards each request on a connection of its own.",
        model: proxy::Proxy,
        recorded: None,
    },
    &Shipped {
        name: "swap",
        summary: "A server that keeps one message and answers with the one before.",
        model: swap::Swap,
        recorded: None,
    },
    &Shipped {
        name: "register",
        summary: "A register with read, write and compare-and-swap.",
        model: register::CasRegister,
        recorded: Some(recorded::register),
    },
    &Shipped {
        name: "kv",
        summary: "A key-value store with get, put and append.",
        model: kv::Kv,
        recorded: Some(recorded::kv),
    },
    &Shipped {
        name: "conditional",
        summary: "A store with If-Match, If-None-Match and tags of the server's own choosing.",
        model: conditional::Conditional,
        recorded: None,
    },
    &Shipped {
        name: "ticket",
        summary: "A server that hands out growing numbers of its own choosing.",
        model: ticket::TicketOffice,
        recorded: None,
    },
];

type Translate<M> = fn(&confute::history::History) -> Result<Recorded<M>, Misfit>;

/// A model, with what the command line needs to know of its messages.
struct Shipped<W: Workload> {
    name: &'static str,
    summary: &'static str,
    model: W,
    recorded: Option<Translate<W::Msg>>,
}

impl<W> Named for Shipped<W>
where
    W: Workload<Msg: Clone + Serialize + DeserializeOwned> + Copy + Sync + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn rules(&self) -> &'static [Rule] {
        self.model.rules()
    }

    fn reads_histories(&self) -> bool {
        self.recorded.is_some()
    }

    fn trace(&self, file: &mut dyn BufRead, limits: Limits) -> Result<Loaded, Problem> {
        let (header, events, lines) = load::trace(file, limits)?;
        let case = Told { model: self.model, events, lines };
        Ok(Loaded { header: Some(header), format: confute::history::Format::Trace, case: Box::new(case) })
    }

    fn history(&self, file: &mut dyn BufRead, limits: Limits) -> Result<Loaded, Problem> {
        let translate = self.recorded.ok_or(Problem::NoHistories { model: self.name })?;
        let (history, Recorded { events, lines }) = load::history(file, limits, translate)?;
        let case = Told { model: self.model, events, lines };
        Ok(Loaded { header: None, format: history.format, case: Box::new(case) })
    }

    #[cfg(feature = "soak")]
    fn simulate(&self, network: &dyn Network, plan: &Plan) -> Result<Box<dyn Case>, Mistake> {
        let mut events = Vec::new();
        crate::simulate(&self.model, network, plan, &mut |event| {
            events.push(event);
            true
        })?;
        Ok(Box::new(Told { model: self.model, events, lines: Vec::new() }))
    }

    #[cfg(feature = "soak")]
    fn soak(
        &self,
        network: &dyn Network,
        plan: &Plan,
        options: &Options<'_>,
        progress: &mut soak::Progress<'_>,
    ) -> Result<Soaked, Mistake> {
        soak::soak(&self.model, network, plan, options, progress)
    }

    #[cfg(feature = "soak")]
    fn accuse(
        &self,
        network: &dyn Network,
        plan: &Plan,
        options: &Options<'_>,
    ) -> Result<Option<Accused>, Mistake> {
        soak::accuse(&self.model, network, plan, options)
    }
}

#[cfg(test)]
mod tests;
