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
use crate::line::Line;
use crate::net::Net;
use crate::raw::Raw;
use crate::script::{Peer, Step, Until};
use crate::trouble::Trouble;
use confute_record::Chunk;
use confute_record::Figures;
use downfall::Downfall;
use record::Record;

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
        lines: Vec::new(),
        free: Vec::new(),
        slots: Vec::new(),
        accepted: Vec::new(),
        outstanding: vec![0; setup.limits.connections as usize],
        owed: 0,
        asked: Vec::new(),
        backlog: Vec::new(),
        past: setup.protocol.past(),
        script: Vec::new(),
        wires: 0,
        start,
        deadline: setup.limits.in_time(setup.limits.time),
        polled: start,
        gathered: None,
        freed: start,
        happened: 0,
        news: start,
        ready: Vec::new(),
        inbox: Vec::new(),
        raw: Raw::new(setup.limits.raw),
        trouble: None,
        silent: false,
        connected: false,
        fruitless: 0,
        overlong: 0,
        completed: 0,
        lost: 0,
        downfall: Downfall::default(),
        answered: Vec::new(),
        enough: None,
        draining: false,
        retry_at: None,
        crowd: setup.limits.alternatives,
    };
    case.run(generator)
}

/// The search gave up for want of time.
fn is_out_of_time(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Inconclusive(Inconclusive::Budget { what: "time", .. }))
}

struct Case<'a> {
    setup: &'a CaseSetup<'a>,
    net: &'a mut Net,
    record: Record<'a>,
    /// Connections, by token.
    lines: Vec<Option<Box<Line>>>,
    /// Tokens that can be used again.
    free: Vec<usize>,
    /// Which connection `Peer::Opened(n)` is at present.
    slots: Vec<Option<usize>>,
    /// Which connection `Peer::Accepted(n)` is, while it lasts.
    accepted: Vec<Option<usize>>,
    /// Answers outstanding, by opened connection.
    outstanding: Vec<u32>,
    /// And over all of them.
    owed: usize,
    /// What the server asked and nobody answered yet.
    asked: Vec<(Peer, AnyMessage)>,
    /// What it asked, by token, before it had the answer to what it asked before on the same connection.
    backlog: Vec<(usize, AnyMessage)>,
    past: AnyPast,
    script: Vec<Step<AnyAsk>>,
    /// How many connections the tester was told of.
    wires: u32,
    start: Instant,
    deadline: Instant,
    /// When the system was last asked for news.
    polled: Instant,
    /// Connections with something to be sent all at once, while that is gathered.
    gathered: Option<Vec<usize>>,
    /// When the tester last held something back.
    freed: Instant,
    /// Counts what comes: answers, ends, connections.
    happened: u64,
    /// When that was last.
    news: Instant,
    /// Connections to attend to.
    ready: Vec<usize>,
    inbox: Vec<AnyMessage>,
    raw: Raw,
    trouble: Option<Trouble>,
    /// An answer did not come.
    silent: bool,
    /// Whether the server ever took a connection.
    connected: bool,
    /// How many connections in a row ended without an answer.
    fruitless: u32,
    /// How many connections in a row had a message that was too long to be read.
    overlong: u32,
    /// How many answers were complete.
    completed: u64,
    /// How many requests were left without an answer by connections that ended.
    lost: usize,
    downfall: Downfall,
    /// The last ask on each connection that was answered since the script last said so.
    answered: Vec<(Peer, usize)>,
    /// With so many answers outstanding, nothing more is read for now.
    enough: Option<usize>,
    draining: bool,
    /// When the server is ready again, if it refused a request and said so.
    retry_at: Option<Instant>,
    /// So many alternatives call for a barrier.
    crowd: usize,
}

impl Case<'_> {
    fn run(mut self, generator: &mut AnyGenerator<'_>) -> CaseRun {
        let mut random = Random::new(self.setup.seed);
        let replays = generator.is_replay();
        let mut ended = Ended::Done;
        while !self.is_over() {
            if self.script.len() >= self.setup.limits.steps || Instant::now() >= self.deadline {
                ended = Ended::Limit;
                break;
            }
            // While nothing is answered at all, it is not yet known what the matter is.
            if (self.lost > self.setup.limits.lost && self.fruitless == 0)
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
            let (protocol, name, now) = (self.setup.protocol, self.setup.name, self.micros(Instant::now()));
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
                outstanding: &self.outstanding,
                asked: &self.asked,
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
        if let (true, Some(connections)) = (may_forget, self.downfall.connections()) {
            // Connections that are left may keep the server from taking another one.
            self.hang_up_all();
            let CaseSetup { protocol, target, limits, .. } = *self.setup;
            if !self.net.has_canary(protocol, target, limits) {
                self.fail(Trouble::Restarted { connections });
            }
        }
        if self.trouble.is_some() {
            ended = Ended::Trouble;
        } else if is_out_of_time(&verdict) && (is_stopped() || self.setup.limits.is_over()) {
            // The run was over, so that the case did not get its time.
            ended = Ended::Stopped;
        } else if self.record.is_over() {
            ended = Ended::Judged;
        }
        self.hang_up_all();
        let mut figures = self.record.figures;
        figures.elapsed = self.start.elapsed();
        figures.lost = self.lost as u64;
        let (raw, raw_lost) = self.raw.into_chunks();
        CaseRun {
            name: self.setup.name.to_owned(),
            script: self.script,
            trace: self.record.trace,
            micros: self.record.micros,
            verdict,
            ended,
            trouble: self.trouble,
            figures,
            raw,
            raw_lost,
        }
    }

    /// Whether to do nothing more.
    fn is_over(&self) -> bool {
        let stopped = !self.draining && self.setup.stop.load(Ordering::Relaxed);
        self.trouble.is_some() || self.silent || self.record.is_over() || stopped
    }

    fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_micros() as u64
    }

    /// Sends nothing while the server asked not to be asked again, as long as the pauses of a run stay within their limit. A
    /// replay need not do so: the pause is a step of its script.
    fn heed(&mut self) {
        let Some(ready) = self.retry_at.take() else { return };
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
