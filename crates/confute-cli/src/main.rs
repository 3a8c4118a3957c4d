//! The command line of Confute.
//!
//! It reads arguments, hands files and budgets to the library, and shows what comes back. Judging is the library's;
//! the clock and the terminal are here. What it found is its exit code: see [`Exit`].

mod args;
mod catalogue;
mod check;
mod demo;
mod gateway;
mod http;
mod json;
mod live;
mod memcached;
mod near;
mod output;
mod progress;
mod render;
mod replay;
mod rules;
mod snippet;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Command};
use confute_report::Exit;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = output::stdout(args.color);
    let outcome = match &args.command {
        Command::Http(http) => http::run(http, args.color, &mut out),
        Command::Memcached(memcached) => memcached::run(memcached, args.color, &mut out),
        Command::Check(check) => check::run(check, args.color, &mut out),
        Command::Replay(replay) => replay::run(replay, &mut out),
        Command::Rules(rules) => rules::list(rules, &mut out),
        Command::Explain(explain) => rules::explain(explain, &mut out),
        Command::Demo(demo) => demo::run(demo, &mut out),
    };
    let outcome = outcome.and_then(|exit| Ok(output::finish(&mut out).map(|()| exit)?));
    let exit = outcome.unwrap_or_else(|error| {
        output::complain(args.color, &format!("{error:#}"));
        Exit::Broken
    });
    exit.into()
}
