//! Small models, in tutorial order. Each introduces one concept.
//!
//! | model | concept |
//! |---|---|
//! | [`echo`] | a model is one turn of a loop; a rule marks a place where a server may deviate |
//! | [`accumulator`] | the state of a server is kept in cells |
//! | [`proxy`] | connections that the server opens, and turns that touch anything |
//! | [`swap`] | the smallest server whose responses reveal the order of requests |
//! | [`register`] | several requests, and one rule for each of its guarantees |
//! | [`kv`] | tables: requests for different keys are independent |
//! | [`queue`] | contents of any size, cheap to copy and to compare |
//! | [`stack`] | two models that differ in one rule |
//! | [`counter`] | changes that commute, and a deviation that sends any value |
//! | [`set`] | a cell for each element, and turns that look at all of them |
//! | [`list_append`] | requests of several steps |
//! | [`conditional`] | secrets: tags that the server chooses and the tester has to find out |
//! | [`ticket`] | ordered secrets: numbers of which only "greater" is known |
//!
//! Every model has a [`Workload`], so that it can be simulated and tested against itself.

pub mod accumulator;
pub mod conditional;
pub mod counter;
pub mod echo;
pub mod item;
pub mod kv;
pub mod list_append;
pub mod proxy;
pub mod queue;
pub mod recorded;
pub mod register;
pub mod registry;
pub mod sequences;
pub mod set;
#[cfg(feature = "soak")]
pub mod soak;
pub mod stack;
pub mod swap;
pub mod ticket;

use std::fmt;

use confute::lang::{Mistake, ServerModel};
use confute::network::Network;
use confute::simulate::{ExchangePlan, Statistics, exchange};
use confute::trace::Event;
use serde::{Deserialize, Serialize};

/// A text that is a whole message. It is printed in quotes, with escapes: no text can look like two messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Word(pub String);
confute::plain!(Word);

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Random traffic for a model: requests of clients and responses of origins.
///
/// `pick` returns a random number below its argument.
pub trait Workload: ServerModel {
    /// Returns the next request on a client connection. `seen` contains the latest messages received on any
    /// connection, newest last.
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, seen: &[Self::Msg]) -> Self::Msg;

    /// Returns the response on a connection that the server opened, after receiving `got` there.
    fn answer(&self, pick: &mut dyn FnMut(u64) -> u64, got: &Self::Msg) -> Option<Self::Msg> {
        let _ = (pick, got);
        None
    }
}

/// Runs a model as a server under its own workload: see [`exchange`].
pub fn simulate<W: Workload<Msg: Clone>, N: Network + ?Sized>(
    model: &W,
    network: &N,
    plan: &ExchangePlan,
    sink: &mut dyn FnMut(Event<W::Msg>) -> bool,
) -> Result<Statistics, Mistake> {
    exchange(
        model,
        network,
        plan,
        &mut |random, seen| model.request(&mut |bound| random.below(bound), seen),
        &mut |random, got| model.answer(&mut |bound| random.below(bound), got),
        sink,
    )
}

/// Returns one of the options at random.
fn one_of<T: Clone>(options: &[T], pick: &mut dyn FnMut(u64) -> u64) -> Option<T> {
    options.get(pick(options.len() as u64) as usize).cloned()
}

/// Returns a word that is unlikely to be drawn twice.
fn mark(pick: &mut dyn FnMut(u64) -> u64) -> String {
    format!("{:x}", pick(1 << 48))
}
