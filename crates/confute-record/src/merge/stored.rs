//! The stored form of a merge: everything that a further merge needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use confute::lang::Level;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Merge;
use super::campaign::Campaign;
use super::cause::{Cause, CauseKey, Seen};
use super::evidence::{Evidence, Evidences};
use super::part::{Part, PartRecord};
use crate::{PlanRecord, RuleRecord, RunRecord, Violation};

/// The runs that a record was merged from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MergedRecord {
    /// The campaigns. The first is the one that the record is about; runs of the others are foreign to it.
    pub campaigns: Vec<CampaignRecord>,
    /// The runs.
    pub parts: Vec<PartRecord>,
    /// The causes of violations.
    pub causes: Vec<CauseRecord>,
    /// Folders that could not be read.
    pub unread: Vec<UnreadRecord>,
    /// Faults of the runs, in words: shards that are missing, interrupted, doubled or foreign.
    pub problems: Vec<String>,
    /// Why the merge is incomplete, if it is: the first problem that leaves cases unjudged.
    pub incomplete: Option<String>,
    /// Why the first run without a verdict among those that are counted has none.
    pub unclear: Option<String>,
    /// Violations of single runs that are not listed, because rules that other cases prove broken explain them, in words.
    #[serde(default)]
    pub explained: Vec<String>,
}

/// A folder without a record that can be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnreadRecord {
    /// The folder, as the user named it.
    pub folder: String,
    /// The reason.
    pub why: String,
}

/// A campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignRecord {
    /// Its identity: the parameters that all its shards share.
    pub key: String,
    /// Name of the model.
    pub model: String,
    /// The premise that verdicts rest on.
    pub premise: String,
    /// Rules of the model.
    pub rules: Vec<RuleRecord>,
    /// Parameters of its runs.
    pub plan: PlanRecord,
    /// Settings of the kit.
    pub settings: Value,
    /// The coverage goals.
    pub branches: Vec<String>,
    /// Number of requests, and of all scripts, of an exhaustive run.
    pub bound: Option<(u64, u64)>,
    /// Rules that some run tested.
    pub tested: BTreeSet<String>,
    /// Rules that some run relaxed.
    pub relaxed: BTreeSet<String>,
    /// Remarks about the servers.
    pub remarks: BTreeSet<String>,
}

/// A cause of violations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CauseRecord {
    /// Index of its campaign.
    pub campaign: usize,
    /// The sets of rules that it is named after.
    pub named: Vec<Vec<String>>,
    /// Of a violation that no rule explains: its level, and whether blame was incomplete.
    pub unexplained: Option<(Option<Level>, bool)>,
    /// Number of the violation of the record that it belongs to; `None` if it is foreign.
    pub shown: Option<usize>,
    /// The smallest case, unless it is that of the violation.
    pub smallest: Option<Box<Violation>>,
    /// Its occurrences by the shape of their cases.
    pub shapes: Vec<ShapeRecord>,
    /// The cases to judge again, of a few runs.
    pub evidence: Vec<Evidence>,
}

/// The occurrences of a cause with cases of one shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeRecord {
    /// The shape: the first word of each message.
    pub shape: String,
    /// The occurrences by run.
    pub seen: Vec<SeenRecord>,
}

/// The occurrences in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRecord {
    /// Index of the run.
    pub run: usize,
    /// Number of cases.
    pub times: u64,
    /// Numbers and seeds of these cases, as far as they are known.
    pub cases: Vec<(Option<u64>, u64)>,
}

