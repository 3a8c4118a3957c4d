//! Loader of files of any known format into a [`Case`], with one-line errors.
//!
//! A trace names its model and network; a history does not, and only some models can read one.

use std::fmt;
use std::io::{BufRead, Cursor, Read as _};

use serde::de::{DeserializeOwned, IgnoredAny};

use super::{Case, CheckModel};
use crate::history::{self, Format, HistoryError, Misfit, Reading, Recorded, Recorder, sniff};
use crate::trace::{Event, Header, ReadLimits, TraceError, TraceReader};

/// Number of bytes read to detect the format of a file.
const HEAD: u64 = 64 << 10;

/// Content of a file.
pub struct Loaded {
    /// Header of a trace; `None` for a history.
    pub header: Option<Header>,
    /// Format of the file.
    pub format: Format,
    /// Events of the file.
    pub case: Box<dyn Case>,
}

/// Reason why a file could not be loaded: one line with the place, the fault, and the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The file is empty.
    Empty,
    /// The file is not a valid trace.
    Trace(TraceError),
    /// The file is not a valid history.
    History(HistoryError),
    /// The history does not fit the model.
    Misfit(Misfit),
    /// A history does not name its model.
    NeedsModel {
        /// Names of the models that can read histories.
        readers: Vec<&'static str>,
    },
    /// The model cannot read histories.
    NoHistories {
        /// Name of the model.
        model: &'static str,
        /// Names of the models that can read histories.
        readers: Vec<&'static str>,
    },
    /// The trace belongs to another model than the requested one.
    OtherModel {
        /// Model named in the header.
        header: String,
        /// The requested model.
        asked: &'static str,
    },
    /// The trace belongs to a model that is not known.
    UnknownModel {
        /// Model named in the header.
        header: String,
        /// Names of the known models.
        known: Vec<&'static str>,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => f.write_str(
                "the file is empty; expected a Confute trace, EDN maps, JSON objects, or jepsen.util lines",
            ),
            Problem::Trace(error) => error.fmt(f),
            Problem::History(error) => error.fmt(f),
            Problem::Misfit(error) => error.fmt(f),
            Problem::NeedsModel { readers } => {
                let readers = options(readers);
                write!(f, "a history does not say what it is a history of; name the model: {readers}")
            }
            Problem::NoHistories { model, readers } => write!(
                f,
                "model `{model}` cannot read histories of operations, only Confute traces; \
                 histories are for {}",
                options(readers)
            ),
            Problem::OtherModel { header, asked } => write!(
                f,
                "line 1: the trace was recorded for model {header:?}, not `{asked}`; \
                 leave out --model to judge it by its own"
            ),
            Problem::UnknownModel { header, known } => write!(
                f,
                "line 1: the trace was recorded for model {header:?}, which is not among the models of this program \
                 ({}); judge it with the program that has that model",
                known.join(", ")
            ),
        }
    }
}

impl std::error::Error for Problem {}

/// Returns the names of the models that can read histories.
fn readers(models: &[&'static dyn CheckModel]) -> Vec<&'static str> {
    models.iter().filter(|model| model.reads_histories()).map(|model| model.name()).collect()
}

/// Returns the option of the command line that names one of these models.
fn options(models: &[&str]) -> String {
    match models.split_last() {
        Some((last, [])) => format!("--model {last}"),
        Some((last, others)) => format!("--model {} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Reads a file of any format, for the requested model or else for the one of `models` that the file names.
pub fn load(
    mut file: impl BufRead,
    models: &[&'static dyn CheckModel],
    asked: Option<&'static dyn CheckModel>,
    limits: ReadLimits,
) -> Result<(&'static dyn CheckModel, Loaded), Problem> {
    let mut head = Vec::new();
    // A read error is ignored here: it will occur again below, and is then reported with its position.
    let _ = file.by_ref().take(HEAD).read_to_end(&mut head);
    if head.trim_ascii().is_empty() && (head.len() as u64) < HEAD {
        return Err(Problem::Empty);
    }
    let form = sniff(&head);
    let header = match form {
        Some(Format::Trace) => Some(header(&head)?),
        _ => None,
    };
    let mut whole = Cursor::new(head).chain(file);
    let Some(header) = header else {
        let loaded = match asked {
            _ if form.is_none() => Err(unknown(&mut whole, limits)),
            None => Err(Problem::NeedsModel { readers: readers(models) }),
            Some(model) if !model.reads_histories() => {
                Err(Problem::NoHistories { model: model.name(), readers: readers(models) })
            }
            Some(model) => Ok((model, model.history(&mut whole, limits)?)),
        };
        return loaded;
    };
    let named = models.iter().copied().find(|model| model.name() == header.model);
    let model = match (asked, named) {
        (Some(asked), _) if asked.name() != header.model => {
            return Err(Problem::OtherModel { header: header.model, asked: asked.name() });
        }
        (_, Some(model)) => model,
        (_, None) => {
            let known = models.iter().map(|model| model.name()).collect();
            return Err(Problem::UnknownModel { header: header.model, known });
        }
    };
    Ok((model, model.trace(&mut whole, limits)?))
}

fn header(head: &[u8]) -> Result<Header, Problem> {
    let reader = TraceReader::<_, IgnoredAny>::new(head, ReadLimits::default()).map_err(Problem::Trace)?;
    Ok(reader.header().clone())
}

/// Returns the error for a file of unknown format.
fn unknown(file: &mut dyn BufRead, limits: ReadLimits) -> Problem {
    let limits = ReadLimits { events: 1, ..limits };
    match history::read(file, limits) {
        Err(HistoryError::Empty) | Ok(_) => Problem::Empty,
        Err(error) => Problem::History(error),
    }
}

type Events<M> = (Header, Vec<Event<M>>, Vec<usize>);

/// Reads a trace with the line of each event.
pub(super) fn trace<M: DeserializeOwned>(
    file: &mut dyn BufRead,
    limits: ReadLimits,
) -> Result<Events<M>, Problem> {
    let mut reader = TraceReader::new(file, limits).map_err(Problem::Trace)?;
    let (mut events, mut lines) = (Vec::new(), Vec::new());
    while let Some(event) = reader.next() {
        events.push(event.map_err(Problem::Trace)?);
        lines.push(reader.line());
    }
    Ok((reader.header().clone(), events, lines))
}

/// Reads a history and translates it into a trace, entry by entry.
pub(super) fn history<M: Clone>(
    file: &mut dyn BufRead,
    limits: ReadLimits,
    reading: &'static Reading<M>,
) -> Result<(Format, Recorded<M>), Problem> {
    let mut reader = history::Reader::new(file, limits);
    let mut recorder = Recorder::new(reading);
    while let Some(entry) = reader.next_entry().map_err(Problem::History)? {
        recorder.add(entry).map_err(Problem::Misfit)?;
    }
    let recorded = recorder.finish().map_err(Problem::Misfit)?;
    Ok((reader.format(), recorded))
}
