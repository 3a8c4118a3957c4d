//! Exit codes: what a script can learn without reading.
//!
//! Of several files the worst counts: broken input before refuted before inconclusive before unrefuted.

use std::process::ExitCode;

use confute::Verdict;

use crate::Conclusion;

/// The result of a program, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything was explained.
    Unrefuted,
    /// Something is not known.
    Inconclusive,
    /// Something was proven wrong.
    Refuted,
    /// Some input, or the command line, made no sense.
    Broken,
}

impl Exit {
    /// The result in a word.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Unrefuted => "unrefuted",
            Exit::Refuted => "refuted",
            Exit::Broken => "broken",
            Exit::Inconclusive => "inconclusive",
        }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Unrefuted => 0,
            Exit::Refuted => 1,
            Exit::Broken => 2,
            Exit::Inconclusive => 3,
        }
    }
}

impl From<&Verdict> for Exit {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Unrefuted => Exit::Unrefuted,
            Verdict::Refuted(_) => Exit::Refuted,
            Verdict::Inconclusive(_) => Exit::Inconclusive,
        }
    }
}

impl From<&Conclusion> for Exit {
    fn from(conclusion: &Conclusion) -> Self {
        match conclusion {
            Conclusion::Unrefuted => Exit::Unrefuted,
            Conclusion::Refuted => Exit::Refuted,
            Conclusion::Inconclusive(_) => Exit::Inconclusive,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
