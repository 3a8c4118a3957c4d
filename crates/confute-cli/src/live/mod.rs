//! Tests live servers: flags, progress, reports. What is spoken, and what is sent, comes from the protocols.

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
use confute_report::{lines, summary};
use confute_run::baseline::Baseline;
use confute_run::kit::Run;
use confute_run::session::{self, Done, Job, Recorder, Watch};
use confute_run::{Subject, advice, guard, record};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::{self, Color, Format};
use crate::output;

pub(crate) use flags::Flags;

/// How to have files written.
const HINT: &str = "`--report-dir DIR` keeps it for `confute replay`, and as scripts for curl and Python where they can tell";

/// Opens the server that the arguments of a kit name, tests it and reports.
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
        // They are the cases, and they have as long as they take.
        plan = Plan { cases: Some(bound.scripts), exhaustive: true, max_time: flags.max_time, ..plan };
    }
    // Before the server is bothered: a report that cannot be written is worth nothing.
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
        // Whom to trust is said on the command line.
        anyhow::bail!("{}: {trouble}; {}", subject.shown, advice::next(trouble));
    }
    let Recorder { log, remarks } = &teller.recorder;
    let record = record::of(subject, &plan, &outcome, &beside, log, remarks);
    // All files are complete before anything is printed: whatever goes wrong from here on, they are there.
    let written = reports.map(|reports| reports.write(&record));
    let Written { paths, missing } = written.unwrap_or_default();
    let printed = match flags.format {
        Format::Json => guarded(|| lines::write(&record, flags.verbose, out)),
        Format::Human => {
            let (quiet, verbose) = (flags.quiet, flags.verbose);
            let manner = summary::Manner { paths: &paths, hint: HINT, quiet, verbose };
            guarded(|| summary::write(&record, manner, out))
        }
    };
    out.flush()?;
    // Only now: what was found is not to be lost with the file.
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
            output::complain(color, &format!("cannot print the report, for a defect: {why}"));
            Ok(without(exit, Exit::Inconclusive))
        }
    }
}

/// The exit code where a report is missing: a refutation stands without it, and anything else is not to pass for whole.
fn without(exit: Exit, lost: Exit) -> Exit {
    if exit == Exit::Refuted { exit } else { exit.max(lost) }
}

/// The tester itself panicked, where nothing else could be done about it: says what is known all the same.
fn cut_short(why: &str, teller: &Teller, flags: &Flags, color: Color, out: &mut dyn Write) -> Result<Exit> {
    teller.met.iter().try_for_each(|(_, name)| writeln!(out, "{name}"))?;
    out.flush()?;
    output::complain(color, &format!("a defect of confute ended the run: {why}"));
    if let Some(folder) = &flags.report_dir {
        output::complain(color, &format!("no reports were written to {}", folder.display()));
    }
    let is_refuted = teller.met.iter().any(|(refutes, _)| *refutes);
    Ok(if is_refuted { Exit::Refuted } else { Exit::Inconclusive })
}

/// A flag that Ctrl-C sets, so that the report is still written; the second time it ends the program.
pub(crate) fn stopped_by_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset.
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

/// Tells those who watch, and those who read along.
struct Teller {
    screen: screen::Screen,
    recorder: Recorder,
    /// From which level on a violation refutes.
    level: Level,
    /// The violations so far: whether each refutes, and its name.
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
            let name = format!("violation {}: {}", finding.number, record::name(finding));
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

impl Watch for Teller {
    fn doing(&mut self, what: &str) {
        self.screen.replace(what);
    }
}
