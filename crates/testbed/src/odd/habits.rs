//! Which oddities a server has, and when they show.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::table::{Entry, Oddity, TABLE};
use super::{Side, Theme};
use crate::embedded::switches::mix;

/// The first requests to a server are neither refused nor broken off, and twins behave, so that a tester learns which
/// methods the server takes.
const PLAIN: u64 = 16;
/// A twin shows so many times as often as the oddity would.
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
    /// What the table says about it.
    pub fn entry(self) -> &'static Entry {
        TABLE.iter().find(|entry| entry.oddity == self).expect("the macro lists each oddity in the table")
    }

    /// The oddity of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|entry| entry.name == name).map(|entry| entry.oddity)
    }
}

impl Habits {
    /// Exactly these oddities.
    pub fn of(oddities: impl IntoIterator<Item = Oddity>, seed: u64) -> Self {
        Self {
            active: oddities.into_iter().collect(),
            twin: None,
            choices: Arc::new(AtomicU64::new(mix(seed))),
            requests: Arc::default(),
        }
    }

    /// The illegal twin of this oddity, and nothing else out of the ordinary.
    pub fn twin(oddity: Oddity, seed: u64) -> Self {
        Self { twin: Some(oddity), ..Self::of([oddity], seed) }
    }

    /// A random combination of the oddities of one side: some of them, of each group one at most.
    pub fn draw(side: Side, seed: u64) -> Self {
        let mut habits = Self::of([], seed);
        let all: Vec<&Entry> = TABLE.iter().filter(|entry| entry.side == side).collect();
        // A few oddities show what each does; many show how they meet.
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

    /// The names of all that is odd.
    pub fn names(&self) -> Vec<&'static str> {
        self.active.iter().map(|oddity| oddity.entry().name).collect()
    }

    /// Rules below the level *store* that a tester may report.
    pub fn warns(&self) -> BTreeSet<&'static str> {
        self.active.iter().flat_map(|oddity| oddity.entry().warns).copied().collect()
    }

    /// Whether an oddity of this theme is active.
    pub fn is_about(&self, theme: Theme) -> bool {
        self.active.iter().any(|oddity| oddity.entry().theme == theme)
    }

    /// Whether the oddity is active, or its twin.
    pub(super) fn has(&self, oddity: Oddity) -> bool {
        self.active.contains(&oddity)
    }

    /// Whether the illegal twin of the oddity is active, and the first requests are over.
    pub(super) fn breaks(&self, oddity: Oddity) -> bool {
        self.twin == Some(oddity) && self.is_warm()
    }

    /// Whether the oddity is active, and its twin is not.
    pub(super) fn keeps(&self, oddity: Oddity) -> bool {
        self.has(oddity) && !self.breaks(oddity)
    }

    /// A random number below this one.
    pub(super) fn below(&self, bound: u64) -> u64 {
        mix(self.choices.fetch_add(1, Ordering::Relaxed)) % bound.max(1)
    }

    /// Whether the oddity shows now: once in so many times.
    pub(super) fn shows(&self, oddity: Oddity, one_in: u64) -> bool {
        let one_in = if self.breaks(oddity) { (one_in / OFTEN).max(2) } else { one_in };
        self.has(oddity) && self.below(one_in) == 0
    }

    /// Notes that a request came.
    pub(super) fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// The same as [`shows`](Self::shows), but never for the first requests.
    pub(super) fn strikes(&self, oddity: Oddity, one_in: u64) -> bool {
        self.is_warm() && self.shows(oddity, one_in)
    }

    /// Whether the first requests are over.
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
