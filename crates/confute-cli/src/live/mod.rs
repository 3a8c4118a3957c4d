//! Tests live servers: flags, progress, reports. What is spoken, and what is sent, comes from the protocols.

pub(crate) mod flags;
mod screen;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use confute_drive::{
    CaseReport, Conclusion, Factory, Finding, Live, News, Outcome, Plan, Protocol, Sink, Trouble,
};
use confute_report::baseline::{Baseline, Compared};
use confute_report::files::{Reports, Run};
use confute_report::session::{self, Done, Job, Watch};
use confute_report::text::{WIDTH, count, wrap};
use confute_report::{Subject, advice, lines, summary, violation};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::{Color, Format};
use crate::exit::Exit;

pub(crate) use flags::Flags;

/// Tests a server and says what came of it.
pub(crate) fn run<P: Protocol>(
    protocol: &P,
    subject: &Subject<'_>,
    flags: &Flags,
    make: Factory<'_, P>,
    color: Color,
    out: &mut dyn Write,
) -> Result<Exit> {
    let mut plan = flags.plan(subject.target, subject.rules)?;
    if let Some(bound) = subject.bound {
        plan = bound.plan(plan, flags.max_time);
    }
    // Before the server is bothered: a report that cannot be written is worth nothing.
    let reports = flags.report_dir.as_deref().map(Reports::create).transpose()?;
    let known = match &flags.baseline {
        Some(path) => Some(Baseline::read(path, subject.model, flags.baseline_update)?),
        None => None,
    };
    plan.known = known.as_ref().map(Baseline::known).unwrap_or_default();
    let stop = stopped_by_signals()?;
    let screen = screen::Screen::new(flags, subject.bound, color);
    let mut teller = Teller { screen, lines: lines::Lines::new(), remarks: Vec::new() };
    let shrink_time = (!flags.no_shrink).then_some(flags.shrink_time);
    let regressions = flags.regressions.as_deref();
    let job = Job { protocol, subject, plan: &plan, make, shrink_time, regressions };
    let done = session::run(&job, &mut teller, &stop);
    teller.screen.erase();
    let done = done?;
    let mut notes = done.notes();
    let Done { mut outcome, .. } = done;
    if let Some((trouble @ Trouble::Unsecured { .. }, _)) = outcome.troubles.first()
        && outcome.figures.requests == 0
    {
        // Whom to trust is said on the command line.
        anyhow::bail!("{}: {trouble}; {}", subject.shown, advice::next(trouble));
    }
    if let (Some(known), Some(path)) = (known, &flags.baseline) {
        notes.push(("baseline", compare(&known, path, flags, &plan, &mut outcome)?));
    }
    let mut paths = Vec::new();
    if let Some(reports) = &reports {
        let (plan, outcome, remarks) = (&plan, &outcome, &teller.remarks);
        let run = Run { protocol, subject, plan, outcome, lines: &teller.lines, remarks };
        paths = reports.write(&run).context("cannot write the reports")?;
    }
    match flags.format {
        Format::Json => teller.lines.end(subject, &plan, &outcome, flags.verbose, out)?,
        Format::Human => {
            let (quiet, verbose, remarks) = (flags.quiet, flags.verbose, &teller.remarks);
            let told = summary::Told { remarks, paths: &paths, notes: &notes, quiet, verbose };
            summary::write(subject, &plan, &outcome, &told, out)?;
        }
    }
    Ok(exit(&outcome.conclusion))
}

/// What a run says about what was known, in lines; what is known from then on, if so wanted.
fn compare<P: Protocol>(
    known: &Baseline,
    path: &Path,
    flags: &Flags,
    plan: &Plan,
    outcome: &mut Outcome<P>,
) -> Result<Vec<String>> {
    let Compared { known: met, gone, untested } = known.compared(outcome);
    let mut lines = vec![format!("{} met again", count(met as u64, "known violation"))];
    let list = |what: &str, rules: &[String]| wrap(&format!("{what}: {}", rules.join("; ")), WIDTH - 14);
    if !gone.is_empty() {
        lines.extend(list("no longer met, though put to the test", &gone));
    }
    if !untested.is_empty() {
        lines.extend(list("not put to the test", &untested));
    }
    if flags.baseline_update {
        let updated = known.updated(plan, outcome);
        updated.write(path)?;
        lines.push(format!("written to {}", path.display()));
        outcome.expect(&updated.known(), plan);
    } else if !gone.is_empty() {
        lines.push("--baseline-update removes what is no longer met".to_owned());
    }
    Ok(lines)
}

/// What a script can learn without reading.
pub(crate) fn exit(conclusion: &Conclusion) -> Exit {
    match conclusion {
        Conclusion::Refuted => Exit::Refuted,
        Conclusion::Unrefuted => Exit::Unrefuted,
        Conclusion::Inconclusive(_) => Exit::Inconclusive,
    }
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
    lines: lines::Lines,
    /// What the server was found to be able to do.
    remarks: Vec<String>,
}

impl<P: Protocol> Sink<P> for Teller {
    fn surveyed(&mut self, remarks: &[String]) {
        remarks.iter().for_each(|remark| self.screen.say(remark));
        self.remarks = remarks.to_vec();
    }

    fn ended(&mut self, case: &CaseReport) {
        self.lines.case(case);
    }

    fn found(&mut self, finding: &Finding<P>, news: News) {
        if news == News::New {
            self.screen.say(&format!("violation {}: {}", finding.number, violation::name(finding)));
        }
    }

    fn trouble(&mut self, trouble: &Trouble) {
        self.lines.trouble(trouble);
        self.screen.say(&format!("trouble: {trouble}"));
    }

    fn tick(&mut self, live: &Live) {
        self.screen.show(live);
    }
}

impl<P: Protocol> Watch<P> for Teller {
    fn doing(&mut self, what: &str) {
        self.screen.replace(what);
    }
}
