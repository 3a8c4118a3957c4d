//! Models that give the search optional information, compared with twins that give less: the verdicts must be
//! equal.
//!
//! `Kv` opens cells to append to texts, appends without reading, and declares which responses may grow into
//! which; `CasRegister` writes without reading; `Conditional` and `TicketOffice` keep secrets in cells, which
//! the search explores as scenes. A twin that reads everything first gives the search less to use, and one
//! whose turns may touch anything allows no late reads, no foresight and no scenes either.
//!
//! `CONFUTE_TRIPLES` sets the number of traces per model (at least 3,000), `CONFUTE_SEED` the first seed, and
//! `CONFUTE_FIRST=1` ends the run at the first difference.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Debug;
use std::sync::Arc;

use confute::lang::{
    Access, CellSpec, Change, Conn, Handler, Incoming, Io, Layer, Layered, Register, Scope, ServerModel,
    Stop, Table, Text, Turn,
};
use confute::network::{Network, Tcp, Udp};
use confute::random::Random;
use confute::simulate::Simulation;
use confute::trace::{Event, WireConn};
use confute::{Options, Tester, Verdict, judge};
use confute_models::conditional::{self, Conditional};
use confute_models::ticket::{self, TicketOffice};
use confute_models::{Workload as _, kv, register};

/// A model whose turns all declare that they may touch anything.
struct Whole<M>(M);

impl<M: ServerModel> ServerModel for Whole<M> {
    type Msg = M::Msg;
    type Out = M::Out;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        self.0.serve(&mut Io::new(&mut Layered(Widener(io.handler()))))
    }
}

/// Runs a turn and declares that it may touch anything.
struct Widener<'a, M, O>(&'a mut dyn Handler<M, O>);

impl<M, O> Layer<M, O> for Widener<'_, M, O> {
    type Msg = M;
    type Out = O;

    fn below(&mut self) -> &mut dyn Handler<M, O> {
        &mut *self.0
    }

    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop> {
        let received = self.0.recv(from, closes)?;
        self.0.scope(Scope::Whole)?;
        Ok(received)
    }

    fn send(&mut self, to: Conn, message: O) -> Turn {
        self.0.send(to, message)
    }

    fn scope(&mut self, _: Scope) -> Turn {
        Ok(())
    }

    fn open(&mut self, cell: &CellSpec<'_>, _: Access) -> Result<u32, Stop> {
        self.0.open(cell, Access::Write)
    }

    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        let before = self.0.read(cell)?;
        self.0.write(cell, change(before)?)
    }
}

/// The twin of `Kv`.
struct PlainKv;

const TEXTS: Table<Arc<str>, Text> = Table::new("texts");

impl ServerModel for PlainKv {
    type Msg = kv::Message;
    type Out = kv::Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            kv::Message::Get(key) => {
                let value = TEXTS.get(io, key)?.unwrap_or_default();
                io.send(conn, kv::Message::Value(value))
            }
            kv::Message::Put(key, value) => {
                let cell = TEXTS.edit(io, key)?;
                let _ = cell.get(io)?;
                cell.set(io, value.clone())?;
                io.send(conn, kv::Message::Done)
            }
            kv::Message::Append(key, more) => {
                let cell = TEXTS.edit(io, key)?;
                let before = cell.get(io)?.unwrap_or_default();
                cell.set(io, before.append(more))?;
                io.send(conn, kv::Message::Done)
            }
            kv::Message::Value(_) | kv::Message::Done => io.replies(0),
        }
    }
}

/// The twin of `CasRegister`.
struct PlainRegister;

const NUMBER: Register<i64> = Register::new("number");

impl ServerModel for PlainRegister {
    type Msg = register::Message;
    type Out = register::Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let answer = match *request {
            register::Message::Read => register::Message::Value(NUMBER.get(io)?),
            register::Message::Write(value) => {
                let cell = NUMBER.edit(io)?;
                let _ = cell.get(io)?;
                cell.set(io, value)?;
                register::Message::Written
            }
            register::Message::Cas { from, to } => {
                let cell = NUMBER.edit(io)?;
                let swaps = cell.get(io)? == Some(from);
                if swaps {
                    cell.set(io, to)?;
                }
                register::Message::Swapped(swaps)
            }
            _ => return io.replies(0),
        };
        io.send(conn, answer)
    }
}

