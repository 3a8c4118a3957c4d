//! `confute demo`: a tester in action, in about a second and without a server to install.
//!
//! The server is the embedded one of the testbed, in this process and behind real sockets. First it has a planted
//! bug and must be refuted for exactly that reason; then it has none and must not be refuted.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result};
use confute::trace::{Event, Header, Trace};
use confute_drive::{AnyGenerator, Conclusion, Finding, Limits, Outcome, Plan, Target, campaign, case_seed};
use confute_http::message::Message;
use confute_http::{Http, Traffic, encode};
use confute_report::note::note;
use confute_report::violation::{Extent, violation};
use confute_run::kit::Reach;
use confute_run::record::{plain, rules};
use confute_run::{Subject, proof, shrink};
use confute_testbed::embedded::{Bug, Config, Embedded};

use crate::args::Demo;
use confute_record::Exit;
use confute_report::style::{BAD, GOOD, OPEN, STRONG};
use confute_report::text::{WIDTH, count, elapsed, wrap};

/// The planted bug; `RULE` is the rule that it breaks.
const PLANTED: Bug = Bug::IfMatchIgnoredOnPut;
const RULE: &str = "rfc9110-13.1.1/if-match";

const CONNECTIONS: u32 = 8;
/// Maximum number of cases in the first half; `STEPS` is the number of steps in a case.
const CASES: u64 = 40;
const STEPS: usize = 300;
/// Time limit of the search for the bug; `SHRINK` is that of shrinking.
const HUNT: Duration = Duration::from_secs(30);
const SHRINK: Duration = Duration::from_secs(5);
/// Time limit of blame for one case, after which the next case is tried.
const BLAME: Duration = Duration::from_millis(300);
/// Testing time of the corrected server.
const TRUST: Duration = Duration::from_millis(700);

pub(crate) fn run(args: &Demo, out: &mut dyn Write) -> Result<Exit> {
    intro(args, out)?;
    let broken = refute(args, out)?;
    let correct = trust(args, out)?;
    writeln!(out)?;
    if broken && correct {
        writeln!(out, "As expected: the server with the bug was refuted, and the corrected one was not.")?;
        writeln!(out, "Next: `confute http http://127.0.0.1:8080/` tests a server of your own.")?;
        return Ok(Exit::Unrefuted);
    }
    writeln!(out, "{BAD}Not as expected{BAD:#}: please report this, with the seed.")?;
    Ok(Exit::Refuted)
}

