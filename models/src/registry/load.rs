//! From a file of any kind we know to a [`Case`], or to one line that says what is wrong with the file.
//!
//! A trace says which model and network it belongs to; a history does not, and only some models can read one.

use std::fmt;
use std::io::{BufRead, Cursor, Read as _};

use confute::history::{self, Format, History, HistoryError, sniff};
use confute::trace::{self, Event, Header, Reader, TraceError};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{Case, Named, Translate, model, models};
use crate::recorded::{Misfit, Recorded};

/// How much of a file is looked at to tell what it is.
const HEAD: u64 = 64 << 10;

/// How much a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line, in bytes.
    pub line: usize,
    /// The most events.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 16 << 20, events: 10_000_000 }
    }
}

/// What a file holds.
pub struct Loaded {
    /// What a trace says of itself.
    pub header: Option<Header>,
    /// The form of the file.
    pub format: Format,
    /// What happened.
    pub case: Box<dyn Case>,
}

/// Why a file could not be loaded: one line that says where, what, and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing in it.
    Empty,
    /// It is no trace, or a broken one.
    Trace(TraceError),
    /// It is no history, or a broken one.
    History(HistoryError),
    /// It is a history of something else.
    Misfit(Misfit),
    /// A history does not say which model to judge it by.
    NeedsModel,
    /// The model has no operations.
    NoHistories {
        /// The model.
        model: &'static str,
    },
    /// The trace belongs to another model than the one asked for.
    OtherModel {
        /// What the header says.
        header: String,
        /// What was asked for.
        asked: &'static str,
    },
    /// The trace belongs to a model that is not among ours.
    UnknownModel {
        /// What the header says.
        header: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => {
                f.write_str("the file is empty; expected a Confute trace, EDN maps, or jepsen.util lines")
            }
            Problem::Trace(error) => error.fmt(f),
            Problem::History(error) => error.fmt(f),
            Problem::Misfit(error) => error.fmt(f),
            Problem::NeedsModel => {
                write!(f, "a history does not say what it is a history of; name the model: {}", readers())
            }
            Problem::NoHistories { model } => write!(
                f,
                "model `{model}` cannot read histories of operations, only Confute traces; \
                 histories are for {}",
                readers()
            ),
            Problem::OtherModel { header, asked } => write!(
                f,
                "line 1: the trace was recorded for model {header:?}, not `{asked}`; \
                 leave out --model to judge it by its own"
            ),
            Problem::UnknownModel { header } => write!(
                f,
                "line 1: the trace was recorded for model {header:?}, which is not among the shipped ones \
                 ({}); judge it with the program that has that model",
                models().iter().map(|model| model.name()).collect::<Vec<_>>().join(", ")
            ),
        }
    }
}

impl std::error::Error for Problem {}

fn readers() -> String {
    let names = models().iter().filter(|model| model.reads_histories());
    names.map(|model| format!("--model {}", model.name())).collect::<Vec<_>>().join(" or ")
}

/// Reads a file of any form, for the model asked for or else the one that it names itself.
pub fn load(
    mut file: impl BufRead,
    asked: Option<&'static dyn Named>,
    limits: Limits,
) -> Result<(&'static dyn Named, Loaded), Problem> {
    let mut head = Vec::new();
    // An error will come again, with its place.
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
            None => Err(Problem::NeedsModel),
            Some(model) => Ok((model, model.history(&mut whole, limits)?)),
        };
        return loaded;
    };
    let model = match (asked, model(&header.model)) {
        (Some(asked), _) if asked.name() != header.model => {
            return Err(Problem::OtherModel { header: header.model, asked: asked.name() });
        }
        (_, Some(model)) => model,
        (_, None) => return Err(Problem::UnknownModel { header: header.model }),
    };
    Ok((model, model.trace(&mut whole, limits)?))
}

fn header(head: &[u8]) -> Result<Header, Problem> {
    let reader = Reader::<_, IgnoredAny>::new(head, trace::Limits::default()).map_err(Problem::Trace)?;
    Ok(reader.header().clone())
}

/// What is wrong with a file that looks like none of ours.
fn unknown(file: &mut dyn BufRead, limits: Limits) -> Problem {
    let limits = history::Limits { line: limits.line, entries: 1 };
    match history::read(file, limits) {
        Err(HistoryError::Empty) | Ok(_) => Problem::Empty,
        Err(error) => Problem::History(error),
    }
}

type Events<M> = (Header, Vec<Event<M>>, Vec<usize>);

/// Reads a trace with the line of each event.
pub(super) fn trace<M: DeserializeOwned>(
    file: &mut dyn BufRead,
    limits: Limits,
) -> Result<Events<M>, Problem> {
    let limits = trace::Limits { line: limits.line, events: limits.events };
    let mut reader = Reader::new(file, limits).map_err(Problem::Trace)?;
    let (mut events, mut lines) = (Vec::new(), Vec::new());
    while let Some(event) = reader.next() {
        events.push(event.map_err(Problem::Trace)?);
        lines.push(reader.line());
    }
    Ok((reader.header().clone(), events, lines))
}

/// Reads a history and translates it.
pub(super) fn history<M>(
    file: &mut dyn BufRead,
    limits: Limits,
    translate: Translate<M>,
) -> Result<(History, Recorded<M>), Problem> {
    let limits = history::Limits { line: limits.line, entries: limits.events };
    let history = history::read(file, limits).map_err(Problem::History)?;
    let recorded = translate(&history).map_err(Problem::Misfit)?;
    Ok((history, recorded))
}
