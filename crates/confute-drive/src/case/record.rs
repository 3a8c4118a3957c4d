//! What is told to the tester, in the one order that counts.

use std::cell::Cell;
use std::time::{Duration, Instant};

use confute::Verdict;
use confute::erased::Engine;
use confute::trace::Event;

use crate::erased::{AnyMessage, shared};
use crate::figures::Gauge;
use confute_record::Figures;

/// After so many events somebody looks at how the tester is doing.
const LOOK: u64 = 64;

/// A thought that took so long calls for a rest.
const LONG: Duration = Duration::from_millis(10);

/// So many hypotheses are asked what they think of a question.
const OPINIONS: usize = 12;

pub(super) struct Record<'a> {
    tester: Engine<'a>,
    pub(super) trace: Vec<Event<AnyMessage>>,
    /// When each of them was told, in microseconds since the case began.
    pub(super) micros: Vec<u64>,
    start: Instant,
    pub(super) figures: Figures,
    /// When the present thought began.
    thought: &'a Cell<Instant>,
    gauge: &'a Gauge,
    shown: u64,
    pub(super) alternatives: usize,
    /// A thought took long.
    laboured: bool,
    over: bool,
}

impl<'a> Record<'a> {
    /// The case begins now: `thought` says when that is.
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

    /// Tells the tester. Once it is done with this server, nothing is recorded any more.
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

    /// Whether the tester has made up its mind, or given up.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the tester has a hard time: so many alternatives, or a long thought.
    pub(super) fn is_laboured(&self, most: usize) -> bool {
        self.alternatives > most || self.laboured
    }

    /// Everything was answered: how many alternatives are left.
    pub(super) fn relieved(&mut self) -> usize {
        self.laboured = false;
        self.alternatives = self.tester.alternatives();
        self.alternatives
    }

    /// How many different answers the live hypotheses would give to this.
    pub(super) fn disagreement(&mut self, message: &AnyMessage) -> usize {
        let start = Instant::now();
        self.thought.set(start);
        let answers = self.tester.disagreement(message.share(), OPINIONS);
        self.figures.thinking += start.elapsed();
        answers
    }

    /// What it thinks, all considered.
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
