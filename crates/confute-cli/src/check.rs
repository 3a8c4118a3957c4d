//! `confute check`: judges recorded files one by one.
//!
//! A file that cannot be read does not prevent the others from being judged.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use confute::history::Format as Form;
use confute::network::Network;
use confute::trace::ReadLimits;
use confute::{Blame, Options, Verdict};
use confute_models::registry::{self, Case, Loaded, Named};

use confute_record::guarded;

use crate::args::{Check, Color, Format};
use crate::progress::Progress;
use crate::{json, output, render};
use confute_record::Exit;

/// The result for one file.
pub(crate) struct Judged {
    pub(crate) file: String,
    pub(crate) model: &'static dyn Named,
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

pub(crate) fn run(args: &Check, color: Color, out: &mut dyn Write) -> Result<Exit> {
    if let Some(model) = args.model.and_then(registry::model)
        && let Some(rule) = args.allow.iter().find(|rule| model.rules().iter().all(|own| own.name != **rule))
    {
        anyhow::bail!("{rule} is no rule of model {0}; `confute rules {0}` lists them", model.name());
    }
    let mut worst = Exit::Unrefuted;
    for path in &args.files {
        let file = path.display().to_string();
        let mut progress = Progress::new(args.verbose, color);
        let judged = guarded(|| open(path).and_then(|input| judge(args, file.clone(), input, &mut progress)));
        progress.erase();
        let (judged, lost) = match judged {
            Ok(judged) => (judged, Exit::Broken),
            // The results of the other files stand.
            Err(why) => (Err(format!("internal error: {why}")), Exit::Inconclusive),
        };
        let exit = match &judged {
            Ok(judged) => Exit::from(&judged.verdict),
            Err(_) => lost,
        };
        worst = worst.max(exit);
        match (judged, args.format) {
            (Ok(judged), Format::Human) => render::judged(&judged, args, out)?,
            (Ok(judged), Format::Json) => json::judged(&judged, exit, out)?,
            (Err(problem), Format::Human) => {
                out.flush()?;
                output::complain(color, &format!("{file}: {problem}"));
            }
            (Err(problem), Format::Json) => json::broken(&file, &problem, out)?,
        }
        out.flush()?;
    }
    Ok(worst)
}

fn judge(
    args: &Check,
    file: String,
    input: Box<dyn BufRead>,
    progress: &mut Progress,
) -> Result<Judged, String> {
    let limits = ReadLimits { line: args.max_line, events: args.max_events };
    let asked = args.model.and_then(registry::model);
    let (model, Loaded { header, format: form, case }) =
        registry::load(input, asked, limits).map_err(|problem| problem.to_string())?;
    let named = args.network.or(header.as_ref().map(|header| &*header.network)).unwrap_or("tcp");
    let network = registry::network(named).ok_or_else(|| {
        format!("line 1: the trace names network {named:?}; choose one with --network: direct, tcp or udp")
    })?;
    let relaxed: Vec<_> =
        args.allow.iter().copied().filter(|rule| model.rules().iter().any(|own| own.name == *rule)).collect();
    let options = Options { memory: args.max_memory, relaxed: relaxed.clone(), ..Options::default() };

    progress.begin("judging", case.events(), args.max_time);
    let start = Instant::now();
    let watch = |pulse: &_| progress.hear(pulse);
    let mut verdict = case.judge(network, &Options { watch: Some(&watch), ..options.clone() });
    let (elapsed, turns) = (start.elapsed(), progress.turns());

    let mut blame = None;
    if let Verdict::Refuted(refutation) = &mut verdict {
        progress.begin("explaining", case.events(), args.max_time);
        let watch = |pulse: &_| progress.hear(pulse);
        let options = Options { watch: Some(&watch), ..options };
        refutation.event = fatal(&*case, refutation.event, network, &options);
        if !args.quiet {
            // Later events may be wrong for other reasons.
            let until = case.keep(&|place| place <= refutation.event);
            *refutation = until.explain(network, refutation, &options);
            blame = (!args.no_blame).then(|| until.blame(network, &options));
        }
    }
    Ok(Judged { file, model, network: network.name(), form, case, verdict, blame, relaxed, turns, elapsed })
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

fn open(path: &Path) -> Result<Box<dyn BufRead>, String> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err("is a directory: pass the files in it".to_owned());
    }
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}
