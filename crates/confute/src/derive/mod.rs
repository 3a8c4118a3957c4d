//! From a model to a tester (the paper's §4): one file a stage, in the order of the pipeline.
//!
//! | stage | figure | file |
//! |---|---|---|
//! | server and network become what a client can see | 5, 13 | [`compose`] (one turn of the model: [`turn`], run again: [`repeat`]; what a packet would do: [`inquire`]) |
//! | sends become sights to explain, receives become messages to give | 9 | [`dualize`] |
//! | what was sent against what was seen | 10 | [`unify`] |
//! | one live explanation, the others behind it | 11 | [`backtrack`] (the others: [`stack`]; which first: [`order`]; what later answers tell: [`foresight`], [`scenes`]; forgetting the past: [`settle`]) |
//!
//! [`hypothesis`] is what the stages work on; [`book`] holds what is no conjecture.

pub(crate) mod backtrack;
pub(crate) mod book;
pub(crate) mod compose;
pub(crate) mod coverage;
pub(crate) mod dualize;
pub(crate) mod foresight;
pub(crate) mod hypothesis;
pub(crate) mod inquire;
mod order;
pub(crate) mod repeat;
mod scenes;
mod settle;
mod stack;
pub(crate) mod turn;
pub(crate) mod unify;
