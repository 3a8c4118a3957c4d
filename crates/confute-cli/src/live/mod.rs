//! Tests of live servers: flags, progress, reports. Messages and traffic come from the protocols.

pub(crate) mod flags;
mod screen;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use confute::lang::Level;
use confute_drive::{CaseReport, Finding, Live, News, Plan, Sink, Trouble};
use confute_record::{Exit, guarded};
use confute_report::files::{Reports, Written};
use confute_report::lines;
use confute_report::summary::{self, Detail, Manner};
use confute_run::baseline::Baseline;
use confute_run::kit::Run;
use confute_run::session::{self, Done, Job, Recorder, RunObserver};
use confute_run::{Subject, advice, guard, record};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::{self, Color, Format};
use crate::output;

pub(crate) use flags::Flags;

/// Advice on writing report files.
const HINT: &str =
    "`--report-dir DIR` stores it for `confute replay`, with scripts for curl and Python where possible";

/// Opens the server named by the arguments of a kit, tests it and reports.
pub(crate) fn open_and_run(live: &args::Live, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let flags = &live.flags;
    let guard = |address| guard(address, flags.remote, "--remote");
    let run = Run { patience: flags.patience, prefix: &flags.prefix, guard: &guard };
    self::run(&live.kit.open(&live.arguments, &run)?, flags, color, out)
}

/// Tests a server and reports.
pub(crate) fn run(subject: &Subject, flags: &Flags, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let mut plan = flags.plan(subject.target, subject.rules())?;
    if let Some(bound) = subject.bound {
        // All scripts of the bound are the cases, without a default time limit.
        plan = Plan { cases: Some(bound.scripts), exhaustive: true, max_time: flags.max_time, ..plan };
    }
    // Checked before the server is contacted: a run whose report cannot be written is useless.
    let reports = flags.report_dir.as_deref().map(Reports::create).transpose()?;
    let known = match &flags.known.baseline {
        Some(path) => Some(Baseline::read(path, &subject.model, flags.known.baseline_update)?),
        None => None,
    };
    plan.known = known.as_ref().map(Baseline::sure).unwrap_or_default();
    let stop = stopped_by_signals()?;
    let screen = screen::Screen::new(flags, subject.bound, color);
    let mut teller = Teller { screen, recorder: Recorder::default(), level: plan.level, met: Vec::new() };
    let shrink_time = (!flags.no_shrink).then_some(flags.shrink_time);
    let regressions = flags.known.regressions.as_deref();
    let written = flags.known.baseline.as_deref().filter(|_| flags.known.baseline_update);
    let baseline = known.as_ref().map(|known| (known, written));
    let job = Job { subject, plan: &plan, shrink_time, regressions, baseline };
    let done = guarded(|| session::run(&job, &mut teller, &stop));
    teller.screen.erase();
    let Done { outcome, beside, unwritten } = match done {
        Ok(done) => done?,
        Err(why) => return cut_short(&why, &teller, flags, color, out),
    };
    if let Some((trouble @ Trouble::Unsecured { .. }, _)) = outcome.troubles.first()
        && outcome.figures.requests == 0
    {
        // Trust in certificates is configured on the command line, so this is a usage error.
        anyhow::bail!("{}: {trouble}; {}", subject.shown, advice::next(trouble));
    }
    let Recorder { log, remarks } = &teller.recorder;
    let record = record::of(subject, &plan, &outcome, &beside, log, remarks);
    // All files are complete before anything is printed, so they exist whatever fails from here on.
    let written = reports.map(|reports| reports.write(&record));
    let Written { paths, missing } = written.unwrap_or_default();
    let printed = match flags.format {
        Format::Json => guarded(|| lines::write(&record, flags.verbose, out)),
        Format::Human => {
            let detail = match (flags.quiet, flags.verbose) {
                (true, _) => Detail::Verdict,
                (_, true) => Detail::Full,
                (false, false) => Detail::Brief,
            };
            let manner = Manner { paths: &paths, hint: HINT, detail };
            guarded(|| summary::write(&record, manner, out))
        }
    };
    out.flush()?;
    // Missing files are reported last, so that the violations are not lost with them.
    let mut exit = Exit::from(&outcome.conclusion);
    for one in &missing {
        output::complain(color, &format!("cannot write the reports: {}", one.told()));
        exit = without(exit, if one.is_defect { Exit::Inconclusive } else { Exit::Broken });
    }
    if let Some(why) = unwritten {
        output::complain(color, &why.to_string());
        exit = without(exit, Exit::Broken);
    }
    match printed {
        Ok(Ok(())) => Ok(exit),
        Ok(Err(error)) if exit != Exit::Refuted => Err(error.into()),
        Ok(Err(error)) => {
            output::complain(color, &format!("cannot print the report: {error}"));
            Ok(exit)
        }
        Err(why) => {
            output::complain(color, &format!("cannot print the report: internal error: {why}"));
            Ok(without(exit, Exit::Inconclusive))
        }
    }
}

/// Returns the exit code if a report is missing: a refutation stands without it, and any other result is incomplete.
fn without(exit: Exit, lost: Exit) -> Exit {
    if exit == Exit::Refuted { exit } else { exit.max(lost) }
}

/// Reports the violations found so far after a panic of the tester that was not handled elsewhere.
fn cut_short(why: &str, teller: &Teller, flags: &Flags, color: Color, out: &mut dyn Write) -> Result<Exit> {
    teller.met.iter().try_for_each(|(_, name)| writeln!(out, "{name}"))?;
    out.flush()?;
    output::complain(color, &format!("an internal error ended the run: {why}"));
    if let Some(folder) = &flags.report_dir {
        output::complain(color, &format!("no reports were written to {}", folder.display()));
    }
    let is_refuted = teller.met.iter().any(|(refutes, _)| *refutes);
    Ok(if is_refuted { Exit::Refuted } else { Exit::Inconclusive })
}

/// Returns a flag that Ctrl-C sets, so that the report is still written; the second Ctrl-C ends the program.
pub(crate) fn stopped_by_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: at the first signal the shutdown handler finds the flag unset.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            Exit::Inconclusive.code().into(),
            Arc::clone(&stop),
        )
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
        .context("cannot listen to signals")?;
    }
    Ok(stop)
}

/// Prints progress, and records the run.
struct Teller {
    screen: screen::Screen,
    recorder: Recorder,
    /// Lowest level at which a violation refutes the server.
    level: Level,
    /// The violations so far: `true` if it refutes the server, and its name.
    met: Vec<(bool, String)>,
}

impl Sink for Teller {
    fn surveyed(&mut self, remarks: &[String]) {
        remarks.iter().for_each(|remark| self.screen.say(remark));
        Sink::surveyed(&mut self.recorder, remarks);
    }

    fn ended(&mut self, case: &CaseReport) {
        Sink::ended(&mut self.recorder, case);
    }

    fn found(&mut self, finding: &Finding, news: News) {
        if news == News::New {
            // The report numbers them, the strongest first.
            let name = format!("violation: {}", record::name(finding));
            self.screen.say(&name);
            self.met.push((finding.refutes(self.level), name));
        }
    }

    fn trouble(&mut self, trouble: &Trouble) {
        Sink::trouble(&mut self.recorder, trouble);
        self.screen.say(&format!("trouble: {trouble}"));
    }

    fn tick(&mut self, live: &Live) {
        self.screen.show(live);
    }
}

impl RunObserver for Teller {
    fn doing(&mut self, what: &str) {
        self.screen.replace(what);
    }
}
