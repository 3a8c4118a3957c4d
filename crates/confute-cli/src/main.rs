//! The command line of Confute.
//!
//! The program parses arguments, passes files and budgets to the library, and prints the results. The library
//! judges; the clock and the terminal are here. The exit code is the result: see [`Exit`].

mod args;
mod check;
mod demo;
mod json;
mod live;
mod merge;
mod near;
mod new;
mod output;
mod plan;
mod progress;
mod render;
mod replay;
mod rules;
mod shard;
mod snippet;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use args::{Args, Command};
use confute::lang::panicked_model;
use confute_record::{Exit, guarded};

fn main() -> ExitCode {
    let args = args::parse();
    output::tell_of_defects(args.color);
    let mut out = output::stdout(args.color);
    let outcome = guarded(|| run(&args, &mut out));
    // Also flushes the output from before a panic.
    let finished = output::finish(&mut out);
    let outcome = outcome.map(|outcome| outcome.and_then(|exit| Ok(finished.map(|()| exit)?)));
    let exit = match outcome {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            output::complain(args.color, &format!("{error:#}"));
            Exit::Broken
        }
        // The panic message was already printed, with its location.
        Err(why) => {
            let what = match panicked_model(why) {
                Ok(mistake) => format!("mistake in the model: {mistake}"),
                Err(_) => {
                    "confute ended early because of the internal error above: please report it".to_owned()
                }
            };
            output::complain(args.color, &what);
            Exit::Inconclusive
        }
    };
    exit.into()
}

fn run(args: &Args, out: &mut dyn Write) -> Result<Exit> {
    match &args.command {
        Command::Kit(kit) => live::open_and_run(kit, args.color, out),
        Command::Check(check) => check::run(check, args.color, out),
        Command::Merge(merge) => merge::run(merge, args.color, out),
        Command::Plan(plan) => plan::run(plan, out),
        Command::Replay(replay) => replay::run(replay, out),
        Command::Rules(rules) => rules::list(rules, out),
        Command::Explain(explain) => rules::explain(explain, out),
        Command::Demo(demo) => demo::run(demo, out),
        Command::New(new) => new::run(new, out),
    }
}
