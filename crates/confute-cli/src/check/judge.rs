//! The judgement of one file: reading, verdict, place, blame.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use confute::check::{self, Case, CheckModel, Loaded, Problem};
use confute::history::Format as Form;
use confute::network::{self, Network};
use confute::trace::{ReadLimits, TraceError};
use confute::{Blame, Options, SearchAccount, Verdict};
use confute_record::Exit;

use super::Piece;
use super::table::Row;
use crate::args::{Check, Format};
use crate::progress::{Board, Progress};
use crate::{json, render};

/// The beginning of a file that `confute replay` reads.
const STORED_CASE: &str = r#"{"confute":"case""#;

/// Maximum number of lines of steps in the search log of one file.
const LOG_LINES: usize = 20_000;

/// The result for one file.
pub(crate) struct Judged {
    pub(crate) file: String,
    pub(crate) model: &'static dyn CheckModel,
    pub(crate) network: &'static str,
    pub(crate) form: Form,
    pub(crate) case: Box<dyn Case>,
    pub(crate) verdict: Verdict,
    pub(crate) blame: Option<Blame>,
    /// Rules that were relaxed.
    pub(crate) relaxed: Vec<&'static str>,
    /// Number of turns of the model that were executed, at least.
    pub(crate) turns: u64,
    /// Time that judging took, without reading and blame.
    pub(crate) elapsed: Duration,
}

/// Judges a file. Says the verdict as soon as it is known, and returns the row of the table.
pub(super) fn file(args: &Check, path: &Path, board: &Board, say: &dyn Fn(Piece)) -> Result<Row, String> {
    let file = path.display().to_string();
    let progress = Progress::new(board, &file);
    let limits = ReadLimits { line: args.max_line, events: args.max_events };
    let asked = args.model.and_then(confute_kits::check_model);
    let input = open(path, &progress)?;
    let (model, Loaded { header, format: form, case }) =
        check::load(input, &confute_kits::check_models(), asked, limits)
            .map_err(|problem| describe(&problem, &file))?;
    let named = args.network.or(header.as_ref().map(|header| &*header.network)).unwrap_or("tcp");
    let network = network::network(named).ok_or_else(|| {
        format!("line 1: the trace names network {named:?}; choose one with --network: direct, tcp or udp")
    })?;
    let relaxed: Vec<_> =
        args.allow.iter().copied().filter(|rule| model.rules().iter().any(|own| own.name == *rule)).collect();
    let watch = |pulse: &_| progress.hear(pulse);
    let options = Options {
        memory: args.max_memory,
        relaxed: relaxed.clone(),
        watch: Some(&watch),
        ..Options::default()
    };

    progress.begin("judging", case.events(), args.max_time);
    let start = Instant::now();
    let clock = || start.elapsed();
    let account = args.search_log.is_some().then(|| SearchAccount::new(LOG_LINES, Some(&clock)));
    let log = account.as_ref().map(|account| account as _);
    let verdict = case.judge(network, &Options { log, ..options.clone() });
    let (elapsed, turns) = (start.elapsed(), progress.turns());
    let network_name = network.name();
    if let Some(account) = account {
        let word = Exit::from(&verdict).name();
        let events = case.events();
        let head =
            format!("search log of {file}: {word}, {} behind {network_name}, {events} events", model.name());
        say(Piece::Log(format!("{head}\n\n{account}\n")));
    }
    let mut judged = Judged {
        file: file.clone(),
        model,
        network: network_name,
        form,
        case,
        verdict,
        blame: None,
        relaxed,
        turns,
        elapsed,
    };
    let by_people = args.format == Format::Human;
    if let Verdict::Refuted(refutation) = &judged.verdict {
        progress.begin("explaining", judged.case.events(), args.max_time);
        let event = fatal(&*judged.case, refutation.event, network, &options);
        judged.at(event);
        tell(by_people, say, |out| render::verdict(&judged, args, out));
        if !args.quiet {
            judged.explain(network, &options);
            tell(by_people, say, |out| render::proof(&judged, args, out));
            if !args.no_blame {
                judged.find_blame(network, &options);
            }
            tell(by_people, say, |out| render::blame(&judged, out));
        }
    } else {
        tell(by_people, say, |out| render::verdict(&judged, args, out));
    }
    let exit = Exit::from(&judged.verdict);
    tell(!by_people, say, |out| json::judged(&judged, exit, out));
    if args.report_dir.is_some() || args.resume.is_some() {
        say(Piece::Object(json::object(&|out| json::judged(&judged, exit, out))));
    }
    Ok(Row::of(&judged, exit))
}

impl Judged {
    /// Sets the event that nothing explains.
    fn at(&mut self, event: usize) {
        if let Verdict::Refuted(refutation) = &mut self.verdict {
            refutation.event = event;
        }
    }

    /// Finds out what was expected instead. Later events may be wrong for other reasons, and are left out.
    fn explain(&mut self, network: &dyn Network, options: &Options<'_>) {
        if let Verdict::Refuted(refutation) = &mut self.verdict {
            let until = self.case.keep(&|place| place <= refutation.event);
            *refutation = until.explain(network, refutation, options);
        }
    }

    /// Finds the rules that must have been broken.
    fn find_blame(&mut self, network: &dyn Network, options: &Options<'_>) {
        if let Verdict::Refuted(refutation) = &self.verdict {
            let until = self.case.keep(&|place| place <= refutation.event);
            self.blame = Some(until.blame(network, options));
        }
    }
}

/// Returns the text of a problem, with the command that can judge the file.
fn describe(problem: &Problem, file: &str) -> String {
    match problem {
        Problem::Trace(TraceError::NotATrace { found, .. }) if found.starts_with(STORED_CASE) => {
            format!("this is a stored case of a tester, not a trace; `confute replay {file}` judges it again")
        }
        problem => problem.to_string(),
    }
}

/// Says what is rendered, if it is wanted.
fn tell(wanted: bool, say: &dyn Fn(Piece), render: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut text = Vec::new();
    if wanted && render(&mut text).is_ok() && !text.is_empty() {
        say(Piece::Text(text));
    }
}

/// Returns the first event up to which the case is refuted. The search may report an earlier one, because it takes
/// later events into account.
fn fatal(case: &dyn Case, found: usize, network: &dyn Network, options: &Options<'_>) -> usize {
    let refuted = |last: usize| case.keep(&|place| place <= last).judge(network, options).is_refuted();
    let (mut low, mut high) = (found, case.events().saturating_sub(1));
    if low >= high || refuted(low) {
        return low;
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        *if refuted(middle) { &mut high } else { &mut low } = middle;
    }
    high
}

fn open<'p>(path: &Path, progress: &'p Progress<'_>) -> Result<Box<dyn BufRead + 'p>, String> {
    const BUFFER: usize = 1 << 16;
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, progress.reading(io::stdin(), 0))));
    }
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    })?;
    let metadata = file.metadata();
    if metadata.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Err("is a directory: pass the files in it".to_owned());
    }
    let size = metadata.map_or(0, |metadata| metadata.len());
    Ok(Box::new(BufReader::with_capacity(BUFFER, progress.reading(file, size))))
}
