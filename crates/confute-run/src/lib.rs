//! A session, from a target to a record: stored cases first, then the campaign, then smaller cases, proofs and files.
//!
//! A [`Kit`] is everything that Confute knows about one kind of server. [`Kit::open`] turns its settings into
//! a [`Subject`] to test; [`session::run`] tests it, and [`record::of`] makes the plain
//! [`RunRecord`](confute_record::RunRecord) that reports are made from. [`replay`] repeats a stored case.
//! Nothing here knows a terminal or an output format.

pub mod advice;
pub mod baseline;
pub mod budgets;
mod error;
mod exports;
pub mod keeper;
pub mod kit;
pub mod merged;
pub mod proof;
pub mod quantity;
pub mod record;
pub mod regressions;
pub mod rejudge;
pub mod replay;
mod rust_test;
mod secrets;
pub mod session;
pub mod shrink;
pub mod stored;
mod target;
pub mod way;

use std::hash::{BuildHasher as _, RandomState};

use confute::lang::{Rule, panicked_model};
use confute_drive::{AnyGenerator, AnyProtocol, Target};
use serde_json::Value;

pub use confute_record::Door;
pub use error::RunError;
pub use kit::{Book, Explanation, Kit};
pub use rust_test::rust_test;
pub use secrets::Secrets;
pub use target::{address, guard};

/// Function that makes the generator of a case from its number.
pub type TrafficFactory = Box<dyn Fn(u64) -> AnyGenerator<'static> + Send + Sync>;

/// A server to test, and everything that is needed to test it.
pub struct Subject {
    /// Name of the model, for stored cases.
    pub model: String,
    /// Protocol of the server.
    pub protocol: Box<dyn AnyProtocol>,
    /// The traffic of each case.
    pub traffic: TrafficFactory,
    /// The premise that verdicts rest on, and that cannot be observed.
    pub premise: String,
    /// The server, as the user named it.
    pub shown: String,
    /// The address of the server.
    pub target: Target,
    /// Function that returns the clause of a standard behind a rule.
    pub clause: fn(&str) -> Option<&'static str>,
    /// Settings of the kit without secrets, for stored cases.
    pub settings: Value,
    /// Values that must not appear in any output.
    pub secrets: Secrets,
    /// The claim of an exhaustive run.
    pub bound: Option<confute_record::BoundRecord>,
    /// Number of connections that all cases together may have open, if their number is not fixed.
    pub most_connections: u32,
    /// `true` if `confute explain` knows the rules.
    pub is_shipped: bool,
    /// The program that tests it.
    pub door: Door,
}

impl Subject {
    /// Creates a server that speaks this protocol, with no settings, secrets or clauses.
    pub fn new(
        model: &str,
        protocol: impl AnyProtocol + 'static,
        target: Target,
        traffic: impl Fn(u64) -> AnyGenerator<'static> + Send + Sync + 'static,
    ) -> Self {
        Self {
            model: model.to_owned(),
            protocol: Box::new(protocol),
            traffic: Box::new(traffic),
            premise: "nobody else writes to the tested resources".to_owned(),
            shown: target.address.to_string(),
            target,
            clause: |_| None,
            settings: Value::Null,
            secrets: Secrets::default(),
            bound: None,
            most_connections: confute_drive::MOST_CONNECTIONS,
            is_shipped: false,
            door: Door::default(),
        }
    }

    /// Returns the rules of the model.
    pub fn rules(&self) -> &'static [Rule] {
        self.protocol.model().rules()
    }
}

/// Describes a panic that was just caught on this thread: as a mistake of the model if it panicked, otherwise as a defect of the tester.
pub fn panicked(why: String) -> String {
    match panicked_model(why) {
        Ok(mistake) => format!("mistake in the model: {mistake}"),
        Err(why) => format!("internal error: {why}"),
    }
}

/// Returns a seed that differs each time, and is short enough to be typed again.
pub fn fresh_seed() -> u64 {
    RandomState::new().hash_one(0) & 0xffff_ffff
}
