//! Models that give the search optional information, compared with twins that give less: the verdicts must be
//! equal.
//!
//! `Kv` opens cells to append to texts, appends without reading, and declares which responses may grow into
//! which; `CasRegister` writes without reading; `Conditional` and `TicketOffice` keep secrets in cells, which
//! the search explores as scenes. A twin that reads everything first gives the search less to use, and one
//! whose turns may touch anything allows no late reads, no foresight and no scenes either.
//!
//! Every ninth trace, or every trace of a longer run, is also judged with sets of reductions: none, one alone, one
//! missing, and a random one. For each fault of
//! the search that only these models show, `tests/stored` holds a trace; `cargo test -p confute-models --test twins --
//! --ignored hunt` looks for missing ones.
//!
//! `CONFUTE_TRIPLES` sets the number of traces per model (at least 3,000), `CONFUTE_SEED` the first seed, and
//! `CONFUTE_FIRST=1` ends the run at the first difference.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of a test")]

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use confute::fault::{self, Fault};
use confute::lang::{
    Access, CellSpec, Change, Conn, Handler, Incoming, Io, Layer, Layered, Register, Scope, ServerModel,
    Stop, Table, Text, Turn,
};
use confute::network::{Network, Tcp, Udp};
use confute::random::Random;
use confute::simulate::Simulation;
use confute::trace::{Event, WireConn};
use confute::{Options, Reduction, Reductions, Tester, Verdict, judge};
use confute_models::conditional::{self, Conditional};
use confute_models::ticket::{self, TicketOffice};
use confute_models::{Workload as _, kv, register};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[path = "twins/collections.rs"]
mod collections;

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
    reductions: Reductions,
) -> [&'static str; 3] {
    let turns = if reductions == Reductions::ALL { 50_000 } else { 5_000 };
    let options = Options { turns, reductions, ..Options::default() };
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

/// Returns the sets of reductions with which the trace of this seed is judged, beside all of them.
fn fewer(seed: u64) -> [Reductions; 4] {
    let one = Reduction::ALL[seed as usize % Reduction::ALL.len()];
    let mut random = Random::new(seed);
    let some = Reduction::ALL.iter().copied().filter(|_| random.chance(1, 2)).collect();
    [Reductions::NONE, Reductions::NONE.with(one), Reductions::ALL.without(one), some]
}

/// Returns the name of the expected verdict: that of a twin whose turns may touch anything.
fn expect<S: ServerModel<Msg: Clone>>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
) -> &'static str {
    match judge(model, network, events, &Options::default()) {
        Verdict::Refuted(_) => "refuted",
        Verdict::Unrefuted => "unrefuted",
        other @ Verdict::Inconclusive(_) => panic!("{other:?}"),
    }
}

/// Returns the network of the trace of this seed.
fn network(seed: u64) -> &'static dyn Network {
    match seed % 16 {
        0 => &Udp { loss: true, duplication: true, reordering: true },
        1 => &Udp { loss: false, duplication: true, reordering: false },
        _ => &Tcp { breaks: false },
    }
}

/// Number of traces per model, if nothing else is set.
const SHORT: u64 = 2_000;

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
    let all = setting("CONFUTE_TRIPLES", SHORT).max(SHORT);
    let (mut refuted, mut undecided, mut differences) = (0, 0, Vec::new());
    let (mut searches, mut open) = (0, 0);
    // Searches with fewer reductions take most of the time: a short run judges every ninth trace with them.
    let spacing = if all > SHORT { 1 } else { 9 };
    for seed in first..first + all {
        let network = network(seed);
        let events = trace(model, network, traffic, seed);
        let expected = expect(twins.1, network, &events);
        refuted += usize::from(expected == "refuted");
        let every = Reductions::ALL;
        let (told, plain) =
            (verdicts(model, network, &events, every), verdicts(twins.0, network, &events, every));
        undecided += told.iter().chain(&plain).filter(|verdict| **verdict == UNDECIDED).count();
        let fewer = if seed % spacing == 0 { fewer(seed / spacing).to_vec() } else { Vec::new() };
        let sets = [vec![every], fewer].concat();
        let differing = |events: &[Event<S::Msg>]| {
            let expected = expect(twins.1, network, events);
            let differs_with = |set: &Reductions| differ(verdicts(model, network, events, *set), expected);
            sets.iter().copied().find(differs_with)
        };
        for set in sets.iter().skip(1) {
            let verdicts = verdicts(model, network, &events, *set);
            searches += verdicts.len();
            open += verdicts.iter().filter(|verdict| **verdict == UNDECIDED).count();
        }
        if differ(plain, expected) || differing(&events).is_some() {
            let small = shrink(events, |events| {
                let expected = expect(twins.1, network, events);
                differing(events).is_some() || differ(verdicts(twins.0, network, events, every), expected)
            });
            let set = differing(&small).unwrap_or_default();
            let expected = expect(twins.1, network, &small);
            let agrees = |set| !differ(verdicts(model, network, &small, set), expected);
            let mend = set.iter().find(|one| agrees(set.without(*one))).map_or("none", Reduction::name);
            differences.push(format!(
                "model with reductions {set}: {:?}, plain twin: {:?}, whole twin: {expected}; with none: {:?}; removing \
                 {mend} mends it\nseed {seed}, {}\n{}",
                verdicts(model, network, &small, set),
                verdicts(twins.0, network, &small, every),
                verdicts(model, network, &small, Reductions::NONE),
                network.name(),
                small.iter().map(|event| format!("  {event:?}")).collect::<Vec<_>>().join("\n"),
            ));
            if setting("CONFUTE_FIRST", 0) > 0 {
                break;
            }
        }
    }
    println!("fewer reductions: {open} of {searches} verdicts are open");
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

