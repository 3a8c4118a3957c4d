//! The record that a merge amounts to: sums over its runs, the list of violations, and what is wrong with the runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::campaign::{Campaign, difference};
use super::groups::{Group, Judge};
use super::part::{Part, PartState};
use super::{Merge, conclude, stored};
use crate::{
    BoundRecord, Conclusion, Door, Exit, Figures, Log, RecordHead, RunNotes, RunRecord, Shard, Tally, Tried,
    TroubleRecord, Violation,
};

/// Maximum number of folders that one problem names.
const NAMED: usize = 8;

/// The runs of the campaign that the record is about.
struct Runs<'a> {
    /// The runs that are counted: one for each shard.
    counted: Vec<(&'a Arc<str>, &'a Part)>,
    problems: Vec<String>,
    /// The first problem that leaves cases unjudged.
    incomplete: Option<String>,
}

impl Merge {
    /// Returns the record. `None` if no run was read. The judge finds out which violations are explained by rules that others
    /// prove broken.
    pub fn record(&self, judge: Judge<'_>) -> Option<RunRecord> {
        let (key, campaign) = self.main()?;
        let runs = self.runs_of(key);
        let groups = self.groups(key, campaign, judge);
        let mut shown = BTreeMap::new();
        let mut violations = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            violations.push(self.violation(place + 1, group, &runs));
            shown.insert(group.named.0, (place + 1, true));
            shown.extend(group.absorbed.iter().map(|one| (one.0, (place + 1, false))));
        }
        let mut merged = stored::of(self, key, &shown);
        let places: BTreeMap<String, usize> =
            merged.parts.iter().enumerate().map(|(place, part)| (part.id.clone(), place)).collect();
        for (group, violation) in groups.iter().zip(&mut violations) {
            violation.occurrences = group.occurrences(&places);
        }
        merged.unclear = runs.counted.iter().find_map(|(_, part)| match &part.own.conclusion {
            Conclusion::Inconclusive(why) => Some(format!("{}: {why}", part.own.folder)),
            Conclusion::Refuted | Conclusion::Unrefuted => None,
        });
        (merged.problems, merged.incomplete) = (runs.problems, runs.incomplete);
        merged.explained = groups.into_iter().flat_map(|group| group.explained).collect();
        let mut record = summed(campaign, &runs.counted);
        (record.violations, record.merged) = (violations, Some(merged));
        conclude(&mut record);
        Some(record)
    }

    /// Returns the campaign that the record is about: that with the most shards or runs.
    fn main(&self) -> Option<(&Arc<str>, &Campaign)> {
        let mut sizes: BTreeMap<&str, BTreeSet<(Option<Shard>, &str)>> = BTreeMap::new();
        for (id, part) in &self.parts {
            // Of a campaign in shards the shards count, of another one the runs.
            let own = (part.own.shard, if part.own.shard.is_some() { "" } else { &**id });
            sizes.entry(&part.campaign).or_default().insert(own);
        }
        let best = sizes.iter().map(|(key, runs)| (std::cmp::Reverse(runs.len()), *key)).min()?;
        self.campaigns.get_key_value(best.1)
    }

    /// Chooses the runs that count, and lists what is wrong with the others.
    fn runs_of(&self, key: &Arc<str>) -> Runs<'_> {
        let own: Vec<_> = self.parts.iter().filter(|(_, part)| part.campaign == *key).collect();
        let mut runs = Runs { counted: Vec::new(), problems: Vec::new(), incomplete: None };
        let mut by_shard: BTreeMap<Shard, Vec<(&Arc<str>, &Part)>> = BTreeMap::new();
        for (id, part) in own {
            match part.own.shard {
                Some(shard) => by_shard.entry(shard).or_default().push((id, part)),
                None => runs.counted.push((id, part)),
            }
        }
        if let Some(of) = by_shard.keys().next().map(|shard| shard.of) {
            let missing = (0..of).filter(|index| !by_shard.contains_key(&Shard { index: *index, of }));
            let missing: Vec<u64> = missing.collect();
            if !missing.is_empty() {
                let which = if missing.len() == 1 { "shard" } else { "shards" };
                runs.lacks(format!("missing: {which} {} of {of}", listed(&missing)));
            }
        }
        let mut doubled = Vec::new();
        for (shard, mut same) in by_shard {
            let rank = |(id, part): &(&Arc<str>, &Part)| {
                let own = &part.own;
                std::cmp::Reverse((own.state, own.tally.judged(), std::cmp::Reverse((*id).clone())))
            };
            same.sort_by_key(rank);
            runs.counted.push(same[0]);
            if same.len() > 1 {
                let folders: Vec<&str> = same.iter().map(|(_, part)| &*part.own.folder).collect();
                doubled.push(format!(
                    "doubled: {shard} was run {} times, and {} counts (of the others only violations): {}",
                    same.len(),
                    folders[0],
                    folders[1..].join(", ")
                ));
            }
        }
        runs.add_states();
        let cases = self.campaigns.get(key).and_then(|campaign| campaign.plan.cases);
        runs.add_shortened(cases);
        runs.problems.extend(doubled);
        self.add_strangers(key, &mut runs);
        runs
    }

    /// Adds the runs of other campaigns, and the folders that could not be read.
    fn add_strangers(&self, key: &str, runs: &mut Runs<'_>) {
        let mut foreign: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for part in self.parts.values().filter(|part| &*part.campaign != key) {
            foreign.entry(&part.campaign).or_default().push(&part.own.folder);
        }
        for (other, mut folders) in foreign {
            folders.sort_unstable();
            let more = folders.len().saturating_sub(NAMED);
            folders.truncate(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            runs.problems.push(format!(
                "foreign: {}{more}: of another campaign ({}); not counted",
                folders.join(", "),
                difference(other, key)
            ));
        }
        let unread = self.unread.iter().map(|one| format!("not read: {}: {}", one.folder, one.why));
        runs.problems.extend(unread);
        // Where nobody knows how many runs there should be, one that cannot be read may be one of them.
        let is_whole = runs.counted.iter().all(|(_, part)| part.own.shard.is_some());
        if let (false, Some(one)) = (is_whole, self.unread.first()) {
            runs.incomplete.get_or_insert_with(|| format!("{} could not be read", one.folder));
        }
    }

    /// Returns the violation of a group, with its number and the number of its cases.
    fn violation(&self, number: usize, group: &Group<'_>, runs: &Runs<'_>) -> Violation {
        let times = |run: &str| {
            group.causes().flat_map(|(_, cause)| cause.seen_by(run)).map(|seen| seen.times).sum::<u64>()
        };
        let counted: u64 = runs.counted.iter().map(|(id, _)| times(id)).sum();
        // A violation that only a run showed that is not counted is shown all the same.
        let all = || self.parts.keys().map(|id| times(id)).sum();
        let times = if counted > 0 { counted } else { all() };
        Violation { number, times, ..(*group.named.1.smallest).clone() }
    }
}

