//! A sequence of events whose messages have been forgotten but for their text.
//!
//! It is what the command line shows, cuts and judges. An event keeps its place; a place in a file is known only for
//! what came from one.

use std::io::{self, Write};

use confute::lang::ServerModel;
use confute::network::Network;
use confute::trace::{Event, Header, Trace};
use confute::{Blame, Options, Refutation, Verdict, blame, explain, judge};
use serde::Serialize;

/// What happened between a tester and a server, ready to be judged.
pub trait Case {
    /// How many events it has.
    fn events(&self) -> usize;

    /// An event, with its message as text.
    fn event(&self, place: usize) -> Option<Event<String>>;

    /// The line of the file that an event came from, counted from 1.
    fn line(&self, place: usize) -> Option<usize>;

    /// Judges it: see [`judge`].
    fn judge(&self, network: &dyn Network, options: &Options<'_>) -> Verdict;

    /// What was expected instead: see [`explain`].
    fn explain(&self, network: &dyn Network, refutation: &Refutation, options: &Options<'_>) -> Refutation;

    /// Which rules must have been broken: see [`blame`].
    fn blame(&self, network: &dyn Network, options: &Options<'_>) -> Blame;

    /// The same without some of its events.
    fn keep(&self, keeps: &dyn Fn(usize) -> bool) -> Box<dyn Case>;

    /// Writes it as a trace.
    fn write(&self, header: &Header, out: &mut dyn Write) -> io::Result<()>;
}

/// Events of a model.
#[derive(Clone)]
pub(super) struct Told<S: ServerModel> {
    pub(super) model: S,
    pub(super) events: Vec<Event<S::Msg>>,
    /// The line of each event; empty if it came from no file.
    pub(super) lines: Vec<usize>,
}

impl<S> Case for Told<S>
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
        Box::new(Told {
            model: self.model,
            events: kept.iter().map(|place| self.events[*place].clone()).collect(),
            lines: kept.iter().filter_map(|place| self.lines.get(*place).copied()).collect(),
        })
    }

    fn write(&self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        Trace { header: header.clone(), events: self.events.clone() }.write(out)
    }
}
