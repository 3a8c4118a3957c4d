//! Derivation of a tester from a model (the paper's §4): one file per stage, in the order of the pipeline.
//!
//! | stage | figure | file |
//! |---|---|---|
//! | server and network model become the behaviour that a client can see | 5, 13 | [`compose`] (one turn of the model: [`turn`], repeated: [`repeat`]; queries about a delivery: [`inquire`]) |
//! | sends become observations to explain, receives become messages to give | 9 | [`dualize`] |
//! | sent messages are matched with observed ones | 10 | [`unify`] |
//! | one live explanation, with alternatives behind it | 11 | [`backtrack`] (alternatives: [`stack`]; their order: [`order`]; use of later observations: [`foresight`], [`scenes`]; forgetting the past: [`settle`]) |
//!
//! [`hypothesis`] is the state that the stages work on; [`book`] holds what is certain.

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
