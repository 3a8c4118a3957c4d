//! Recorded files, judged by a model that is chosen at run time.
//!
//! A [`CheckModel`] is a model that a program can list and load files for; [`load`] reads a trace or a history of any known format;
//! the [`Case`] that it returns can be judged, with its messages printed as text. There is no logic here: the library reads,
//! judges and blames, and this only erases types.

mod case;
mod load;

use std::io::BufRead;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::history::{Format, Reading, Recorded};
use crate::lang::{Rule, ServerModel};
use crate::trace::ReadLimits;

pub use case::{Case, TypedCase};
pub use load::{Loaded, Problem, load};

/// A model that recorded files can be judged by.
pub trait CheckModel: Sync {
    /// Returns the name on the command line and in traces.
    fn name(&self) -> &'static str;

    /// Returns a description of the modelled server, in one sentence.
    fn summary(&self) -> &'static str;

    /// Returns the rules that the model can deviate from.
    fn rules(&self) -> &'static [Rule];

    /// Returns `true` if histories of operations can be read as its traces.
    fn reads_histories(&self) -> bool;

    /// Reads a trace of this model. The model and network in the header are not checked.
    fn trace(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem>;

    /// Reads a history as a trace of this model.
    fn history(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem>;
}

/// A model with its name, its description and the translation of histories.
pub struct Described<S: ServerModel<Msg: 'static>> {
    /// The name on the command line and in traces.
    pub name: &'static str,
    /// A description of the modelled server, in one sentence.
    pub summary: &'static str,
    /// The model.
    pub model: S,
    /// The translation of histories; `None` if the model cannot read any.
    pub reading: Option<&'static Reading<S::Msg>>,
}

impl<S> CheckModel for Described<S>
where
    S: ServerModel<Msg: Clone + Serialize + DeserializeOwned> + Copy + Sync + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn rules(&self) -> &'static [Rule] {
        self.model.rules()
    }

    fn reads_histories(&self) -> bool {
        self.reading.is_some()
    }

    fn trace(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem> {
        let (header, events, lines) = load::trace(file, limits)?;
        let case = TypedCase { model: self.model, events, lines };
        Ok(Loaded { header: Some(header), format: Format::Trace, case: Box::new(case) })
    }

    fn history(&self, file: &mut dyn BufRead, limits: ReadLimits) -> Result<Loaded, Problem> {
        let none = || Problem::NoHistories { model: self.name, readers: Vec::new() };
        let (format, Recorded { events, lines }) =
            load::history(file, limits, self.reading.ok_or_else(none)?)?;
        let case = TypedCase { model: self.model, events, lines };
        Ok(Loaded { header: None, format, case: Box::new(case) })
    }
}