impl Runs<'_> {
    /// Adds a problem that leaves cases unjudged.
    fn lacks(&mut self, problem: String) {
        self.incomplete.get_or_insert_with(|| problem.clone());
        self.problems.push(problem);
    }

    /// Adds the counted runs that did not reach their ends.
    fn add_states(&mut self) {
        let mut lacks = Vec::new();
        for (_, part) in &self.counted {
            let own = &part.own;
            let which =
                own.shard.map_or_else(|| own.folder.clone(), |shard| format!("{shard} ({})", own.folder));
            let word = match own.state {
                PartState::Complete => continue,
                PartState::Stopped => "stopped",
                PartState::Interrupted => "interrupted",
            };
            let cases = own.tally.cases;
            lacks.push(format!(
                "{word}: {which} after {cases} cases; its command with `--resume` completes it"
            ));
        }
        lacks.into_iter().for_each(|problem| self.lacks(problem));
    }

    /// Adds the shards that ended before they had run all of their cases: their time was over, or they had found enough. As
    /// in a run of all cases, that does not change the verdict.
    fn add_shortened(&mut self, cases: Option<u64>) {
        let (mut shortened, mut indices, mut sums) = (Vec::new(), Vec::new(), (0, 0));
        for (_, part) in &self.counted {
            let own = &part.own;
            let (Some(cases), Some(shard), PartState::Complete) = (cases, own.shard, own.state) else {
                continue;
            };
            let (ran, share) = (own.tally.cases.saturating_sub(own.tally.stopped), shard.share(cases));
            if ran < share {
                indices.push(shard.index);
                sums = (sums.0 + ran, sums.1 + share);
                shortened.push(format!(
                    "shortened: {shard} ({}) ran {ran} of its {share} cases: its time was over, or it had found enough",
                    own.folder
                ));
            }
        }
        if shortened.len() > NAMED {
            shortened = vec![format!(
                "shortened: shards {} ran {} of their {} cases: their time was over, or they had found enough",
                listed(&indices),
                sums.0,
                sums.1
            )];
        }
        self.problems.extend(shortened);
    }
}

