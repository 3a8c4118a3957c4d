//! Rules: the demands of a model, by name.

use serde::{Deserialize, Serialize};

/// How binding a rule is, from the weakest level to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// An answer must come at all: seen only by waiting.
    Live,
    /// The standard recommends it.
    Should,
    /// Availability and stability: requests are served, and validators change only with the content. No standard
    /// demands it, and correct servers refuse requests or compute validators anew.
    Steady,
    /// What a store with one copy does, though no standard says so.
    Store,
    /// The standard demands it.
    Must,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Level; 5] = [Level::Live, Level::Should, Level::Steady, Level::Store, Level::Must];

    /// Its name.
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

/// A demand that a model makes, and from which a server may deviate once the rule is relaxed.
#[derive(Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Rule {
    /// Its name, for reports and for `--allow`.
    pub name: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What it asks, in one sentence.
    pub summary: &'static str,
}
