//! Runs one case: does what a generator says, and tells the tester what happens.
//!
//! One thread, one order of observations. A message is recorded as sent before its first byte is written, and as
//! received after its last byte was read. That is the invariant a verdict rests on: the other way round, a correct
//! server would seem to answer before it was asked. What goes wrong on the way is an observation or [`Trouble`], never a
//! violation by itself.

mod apart;
mod downfall;
mod end;
mod io;
mod lines;
mod record;
mod state;
mod steps;

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::random::Random;
use confute::trace::Event;
use confute::{Inconclusive, Options, Pulse, Verdict};

use crate::erased::{AnyAsk, AnyGenerator, AnyMessage, AnyPast, AnyProtocol, AnyView};
use crate::figures::Gauge;
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::raw::Raw;
use crate::script::{Step, Until};
use crate::trouble::Trouble;
use confute_record::Chunk;
use confute_record::Figures;
use record::Record;
use state::{Clock, Connections, Health, Outstanding, Questions};

/// How long the tester may think when somebody said stop.
const HURRY: Duration = Duration::from_secs(1);

/// So many times the alternatives that call for a barrier are too many even after one.
const CROWD: usize = 50;

/// A server that refuses and says when to ask again is left alone until then, for so long in all, or for this share of the time.
const PAUSES: Duration = Duration::from_secs(2);
const SHARE: u32 = 10;

/// What a case needs to know.
pub struct CaseSetup<'a> {
    /// What is spoken.
    pub protocol: &'a dyn AnyProtocol,
    /// With whom.
    pub target: Target,
    /// At what cost.
    pub limits: &'a Limits,
    /// A name that no other case has: what it writes lies below it.
    pub name: &'a str,
    /// What the generator's random numbers come from.
    pub seed: u64,
    /// Rules that the server may break.
    pub relaxed: &'a [&'static str],
    /// Set when it is time to stop.
    pub stop: &'a AtomicBool,
    /// Shows how it is doing.
    pub gauge: &'a Gauge,
}

/// Why a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// There was nothing more to do.
    Done,
    /// The tester made up its mind, or gave up.
    Judged,
    /// Its time was over, or it had enough steps.
    Limit,
    /// Too many alternatives were open, and waiting for all answers did not help, or too many requests will never be
    /// answered.
    Crowded,
    /// Somebody said stop.
    Stopped,
    /// The conversation could not go on.
    Trouble,
}

/// What became of a case.
pub struct CaseRun {
    /// Its name.
    pub name: String,
    /// What was done.
    pub script: Vec<Step<AnyAsk>>,
    /// What happened.
    pub trace: Vec<Event<AnyMessage>>,
    /// When each event was noted, in microseconds since the case began: what was sent just before its first byte was, what
    /// was received after its last.
    pub micros: Vec<u64>,
    /// What the tester thinks of it.
    pub verdict: Verdict,
    /// Why it ended.
    pub ended: Ended,
    /// What went wrong, if anything did. The verdict holds for what happened before; but after a restart
    /// ([`Trouble::Restarted`]) it is no proof.
    pub trouble: Option<Trouble>,
    /// In numbers.
    pub figures: Figures,
    /// The latest bytes on the wire.
    pub raw: Vec<Chunk>,
    /// How many bytes before them are not kept.
    pub raw_lost: u64,
}

/// Runs a case. The generator may be a [`Replay`](crate::Replay).
pub fn run_case(net: &mut Net, setup: &CaseSetup<'_>, generator: &mut AnyGenerator<'_>) -> CaseRun {
    let start = Instant::now();
    let thought = Cell::new(start);
    let (most, stop) = (setup.limits.thought, setup.stop);
    let watch = |_: &Pulse| {
        let hurried = if stop.load(Ordering::Relaxed) { most.min(HURRY) } else { most };
        thought.get().elapsed() > hurried || setup.limits.is_over()
    };
    let options = Options {
        memory: setup.limits.memory,
        watch: Some(&watch),
        relaxed: setup.relaxed.to_vec(),
        repeat_all: setup.limits.repeat_all,
        ..Options::default()
    };
    let tester = setup.protocol.model().tester(setup.protocol.network(), options);
    let case = Case {
        setup,
        net,
        record: Record::new(tester, &thought, setup.gauge),
        connections: Connections::default(),
        outstanding: Outstanding::new(setup.limits.connections as usize),
        questions: Questions::default(),
        past: setup.protocol.past(),
        script: Vec::new(),
        clock: Clock::new(start, setup.limits.in_time(setup.limits.time)),
        inbox: Vec::new(),
        raw: Raw::new(setup.limits.raw),
        health: Health::default(),
        draining: false,
        crowd: setup.limits.alternatives,
    };
    case.run(generator)
}

/// The search gave up for want of time.
fn is_out_of_time(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Inconclusive(Inconclusive::Budget { what: "time", .. }))
}

/// A case that is under way.
struct Case<'a> {
    setup: &'a CaseSetup<'a>,
    net: &'a mut Net,
    record: Record<'a>,
    connections: Connections,
    outstanding: Outstanding,
    questions: Questions,
    past: AnyPast,
    script: Vec<Step<AnyAsk>>,
    clock: Clock,
    /// Messages that were just read.
    inbox: Vec<AnyMessage>,
    raw: Raw,
    health: Health,
    /// The case ends: it only waits for what is outstanding.
    draining: bool,
    /// The number of alternatives that calls for a barrier.
    crowd: usize,
}

