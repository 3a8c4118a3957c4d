//! The shipped models by name, behind one interface that hides their message types.
//!
//! [`Named`] adds to a [`CheckModel`] that it can be simulated and tested against itself.

#[cfg(feature = "soak")]
use confute::Options;
#[cfg(feature = "soak")]
use confute::check::{Case, TypedCase};
use confute::check::{CheckModel, Described};
#[cfg(feature = "soak")]
use confute::lang::Mistake;
use confute::lang::Rule;
#[cfg(feature = "soak")]
use confute::network::Network;
#[cfg(feature = "soak")]
use confute::simulate::ExchangePlan;
use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "soak")]
use crate::soak::{self, Accused, Soaked};
use crate::{
    Workload, accumulator, conditional, counter, echo, kv, list_append, proxy, queue, recorded, register,
    set, stack, swap, ticket,
};

/// A model with a name.
pub trait Named: CheckModel {
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

static MODELS: [&dyn Named; 13] = [
    &Described {
        name: "echo",
        summary: "A server that sends back every message that it receives.",
        model: echo::Echo,
        reading: None,
    },
    &Described {
        name: "accumulator",
        summary: "A server that adds up the numbers that it receives.",
        model: accumulator::Accumulator,
        reading: None,
    },
    &Described {
        name: "proxy",
        summary: "A proxy that forwards each request on a new connection.",
        model: proxy::Proxy,
        reading: None,
    },
    &Described {
        name: "swap",
        summary: "A server that responds to each message with the previous one.",
        model: swap::Swap,
        reading: None,
    },
    &Described {
        name: "register",
        summary: "A register with read, write and compare-and-swap.",
        model: register::CasRegister,
        reading: Some(&recorded::REGISTER),
    },
    &Described {
        name: "kv",
        summary: "A key-value store with get, put and append.",
        model: kv::Kv,
        reading: Some(&recorded::KV),
    },
    &Described {
        name: "queue",
        summary: "A queue: enqueue, and dequeue in the same order.",
        model: queue::Queue,
        reading: Some(&recorded::QUEUE),
    },
    &Described {
        name: "stack",
        summary: "A stack: push, and pop in the opposite order.",
        model: stack::Stack,
        reading: Some(&recorded::STACK),
    },
    &Described {
        name: "counter",
        summary: "A counter with add and read.",
        model: counter::Counter,
        reading: Some(&recorded::COUNTER),
    },
    &Described {
        name: "set",
        summary: "A set with add, remove, contains and read.",
        model: set::Set,
        reading: Some(&recorded::SET),
    },
    &Described {
        name: "list-append",
        summary: "Lists under keys, with transactions of appends and reads of one key.",
        model: list_append::ListAppend,
        reading: Some(&recorded::LIST_APPEND),
    },
    &Described {
        name: "conditional",
        summary: "A store with If-Match, If-None-Match and tags that the server chooses.",
        model: conditional::Conditional,
        reading: None,
    },
    &Described {
        name: "ticket",
        summary: "A server that issues increasing numbers, which it chooses.",
        model: ticket::TicketOffice,
        reading: None,
    },
];

impl<W> Named for Described<W>
where
    W: Workload<Msg: Clone + Serialize + DeserializeOwned> + Copy + Sync + 'static,
{
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
