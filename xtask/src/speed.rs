//! `cargo xtask bench http`: how fast answers of an nginx are judged, beside `wrk`, which only counts them.
//!
//! Both talk to the same server in turns, over as many connections, each of which asks again as soon as it has its answer.
//! The tester is that of `confute http`, with plain requests: the model of an origin server judges every answer while it
//! runs, and a run in which anything was not judged, or was found wrong, is an error. Where the disk is what is slow, both are
//! slow: `TMPDIR=/dev/shm` leaves it out.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute_drive::{
    AnyGenerator, Conclusion, Generator, Limits, Outcome, Peer, Plan, Step, Target, Until, View, campaign,
};
use confute_http::encode::Target as Authority;
use confute_http::message::Method;
use confute_http::{Ask, Http};
use confute_testbed::nginx::Nginx;

use crate::{again_in_release, root};

/// How many requests a case has.
const REQUESTS: usize = 20_000;
/// How long what is put is.
const LENGTH: usize = 100;
/// No less than this of the rate of wrk is demanded.
const DEMANDED: f64 = 0.25;
/// nginx gives different contents equal tags if they are as long and as old (see docs/findings.md).
const ALLOWED: &str = confute_http::rules::TAG_DIFFERS.name;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many connections
    #[arg(long, default_value = "32")]
    connections: u32,
    /// How many resources
    #[arg(long, default_value = "128")]
    resources: u32,
    /// How many seconds each of them has in each round
    #[arg(long, default_value = "5")]
    seconds: u64,
    /// How many rounds; medians count
    #[arg(long, default_value = "3")]
    rounds: usize,
    /// How many threads each of them has
    #[arg(long, default_value = "2")]
    threads: usize,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mix {
    Get,
    Half,
}

