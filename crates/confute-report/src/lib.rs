//! What is said of a run: to people on a terminal, and to programs in files.
//!
//! The command line and tests of a user's own use the same: a [`Subject`] says what was tested, a campaign's outcome what came
//! of it. [`summary`] writes both for people, [`lines`] as JSON, [`files`] into a directory, also as a page. Nothing here
//! talks to a server but [`shrink`], which makes cases smaller before they are told.

pub mod advice;
pub mod baseline;
pub mod because;
pub mod bound;
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

use confute::lang::Rule;
use confute_drive::{Conclusion, Target};
use serde_json::Value;

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

/// What a script can learn without reading.
pub fn exit_code(conclusion: &Conclusion) -> u8 {
    match conclusion {
        Conclusion::Unrefuted => 0,
        Conclusion::Refuted => 1,
        Conclusion::Inconclusive(_) => 3,
    }
}

/// A message in one line.
fn said(message: &impl Debug) -> String {
    format!("{message:?}")
}