/// Generator of traffic for a model, and of errors in it.
struct Traffic<M> {
    /// Returns a request, given the number of keys and the messages received so far.
    request: fn(&mut Random, u64, &[M]) -> M,
    /// Changes a response into a different one.
    alter: fn(&mut Random, &mut M),
}

const KV: Traffic<kv::Message> = Traffic {
    request: |random, keys, _| {
        let key: Arc<str> = ["x", "y"][random.below(keys) as usize].into();
        match random.below(10) {
            0..=1 => kv::Message::Put(key, text(random)),
            2..=5 => kv::Message::Append(key, text(random)),
            _ => kv::Message::Get(key),
        }
    },
    alter: |random, answer| {
        if let kv::Message::Value(value) = answer {
            let words: String = value.to_string();
            *value = match random.below(4) {
                0 => text(random),
                1 => words.chars().rev().collect::<String>().into(),
                2 => words.chars().skip(1).collect::<String>().into(),
                _ => value.append(&text(random)),
            };
        }
    },
};

fn text(random: &mut Random) -> Text {
    let most = if random.chance(1, 8) { 5 } else { 3 };
    ["a", "b", "ab", "aa", ""][random.below(most) as usize].into()
}

const REGISTER: Traffic<register::Message> = Traffic {
    request: |random, _, _| match random.below(10) {
        0..=3 => register::Message::Read,
        4..=6 => register::Message::Write(number(random)),
        _ => register::Message::Cas { from: number(random), to: number(random) },
    },
    alter: |random, answer| match answer {
        register::Message::Value(value) => *value = random.chance(4, 5).then(|| number(random)),
        register::Message::Swapped(swapped) => *swapped = !*swapped,
        _ => {}
    },
};

const CONDITIONAL: Traffic<conditional::Message> = Traffic {
    request: |random, keys, received| {
        let only: Arc<str> = ["x", "y"][random.below(keys) as usize].into();
        let mut request = Conditional.request(&mut |options| random.below(options), received);
        if let conditional::Message::Put { key, .. } | conditional::Message::Get { key, .. } = &mut request {
            *key = only;
        }
        request
    },
    alter: |random, answer| {
        *answer = match (&answer, random.below(3)) {
            (conditional::Message::Ok { tag, body }, 0) => conditional::Message::Ok {
                tag: conditional::Tag { weak: !tag.weak, ..tag.clone() },
                body: Arc::clone(body),
            },
            (conditional::Message::Ok { .. }, 1) => conditional::Message::NotModified,
            (conditional::Message::Ok { .. }, _) => conditional::Message::NotFound,
            (conditional::Message::NoContent, 0) => conditional::Message::Created,
            (conditional::Message::NoContent | conditional::Message::Created, _) => {
                conditional::Message::PreconditionFailed
            }
            (conditional::Message::PreconditionFailed, _) => conditional::Message::NoContent,
            (other, _) => (*other).clone(),
        };
    },
};

const TICKET: Traffic<ticket::Message> = Traffic {
    request: |_, _, _| ticket::Message::Take,
    alter: |random, answer| {
        if let ticket::Message::Ticket(number) = answer {
            *number += random.below(9).cast_signed() - 4;
        }
    },
};

fn number(random: &mut Random) -> i64 {
    random.below(3).cast_signed()
}

