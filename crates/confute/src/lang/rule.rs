//! Rules: the named requirements of a model.

use serde::{Deserialize, Serialize};

/// Level of a rule, from the weakest requirement to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A response must arrive at all: only observable by waiting.
    Live,
    /// The standard recommends it.
    Should,
    /// Availability and stability: requests are served, and validators change only with the content. No
    /// standard requires it, and correct servers refuse requests or recompute validators.
    Steady,
    /// Behaviour of a store with a single copy, though no standard requires it.
    Store,
    /// The standard requires it.
    Must,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Level; 5] = [Level::Live, Level::Should, Level::Steady, Level::Store, Level::Must];

    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        match self {
            Level::Live => "live",
            Level::Should => "should",
            Level::Steady => "steady",
            Level::Store => "store",
            Level::Must => "must",
        }
    }
}

/// A requirement of a model, from which a server may deviate once the rule is relaxed.
#[derive(Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Rule {
    /// Name of the rule, for reports and for `--allow`.
    pub name: &'static str,
    /// Level of the rule.
    pub level: Level,
    /// The requirement, in one sentence.
    pub summary: &'static str,
}

impl Rule {
    /// Returns a rule of level *must*: a correct server never breaks it.
    pub const fn must(name: &'static str, summary: &'static str) -> Self {
        Self { name, level: Level::Must, summary }
    }
}