impl Case<'_> {
    fn run(mut self, generator: &mut AnyGenerator<'_>) -> CaseRun {
        let mut random = Random::new(self.setup.seed);
        let replays = generator.is_replay();
        let mut ended = Ended::Done;
        while !self.is_over() {
            if self.script.len() >= self.setup.limits.steps || Instant::now() >= self.clock.deadline {
                ended = Ended::Limit;
                break;
            }
            // While nothing is answered at all, it is not yet known what the matter is.
            if (self.outstanding.lost > self.setup.limits.lost && self.health.fruitless == 0)
                || (!replays && self.record.is_laboured(self.crowd) && !self.relieve())
            {
                ended = Ended::Crowded;
                break;
            }
            self.look_for_news();
            if !replays {
                self.note_answers();
                self.heed();
            }
            let (protocol, name, now) =
                (self.setup.protocol, self.setup.name, self.clock.micros(Instant::now()));
            let (record, past) = (RefCell::new(&mut self.record), &self.past);
            let alternatives = record.borrow().alternatives;
            let disagreement = |ask: &AnyAsk| {
                let Some(mut message) = protocol.resolve(ask, name, past) else { return 0 };
                protocol.stamp(&mut message, now);
                record.borrow_mut().disagreement(&message)
            };
            let view = AnyView {
                past,
                steps: self.script.len(),
                connections: self.setup.limits.connections.min(self.setup.limits.rivals),
                wide: self.setup.limits.connections,
                outstanding: &self.outstanding.by_connection,
                asked: &self.questions.open,
                alternatives,
                reached: &self.setup.gauge.branches,
                disagreement: &disagreement,
            };
            let Some(step) = generator.next(&view, &mut |bound| random.below(bound)) else { break };
            self.script.push(step.clone());
            self.step(step, replays);
        }
        let stop = self.setup.stop;
        let is_stopped = || stop.load(Ordering::Relaxed);
        if is_stopped() {
            ended = Ended::Stopped;
        }
        self.finish();
        let verdict = self.record.verdict();
        // Who only passes on what others say has nothing to forget.
        let may_forget = verdict.is_refuted() && !self.setup.protocol.has_single_exchanges();
        if let (true, Some(connections)) = (may_forget, self.health.downfall.connections()) {
            // Connections that are left may keep the server from taking another one.
            self.hang_up_all();
            let CaseSetup { protocol, target, limits, .. } = *self.setup;
            if !self.net.has_canary(protocol, target, limits) {
                self.fail(Trouble::Restarted { connections });
            }
        }
        if self.health.trouble.is_some() {
            ended = Ended::Trouble;
        } else if is_out_of_time(&verdict) && (is_stopped() || self.setup.limits.is_over()) {
            // The run was over, so that the case did not get its time.
            ended = Ended::Stopped;
        } else if self.record.is_over() {
            ended = Ended::Judged;
        }
        self.hang_up_all();
        let mut figures = self.record.figures;
        figures.elapsed = self.clock.start.elapsed();
        figures.lost = self.outstanding.lost as u64;
        let (raw, raw_lost) = self.raw.into_chunks();
        CaseRun {
            name: self.setup.name.to_owned(),
            script: self.script,
            trace: self.record.trace,
            micros: self.record.micros,
            verdict,
            ended,
            trouble: self.health.trouble,
            figures,
            raw,
            raw_lost,
        }
    }

    /// Whether to do nothing more.
    fn is_over(&self) -> bool {
        let stopped = !self.draining && self.setup.stop.load(Ordering::Relaxed);
        self.health.trouble.is_some() || self.health.silent || self.record.is_over() || stopped
    }

    /// Sends nothing while the server asked not to be asked again, as long as the pauses of a run stay within their limit. A
    /// replay need not do so: the pause is a step of its script.
    fn heed(&mut self) {
        let Some(ready) = self.clock.retry_at.take() else { return };
        let pause = ready.saturating_duration_since(Instant::now());
        if pause.is_zero() {
            return;
        }
        let most = PAUSES.max(self.net.since.elapsed() / SHARE);
        if self.net.paused + pause > most {
            self.record.figures.refusals.ignored += 1;
            return;
        }
        let until = Until::Millis(pause.as_millis() as u64 + 1);
        self.script.push(Step::Wait(until));
        self.wait(until);
        self.net.paused += pause;
        self.record.figures.refusals.pauses += 1;
        self.record.figures.refusals.paused += pause;
    }

    /// Waits until everything is answered, so that the tester can settle; whether that is enough.
    fn relieve(&mut self) -> bool {
        let barrier = Until::Outstanding(0);
        self.script.push(Step::Wait(barrier));
        self.record.figures.barriers += 1;
        self.wait(barrier);
        let limits = self.setup.limits;
        // What is settled is let go of later, so there is no barrier again before there are many more.
        let open = self.record.relieved();
        self.crowd = limits.alternatives.max(2 * open);
        open <= CROWD * limits.alternatives
    }
}