/// Returns a trace of the model behind the network, with or without errors.
fn trace<S: ServerModel<Msg: Clone + PartialEq>>(
    model: &S,
    network: &dyn Network,
    traffic: &Traffic<S::Msg>,
    seed: u64,
) -> Vec<Event<S::Msg>> {
    let mut random = Random::new(seed ^ 0x9e0);
    let mut simulation = Simulation::new(model, network, seed);
    let wires: Vec<WireConn> = (0..2 + random.below(4)).map(|_| simulation.open()).collect();
    let keys = 1 + random.below(2);
    let pipelined = random.chance(1, 4);
    let most = if network.is_reliable() { 5 + random.below(6) } else { 3 + random.below(3) };
    let mut events = Vec::new();
    let mut received = Vec::new();
    let mut owed = vec![0u32; wires.len()];
    let mut sent = 0;
    for _ in 0..20 * most {
        let wire = random.below(wires.len() as u64) as usize;
        if sent < most && random.chance(1, 3) && owed[wire] < if pipelined { 3 } else { 1 } {
            let message = (traffic.request)(&mut random, keys, &received);
            simulation.send(wires[wire], message.clone()).unwrap();
            events.push(Event::Sent(wires[wire], message));
            owed[wire] += 1;
            sent += 1;
        } else if network.is_reliable() && random.chance(1, 60) && owed[wire] < 9 {
            simulation.hang_up(wires[wire]);
            events.push(Event::HungUp(wires[wire]));
            owed[wire] = 9;
        } else if let Some(event) = simulation.step().unwrap() {
            if let Some(place) = wires.iter().position(|it| Some(*it) == event.conn()) {
                owed[place] = owed[place].saturating_sub(1);
            }
            if let Event::Received(_, message) = &event {
                received.push(message.clone());
            }
            events.push(event);
        }
    }
    if simulation.is_idle() && random.chance(1, 3) {
        events.push(Event::Quiescent);
    }
    if random.chance(3, 5) {
        for _ in 0..=random.below(2) {
            spoil(&mut events, traffic, &mut random);
        }
    }
    events
}

/// Makes one change to the received messages: a different response, two responses swapped, one too early, one
/// omitted.
fn spoil<M: Clone + PartialEq>(events: &mut Vec<Event<M>>, traffic: &Traffic<M>, random: &mut Random) {
    let received: Vec<usize> =
        (0..events.len()).filter(|at| matches!(events[*at], Event::Received(..))).collect();
    if received.is_empty() {
        return;
    }
    let mut pick = || received[random.below(received.len() as u64) as usize];
    let (one, other) = (pick(), pick());
    match random.below(8) {
        0..=3 => {
            if let Event::Received(_, message) = &mut events[one] {
                (traffic.alter)(random, message);
            }
        }
        4..=5 => {
            let message = |at: usize| match &events[at] {
                Event::Received(_, message) => message.clone(),
                _ => unreachable!("only such were picked"),
            };
            let (left, right) = (message(one), message(other));
            for (at, new) in [(one, right), (other, left)] {
                if let Event::Received(_, message) = &mut events[at] {
                    *message = new;
                }
            }
        }
        6 => {
            // Not before its request.
            let conn = events[one].conn();
            let first = events[..one].iter().rposition(|event| event.conn() == conn).map_or(0, |at| at + 1);
            let event = events.remove(one);
            events.insert(first + random.below((one - first + 1) as u64) as usize, event);
        }
        _ => drop(events.remove(one)),
    }
}

/// Verdict of a search that ran out of budget, which is not a difference.
const UNDECIDED: &str = "inconclusive";

fn differ(verdicts: [&str; 3], expected: &str) -> bool {
    verdicts.iter().any(|verdict| *verdict != expected && *verdict != UNDECIDED)
}

