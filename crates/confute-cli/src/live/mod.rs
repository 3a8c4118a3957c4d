//! Tests live servers: flags, progress, reports. What is spoken, and what is sent, comes from the protocols.

pub(crate) mod flags;
mod screen;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use confute_drive::{
    CaseReport, Conclusion, Factory, Finding, Live, News, Protocol, Sink, Trouble, campaign,
};
use confute_report::files::Reports;
use confute_report::{Subject, advice, lines, shrink, summary, violation};
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
    let plan = flags.plan(subject.target, subject.rules)?;
    // Before the server is bothered: a report that cannot be written is worth nothing.
    let reports = flags.report_dir.as_deref().map(Reports::create).transpose()?;
    let stop = stopped_by_signals()?;
    let mut teller = Teller { screen: screen::Screen::new(flags, color), lines: None, remarks: Vec::new() };
    if flags.format == Format::Json {
        teller.lines = Some(lines::Lines::new(flags.verbose));
    }
    let mut outcome = campaign(protocol, &plan, make, &mut teller, &stop);
    if let Some((trouble @ Trouble::Unsecured { .. }, _)) = outcome.troubles.first()
        && outcome.figures.requests == 0
    {
        // Whom to trust is said on the command line.
        teller.screen.erase();
        anyhow::bail!("{}: {trouble}; {}", subject.shown, advice::next(trouble));
    }
    if !flags.no_shrink {
        shrink::all(protocol, &plan, flags.shrink_time, &mut outcome.findings, &stop, &mut |line| {
            teller.screen.replace(line);
        });
    }
    teller.screen.erase();
    outcome.findings.iter_mut().for_each(|finding| subject.secrets.clean_finding(finding));
    let mut paths = Vec::new();
    if let Some(reports) = &reports {
        paths = reports.write(protocol, subject, &plan, &outcome).context("cannot write the reports")?;
    }
    match teller.lines {
        Some(lines) => lines.end(subject, &plan, &outcome, out)?,
        None => {
            let (quiet, verbose) = (flags.quiet, flags.verbose);
            let told = summary::Told { remarks: &teller.remarks, paths: &paths, quiet, verbose };
            summary::write(subject, &plan, &outcome, &told, out)?;
        }
    }
    Ok(exit(&outcome.conclusion))
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
fn stopped_by_signals() -> Result<Arc<AtomicBool>> {
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
    lines: Option<lines::Lines>,
    /// What the server was found to be able to do.
    remarks: Vec<String>,
}

impl<P: Protocol> Sink<P> for Teller {
    fn surveyed(&mut self, remarks: &[String]) {
        remarks.iter().for_each(|remark| self.screen.say(remark));
        self.remarks = remarks.to_vec();
    }

    fn ended(&mut self, case: &CaseReport) {
        if let Some(lines) = &mut self.lines {
            lines.case(case);
        }
    }

    fn found(&mut self, finding: &Finding<P>, news: News) {
        if news == News::New {
            self.screen.say(&format!("violation {}: {}", finding.number, violation::name(finding)));
        }
    }

    fn trouble(&mut self, trouble: &Trouble) {
        self.screen.say(&format!("trouble: {trouble}"));
    }

    fn tick(&mut self, live: &Live) {
        self.screen.show(live);
    }
}
