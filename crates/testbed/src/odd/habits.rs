//! The oddities of a server, and the schedule by which they show.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::table::{Entry, Oddity, TABLE};
use super::{Side, Theme};
use crate::embedded::switches::mix;

/// Number of first requests to a server that are neither refused nor cut off, and in which twins behave correctly, so
/// that a tester learns which methods the server supports.
const PLAIN: u64 = 16;
/// Factor by which a twin shows more often than its oddity.
const OFTEN: u64 = 4;

/// The oddities of one server, and the source of its random choices.
#[derive(Debug, Clone)]
pub struct Habits {
    active: BTreeSet<Oddity>,
    twin: Option<Oddity>,
    choices: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
}

impl Oddity {
    /// Returns the table entry of the oddity.
    pub fn entry(self) -> &'static Entry {
        TABLE.iter().find(|entry| entry.oddity == self).expect("the macro lists each oddity in the table")
    }

    /// Returns the oddity of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|entry| entry.name == name).map(|entry| entry.oddity)
    }
}

impl Habits {
    /// Creates habits with exactly these oddities.
    pub fn of(oddities: impl IntoIterator<Item = Oddity>, seed: u64) -> Self {
        Self {
            active: oddities.into_iter().collect(),
            twin: None,
            choices: Arc::new(AtomicU64::new(mix(seed))),
            requests: Arc::default(),
        }
    }

    /// Creates habits with the illegal twin of this oddity and no other oddity.
    pub fn twin(oddity: Oddity, seed: u64) -> Self {
        Self::of([], seed).breaking(oddity)
    }

    /// Adds the illegal twin of this oddity.
    #[must_use]
    pub fn breaking(mut self, oddity: Oddity) -> Self {
        self.active.insert(oddity);
        self.twin = Some(oddity);
        self
    }

    /// Draws a random combination of the oddities of one side, at most one of each group.
    pub fn draw(side: Side, seed: u64) -> Self {
        let mut habits = Self::of([], seed);
        let all: Vec<&Entry> = TABLE.iter().filter(|entry| entry.side == side).collect();
        // Few oddities exercise each alone; many exercise their interactions.
        let wanted = [2, 4, 8, 12][habits.below(4) as usize];
        for _ in 0..4 * wanted {
            let entry = all[habits.below(all.len() as u64) as usize];
            let has = |other: &&Oddity| {
                !entry.group.is_empty() && other.entry().group == entry.group && **other != entry.oddity
            };
            if habits.active.len() < wanted && habits.active.iter().find(has).is_none() {
                habits.active.insert(entry.oddity);
            }
        }
        habits
    }

    /// Returns the names of the active oddities.
    pub fn names(&self) -> Vec<&'static str> {
        self.active.iter().map(|oddity| oddity.entry().name).collect()
    }

    /// Returns the rules below the level *store* that a tester may report.
    pub fn warns(&self) -> BTreeSet<&'static str> {
        self.active.iter().flat_map(|oddity| oddity.entry().warns).copied().collect()
    }

    /// Returns `true` if an oddity of this theme is active.
    pub fn is_about(&self, theme: Theme) -> bool {
        self.active.iter().any(|oddity| oddity.entry().theme == theme)
    }

    /// Returns `true` if the oddity or its twin is active.
    pub(super) fn has(&self, oddity: Oddity) -> bool {
        self.active.contains(&oddity)
    }

    /// Returns `true` if the illegal twin of the oddity is active and the first requests are over.
    pub(super) fn breaks(&self, oddity: Oddity) -> bool {
        self.twin == Some(oddity) && self.is_warm()
    }

    /// Returns `true` if the oddity is active and its twin is not.
    pub(super) fn keeps(&self, oddity: Oddity) -> bool {
        self.has(oddity) && !self.breaks(oddity)
    }

    /// Returns a random number below `bound`.
    pub(super) fn below(&self, bound: u64) -> u64 {
        mix(self.choices.fetch_add(1, Ordering::Relaxed)) % bound.max(1)
    }

    /// Returns `true` if the oddity shows now, which happens at random once in `one_in` times.
    pub(super) fn shows(&self, oddity: Oddity, one_in: u64) -> bool {
        let one_in = if self.breaks(oddity) { (one_in / OFTEN).max(2) } else { one_in };
        self.has(oddity) && self.below(one_in) == 0
    }

    /// Counts a request.
    pub(super) fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Like [`shows`](Self::shows), but never `true` for the first requests.
    pub(super) fn strikes(&self, oddity: Oddity, one_in: u64) -> bool {
        self.is_warm() && self.shows(oddity, one_in)
    }

    /// Returns `true` if the first requests are over.
    fn is_warm(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > PLAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_its_clause_and_its_twin() {
        let mut names = BTreeSet::new();
        for entry in TABLE {
            assert!(names.insert(entry.name), "{} is there twice", entry.name);
            assert!(entry.clause.starts_with("RFC "), "{}", entry.name);
            assert!(entry.summary.ends_with('.') && entry.twin.ends_with('.'), "{}", entry.name);
            assert_eq!(Oddity::from_name(entry.name), Some(entry.oddity));
        }
        assert!(TABLE.len() >= 60, "{}", TABLE.len());
    }

    #[test]
    fn every_oddity_is_drawn_and_of_each_group_one() {
        for side in [Side::Origin, Side::Gateway] {
            let mut met = BTreeSet::new();
            for seed in 0..400 {
                let habits = Habits::draw(side, seed);
                let groups: Vec<_> = habits.active.iter().map(|one| one.entry().group).collect();
                for (at, group) in groups.iter().enumerate() {
                    assert!(group.is_empty() || !groups[..at].contains(group), "{:?}", habits.names());
                }
                met.extend(habits.active);
            }
            assert_eq!(met.len(), TABLE.iter().filter(|entry| entry.side == side).count());
        }
    }
}
