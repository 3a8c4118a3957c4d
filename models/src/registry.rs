//! The shipped models by name, behind one interface that hides their message types.
//!
//! [`Named`] is a model that the command line can list, load a file for, simulate and soak; [`Case`] is a
//! sequence of events that can be judged, with its messages printed as text. This module contains no logic of
//! its own: the library reads, judges, blames and simulates, and this only erases types.

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
use confute::simulate::ExchangePlan;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use case::Case;
use confute::trace::ReadLimits;
pub use load::{Loaded, Problem, load};

use crate::recorded::{self, Reading, Recorded};
#[cfg(feature = "soak")]
use crate::soak::{self, Accused, Soaked};
use crate::{
    Workload, accumulator, conditional, counter, echo, kv, list_append, proxy, queue, register, set, stack,
    swap, ticket,
};
use case::TypedCase;

/// A model with a name.
pub trait Named: Sync {
    /// Returns the name on the command line.
    fn name(&self) -> &'static str;

    /// Returns a description of the modelled server, in one sentence.
    fn summary(&self) -> &'static str;

    /// Returns the rules that the model can deviate from.
    fn rules(&self) -> &'static [Rule];

    /// Returns `true` if histories of operations can be read as its traces.
    fn reads_histories(&self) -> bool;

    /// Reads a trace of this model. The model and network in the header are not checked.
    fn trace(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem>;

    /// Reads a history as a trace of this model.
    fn history(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem>;

    /// Runs the model as a server under its own traffic and returns the observed events.
    #[cfg(feature = "soak")]
    fn simulate(&self, network: &dyn Network, plan: &ExchangePlan) -> Result<Box<dyn Case>, Mistake>;

    /// Tests the model against itself, event by event: see [`soak::soak`].
    #[cfg(feature = "soak")]
    fn soak(
        &self,
        network: &dyn Network,
        plan: &ExchangePlan,
        options: &Options<'_>,
        progress: &mut soak::SoakProgress<'_>,
    ) -> Result<Soaked, Mistake>;

    /// Tests the model against a server that deviates from it: see [`soak::accuse`].
    #[cfg(feature = "soak")]
    fn accuse(
        &self,
        network: &dyn Network,
        plan: &ExchangePlan,
        options: &Options<'_>,
    ) -> Result<Option<Accused>, Mistake>;
}

/// Returns every shipped model, in tutorial order.
pub fn models() -> &'static [&'static dyn Named] {
    &MODELS
}

/// Returns the model with this name.
pub fn model(name: &str) -> Option<&'static dyn Named> {
    MODELS.into_iter().find(|model| model.name() == name)
}

/// Returns the rule with this name, and its model.
pub fn rule(name: &str) -> Option<(&'static dyn Named, &'static Rule)> {
    MODELS.into_iter().find_map(|model| {
        let rule = model.rules().iter().find(|rule| rule.name == name)?;
        Some((model, rule))
    })
}

/// Returns every named network, the simplest first.
pub fn networks() -> &'static [&'static (dyn Network + Sync)] {
    const UDP: Udp = Udp { loss: true, duplication: true, reordering: true };
    &[&Direct, &Tcp { breaks: false }, &UDP]
}

/// Returns the network with this name.
pub fn network(name: &str) -> Option<&'static dyn Network> {
    networks().iter().find(|network| network.name() == name).map(|network| *network as &dyn Network)
}

static MODELS: [&dyn Named; 13] = [
    &Shipped {
        name: "echo",
        summary: "A server that sends back every message that it receives.",
        model: echo::Echo,
        recorded: None,
    },
    &Shipped {
        name: "accumulator",
        summary: "A server that adds up the numbers that it receives.",
        model: accumulator::Accumulator,
        recorded: None,
    },
    &Shipped {
        name: "proxy",
        summary: "A proxy that forwards each request on a new connection.",
        model: proxy::Proxy,
        recorded: None,
    },
    &Shipped {
        name: "swap",
        summary: "A server that responds to each message with the previous one.",
        model: swap::Swap,
        recorded: None,
    },
    &Shipped {
        name: "register",
        summary: "A register with read, write and compare-and-swap.",
        model: register::CasRegister,
        recorded: Some(&recorded::REGISTER),
    },
    &Shipped {
        name: "kv",
        summary: "A key-value store with get, put and append.",
        model: kv::Kv,
        recorded: Some(&recorded::KV),
    },
    &Shipped {
        name: "queue",
        summary: "A queue: enqueue, and dequeue in the same order.",
        model: queue::Queue,
        recorded: Some(&recorded::QUEUE),
    },
    &Shipped {
        name: "stack",
        summary: "A stack: push, and pop in the opposite order.",
        model: stack::Stack,
        recorded: Some(&recorded::STACK),
    },
    &Shipped {
        name: "counter",
        summary: "A counter with add and read.",
        model: counter::Counter,
        recorded: Some(&recorded::COUNTER),
    },
    &Shipped {
        name: "set",
        summary: "A set with add, remove, contains and read.",
        model: set::Set,
        recorded: Some(&recorded::SET),
    },
    &Shipped {
        name: "list-append",
        summary: "Lists under keys, with transactions of appends and reads of one key.",
        model: list_append::ListAppend,
        recorded: Some(&recorded::LIST_APPEND),
    },
    &Shipped {
        name: "conditional",
        summary: "A store with If-Match, If-None-Match and tags that the server chooses.",
        model: conditional::Conditional,
        recorded: None,
    },
    &Shipped {
        name: "ticket",
        summary: "A server that issues increasing numbers, which it chooses.",
        model: ticket::TicketOffice,
        recorded: None,
    },
];

/// A model with the description and the translation of histories that the command line needs.
struct Shipped<W: Workload> {
    name: &'static str,
    summary: &'static str,
    model: W,
    recorded: Option<&'static Reading<W::Msg>>,
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

    fn trace(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem> {
        let (header, events, lines) = load::trace(file, limits)?;
        let case = TypedCase { model: self.model, events, lines };
        Ok(Loaded { header: Some(header), format: confute::history::Format::Trace, case: Box::new(case) })
    }

    fn history(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem> {
        let reading = self.recorded.ok_or(Problem::NoHistories { model: self.name })?;
        let (format, Recorded { events, lines }) = load::history(file, limits, reading)?;
        let case = TypedCase { model: self.model, events, lines };
        Ok(Loaded { header: None, format, case: Box::new(case) })
    }

    #[cfg(feature = "soak")]
    fn simulate(&self, network: &dyn Network, plan: &ExchangePlan) -> Result<Box<dyn Case>, Mistake> {
        let mut events = Vec::new();
        crate::simulate(&self.model, network, plan, &mut |event| {
            events.push(event);
            true
        })?;
        Ok(Box::new(TypedCase { model: self.model, events, lines: Vec::new() }))
    }

    #[cfg(feature = "soak")]
    fn soak(
        &self,
        network: &dyn Network,
        plan: &ExchangePlan,
        options: &Options<'_>,
        progress: &mut soak::SoakProgress<'_>,
    ) -> Result<Soaked, Mistake> {
        soak::soak(&self.model, network, plan, options, progress)
    }

    #[cfg(feature = "soak")]
    fn accuse(
        &self,
        network: &dyn Network,
        plan: &ExchangePlan,
        options: &Options<'_>,
    ) -> Result<Option<Accused>, Mistake> {
        soak::accuse(&self.model, network, plan, options)
    }
}
