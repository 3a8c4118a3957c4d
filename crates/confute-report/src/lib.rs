//! What is said of a run: to people on a terminal, and to programs in files.
//!
//! The command line and tests of a user's own use the same: a [`Subject`] says what was tested, a campaign's outcome what came
//! of it. [`summary`] writes both for people, [`lines`] as JSON, [`files`] into a directory, also as a page. Nothing here
//! talks to a server but [`shrink`], which makes cases smaller before they are told.

pub mod advice;
pub mod baseline;
pub mod because;
pub mod bound;
pub mod budgets;
pub mod exit;
mod exports;
pub mod files;
mod html;
mod ladder;
pub mod lines;
pub mod note;
pub mod quantity;
pub mod rate;
pub mod regressions;
mod rust_test;
mod secrets;
pub mod session;
pub mod shrink;
pub mod standing;
pub mod stored;
pub mod style;
pub mod summary;
pub mod text;
pub mod violation;

use std::fmt::Debug;
use std::hash::{BuildHasher as _, RandomState};

use confute::lang::Rule;
use confute_drive::Target;
use serde_json::Value;

pub use exit::Exit;
pub use rust_test::rust_test;
pub use secrets::Secrets;

/// What is tested.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The model's name, for traces.
    pub model: &'a str,
    /// What is taken for granted, and cannot be seen.
    pub premise: &'a str,
    /// The server, as the user named it.
    pub shown: &'a str,
    /// Where it is.
    pub target: Target,
    /// The rules of the model.
    pub rules: &'static [Rule],
    /// Where the standard asks for what a rule asks for, if one does.
    pub clause: fn(&str) -> Option<&'static str>,
    /// What else there is to know to speak to such a server, for [stored] cases.
    pub settings: Value,
    /// What must not be shown.
    pub secrets: Secrets,
    /// What is tried out to the end, if anything is.
    pub bound: Option<bound::Bound>,
}

/// A seed that is another one each time, and short enough to be typed again.
pub fn fresh_seed() -> u64 {
    RandomState::new().hash_one(0) & 0xffff_ffff
}

/// A message in one line.
fn said(message: &impl Debug) -> String {
    format!("{message:?}")
}
