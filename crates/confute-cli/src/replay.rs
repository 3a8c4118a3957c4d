//! `confute replay`: a stored violation, judged again or done again.

use std::io::Write;

use anyhow::{Context as _, Result};
use confute_report::stored::File;
use confute_report::style::{BAD, GOOD, OPEN};
use confute_report::text::{WIDTH, wrap};
use serde_json::json;

use crate::args::{self, Format};
use crate::live;
use confute_report::Exit;

pub(crate) fn run(args: &args::Replay, out: &mut dyn Write) -> Result<Exit> {
    let file = File::open(&args.file)?;
    let shown = args.file.display().to_string();
    let replay = confute_test::replay::Replay {
        target: args.target.clone(),
        runs: args.runs,
        patience: args.patience,
        max_time: args.max_time,
        allow: args.allow.clone(),
        origin: args.origin.clone(),
        reach: args.reach.to_way(),
        remote: args.remote,
        verbose: args.verbose,
    };
    let stop = live::stopped_by_signals()?;
    let came = replay.go(file, &stop).with_context(|| shown.clone())?;
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
            "violation": came.now.map(|now| now.json),
        });
        writeln!(out, "{object}")?;
        return Ok(exit);
    }
    if let (Some(now), false) = (&came.now, args.quiet) {
        write!(out, "{}", now.text)?;
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