fn intro(args: &Demo, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{STRONG}confute demo --seed {}{STRONG:#}\n", args.seed)?;
    let text = "A small HTTP server runs inside this process and listens on a local port; the tester talks to it \
         over real connections. The tester was derived from a model of every correct server (RFC 9110 and 9112), and knows \
         nothing of this one.";
    for line in wrap(text, WIDTH) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Runs the first half. Returns `true` if it had the expected result.
fn refute(args: &Demo, out: &mut dyn Write) -> Result<bool> {
    writeln!(out, "\n{STRONG}1. With a planted bug{STRONG:#}: {}", PLANTED.description())?;
    let text = "Two clients that change a resource at the same time overwrite each other without noticing.";
    for line in wrap(text, WIDTH) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    out.flush()?;
    let server = Embedded::start(Config::default().bug(PLANTED)).context("cannot start the server")?;
    let (http, plan) = (protocol(&server), plan(&server, args.seed, HUNT));
    // Sequential requests: then there is usually no doubt about the broken rule.
    let make = |_| AnyGenerator::new(Traffic::new(http.clone(), STEPS).gentle().impatient());
    // Accept only a case in which content was overwritten, which is the effect that the text describes.
    let overwrites = |finding: &Finding| match finding.counterexample.trace.last() {
        Some(Event::Received(_, last)) => {
            matches!(last.typed(), Some(Message::Response(last)) if last.status == 204)
        }
        _ => false,
    };
    let for_sure = |finding: &Finding| {
        overwrites(finding)
            && !finding.incomplete
            && finding.diagnoses.iter().map(|one| &one.rules[..]).collect::<Vec<_>>() == [&[RULE][..]]
    };
    let found = (0..CASES).find_map(|case| {
        let plan = Plan { cases: Some(1), max_failures: 1, seed: case_seed(args.seed, case), ..plan.clone() };
        let outcome = campaign(&http, &plan, &make, &mut (), &AtomicBool::new(false));
        outcome.findings.first().is_some_and(for_sure).then_some(outcome)
    });
    let Some(mut outcome) = found else {
        writeln!(out, "{BAD}not refuted{BAD:#} in {CASES} cases")?;
        return Ok(false);
    };
    shrink::all(&http, &plan, SHRINK, &mut outcome.findings, &AtomicBool::new(false), &mut |_| {});
    proof::prove(&http, &mut outcome.findings[0]);
    let finding = &outcome.findings[0];
    let rules = rules(&subject(&server)?, &mut Vec::new());
    violation(&rules, &plain(&http, &plan, finding), Extent::Normal, &[], out)?;
    verdict(&outcome, out)?;
    if let Some(path) = &args.save {
        save(args, finding, path).with_context(|| format!("cannot write {}", path.display()))?;
        note(out, "kept as", &[path.display().to_string()])?;
    }
    Ok(matches!(finding.shrunk, Some(Ok(_))))
}

/// Runs the second half. Returns `true` if it had the expected result.
fn trust(args: &Demo, out: &mut dyn Write) -> Result<bool> {
    writeln!(out, "\n{STRONG}2. Without it{STRONG:#}: the same server, corrected\n")?;
    out.flush()?;
    let server = Embedded::start(Config::default()).context("cannot start the server")?;
    let (http, plan) = (protocol(&server), plan(&server, args.seed, TRUST));
    // Many concurrent requests, and none that take long.
    let make = |_| AnyGenerator::new(Traffic::new(http.clone(), STEPS).busy().impatient());
    let outcome = campaign(&http, &plan, &make, &mut (), &AtomicBool::new(false));
    verdict(&outcome, out)?;
    Ok(outcome.conclusion == Conclusion::Unrefuted)
}

fn protocol(server: &Embedded) -> Http {
    let target = encode::Target { host: server.addr().to_string(), fields: Vec::new() };
    Http::origin(target, "/")
}

fn plan(server: &Embedded, seed: u64, time: Duration) -> Plan {
    Plan {
        limits: Limits { connections: CONNECTIONS, ..Limits::default() },
        seed,
        max_time: Some(time),
        blame_time: BLAME,
        ..Plan::new(Target::new(server.addr()))
    }
}

fn subject(server: &Embedded) -> Result<Subject> {
    Ok(confute_http::origin(&format!("http://{}/", server.addr()), &Reach::default())?)
}

fn verdict(outcome: &Outcome, out: &mut dyn Write) -> Result<()> {
    let figures = &outcome.figures;
    let what = format!(
        "{} in {}, on {CONNECTIONS} connections,\nwith {} outstanding in the median ({}).",
        count(figures.answers, "response"),
        count(outcome.tally.cases, "case"),
        figures.outstanding.median(),
        elapsed(outcome.elapsed),
    );
    match &outcome.conclusion {
        Conclusion::Refuted => writeln!(out, "{BAD}refuted{BAD:#}: {what}")?,
        Conclusion::Unrefuted => writeln!(out, "{GOOD}unrefuted{GOOD:#}: {what}")?,
        Conclusion::Inconclusive(why) => writeln!(out, "{OPEN}inconclusive{OPEN:#}: {why}: {what}")?,
    }
    Ok(())
}

/// Saves the smaller case as a trace.
fn save(args: &Demo, finding: &Finding, path: &std::path::Path) -> Result<()> {
    let note = format!("embedded server with the bug {PLANTED}");
    let header = Header { seed: Some(args.seed), note: Some(note), ..Header::new("http", "tcp") };
    let events = finding.shown().trace.to_vec();
    Ok(Trace { header, events }.write(BufWriter::new(File::create(path)?))?)
}
