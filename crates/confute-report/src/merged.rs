//! Shards and merged runs in reports: which runs there were, what is wrong with them, and where each cause occurred.

use std::collections::BTreeSet;
use std::time::Duration;

use confute_record::merge::{MergedRecord, PartRecord, PartState};
use confute_record::{Exit, RunRecord, Shard};
use serde_json::{Value, json};

use crate::text::{count, elapsed, grouped};

/// Maximum number of occurrences or shapes that are listed for a violation.
const LISTED: usize = 3;

/// Describes the shard of a single run, or the runs of a merged one, in sentences.
pub(crate) fn shards(run: &RunRecord) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(shard @ Shard { index, of }) = run.plan.shard {
        lines.push(format!("{shard}: the cases whose numbers leave {index} when divided by {of}"));
    }
    if let Some(cases) = run.notes.resumed {
        lines.push(format!("resumed: {} done before and not run again", were(cases)));
    }
    if let Some(merged) = &run.merged {
        lines.extend(merged_runs(run, merged));
        lines.extend(merged.problems.iter().cloned());
        lines.extend(merged.explained.iter().map(|one| format!("not listed: {one}")));
    }
    lines
}

fn were(cases: u64) -> String {
    format!("{} {}", count(cases, "case"), if cases == 1 { "was" } else { "were" })
}

/// Describes the runs of a merged record, and which figures are sums.
fn merged_runs(run: &RunRecord, merged: &MergedRecord) -> Vec<String> {
    let own: Vec<&PartRecord> = merged.parts.iter().filter(|part| part.campaign == 0).collect();
    let of = |exit: Exit| {
        own.iter().filter(move |part| {
            part.own.state == PartState::Complete && Exit::from(&part.own.conclusion) == exit
        })
    };
    let all = [Exit::Refuted, Exit::Unrefuted, Exit::Inconclusive];
    let verdicts = all.map(|exit| (of(exit).count(), exit.name()));
    let verdicts = verdicts.iter().filter(|(number, _)| *number > 0);
    let verdicts: Vec<String> = verdicts.map(|(number, name)| format!("{number} {name}")).collect();
    let shards: BTreeSet<Shard> = own.iter().filter_map(|part| part.own.shard).collect();
    let what = match shards.first() {
        Some(shard) => format!("{} of {}", shards.len(), count(shard.of, "shard")),
        None => count(own.len() as u64, "run"),
    };
    let longest = own.iter().map(|part| part.own.elapsed).max().unwrap_or_default();
    let mut rates: Vec<f64> =
        own.iter().map(|part| rate(part.own.figures.answers, part.own.elapsed)).collect();
    rates.sort_by(f64::total_cmp);
    let (low, high) = (rates.first().copied().unwrap_or(0.0), rates.last().copied().unwrap_or(0.0));
    vec![
        format!("{what}: {}", if verdicts.is_empty() { "none complete".to_owned() } else { verdicts.join(", ") }),
        format!(
            "testing took {} in all, {} in the longest; {low:.0} to {high:.0} responses a second each",
            elapsed(run.elapsed),
            elapsed(longest)
        ),
        "counts and distributions are added up; cases and connections at the same time are those of the busiest run, \
         because runs need not overlap"
            .to_owned(),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(answers: u64, time: Duration) -> f64 {
    answers as f64 / time.as_secs_f64().max(1e-9)
}

/// Describes for each violation of a merged record where it occurred, and with which shapes.
pub(crate) fn causes(run: &RunRecord) -> Vec<String> {
    let Some(merged) = &run.merged else { return Vec::new() };
    let mut lines = Vec::new();
    for violation in &run.violations {
        let runs: BTreeSet<usize> = violation.occurrences.iter().filter_map(|one| one.run).collect();
        let indices: Vec<u64> =
            runs.iter().filter_map(|run| Some(merged.parts.get(*run)?.own.shard?.index)).collect();
        let place = if indices.is_empty() {
            count(runs.len() as u64, "run")
        } else {
            let which = if indices.len() == 1 { "shard" } else { "shards" };
            format!("{which} {}", listed(&indices))
        };
        let first = violation.occurrences.iter().take(LISTED).map(|one| match one.case {
            Some(case) => format!("case {} (seed {})", grouped(case), one.seed),
            None if one.seed == 0 => "the survey".to_owned(),
            None => format!("a stored case (seed {})", one.seed),
        });
        let first = first.collect::<Vec<_>>().join(", ");
        let more = violation.occurrences.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {} more", grouped(more as u64)) } else { String::new() };
        let number = violation.number;
        lines.push(format!("{number}: {} in {place}: {first}{more}", count(violation.times, "case")));
        let mut shapes: Vec<(u64, &str)> = Vec::new();
        for shape in merged.causes.iter().filter(|one| one.shown == Some(number)).flat_map(|one| &one.shapes)
        {
            shapes.push((shape.seen.iter().map(|one| one.times).sum(), &shape.shape));
        }
        if shapes.len() > 1 {
            shapes.sort_by(|one, other| other.cmp(one));
            let told = shapes.iter().take(LISTED).map(|(times, shape)| format!("{shape} ({times})"));
            let more = shapes.len().saturating_sub(LISTED);
            let more = if more > 0 { format!("; {more} more") } else { String::new() };
            lines.push(format!("its smallest cases: {}{more}", told.collect::<Vec<_>>().join("; ")));
        }
    }
    lines
}

/// Lists numbers, those that follow each other as a range: `3, 7-9`.
fn listed(numbers: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last == *number => {}
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let told = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// Returns the runs of a merged record as JSON, without what only a further merge needs.
pub(crate) fn json(merged: &MergedRecord) -> Value {
    let runs = merged.parts.iter().map(|part| {
        let own = &part.own;
        json!({
            "shard": own.shard,
            "folder": own.folder,
            "state": own.state,
            "foreign": part.campaign != 0,
            "verdict": Exit::from(&own.conclusion).name(),
            "server": own.server,
            "seed": own.seed,
            "cases": own.tally.cases,
            "answers": own.figures.answers,
            "milliseconds": own.elapsed.as_secs_f64() * 1e3,
        })
    });
    json!({
        "runs": runs.collect::<Vec<_>>(),
        "problems": merged.problems,
        "explained": merged.explained,
        "incomplete": merged.incomplete,
        "unread": merged.unread,
    })
}
