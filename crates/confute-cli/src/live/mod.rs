//! Tests of live servers: flags, progress, reports. Messages and traffic come from the protocols.

pub(crate) mod flags;
mod resume;
mod screen;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use confute::lang::Level;
use confute_drive::{CaseReport, Finding, Live, News, Plan, SettledCase, Sink, Trouble};
use confute_record::{Exit, RunRecord, guarded};
use confute_report::files::Written;
use confute_report::lines;
use confute_report::summary::{self, Detail, Manner};
use confute_run::baseline::Baseline;
use confute_run::keeper::Keeper;
use confute_run::kit::Run;
use confute_run::session::{self, Done, Job, Recorder, RunObserver};
use confute_run::{Subject, advice, guard, record};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::{self, Color, Format};
use crate::output;
use resume::{Before, Place};

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
    let known = match &flags.known.baseline {
        Some(path) => Some(Baseline::read(path, &subject.model, flags.known.baseline_update)?),
        None => None,
    };
    plan.known = known.as_ref().map(Baseline::sure).unwrap_or_default();
    let before = resume::before(subject, &mut plan, flags)?;
    if let Before::Complete(record) = &before {
        return reported(record, flags, color, out);
    }
    let progress = before.progress();
    let place = flags.folder().map(|folder| resume::prepare(subject, &plan, folder, progress)).transpose()?;
    let (reports, keeper, id) = match place {
        Some(Place { reports, keeper, id }) => (Some(reports), Some(keeper), id),
        None => (None, None, String::new()),
    };
    let stop = stopped_by_signals()?;
    let bound = subject.bound.map(|bound| bound.in_shard(plan.shard));
    let screen = screen::Screen::new(flags, bound, color);
    let recorder = Recorder::default();
    let mut teller = Teller { screen, recorder, keeper, level: plan.level, met: Vec::new() };
    let shrink_time = (!flags.no_shrink).then_some(flags.shrink_time);
    let regressions = flags.known.regressions.as_deref();
    let written = flags.known.baseline.as_deref().filter(|_| flags.known.baseline_update);
    let baseline = known.as_ref().map(|known| (known, written));
    let job = Job { subject, plan: &plan, shrink_time, regressions, baseline, progress };
    let done = guarded(|| session::run(&job, &mut teller, &stop));
    teller.screen.erase();
    let Done { outcome, mut beside, unwritten } = match done {
        Ok(done) => done?,
        Err(why) => return cut_short(why, &teller, flags, color, out),
    };
    beside.id = id;
    let journal = teller.keeper.take().map_or(Ok(()), Keeper::close);
    if let Some((trouble @ Trouble::Unsecured { .. }, _)) = outcome.troubles.first()
        && outcome.figures.requests == 0
    {
        // Trust in certificates is configured on the command line, so this is a usage error.
        anyhow::bail!("{}: {trouble}; {}", subject.shown, advice::next(trouble, subject.door));
    }
    let Recorder { log, remarks, .. } = &teller.recorder;
    let record = record::of(subject, &plan, &outcome, &beside, log, remarks);
    // All files are complete before anything is printed, so they exist whatever fails from here on.
    let written = reports.map(|reports| reports.write(&record));
    let Written { paths, missing } = written.unwrap_or_default();
    let printed = guarded(|| print(&record, &paths, flags, out));
    out.flush()?;
    // Missing files are reported last, so that the violations are not lost with them.
    let mut exit = Exit::from(&outcome.conclusion);
    for one in &missing {
        output::complain(color, &format!("cannot write the reports: {}", one.told()));
        exit = without(exit, if one.is_defect { Exit::Inconclusive } else { Exit::Broken });
    }
    if let Err(why) = journal {
        output::complain(color, &format!("the journal is incomplete, so the run cannot be resumed: {why}"));
        exit = without(exit, Exit::Broken);
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

/// Prints the report of a run.
fn print(record: &RunRecord, paths: &[PathBuf], flags: &Flags, out: &mut dyn Write) -> io::Result<()> {
    match flags.format {
        Format::Json => lines::write(record, flags.verbose, out),
        Format::Human => {
            let manner = Manner { paths, hint: HINT, detail: detail(flags.quiet, flags.verbose) };
            summary::write(record, manner, out)
        }
    }
}

/// Returns the amount of detail that two flags ask for.
pub(crate) fn detail(quiet: bool, verbose: bool) -> Detail {
    match (quiet, verbose) {
        (true, _) => Detail::Verdict,
        (_, true) => Detail::Full,
        (false, false) => Detail::Brief,
    }
}

/// Reports a run that was complete before it was resumed. Nothing is sent to the server.
fn reported(record: &RunRecord, flags: &Flags, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let page = flags.folder().map(|folder| folder.join("report.html")).filter(|page| page.is_file());
    if !flags.quiet {
        let _ = writeln!(output::stderr(color), "the run is complete: nothing was run again");
    }
    print(record, page.as_slice(), flags, out)?;
    Ok(Exit::from(&record.conclusion))
}

/// Returns the exit code if a report is missing: a refutation stands without it, and any other result is incomplete.
fn without(exit: Exit, lost: Exit) -> Exit {
    if exit == Exit::Refuted { exit } else { exit.max(lost) }
}

/// Reports the violations found so far after a panic of the tester that was not handled elsewhere.
fn cut_short(
    why: String,
    teller: &Teller<'_>,
    flags: &Flags,
    color: Color,
    out: &mut dyn Write,
) -> Result<Exit> {
    teller.met.iter().try_for_each(|(_, name)| writeln!(out, "{name}"))?;
    out.flush()?;
    output::complain(color, &format!("the run ended early: {}", confute_run::panicked(why)));
    if let Some(folder) = flags.folder() {
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
struct Teller<'a> {
    screen: screen::Screen,
    recorder: Recorder,
    /// Writer of the journal, if the run has a folder.
    keeper: Option<Keeper<'a>>,
    /// Lowest level at which a violation refutes the server.
    level: Level,
    /// The violations so far: `true` if it refutes the server, and its name.
    met: Vec<(bool, String)>,
}

impl Sink for Teller<'_> {
    fn surveyed(&mut self, remarks: &[String]) {
        remarks.iter().for_each(|remark| self.screen.say(remark));
        Sink::surveyed(&mut self.recorder, remarks);
    }

    fn ended(&mut self, case: &CaseReport) {
        Sink::ended(&mut self.recorder, case);
    }

    fn settled(&mut self, case: SettledCase) {
        self.keeper.iter_mut().for_each(|keeper| keeper.settled(case.clone()));
    }

    fn found(&mut self, finding: &Finding, news: News) {
        self.keeper.iter_mut().for_each(|keeper| keeper.found(finding, news));
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
        self.keeper.iter_mut().for_each(Keeper::tick);
        self.screen.show(live);
    }
}

impl RunObserver for Teller<'_> {
    fn doing(&mut self, what: &str) {
        self.screen.replace(what);
    }
}
