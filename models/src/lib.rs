//! Small models, in the order in which to read them. Each teaches one thing.
//!
//! | model | what it teaches |
//! |---|---|
//! | [`echo`] | a model is one turn of a loop; a rule is where a server may go wrong |
//! | [`accumulator`] | what a server remembers lives in cells |
//! | [`proxy`] | connections that the server opens, and turns that touch anything |
//! | [`swap`] | the smallest server whose answers betray the order of requests |
//! | [`register`] | several requests, and one rule for each of its promises |
//! | [`kv`] | tables: requests for different keys have nothing to do with each other |
//! | [`conditional`] | secrets: tags that the server chooses and the tester has to find out |
//! | [`ticket`] | secrets in order: numbers of which only "greater" is known |
//!
//! Every model comes with a [`Workload`], so that it can be simulated and tested against itself.

pub mod accumulator;
pub mod conditional;
pub mod echo;
pub mod kv;
pub mod proxy;
pub mod recorded;
pub mod register;
pub mod registry;
#[cfg(feature = "soak")]
pub mod soak;
pub mod swap;
pub mod ticket;

use std::fmt;

use confute::lang::{Mistake, ServerModel};
use confute::network::Network;
use confute::simulate::{Plan, Statistics, exchange};
use confute::trace::Event;
use serde::{Deserialize, Serialize};

/// A text that is a whole message. It is shown in quotes, with escapes: no text can pass for two messages.
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

/// Random traffic for a model: what clients ask and what origins answer.
///
/// `pick` gives a random number below its argument.
pub trait Workload: ServerModel {
    /// The next request on a client connection. `seen` are the latest messages received on any connection, newest last.
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, seen: &[Self::Msg]) -> Self::Msg;

    /// What to send back on a connection that the server opened, after receiving `got` there.
    fn answer(&self, pick: &mut dyn FnMut(u64) -> u64, got: &Self::Msg) -> Option<Self::Msg> {
        let _ = (pick, got);
        None
    }
}

/// Runs a model as a server under its own workload: see [`exchange`].
pub fn simulate<W: Workload<Msg: Clone>, N: Network + ?Sized>(
    model: &W,
    network: &N,
    plan: &Plan,
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

/// One of these, at random.
fn one_of<T: Clone>(options: &[T], pick: &mut dyn FnMut(u64) -> u64) -> Option<T> {
    options.get(pick(options.len() as u64) as usize).cloned()
}

/// A word that will hardly be drawn twice.
fn mark(pick: &mut dyn FnMut(u64) -> u64) -> String {
    format!("{:x}", pick(1 << 48))
}

#[cfg(test)]
mod tests;