/// Returns the verdicts on a trace: offline, online, and online with a verdict after every event.
fn verdicts<S: ServerModel<Msg: Clone>>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
) -> [&'static str; 3] {
    let options = Options { turns: 50_000, ..Options::default() };
    let name = |verdict: &Verdict| match verdict {
        Verdict::Unrefuted => "unrefuted",
        Verdict::Refuted(_) => "refuted",
        Verdict::Inconclusive(_) => UNDECIDED,
    };
    let online = |impatient: bool| {
        let mut tester = Tester::new(model, network, options.clone());
        for event in events {
            tester.observe(event.clone());
            if impatient {
                tester.verdict();
            }
        }
        name(tester.verdict())
    };
    [name(&judge(model, network, events, &options)), online(false), online(true)]
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Compares the verdicts of a model and its twins on random traces of the model.
fn compare<S, L, W>(model: &S, twins: (&L, &W), traffic: &Traffic<S::Msg>)
where
    S: ServerModel<Msg: Clone + PartialEq + Debug>,
    L: ServerModel<Msg = S::Msg>,
    W: ServerModel<Msg = S::Msg>,
{
    let first = setting("CONFUTE_SEED", 1);
    let all = setting("CONFUTE_TRIPLES", 3_000).max(3_000);
    let (mut refuted, mut undecided, mut differences) = (0, 0, Vec::new());
    for seed in first..first + all {
        let network: &dyn Network = match seed % 16 {
            0 => &Udp { loss: true, duplication: true, reordering: true },
            1 => &Udp { loss: false, duplication: true, reordering: false },
            _ => &Tcp { breaks: false },
        };
        let events = trace(model, network, traffic, seed);
        let whole = judge(twins.1, network, &events, &Options::default());
        let expected = if whole.is_refuted() { "refuted" } else { "unrefuted" };
        assert!(whole.is_refuted() || whole.is_unrefuted(), "seed {seed}: {whole:?}");
        refuted += usize::from(whole.is_refuted());
        let (told, plain) = (verdicts(model, network, &events), verdicts(twins.0, network, &events));
        undecided += told.iter().chain(&plain).filter(|verdict| **verdict == UNDECIDED).count();
        if differ(told, expected) || differ(plain, expected) {
            let small = shrink(events, |events| {
                let whole = judge(twins.1, network, events, &Options::default()).is_refuted();
                let expected = if whole { "refuted" } else { "unrefuted" };
                differ(verdicts(model, network, events), expected)
                    || differ(verdicts(twins.0, network, events), expected)
            });
            let (told, plain) = (verdicts(model, network, &small), verdicts(twins.0, network, &small));
            let whole = judge(twins.1, network, &small, &Options::default()).is_refuted();
            differences.push(format!(
                "model: {told:?}, plain twin: {plain:?}, whole twin: refuted = {whole}\nseed {seed}, {}\n{}",
                network.name(),
                small.iter().map(|event| format!("  {event:?}")).collect::<Vec<_>>().join("\n"),
            ));
            if setting("CONFUTE_FIRST", 0) > 0 {
                break;
            }
        }
    }
    assert!(differences.is_empty(), "{} times: {}", differences.len(), differences.join("\n"));
    assert!(undecided as u64 * 100 <= all * 6, "{undecided} of {} verdicts are open", all * 6);
    assert!(refuted as u64 * 5 >= all, "only {refuted} of {all} traces were refuted");
}

/// Removes events while the difference persists.
fn shrink<M: Clone>(mut events: Vec<Event<M>>, differs: impl Fn(&[Event<M>]) -> bool) -> Vec<Event<M>> {
    let mut at = 0;
    while at < events.len() {
        let mut fewer = events.clone();
        fewer.remove(at);
        if differs(&fewer) {
            events = fewer;
            at = 0;
        } else {
            at += 1;
        }
    }
    events
}

#[test]
fn kv_and_its_twins_agree() {
    compare(&kv::Kv, (&PlainKv, &Whole(kv::Kv)), &KV);
}

#[test]
fn cas_register_and_its_twins_agree() {
    compare(&register::CasRegister, (&PlainRegister, &Whole(register::CasRegister)), &REGISTER);
}

#[test]
fn conditional_and_its_twin_agree() {
    compare(&Conditional, (&Conditional, &Whole(Conditional)), &CONDITIONAL);
}

#[test]
fn ticket_and_its_twin_agree() {
    compare(&TicketOffice, (&TicketOffice, &Whole(TicketOffice)), &TICKET);
}
