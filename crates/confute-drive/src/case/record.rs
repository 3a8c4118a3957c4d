//! The record of a case: events are passed to the engine in one order, which is that of the trace.

use std::cell::Cell;
use std::time::{Duration, Instant};

use confute::Verdict;
use confute::erased::Engine;
use confute::trace::Event;

use crate::erased::{AnyMessage, shared};
use crate::figures::Gauge;
use confute_record::Figures;

/// Number of events after which the open alternatives are counted again.
const LOOK: u64 = 64;

/// Duration of the search for one event after which the case waits for all responses.
const LONG: Duration = Duration::from_millis(10);

/// Number of hypotheses that are asked for the response they expect.
const OPINIONS: usize = 12;

pub(super) struct Record<'a> {
    tester: Engine<'a>,
    pub(super) trace: Vec<Event<AnyMessage>>,
    /// Time of each event, in microseconds since the case began.
    pub(super) micros: Vec<u64>,
    start: Instant,
    pub(super) figures: Figures,
    /// Start of the current search.
    thought: &'a Cell<Instant>,
    gauge: &'a Gauge,
    shown: u64,
    pub(super) alternatives: usize,
    /// `true` if the search for an event took long.
    laboured: bool,
    over: bool,
}

impl<'a> Record<'a> {
    /// Creates the record of a case that begins now, at the time in `thought`.
    pub(super) fn new(tester: Engine<'a>, thought: &'a Cell<Instant>, gauge: &'a Gauge) -> Self {
        let (trace, micros, figures) = (Vec::new(), Vec::new(), Figures::default());
        Self {
            tester,
            trace,
            micros,
            start: thought.get(),
            figures,
            thought,
            gauge,
            shown: 0,
            alternatives: 0,
            laboured: false,
            over: false,
        }
    }

    /// Passes an event to the engine. Once the engine has reached a verdict, nothing is recorded any more.
    pub(super) fn tell(&mut self, event: Event<AnyMessage>, outstanding: usize) {
        if self.over {
            return;
        }
        let start = Instant::now();
        self.thought.set(start);
        self.micros.push(start.saturating_duration_since(self.start).as_micros() as u64);
        self.over = !self.tester.observe(shared(&event)).is_unrefuted();
        self.trace.push(event);
        self.figures.events += 1;
        if self.figures.events.is_multiple_of(LOOK) {
            self.alternatives = self.tester.alternatives();
            self.figures.alternatives.add(self.alternatives as u64);
            self.show(outstanding);
        }
        let thought = start.elapsed();
        self.laboured |= thought > LONG;
        self.figures.thinking += thought;
    }

    fn show(&mut self, outstanding: usize) {
        let answers = self.figures.answers;
        self.gauge.show(answers - self.shown, outstanding as u64, self.alternatives as u64);
        self.shown = answers;
    }

    /// Returns `true` if the engine has reached a verdict, or given up.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Returns `true` if the search has become expensive: more than `most` alternatives are open, or an event
    /// took long.
    pub(super) fn is_laboured(&self, most: usize) -> bool {
        self.alternatives > most || self.laboured
    }

    /// Notes that every request was answered. Returns the number of alternatives that are left.
    pub(super) fn drained(&mut self) -> usize {
        self.laboured = false;
        self.alternatives = self.tester.alternatives();
        self.alternatives
    }

    /// Returns the number of different responses to this message that the live hypotheses expect.
    pub(super) fn disagreement(&mut self, message: &AnyMessage) -> usize {
        let start = Instant::now();
        self.thought.set(start);
        let answers = self.tester.disagreement(message.share(), OPINIONS);
        self.figures.thinking += start.elapsed();
        answers
    }

    /// Returns the verdict on all events.
    pub(super) fn verdict(&mut self) -> Verdict {
        let start = Instant::now();
        self.thought.set(start);
        let verdict = self.tester.verdict().clone();
        self.figures.alternatives.add(self.tester.alternatives() as u64);
        self.figures.thinking += start.elapsed();
        self.figures.turns = self.tester.turns();
        self.figures.rules = self.tester.rules_asked().into_iter().map(str::to_owned).collect();
        self.alternatives = 0;
        self.show(0);
        verdict
    }
}
