//! Merging: one record from the records of many runs.
//!
//! A merge is a union: of campaigns, of runs by their identity, of causes with the occurrences of each run, and of folders
//! that could not be read. Everything else (sums, verdict, the list of violations) is computed from the union afterwards.
//! Therefore merging is associative, commutative and idempotent, merged records can be merged again, and a run that is
//! merged twice counts once. Of one run in two states (interrupted, and later completed) the later state counts.
//!
//! Memory is bounded by what is distinct: one smallest case for each cause and the traces of a few more, a few hundred numbers for
//! each run, two numbers for each occurrence.

mod campaign;
mod cause;
mod conclude;
mod evidence;
#[doc(hidden)]
pub mod fabricated;
mod groups;
mod part;
mod shape;
mod stored;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use conclude::conclude;
pub use evidence::Evidence;
pub use groups::{Judge, Question};
pub use part::{PartRecord, PartState};
pub use shape::shape;
pub use stored::{CampaignRecord, CauseRecord, MergedRecord, SeenRecord, ShapeRecord, UnreadRecord};

use crate::RunRecord;
use campaign::Campaign;
use cause::{Cause, CauseKey};
use part::{Part, PartFigures};

/// The union of many runs.
#[derive(Clone, Debug, Default)]
pub struct Merge {
    /// Campaigns by their identity.
    campaigns: BTreeMap<Arc<str>, Campaign>,
    /// Runs by their identity.
    parts: BTreeMap<Arc<str>, Part>,
    causes: BTreeMap<CauseKey, Cause>,
    unread: BTreeSet<UnreadRecord>,
    /// Names that many runs share, each stored once.
    names: BTreeSet<Arc<str>>,
}

impl Merge {
    /// Adds the record of a run, or a merged one, from this folder.
    pub fn add(&mut self, record: RunRecord, folder: &str) -> Result<(), String> {
        match record.merged {
            Some(_) => stored::add(self, record),
            None => {
                self.add_run(record, folder);
                Ok(())
            }
        }
    }

    /// Adds a folder without a record that can be read, with the reason.
    pub fn add_unread(&mut self, folder: &str, why: &str) {
        self.unread.insert(UnreadRecord { folder: folder.to_owned(), why: why.to_owned() });
    }

    /// Adds the union of other runs.
    pub fn merge(&mut self, other: Self) {
        for (key, campaign) in other.campaigns {
            self.join_campaign(key, campaign);
        }
        other.parts.into_iter().for_each(|(id, part)| self.join_part(id, part));
        for (key, cause) in other.causes {
            match self.causes.entry(key) {
                std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(cause)),
                std::collections::btree_map::Entry::Occupied(mut known) => known.get_mut().join(cause),
            }
        }
        self.unread.extend(other.unread);
    }

    /// Returns `true` if nothing was read.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.parts.len()
    }

    /// Returns the identity of the campaign of a run: the parameters that all its shards share.
    pub fn campaign_of(record: &RunRecord) -> String {
        Campaign::of(record).0
    }

    /// Describes in which parameters the campaign of one run differs from that of another.
    pub fn difference(this: &RunRecord, that: &RunRecord) -> String {
        campaign::difference(&Self::campaign_of(this), &Self::campaign_of(that))
    }

    fn add_run(&mut self, mut record: RunRecord, folder: &str) {
        let violations = std::mem::take(&mut record.violations);
        let (key, campaign) = Campaign::of(&record);
        let key = self.join_campaign(key.into(), campaign);
        let names = &self.campaigns[&key].branches;
        let (id, mut part) = Part::of(record, Arc::clone(&key), names, folder);
        self.intern(&mut part.own);
        for violation in violations {
            let cause = CauseKey::of(&violation, &key);
            match self.causes.entry(cause) {
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(Cause::of(violation, &id));
                }
                std::collections::btree_map::Entry::Occupied(mut known) => {
                    known.get_mut().add(violation, &id);
                }
            }
        }
        self.join_part(id, part);
    }

    /// Replaces the names in a run by those that are stored already.
    fn intern(&mut self, own: &mut PartFigures) {
        own.branches.sort();
        for (name, _) in &mut own.branches {
            match self.names.get(name) {
                Some(known) => *name = Arc::clone(known),
                None => drop(self.names.insert(Arc::clone(name))),
            }
        }
    }

    /// Adds a campaign. Returns its identity, stored once for all runs.
    fn join_campaign(&mut self, key: Arc<str>, campaign: Campaign) -> Arc<str> {
        if let Some((known, _)) = self.campaigns.get_key_value(&key) {
            let known = Arc::clone(known);
            if let Some(mine) = self.campaigns.get_mut(&key) {
                mine.join(campaign);
            }
            return known;
        }
        self.campaigns.insert(Arc::clone(&key), campaign);
        key
    }

    fn join_part(&mut self, id: Arc<str>, part: Part) {
        match self.parts.entry(id) {
            std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(part)),
            std::collections::btree_map::Entry::Occupied(mut known) => known.get_mut().join(part),
        }
    }
}
