//! A sequence of events with erased message types.
//!
//! A program prints, cuts and judges it. An event is identified by its index; its line is known only
//! if it was read from a file.

use std::io::{self, Write};

use serde::Serialize;

use crate::lang::ServerModel;
use crate::network::Network;
use crate::trace::{Event, Header, Trace};
use crate::{Blame, Options, Refutation, Verdict, blame, explain, judge};

/// Events between a tester and a server, ready to be judged.
pub trait Case {
    /// Returns the number of events.
    fn events(&self) -> usize;

    /// Returns an event, with its message as text.
    fn event(&self, place: usize) -> Option<Event<String>>;

    /// Returns the line of the file that an event was read from, from 1.
    fn line(&self, place: usize) -> Option<usize>;

    /// Judges the case: see [`judge`].
    fn judge(&self, network: &dyn Network, options: &Options<'_>) -> Verdict;

    /// Returns the refutation with the expected messages: see [`explain`].
    fn explain(&self, network: &dyn Network, refutation: &Refutation, options: &Options<'_>) -> Refutation;

    /// Returns the rules that must have been broken: see [`blame`].
    fn blame(&self, network: &dyn Network, options: &Options<'_>) -> Blame;

    /// Returns a copy with the selected events only.
    fn keep(&self, keeps: &dyn Fn(usize) -> bool) -> Box<dyn Case>;

    /// Writes the case as a trace.
    fn write(&self, header: &Header, out: &mut dyn Write) -> io::Result<()>;
}

/// Events of a model.
#[derive(Clone)]
pub struct TypedCase<S: ServerModel> {
    /// The model that judges them.
    pub model: S,
    /// The events.
    pub events: Vec<Event<S::Msg>>,
    /// Line of each event; empty if the events were not read from a file.
    pub lines: Vec<usize>,
}

impl<S> Case for TypedCase<S>
where
    S: ServerModel<Msg: Clone + Serialize> + Copy + 'static,
{
    fn events(&self) -> usize {
        self.events.len()
    }

    fn event(&self, place: usize) -> Option<Event<String>> {
        Some(self.events.get(place)?.as_ref().map(ToString::to_string))
    }

    fn line(&self, place: usize) -> Option<usize> {
        self.lines.get(place).copied()
    }

    fn judge(&self, network: &dyn Network, options: &Options<'_>) -> Verdict {
        judge(&self.model, network, &self.events, options)
    }

    fn explain(&self, network: &dyn Network, refutation: &Refutation, options: &Options<'_>) -> Refutation {
        explain(&self.model, network, &self.events, refutation, options)
    }

    fn blame(&self, network: &dyn Network, options: &Options<'_>) -> Blame {
        blame(&self.model, network, &self.events, options)
    }

    fn keep(&self, keeps: &dyn Fn(usize) -> bool) -> Box<dyn Case> {
        let kept: Vec<usize> = (0..self.events.len()).filter(|place| keeps(*place)).collect();
        Box::new(TypedCase {
            model: self.model,
            events: kept.iter().map(|place| self.events[*place].clone()).collect(),
            lines: kept.iter().filter_map(|place| self.lines.get(*place).copied()).collect(),
        })
    }

    fn write(&self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        Trace { header: header.clone(), events: self.events.clone() }.write(out)
    }
}
