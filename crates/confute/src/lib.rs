//! Confute proves networked servers wrong.
//!
//! You write down how a *correct* server behaves, as a plain nondeterministic program
//! ([`lang::ServerModel`]). Confute composes it with a network model ([`network::Network`]) and derives a
//! [`Tester`]. The tester takes the observed events, keeps every *hypothesis* about the server's hidden
//! choices and about message delays, and refutes the server when no hypothesis is left.
//!
//! ```
//! use confute::lang::{Io, Register, ServerModel, Turn};
//! use confute::network::Tcp;
//! use confute::trace::{Event, WireConn};
//! use confute::{Options, Tester};
//!
//! /// Answers every message with the one before.
//! struct Swap;
//!
//! const LAST: Register<String> = Register::new("last");
//!
//! impl ServerModel for Swap {
//!     type Msg = String;
//!     type Out = String;
//!     fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
//!         let (conn, message) = io.recv()?;
//!         let cell = LAST.edit(io)?;
//!         let before = cell.get(io)?.unwrap_or_default();
//!         cell.set(io, message.to_string())?;
//!         io.send(conn, before)
//!     }
//! }
//!
//! let network = Tcp::default();
//! let mut tester = Tester::new(&Swap, &network, Options::default());
//! let [one, two] = [WireConn(1), WireConn(2)];
//! // Two clients at once: either may have come first.
//! tester.observe(Event::Sent(one, "a".into()));
//! tester.observe(Event::Sent(two, "b".into()));
//! tester.observe(Event::Received(one, "b".into()));
//! assert!(tester.verdict().is_unrefuted());
//! // But not each after the other.
//! tester.observe(Event::Received(two, "a".into()));
//! assert!(tester.verdict().is_refuted());
//! ```
//!
//! Terminology: a *turn* is one iteration of the model's loop; a *cell* is a piece of its state; a *rule* is
//! a requirement that a server may break once it is relaxed; a *trace* is the sequence of observed
//! [`trace::Event`]s; a [`Verdict`] is `Unrefuted`, `Refuted` or `Inconclusive`, never "passed".
//!
//! Further reading: [`lang`] to write models, [`judge`] and [`blame`] for recorded traces, [`simulate`] to
//! run a model as a server, [`history`] for histories recorded by other tools, [`check`] for
//! programs that judge files of several models. This crate has no clock, no
//! sockets, no threads and no protocol.

mod account;
pub mod check;
mod derive;
mod engine;
pub mod erased;
pub mod fingerprint;
pub mod history;
pub mod knowledge;
pub mod lang;
pub mod network;
pub mod random;
pub mod simulate;
mod tester;
pub mod trace;
mod verdict;

mod explain;

pub use account::{Clock, Note, SearchAccount, SearchLog};
#[cfg(feature = "faults")]
pub use derive::fault;
pub use derive::reduce::{Reduction, Reductions};
pub use engine::{Options, Pulse};
pub use explain::{
    Bar, Counterfactual, Depth, Ground, Names, Reasons, blame, blame_by_parts, explain, reasons,
};
pub use tester::{Tester, judge};
pub use verdict::{Blame, Diagnosis, Expectation, Inconclusive, Refutation, Verdict};
