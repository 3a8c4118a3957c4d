//! `cargo xtask bench http`: rate at which responses of an nginx are judged, compared with `wrk`, which only counts
//! them.
//!
//! Both use the same server in turns, over the same number of connections, each of which sends a request as soon as
//! it has its response. The tester is that of `confute http`, with plain requests: the model of an origin server
//! judges every response while it runs, and a run in which anything was not judged, or a violation was found, is an
//! error. If the disk is the bottleneck, both are slow: `TMPDIR=/dev/shm` avoids it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute_drive::{
    AnyGenerator, Conclusion, Generator, Limits, Outcome, Peer, Plan, Step, Target, Until, View, Workers,
    campaign,
};
use confute_http::encode::Target as Authority;
use confute_http::message::Method;
use confute_http::{Ask, AskRequest, Http};
use confute_testbed::nginx::Nginx;

use crate::{again_in_release, root};

/// Number of requests of a case.
const REQUESTS: usize = 20_000;
/// Length of the content of a PUT, in bytes.
const LENGTH: usize = 100;
/// Minimum ratio to the rate of wrk.
const DEMANDED: f64 = 0.25;
/// Rule that nginx is known to break: it gives different contents equal tags if they have the same length and time
/// (see docs/findings.md).
const ALLOWED: &str = confute_http::rules::TAG_DIFFERS.name;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of connections
    #[arg(long, default_value = "32")]
    connections: u32,
    /// Number of resources
    #[arg(long, default_value = "128")]
    resources: u32,
    /// Duration of each tool's turn in a round, in seconds
    #[arg(long, default_value = "5")]
    seconds: u64,
    /// Number of rounds, of which medians are reported
    #[arg(long, default_value = "3")]
    rounds: usize,
    /// Number of threads of each tool
    #[arg(long, default_value = "2")]
    threads: usize,
}

/// Mix of requests.
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

/// Returns content that differs for each number.
fn content(number: u64) -> String {
    let mut text = format!("<{number:08}>").repeat(LENGTH / 10);
    text.truncate(LENGTH);
    text
}

/// Returns the number of responses that wrk gets per second. The resources that it requests exist before.
fn wrk(server: &Nginx, mix: Mix, args: &Args) -> Result<f64> {
    let script = root()?.join("target/bench-http.lua");
    std::fs::create_dir_all(root()?.join("target"))?;
    std::fs::write(&script, lua(mix, args.resources)).context("cannot write a script for wrk")?;
    // A first run, which is not counted, puts all resources.
    let puts = root()?.join("target/bench-http-puts.lua");
    std::fs::write(&puts, lua(Mix::Half, args.resources)).context("cannot write a script for wrk")?;
    ask_wrk(server, &puts, 1, args)?;
    let (rate, errors) = ask_wrk(server, &script, args.seconds, args)?;
    match errors {
        Some(errors) => bail!("wrk met errors:{errors}"),
        None => Ok(rate),
    }
}

/// Runs wrk. Returns the number of requests per second, and the errors it reports.
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

/// Returns a script that builds all requests in advance, so that wrk only has to send them.
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

/// Returns the number of responses judged per second, and the fraction of the time spent judging.
fn judged(server: &Nginx, mix: Mix, round: u64, args: &Args) -> Result<(f64, f64)> {
    let target = Authority { host: server.address().to_string(), ..Authority::default() };
    let http = Http::origin(target, "/");
    let workers = args.threads.max(1);
    let limits = Limits { connections: args.connections / workers as u32, ..Limits::default() };
    let plan = Plan {
        limits,
        seed: round,
        workers: Workers::Fixed(workers),
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

/// Generator that sends a request on every connection that has its response.
struct Plain {
    mix: Mix,
    resources: u64,
    /// Number of requests sent.
    made: u64,
    left: usize,
    /// Index of the next connection to check.
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
        // First all resources are put; then they are requested one after the other, in the order of the script for
        // wrk.
        let (number, puts) = match self.made.checked_sub(self.resources) {
            None => (self.made, true),
            Some(turn) if self.mix == Mix::Get => (turn % self.resources, false),
            Some(turn) => (turn / 2 % self.resources, turn % 2 == 1),
        };
        self.made += 1;
        let name: Arc<str> = format!("r{number}").into();
        let ask = if puts {
            AskRequest {
                method: Method::Put,
                name,
                body: Some(content(self.made).into()),
                ..AskRequest::default()
            }
        } else {
            AskRequest { name, ..AskRequest::default() }
        };
        Some(Step::Ask { on: Peer::Opened(on as u32), ask: ask.into(), cuts: Vec::new() })
    }
}
