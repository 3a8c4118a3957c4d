//! Runs one case: performs the steps of a generator, and passes all observations to the engine.
//!
//! There is one thread and one order of observations. A message is recorded as sent before its first byte is
//! written, and as received after its last byte was read. Every verdict rests on this invariant: the other
//! way round, a correct server would seem to respond before the request was sent. Failures on the way are
//! observations or [`Trouble`], never a violation by themselves.

mod apart;
mod connections;
mod downfall;
mod end;
mod io;
mod record;
mod state;
mod steps;

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::random::Random;
use confute::trace::Event;
use confute::{Inconclusive, Options, Pulse, Verdict};

use crate::canary::Sight;
use crate::erased::{AnyAsk, AnyGenerator, AnyMessage, AnyPast, AnyProtocol, AnyView};
use crate::figures::Gauge;
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::raw::Raw;
use crate::script::{Step, Until};
use crate::trouble::Trouble;
use confute_record::ByteRecord;
use confute_record::Figures;
use record::Record;
use state::{Clock, Connections, Health, Outstanding, Questions};

/// Time that the search may take for one event after a stop was requested.
const HURRY: Duration = Duration::from_secs(1);

/// Multiple of the alternatives that call for a barrier, above which there are too many even after one.
const CROWD: usize = 50;

/// Total duration of pauses for a server that refuses requests and says when to retry, or 1/`SHARE` of the
/// run if that is longer.
const PAUSES: Duration = Duration::from_secs(2);
const SHARE: u32 = 10;

/// Everything that a case needs.
pub struct CaseSetup<'a> {
    /// The protocol.
    pub protocol: &'a dyn AnyProtocol,
    /// The server.
    pub target: Target,
    /// The limits.
    pub limits: &'a Limits,
    /// Name that no other case has: the prefix of everything that the case writes.
    pub name: &'a str,
    /// Seed of the generator's random numbers.
    pub seed: u64,
    /// Rules that are relaxed.
    pub relaxed: &'a [&'static str],
    /// Set when it is time to stop.
    pub stop: &'a AtomicBool,
    /// Live counters.
    pub gauge: &'a Gauge,
}

/// Reason why a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The script was complete.
    Done,
    /// The engine reached a verdict, or gave up.
    Judged,
    /// The limit of time or steps was reached.
    Limit,
    /// Too many alternatives were open and a barrier did not help, or too many requests will never be
    /// answered.
    Crowded,
    /// A stop was requested.
    Stopped,
    /// Trouble ended the case.
    Trouble,
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct CaseRun {
    /// Name of the case.
    pub name: String,
    /// The steps that were performed.
    pub script: Vec<Step<AnyAsk>>,
    /// The events that were observed.
    pub trace: Vec<Event<AnyMessage>>,
    /// Time of each event, in microseconds since the case began: of a sent message just before its first
    /// byte, of a received one after its last.
    pub micros: Vec<u64>,
    /// Verdict of the engine.
    pub verdict: Verdict,
    /// Reason why the case ended.
    pub ended: Ended,
    /// The trouble, if there was any. The verdict holds for the events before it; but after a restart
    /// ([`Trouble::Restarted`]) it is no proof.
    pub trouble: Option<Trouble>,
    /// Counts and durations.
    pub figures: Figures,
    /// The latest bytes on the wire.
    pub raw: Vec<ByteRecord>,
    /// Number of earlier bytes that are not kept.
    pub raw_lost: u64,
}

/// Runs a case. The generator may be a [`Replay`](crate::Replay).
pub fn run_case(net: &mut Net, setup: &CaseSetup<'_>, generator: &mut AnyGenerator<'_>) -> CaseRun {
    run_with_past(net, setup, generator).0
}

/// Runs a case. Returns its exchanges too.
pub(crate) fn run_with_past(
    net: &mut Net,
    setup: &CaseSetup<'_>,
    generator: &mut AnyGenerator<'_>,
) -> (CaseRun, AnyPast) {
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

/// Returns `true` if the search gave up for want of time.
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
    /// `true` if the case is ending: it only waits for outstanding responses.
    draining: bool,
    /// The number of alternatives that calls for a barrier.
    crowd: usize,
}

