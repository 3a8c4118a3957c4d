//! One run of a merge: the numbers that it contributes.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Conclusion, Figures, RunRecord, Shard, Tally, Tried, TroubleRecord};

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    /// The run has only a journal: it was killed, or it is still going on.
    Interrupted,
    /// The run was asked to stop before it reached a limit of its own.
    Stopped,
    /// The run reached its end.
    Complete,
}

/// A run in a merged record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Identity of the run.
    pub id: String,
    /// Index of its campaign.
    pub campaign: usize,
    /// The numbers of the run.
    #[serde(flatten)]
    pub own: PartFigures,
}

/// The numbers of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartFigures {
    /// Its shard; `None` if it is a whole campaign.
    pub shard: Option<Shard>,
    /// The folder in which it was first read.
    pub folder: String,
    /// Its progress.
    pub state: PartState,
    /// Its verdict.
    pub conclusion: Conclusion,
    /// The server that it tested.
    pub server: String,
    /// Seed of its random choices.
    pub seed: u64,
    /// Number of cases at the same time.
    pub workers: usize,
    /// Numbers of cases by result.
    pub tally: Tally,
    /// Counts and distributions; the names of rules are those of the campaign.
    pub figures: Figures,
    /// The branches that it reached, and how often.
    pub branches: Vec<(Arc<str>, u64)>,
    /// Time that testing took.
    pub elapsed: Duration,
    /// Troubles, each with its number of occurrences.
    pub troubles: Vec<TroubleRecord>,
    /// Steps that failed because of a defect in Confute.
    pub missing: Vec<String>,
    /// Stored cases that were run first.
    pub tried: Vec<Tried>,
    /// The mistake of the model that ended the run.
    pub mistake: Option<String>,
}

/// A run in a merge.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) campaign: Arc<str>,
    pub(super) own: PartFigures,
}

impl Part {
    /// Returns the run of a record, and its identity.
    pub(super) fn of(
        record: RunRecord,
        campaign: Arc<str>,
        names: &[String],
        folder: &str,
    ) -> (Arc<str>, Self) {
        let id = if record.head.id.is_empty() { id_of(&record) } else { record.head.id };
        let mut figures = record.figures;
        figures.rules.clear();
        debug_assert!(record.branches.iter().all(|(name, _)| names.contains(name)), "the campaign has them");
        let branches = record.branches.into_iter().filter(|(_, times)| *times > 0);
        let state = match (record.notes.stopped, &record.conclusion) {
            (false, _) => PartState::Complete,
            (true, _) if record.notes.budgets.is_none() => PartState::Interrupted,
            (true, _) => PartState::Stopped,
        };
        let own = PartFigures {
            shard: record.plan.shard.filter(|shard| *shard != Shard::WHOLE),
            folder: folder.to_owned(),
            state,
            conclusion: record.conclusion,
            server: record.server,
            seed: record.plan.seed,
            workers: record.plan.workers,
            tally: record.tally,
            figures,
            branches: branches.map(|(name, times)| (Arc::from(name), times)).collect(),
            elapsed: record.elapsed,
            troubles: record.troubles,
            missing: record.notes.missing,
            tried: record.notes.tried,
            mistake: record.notes.mistake,
        };
        (id.into(), Self { campaign, own })
    }

    /// Adds another state of the same run: the one that got further counts. The order is total, so that the result does
    /// not depend on which was read first.
    pub(super) fn join(&mut self, other: Self) {
        let folder = self.own.folder.clone().min(other.own.folder.clone());
        if other.rank() > self.rank() || (other.rank() == self.rank() && other.text() > self.text()) {
            *self = other;
        }
        self.own.folder = folder;
    }

    fn rank(&self) -> (PartState, u64, Duration) {
        (self.own.state, self.own.tally.cases, self.own.elapsed)
    }

    /// Returns the run as text without its folder, which decides between two that got equally far.
    fn text(&self) -> String {
        let own = PartFigures { folder: String::new(), ..self.own.clone() };
        format!("{}{}", self.campaign, serde_json::to_string(&own).unwrap_or_default())
    }
}

/// Returns an identity for a record that has none, made from its contents.
fn id_of(record: &RunRecord) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(record).unwrap_or_default());
    format!("record-{:016x}", hasher.finish())
}