impl Mix {
    fn name(self) -> &'static str {
        match self {
            Mix::Get => "GET",
            Mix::Half => "half GET, half PUT",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    if cfg!(debug_assertions) {
        return again_in_release();
    }
    if Command::new("wrk").arg("--version").output().is_err() {
        bail!("wrk is not installed (the Debian package wrk)");
    }
    let server = Nginx::start().context("cannot start nginx")?;
    println!(
        "{} connections, {} resources, contents of {LENGTH} bytes, {} rounds of {} s each, {} thread(s)\n",
        args.connections, args.resources, args.rounds, args.seconds, args.threads
    );
    println!("{:<20} {:>12} {:>12} {:>8} {:>10}", "mix", "wrk /s", "judged /s", "ratio", "thinking");
    let mut held = true;
    for mix in [Mix::Get, Mix::Half] {
        let (mut theirs, mut ours, mut thinking) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..args.rounds.max(1) {
            theirs.push(wrk(&server, mix, args)?);
            let (rate, share) = judged(&server, mix, round as u64, args)?;
            ours.push(rate);
            thinking.push(share);
        }
        let (theirs, ours) = (median(&mut theirs), median(&mut ours));
        let ratio = ours / theirs;
        held &= ratio >= DEMANDED;
        println!(
            "{:<20} {theirs:>12.0} {ours:>12.0} {ratio:>8.2} {:>8.0} %",
            mix.name(),
            100.0 * median(&mut thinking)
        );
    }
    if !held {
        println!("\nFAILED: less than {DEMANDED} of the rate of wrk");
    }
    Ok(held)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Content that can be told from others.
fn content(number: u64) -> String {
    let mut text = format!("<{number:08}>").repeat(LENGTH / 10);
    text.truncate(LENGTH);
    text
}

/// How many requests wrk gets answered in a second. What it asks for is there before.
fn wrk(server: &Nginx, mix: Mix, args: &Args) -> Result<f64> {
    let script = root()?.join("target/bench-http.lua");
    std::fs::create_dir_all(root()?.join("target"))?;
    std::fs::write(&script, lua(mix, args.resources)).context("cannot write a script for wrk")?;
    // In a round of its own everything is put, and not counted.
    let puts = root()?.join("target/bench-http-puts.lua");
    std::fs::write(&puts, lua(Mix::Half, args.resources)).context("cannot write a script for wrk")?;
    ask_wrk(server, &puts, 1, args)?;
    let (rate, errors) = ask_wrk(server, &script, args.seconds, args)?;
    match errors {
        Some(errors) => bail!("wrk met errors:{errors}"),
        None => Ok(rate),
    }
}

/// How many requests a second, and what it says of errors.
fn ask_wrk(server: &Nginx, script: &Path, seconds: u64, args: &Args) -> Result<(f64, Option<String>)> {
    let (threads, connections) = (args.threads.to_string(), args.connections.to_string());
    let output = Command::new("wrk")
        .args(["-t", &threads, "-c", &connections, "-d", &format!("{seconds}s"), "-s"])
        .arg(script)
        .arg(format!("http://{}/", server.address()))
        .output()
        .context("cannot run wrk")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = |begin: &str| said.lines().find_map(|line| line.trim().strip_prefix(begin));
    let errors = line("Socket errors:").or_else(|| line("Non-2xx or 3xx responses:")).map(str::to_owned);
    let rate = line("Requests/sec:").and_then(|rate| rate.trim().parse().ok());
    let rate = rate.with_context(|| format!("wrk did not say how fast it was: {said}"))?;
    Ok((rate, errors))
}

/// Requests are made before, so that wrk has nothing to do but to send them.
fn lua(mix: Mix, resources: u32) -> String {
    let half = mix == Mix::Half;
    let contents: Vec<String> = (0..16).map(content).collect();
    format!(
        r#"local contents = {{ "{}" }}
local asked, at = {{}}, 0
init = function(arguments)
    for number = 0, {resources} - 1 do
        local path = "/wrk-" .. number
        local fields = {{ ["Accept-Encoding"] = "identity" }}
        asked[#asked + 1] = wrk.format("GET", path, fields)
        if {half} then
            asked[#asked + 1] = wrk.format("PUT", path, fields, contents[number % #contents + 1])
        end
    end
end
request = function()
    at = at % #asked + 1
    return asked[at]
end
"#,
        contents.join("\", \"")
    )
}

/// How many answers are judged in a second, and which share of the time that takes.
fn judged(server: &Nginx, mix: Mix, round: u64, args: &Args) -> Result<(f64, f64)> {
    let target = Authority { host: server.address().to_string(), ..Authority::default() };
    let http = Http { target, prefix: "/".to_owned(), ..Http::default() };
    let workers = args.threads.max(1);
    let limits = Limits { connections: args.connections / workers as u32, ..Limits::default() };
    let plan = Plan {
        limits,
        seed: round,
        workers,
        max_time: Some(Duration::from_secs(args.seconds)),
        allow: vec![ALLOWED],
        max_failures: 1,
        ..Plan::new(Target::new(server.address()))
    };
    let make = |_: u64| AnyGenerator::new(Plain::new(mix, args.resources));
    let outcome: Outcome = campaign(&http, &plan, &make, &mut (), &AtomicBool::new(false));
    let (tally, figures) = (outcome.tally, &outcome.figures);
    if outcome.conclusion != Conclusion::Unrefuted || tally.inconclusive + tally.early + tally.doubtful > 0 {
        let blamed: Vec<_> = outcome.findings.iter().map(|finding| &finding.diagnoses).collect();
        bail!("not everything was judged: {:?}, {tally:?}, {blamed:?}", outcome.conclusion);
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = figures.answers as f64 / outcome.elapsed.as_secs_f64();
    Ok((rate, figures.thinking.as_secs_f64() / figures.elapsed.as_secs_f64()))
}

/// Asks on every connection that has its answer.
struct Plain {
    mix: Mix,
    resources: u64,
    /// How many requests were made.
    made: u64,
    left: usize,
    /// The connection to look at next.
    at: usize,
}

impl Plain {
    fn new(mix: Mix, resources: u32) -> Self {
        Self { mix, resources: resources.into(), made: 0, left: REQUESTS, at: 0 }
    }
}

impl Generator<Http> for Plain {
    fn next(&mut self, view: &View<'_, Http>, _: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        let count = view.connections as usize;
        let idle = (self.at..self.at + count).map(|on| on % count).find(|on| view.outstanding[*on] == 0);
        let Some(on) = idle else { return Some(Step::Wait(Until::Something)) };
        self.at = on + 1;
        self.left = self.left.checked_sub(1)?;
        // First everything is put; then as wrk does it, one resource after the other.
        let (number, puts) = match self.made.checked_sub(self.resources) {
            None => (self.made, true),
            Some(turn) if self.mix == Mix::Get => (turn % self.resources, false),
            Some(turn) => (turn / 2 % self.resources, turn % 2 == 1),
        };
        self.made += 1;
        let name: Arc<str> = format!("r{number}").into();
        let ask = if puts {
            Ask { method: Method::Put, name, body: Some(content(self.made).into()), ..Ask::default() }
        } else {
            Ask { name, ..Ask::default() }
        };
        Some(Step::Ask { on: Peer::Opened(on as u32), ask, cuts: Vec::new() })
    }
}
