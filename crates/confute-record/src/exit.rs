//! Exit codes, for scripts that do not parse the output.
//!
//! The exit code for several files is the worst one: broken input before refuted before inconclusive before unrefuted.

use std::process::ExitCode;

use confute::Verdict;

use crate::Conclusion;

/// The result of a program, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Every observation was explained.
    Unrefuted,
    /// The search reached no verdict on some input.
    Inconclusive,
    /// Some input was refuted.
    Refuted,
    /// Some input, or the command line, was invalid.
    Broken,
}

impl Exit {
    /// Returns the result as one word.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Unrefuted => "unrefuted",
            Exit::Refuted => "refuted",
            Exit::Broken => "broken",
            Exit::Inconclusive => "inconclusive",
        }
    }

    /// Returns the exit code.
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
