//! Derivation of a tester from a model (the paper's §4): one file per stage, in the order of the pipeline.
//!
//! | stage | figure | file |
//! |---|---|---|
//! | server and network model become the behaviour that a client can see | 5, 13 | [`compose`] in a [`world`] (one turn of the model: [`turn`], its [`effects`], repeated: [`repeat`]; queries about a delivery: [`inquire`]) |
//! | sends become observations to explain, receives become messages to give | 9 | [`dualize`] |
//! | sent messages are matched with observed ones | 10 | [`unify`] |
//! | one live explanation, with alternatives behind it | 11 | [`search`] |
//! | what the search leaves out without changing a verdict | | [`reduce`], one file each |
//!
//! [`hypothesis`] is the state that the stages work on, [`fingerprint`] its identity; [`book`] holds what is certain;
//! [`survey`] answers questions from outside; [`notes`] tells a log what the search does; [`fault`] drops premises, for tests.

pub(crate) mod book;
pub(crate) mod compose;
pub(crate) mod coverage;
pub(crate) mod dualize;
mod effects;
#[cfg(not(feature = "faults"))]
#[expect(unreachable_pub, reason = "tests reach it")]
pub(crate) mod fault;
#[cfg(feature = "faults")]
pub mod fault;
mod fingerprint;
pub(crate) mod hypothesis;
pub(crate) mod inquire;
mod notes;
pub(crate) mod reduce;
pub(crate) mod repeat;
pub(crate) mod search;
mod survey;
pub(crate) mod turn;
pub(crate) mod unify;
pub(crate) mod world;
