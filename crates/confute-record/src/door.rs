//! The program that started a run.

use serde::{Deserialize, Serialize};

/// The program that started a run. Advice names a setting as the user of that program writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Door {
    /// The binary `confute`.
    #[default]
    CommandLine,
    /// A test in Rust.
    Test,
}

impl Door {
    /// Returns the name of a setting, given its flag without hyphens at the front: `--max-time`, or `.max_time(…)`.
    pub fn setting(self, flag: &str) -> String {
        match self {
            Door::CommandLine => format!("--{flag}"),
            Door::Test => format!(".{}(…)", flag.replace('-', "_")),
        }
    }

    /// Returns one of two texts: for a user of the command line, or for the author of a test.
    pub fn either<'a>(self, command_line: &'a str, test: &'a str) -> &'a str {
        match self {
            Door::CommandLine => command_line,
            Door::Test => test,
        }
    }
}
