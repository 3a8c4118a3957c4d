//! `confute replay`: judges a stored violation again, or replays it.

use std::io::Write;

use anyhow::{Context as _, Result};
use confute_kits::KITS;
use confute_record::Exit;
use confute_report::lines;
use confute_report::style::{BAD, GOOD, OPEN};
use confute_report::summary::part;
use confute_report::text::{WIDTH, wrap};
use confute_report::violation::{Extent, violation};
use confute_run::kit::Reach;
use confute_run::stored::File;
use serde_json::json;

use crate::args::{self, Format};
use crate::live;

pub(crate) fn run(args: &args::Replay, out: &mut dyn Write) -> Result<Exit> {
    let file = File::open(&args.file)?;
    let shown = args.file.display().to_string();
    let replay = confute_run::replay::ReplayJob {
        target: args.target.clone(),
        runs: args.runs,
        patience: args.patience,
        max_time: args.max_time,
        allow: args.allow.clone(),
        reach: Reach { origin: args.origin.clone(), ..args.reach.reach() },
        remote: args.remote,
    };
    let stop = live::stopped_by_signals()?;
    let came = replay.go(KITS, file, &stop).with_context(|| shown.clone())?;
    let exit = match (&came.now, &came.unknown) {
        (Some(_), _) => Exit::Refuted,
        (None, None) => Exit::Unrefuted,
        (None, Some(_)) => Exit::Inconclusive,
    };
    if args.format == Format::Json {
        let object = json!({
            "confute": "replay",
            "version": 1,
            "file": args.file,
            "model": came.model,
            "server": args.target,
            "exit": exit.code(),
            "verdict": exit.name(),
            "then": came.then,
            "shown": came.rate.map(|rate| rate.shown),
            "runs": came.rate.map(|rate| rate.of),
            "otherwise": came.otherwise,
            "unknown": came.unknown,
            "violation": came.now.map(|now| lines::violation(&now.violation)),
        });
        writeln!(out, "{object}")?;
        return Ok(exit);
    }
    let extent = if args.verbose { Extent::Full } else { Extent::Normal };
    if let (Some(now), false) = (&came.now, args.quiet) {
        part("violation", out, |out| violation(&now.rules, &now.violation, extent, &[], out))?;
    }
    let word = exit.name();
    let style = match exit {
        Exit::Refuted => BAD,
        Exit::Unrefuted => GOOD,
        _ => OPEN,
    };
    let said = wrap(&format!("{shown}: {}", came.told()), WIDTH - word.len() - 2);
    writeln!(out, "{style}{word}{style:#}: {}", said.join("\n  "))?;
    Ok(exit)
}