impl Case<'_> {
    fn run(mut self, generator: &mut AnyGenerator<'_>) -> (CaseRun, AnyPast) {
        let mut random = Random::new(self.setup.seed);
        let replays = generator.is_replay();
        let mut ended = Ended::Done;
        while !self.is_over() {
            if self.script.len() >= self.setup.limits.steps || Instant::now() >= self.clock.deadline {
                ended = Ended::Limit;
                break;
            }
            // While connections in a row end without a response, the trouble is not identified yet.
            if (self.outstanding.lost > self.setup.limits.lost && self.health.fruitless == 0)
                || (!replays && self.record.is_laboured(self.crowd) && !self.drain())
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
        self.finish(replays);
        let verdict = self.record.verdict();
        // A server that only forwards messages has no data to lose.
        let may_forget = verdict.is_refuted() && !self.setup.protocol.has_single_exchanges();
        if let (true, Some(connections)) = (may_forget, self.health.downfall.connections()) {
            // Connections that are left may keep the server from accepting another one.
            self.hang_up_all();
            let CaseSetup { protocol, target, limits, .. } = *self.setup;
            let sight = self.net.look_for_canary(protocol, target, limits);
            self.health.has_lost_data = sight == Sight::Lost;
            if sight != Sight::Kept {
                self.fail(Trouble::Restarted { connections });
            }
        }
        self.attribute_to_crowding();
        if self.health.trouble.is_some() {
            ended = Ended::Trouble;
        } else if is_out_of_time(&verdict) && (is_stopped() || self.setup.limits.is_over()) {
            // The run was over, so the case did not get its full time.
            ended = Ended::Stopped;
        } else if self.record.is_over() {
            ended = Ended::Judged;
        }
        self.hang_up_all();
        let mut figures = self.record.figures;
        figures.elapsed = self.clock.start.elapsed();
        figures.lost = self.outstanding.lost as u64;
        let (mut raw, raw_lost) = self.raw.into_chunks();
        let received = raw.iter_mut().filter(|chunk| !chunk.sent);
        received.for_each(|chunk| self.setup.protocol.conceal(&mut chunk.bytes));
        let run = CaseRun {
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
        };
        (run, self.past)
    }

    /// Attributes trouble to the number of connections if other cases were running. Data that is lost has another cause.
    fn attribute_to_crowding(&mut self) {
        let Some(shift) = self.net.shift.as_ref().filter(|shift| shift.has_company()) else { return };
        let is_crowding = |trouble: &mut Trouble| trouble.may_be_crowding() && !self.health.has_lost_data;
        if let Some(why) = self.health.trouble.take_if(is_crowding) {
            let connections = shift.strain(&why.to_string());
            self.health.trouble = Some(Trouble::Crowded { connections, why: Box::new(why) });
        }
    }

    /// Returns `true` if nothing more is to be done.
    fn is_over(&self) -> bool {
        let stopped = !self.draining && self.setup.stop.load(Ordering::Relaxed);
        self.health.trouble.is_some() || self.health.silent || self.record.is_over() || stopped
    }

    /// Pauses if the server requested it, as long as the pauses of a run stay within their limit. A replay
    /// need not do so: the pause is a step of its script.
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

    /// Waits until every request is answered, so that the search can settle. Returns `true` if few enough
    /// alternatives are left.
    fn drain(&mut self) -> bool {
        let barrier = Until::Outstanding(0);
        self.script.push(Step::Wait(barrier));
        self.record.figures.barriers += 1;
        self.wait(barrier);
        let limits = self.setup.limits;
        // Settled alternatives are released only later, so the next barrier waits until there are many more.
        let open = self.record.drained();
        self.crowd = limits.alternatives.max(2 * open);
        open <= CROWD * limits.alternatives
    }
}
