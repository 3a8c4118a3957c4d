//! Oracles: slow, obvious judges of traces, against which the engine is checked.
//!
//! [`tree`] turns any model into the interaction tree of the paper. [`figures`] is the paper's derivation on those
//! trees, figure by figure; [`brute`] keeps every configuration that could explain the events so far; [`figure1`] is the
//! paper's hand-written tester. [`naive`] stands in for the solver and [`random`] makes small models and traces.
//! None of them uses the engine, its solver or its simulator.

#![expect(unreachable_pub, reason = "a test has no outside")]

pub mod brute;
pub mod figure1;
pub mod figures;
pub mod naive;
pub mod random;
pub mod tree;