/// Returns the file of the stored trace that shows a fault of the search.
fn stored(model: &str, fault: Fault) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stored/{model}-{}.json", fault.name()))
}

/// Returns `true` if the verdict on this trace is wrong with the fault, and right without.
fn shows<S, W>(fault: Fault, (model, twin): (&S, &W), network: &dyn Network, events: &[Event<S::Msg>]) -> bool
where
    S: ServerModel<Msg: Clone>,
    W: ServerModel<Msg = S::Msg>,
{
    let judge = || verdicts(model, network, events, Reductions::ALL);
    let expected = expect(twin, network, events);
    differ(fault::with(Some(fault), judge), expected) && !differ(judge(), expected)
}

/// Looks for traces that show faults, and stores the smallest form of the first for each.
fn hunt_with<S, W>(name: &str, models: (&S, &W), traffic: &Traffic<S::Msg>, faults: &[Fault])
where
    S: ServerModel<Msg: Clone + PartialEq + Serialize>,
    W: ServerModel<Msg = S::Msg>,
{
    let mut open: Vec<Fault> =
        faults.iter().copied().filter(|fault| !stored(name, *fault).exists()).collect();
    for seed in (1..setting("CONFUTE_TRIPLES", SHORT)).filter(|seed| seed % 16 > 1) {
        let network = network(seed);
        let events = trace(models.0, network, traffic, seed);
        open.retain(|fault| {
            if !shows(*fault, models, network, &events) {
                return true;
            }
            let small = shrink(events.clone(), |events| shows(*fault, models, network, events));
            let file = stored(name, *fault);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, serde_json::to_string(&small).unwrap() + "\n").unwrap();
            false
        });
    }
    open.iter().for_each(|fault| println!("{name}: nothing shows {}", fault.name()));
}

/// Checks that the stored traces of a model show their faults, and that without a fault every set of reductions agrees.
fn notice<S, W>(name: &str, models: (&S, &W), faults: &[Fault])
where
    S: ServerModel<Msg: Clone + DeserializeOwned>,
    W: ServerModel<Msg = S::Msg>,
{
    let network = network(2);
    for fault in faults {
        let text = std::fs::read_to_string(stored(name, *fault)).unwrap();
        let events: Vec<Event<S::Msg>> = serde_json::from_str(&text).unwrap();
        assert!(shows(*fault, models, network, &events), "{name}: {} is not noticed", fault.name());
        let expected = expect(models.1, network, &events);
        for set in (0..Reduction::ALL.len() as u64).flat_map(fewer) {
            assert!(!differ(verdicts(models.0, network, &events, set), expected), "{}: {set}", fault.name());
        }
    }
}

const KV_FAULTS: [Fault; 4] = [
    Fault::DeadThoughSeen,
    Fault::DeadAfterOverwriting,
    Fault::OriginOnlyUnderWay,
    Fault::NeverThoughItMayGrow,
];
const REGISTER_FAULTS: [Fault; 5] = [
    Fault::LostWithoutWhatComes,
    Fault::TabulatedReadsThatWrite,
    Fault::TabulatedUnseenThoughRead,
    Fault::TabulatedLostWithoutWhatComes,
    Fault::TabulatedLostWithoutWhatIsInFlight,
];
const CONDITIONAL_FAULTS: [Fault; 3] =
    [Fault::DoomedWithoutPast, Fault::DoomedWithoutOthers, Fault::DoomedWithoutLater];

#[test]
#[ignore = "takes long, and changes the stored traces"]
fn hunt() {
    hunt_with("kv", (&kv::Kv, &Whole(kv::Kv)), &KV, &KV_FAULTS);
    let register = (&register::CasRegister, &Whole(register::CasRegister));
    hunt_with("register", register, &REGISTER, &REGISTER_FAULTS);
    hunt_with("conditional", (&Conditional, &Whole(Conditional)), &CONDITIONAL, &CONDITIONAL_FAULTS);
}

#[test]
fn planted_faults_are_noticed() {
    notice("kv", (&kv::Kv, &Whole(kv::Kv)), &KV_FAULTS);
    notice("register", (&register::CasRegister, &Whole(register::CasRegister)), &REGISTER_FAULTS);
    notice("conditional", (&Conditional, &Whole(Conditional)), &CONDITIONAL_FAULTS);
}
