//! Merging the verdict tables of `confute check` runs: a union by the places of the files in the list.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context as _, Result, bail};
use confute_record::{Exit, Shard};
use confute_report::text::{count, grouped};

use crate::args::{self, Color, Format};
use crate::check::folder::{self, Contents, Head, JudgedFile, ROWS};
use crate::check::table::Table;
use crate::output;

/// The shards of one campaign.
struct Campaign {
    head: Head,
    folders: Vec<String>,
    files: BTreeMap<u64, JudgedFile>,
}

pub(super) fn run(args: &args::Merge, color: Color, out: &mut dyn Write) -> Result<Exit> {
    if args.regressions.is_some() || args.baseline.is_some() {
        bail!(
            "--regressions and --baseline belong to tests of servers, and these are folders of `confute check`"
        );
    }
    let mut problems = Vec::new();
    let mut campaigns: BTreeMap<String, Campaign> = BTreeMap::new();
    for path in &args.folders {
        let shown = path.display().to_string();
        match folder::read(path) {
            Ok(Contents { head, files, .. }) => {
                let key = head.campaign.to_string();
                let new = || Campaign { head: head.clone(), folders: Vec::new(), files: BTreeMap::new() };
                let campaign = campaigns.entry(key).or_insert_with(new);
                campaign.folders.push(shown);
                campaign.head.shards.extend(&head.shards);
                files.into_values().for_each(|one| campaign.add(one));
            }
            Err(error) => problems.push(format!("not read: {shown}: {ROWS}: {error}")),
        }
    }
    let main = campaigns.iter().map(|(key, one)| (std::cmp::Reverse(one.files.len()), key.clone())).min();
    let Some(mut main) = main.and_then(|(_, key)| campaigns.remove(&key)) else {
        bail!("nothing to merge: {}", problems.join("; "));
    };
    for other in campaigns.values() {
        let why = other.head.difference(&main.head).unwrap_or_default();
        problems
            .push(format!("foreign: {}: of another check ({why}); not counted", other.folders.join(", ")));
    }
    let missing = main.missing();
    let is_whole = missing.is_none();
    problems.extend(missing);
    let files = std::mem::take(&mut main.files);
    if let Some(folder) = &args.report_dir {
        folder::write(folder, &main.head, files.values())
            .with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    let exit = files.values().map(|one| one.row.exit).max().unwrap_or(Exit::Unrefuted);
    let exit = if is_whole { exit } else { exit.max(Exit::Inconclusive) };
    match args.format {
        Format::Json => files.values().try_for_each(|one| writeln!(out, "{}", one.object))?,
        Format::Human if args.quiet => {
            writeln!(out, "{}: {}", exit.name(), count(files.len() as u64, "file"))?;
        }
        Format::Human => Table { rows: files.into_values().map(|one| one.row).collect() }.write(out)?,
    }
    out.flush()?;
    problems.iter().for_each(|problem| output::complain(color, problem));
    Ok(exit)
}

impl Campaign {
    /// Adds the verdict on a file. Of two verdicts on one file the one that says more is kept, so the order does not matter.
    fn add(&mut self, one: JudgedFile) {
        let rank = |one: &JudgedFile| {
            let verdict = match one.row.exit {
                Exit::Refuted => 0,
                Exit::Unrefuted => 1,
                Exit::Inconclusive => 2,
                Exit::Broken => 3,
            };
            (verdict, one.object.to_string())
        };
        match self.files.get(&one.place) {
            Some(known) if rank(known) <= rank(&one) => {}
            _ => drop(self.files.insert(one.place, one)),
        }
    }

    /// Describes the files without a verdict, with the shards that they belong to.
    fn missing(&self) -> Option<String> {
        let places: Vec<u64> = (0..self.head.files).filter(|place| !self.files.contains_key(place)).collect();
        if places.is_empty() {
            return None;
        }
        let shards = self.head.shards.iter().map(|shard| shard.of).max().map(|of| {
            let mut shards: Vec<u64> = places.iter().map(|place| place % of).collect();
            shards.sort_unstable();
            shards.dedup();
            let known = |index: &u64| self.head.shards.contains(&Shard { index: *index, of });
            let told = shards.iter().map(|index| {
                let state = if known(index) { "interrupted" } else { "missing" };
                format!("shard {index} of {of} is {state}")
            });
            told.collect::<Vec<_>>().join(", ")
        });
        let all = grouped(self.head.files);
        Some(format!(
            "{} of {all} files have no verdict: {}",
            grouped(places.len() as u64),
            shards.unwrap_or_default()
        ))
    }
}
