//! Oracles: slow, obvious judges of traces, used to check the engine.
//!
//! [`tree`] turns any model into the interaction tree of the paper. [`figures`] is the paper's derivation on
//! those trees, figure by figure; [`brute`] keeps every configuration that could explain the events so far;
//! [`figure1`] is the paper's hand-written tester. [`naive`] replaces the solver; [`mini`], [`families`] and
//! [`random`] generate small models and traces; [`combine`] runs the engine with sets of reductions, and [`stored`] keeps
//! triples that once were judged wrongly, or that show a planted fault. None of them uses the engine, its solver or its simulator.

#![expect(unreachable_pub, reason = "a test has no outside")]
#![allow(
    clippy::unwrap_used,
    clippy::type_complexity,
    clippy::cast_possible_wrap,
    clippy::unused_self,
    clippy::single_match_else,
    reason = "helpers of tests: what is obvious may be long, and a broken oracle may panic"
)]

pub mod brute;
pub mod combine;
pub mod families;
pub mod figure1;
pub mod figures;
pub mod mini;
pub mod naive;
pub mod random;
pub mod stored;
pub mod tree;