/// Returns the stored form. `main` is the campaign that the record is about, and `shown` has the number of the violation of
/// each cause, and `true` if the smallest case of the cause is that of the violation.
pub(super) fn of(merge: &Merge, main: &str, shown: &BTreeMap<&CauseKey, (usize, bool)>) -> MergedRecord {
    let first = merge.campaigns.get_key_value(main);
    let others = merge.campaigns.iter().filter(|(key, _)| &***key != main);
    let campaigns: Vec<(&Arc<str>, &Campaign)> = first.into_iter().chain(others).collect();
    let campaign_of = |key: &str| campaigns.iter().position(|one| &**one.0 == key).unwrap_or(0);
    let mut parts: Vec<(&Arc<str>, &Part)> = merge.parts.iter().collect();
    parts.sort_by_key(|(id, part)| (campaign_of(&part.campaign), part.own.shard, (*id).clone()));
    let places: BTreeMap<&str, usize> =
        parts.iter().enumerate().map(|(place, (id, _))| (&***id, place)).collect();
    let seen = |(run, seen): (&Arc<str>, &Seen)| SeenRecord {
        run: places.get(&**run).copied().unwrap_or(usize::MAX),
        times: seen.times,
        cases: seen.cases.clone(),
    };
    let cause = |(key, cause): (&CauseKey, &Cause)| {
        let place = shown.get(key);
        CauseRecord {
            campaign: campaign_of(&key.campaign),
            named: key.named.clone(),
            unexplained: key.unexplained,
            shown: place.map(|place| place.0),
            smallest: (!place.is_some_and(|place| place.1)).then(|| cause.smallest.clone()),
            shapes: (cause.shapes.iter())
                .map(|(shape, runs)| {
                    let mut seen: Vec<SeenRecord> = runs.iter().map(seen).collect();
                    seen.sort_by_key(|one| one.run);
                    ShapeRecord { shape: shape.clone(), seen }
                })
                .collect(),
            evidence: cause.evidence.kept(),
        }
    };
    let mut causes: Vec<CauseRecord> = merge.causes.iter().map(cause).collect();
    causes.sort_by_cached_key(|one| (one.campaign, one.named.clone(), one.unexplained));
    MergedRecord {
        causes,
        parts: (parts.iter())
            .map(|(id, part)| PartRecord {
                id: id.to_string(),
                campaign: campaign_of(&part.campaign),
                own: part.own.clone(),
            })
            .collect(),
        campaigns: campaigns.into_iter().map(|(key, campaign)| record(key, campaign)).collect(),
        unread: merge.unread.iter().cloned().collect(),
        problems: Vec::new(),
        incomplete: None,
        unclear: None,
        explained: Vec::new(),
    }
}

fn record(key: &str, campaign: &Campaign) -> CampaignRecord {
    let Campaign { model, premise, rules, plan, settings, branches, bound, tested, relaxed, remarks } =
        campaign.clone();
    let key = key.to_owned();
    CampaignRecord { key, model, premise, rules, plan, settings, branches, bound, tested, relaxed, remarks }
}

/// Adds a merged record to a merge.
pub(super) fn add(merge: &mut Merge, record: RunRecord) -> Result<(), String> {
    let Some(stored) = record.merged else { return Ok(()) };
    let mut other = Merge::default();
    let mut keys: Vec<Arc<str>> = Vec::new();
    for one in stored.campaigns {
        let CampaignRecord {
            key,
            model,
            premise,
            rules,
            plan,
            settings,
            branches,
            bound,
            tested,
            relaxed,
            remarks,
        } = one;
        let campaign =
            Campaign { model, premise, rules, plan, settings, branches, bound, tested, relaxed, remarks };
        let key: Arc<str> = key.into();
        keys.push(Arc::clone(&key));
        other.campaigns.insert(key, campaign);
    }
    let key_of = |place: usize| keys.get(place).cloned().ok_or("it names a campaign that it does not have");
    let mut runs: Vec<Arc<str>> = Vec::new();
    for part in stored.parts {
        let id: Arc<str> = part.id.into();
        runs.push(Arc::clone(&id));
        let mut own = part.own;
        other.intern(&mut own);
        other.parts.insert(id, Part { campaign: key_of(part.campaign)?, own });
    }
    for cause in stored.causes {
        let shown = |number: usize| record.violations.iter().find(|one| one.number == number).cloned();
        let smallest = cause.smallest.or_else(|| cause.shown.and_then(shown).map(Box::new));
        let Some(mut smallest) = smallest else { return Err("it has a cause without a case".to_owned()) };
        (smallest.number, smallest.times) = (0, 0);
        smallest.occurrences.clear();
        let mut shapes = BTreeMap::new();
        for ShapeRecord { shape, seen } in cause.shapes {
            let known: &mut BTreeMap<Arc<str>, Seen> = shapes.entry(shape).or_default();
            for one in seen {
                let run = runs.get(one.run).cloned().ok_or("it names a run that it does not have")?;
                known.insert(run, Seen { times: one.times, cases: one.cases });
            }
        }
        let campaign = key_of(cause.campaign)?;
        let key = CauseKey { campaign, named: cause.named, unexplained: cause.unexplained };
        let mut evidence = Evidences::default();
        evidence.join(cause.evidence);
        other.causes.insert(key, Cause { smallest, shapes, evidence });
    }
    other.unread = stored.unread.into_iter().collect();
    merge.merge(other);
    Ok(())
}
