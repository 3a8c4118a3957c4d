//! `confute replay`: a stored violation, judged again or done again.

use std::io::Write;

use anyhow::{Context as _, Result};
use confute_report::stored::File;
use confute_report::style::{BAD, GOOD, OPEN};
use confute_report::text::{WIDTH, wrap};
use confute_test::replay::Replayed;
use serde_json::json;

use crate::args::{self, Format};
use crate::exit::Exit;
use crate::live;

pub(crate) fn run(args: &args::Replay, out: &mut dyn Write) -> Result<Exit> {
    let file = File::open(&args.file)?;
    let shown = args.file.display().to_string();
    let model = file.about.model.clone();
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
            "model": model,
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
    let (style, word) = match exit {
        Exit::Refuted => (BAD, "refuted"),
        Exit::Unrefuted => (GOOD, "unrefuted"),
        _ => (OPEN, "inconclusive"),
    };
    let said = wrap(&format!("{shown}: {}", verdict(&came, &model)), WIDTH - word.len() - 2);
    writeln!(out, "{style}{word}{style:#}: {}", said.join("\n  "))?;
    Ok(exit)
}

/// What it comes to, in a sentence.
fn verdict(came: &Replayed, model: &str) -> String {
    let Replayed { then, rate, otherwise, now, unknown } = came;
    match (now, unknown, rate) {
        (Some(_), _, Some(rate)) if rate.shown > 0 => {
            let more = match otherwise {
                0 => String::new(),
                more => format!("; in {more} more it was refuted for another reason"),
            };
            format!("still fails in {rate}: {then}{more}")
        }
        (Some(now), _, Some(rate)) => format!("did not show again ({then}: {rate}), but {}", now.name),
        (Some(now), _, None) if now.as_then => format!("as it was then: {}", now.name),
        (Some(now), _, None) => format!("then it was {then}, now it is {}", now.name),
        (None, Some(why), Some(rate)) if rate.of > 0 => format!("{why}; it did not show in {rate}"),
        (None, Some(why), _) => format!("{why}; nothing was judged"),
        (None, None, Some(rate)) => format!("no longer fails: {rate}; then it was {then}"),
        (None, None, None) => format!("explained by {model} as it is now; then it was {then}"),
    }
}