/// Returns a record with the sums of these runs, without violations and conclusion.
fn summed(campaign: &Campaign, runs: &[(&Arc<str>, &Part)]) -> RunRecord {
    let (mut tally, mut figures, mut elapsed) = (Tally::default(), Figures::default(), Duration::ZERO);
    let mut troubles: Vec<TroubleRecord> = Vec::new();
    let mut branches: BTreeMap<&str, u64> = campaign.branches.iter().map(|name| (&**name, 0)).collect();
    let (mut notes, mut log) = (RunNotes::default(), Log::default());
    for (_, part) in runs {
        let own = &part.own;
        tally.merge(&own.tally);
        figures.merge(&own.figures);
        elapsed += own.elapsed;
        for trouble in &own.troubles {
            match troubles.iter_mut().find(|one| one.what == trouble.what) {
                Some(known) => known.times += trouble.times,
                None => troubles.push(trouble.clone()),
            }
        }
        for (name, times) in &own.branches {
            *branches.entry(name).or_default() += times;
        }
        notes.missing.extend(own.missing.iter().map(|one| format!("{}: {one}", own.folder)));
        own.tried.iter().for_each(|one| add_tried(&mut notes.tried, one));
        let mistake = own.mistake.iter().map(|one| format!("{}: {one}", own.folder)).next();
        notes.mistake = notes.mistake.or(mistake);
        log.first.push(json!({
            "confute": "shard",
            "version": 1,
            "shard": own.shard,
            "folder": own.folder,
            "state": own.state,
            "verdict": Exit::from(&own.conclusion).name(),
            "server": own.server,
            "seed": own.seed,
            "cases": own.tally.cases,
            "answers": own.figures.answers,
            "milliseconds": own.elapsed.as_secs_f64() * 1e3,
        }));
    }
    figures.rules.clone_from(&campaign.tested);
    let mut servers: Vec<&str> = runs.iter().map(|(_, part)| &*part.own.server).collect();
    servers.sort_unstable();
    servers.dedup();
    let server = match &servers[..] {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first, others @ ..] => format!("{first} and {} other servers", others.len()),
    };
    let scripts = |(requests, scripts)| BoundRecord { requests, scripts, of: None };
    RunRecord {
        // Records are merged on the command line.
        head: RecordHead::new(String::new(), Door::CommandLine),
        model: campaign.model.clone(),
        server,
        settings: campaign.settings.clone(),
        premise: campaign.premise.clone(),
        rules: campaign.rules.clone(),
        plan: campaign.plan.clone(),
        conclusion: Conclusion::Unrefuted,
        violations: Vec::new(),
        troubles,
        tally,
        figures,
        elapsed,
        relaxed: campaign.relaxed.iter().cloned().collect(),
        branches: branches.into_iter().map(|(name, times)| (name.to_owned(), times)).collect(),
        remarks: campaign.remarks.iter().cloned().collect(),
        bound: campaign.bound.map(scripts),
        notes,
        log,
        merged: None,
    }
}

/// Adds the result of a stored case. Results about files of the same name are added up.
fn add_tried(list: &mut Vec<Tried>, one: &Tried) {
    let Some(known) = list.iter_mut().find(|known| known.path.file_name() == one.path.file_name()) else {
        list.push(one.clone());
        return;
    };
    known.shown += one.shown;
    known.runs += one.runs;
    known.foreign &= one.foreign;
    known.otherwise = known.otherwise.take().or_else(|| one.otherwise.clone());
    known.unknown = known.unknown.take().or_else(|| one.unknown.clone());
}

/// Lists numbers, those that follow each other as a range: `3, 7-9`.
pub(super) fn listed(numbers: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let told = parts
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
    told.collect::<Vec<_>>().join(", ")
}
