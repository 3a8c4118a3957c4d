//! Random traces of random models, true and false.
//!
//! Traces come from a random walk over the brute judge's own configurations, so that each can happen; half of them are
//! then damaged.

use std::rc::Rc;
use std::sync::Arc;

use confute::knowledge::{Literal, Sort, Term, Value};
use confute::lang::Pattern;
use confute::network::{Direct, Network, Tcp, Udp};
use confute::trace::{Event, WireConn};

use super::brute::{Brute, Config};
use super::families::{FAMILIES, Family, GET_NOT_MODIFIED, GET_OK, PUT_DONE, PUT_FAILED, mini};
use super::mini::{Mini, Msg, Out};
use super::naive::{self, Facts};
use super::tree;

/// `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    pub fn percent(&mut self, p: usize) -> bool {
        self.below(100) < p
    }
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
    fn take<T>(&mut self, mut all: Vec<T>) -> Option<T> {
        if all.is_empty() { None } else { Some(all.swap_remove(self.below(all.len()))) }
    }
}

/// A network that can be printed.
#[derive(Clone, Copy, Debug)]
pub enum Net {
    Direct,
    Tcp(Tcp),
    Udp(Udp),
}

impl Net {
    pub fn network(&self) -> &dyn Network {
        match self {
            Net::Direct => &Direct,
            Net::Tcp(tcp) => tcp,
            Net::Udp(udp) => udp,
        }
    }
}

fn net(family: Family, dice: &mut Dice) -> Net {
    let ends = matches!(family, Family::Closer | Family::Kicker | Family::Hangup);
    match dice.below(100) {
        0..12 if family != Family::Hangup => Net::Direct,
        12..26 if !ends => Net::Udp(*dice.of(&[
            Udp { loss: true, duplication: true, reordering: true },
            Udp { loss: false, duplication: false, reordering: true },
            Udp { loss: true, duplication: false, reordering: true },
            Udp { loss: false, duplication: true, reordering: true },
            Udp { loss: true, duplication: false, reordering: false },
            Udp { loss: false, duplication: true, reordering: false },
            Udp { loss: true, duplication: true, reordering: false },
        ])),
        _ => Net::Tcp(Tcp { breaks: dice.percent(if ends { 30 } else { 10 }) }),
    }
}

/// A model, a network and a trace.
pub struct Triple {
    pub seed: u64,
    pub mini: Rc<Mini>,
    pub net: Net,
    pub relaxed: &'static [&'static str],
    /// How often rules may be broken; `None` if there is no limit.
    pub most_deviations: Option<u32>,
    pub events: Vec<Event<Msg>>,
    pub damaged: bool,
}

/// The triple of this seed.
pub fn triple(seed: u64) -> Triple {
    let mut dice = Dice(seed);
    let family = *dice.of(FAMILIES);
    let mini = mini(family, &mut dice);
    let net = net(family, &mut dice);
    let relaxed: &[&str] = if family == Family::Deviant && dice.percent(50) { &["mini/rule"] } else { &[] };
    let most_deviations = (!relaxed.is_empty() && dice.percent(60)).then(|| dice.below(3) as u32);
    let manner = Manner::random(family, net, &mut dice);
    finish(seed, mini, net, (relaxed, most_deviations), &manner, &mut dice)
}

/// The long triple of this seed: more events than the engine keeps, few of them under way at once.
pub fn long_triple(seed: u64) -> Triple {
    let mut dice = Dice(seed ^ 0x10_0000_0000);
    let family = *dice.of(&[
        Family::Cells,
        Family::Lists,
        Family::Replies,
        Family::Transfer,
        Family::Lister,
        Family::Choosy,
        Family::Unknown,
        Family::Evict,
        Family::Additions,
        Family::Kicker,
    ]);
    let mini = mini(family, &mut dice);
    let manner = Manner {
        conns: 3,
        values: 2,
        keys: 2,
        most_sent: usize::MAX,
        most: 320 + dice.below(100),
        restless: dice.percent(50),
        long: true,
    };
    finish(seed, mini, Net::Tcp(Tcp { breaks: false }), (&[], None), &manner, &mut dice)
}

fn finish(
    seed: u64,
    mini: Mini,
    net: Net,
    (relaxed, most_deviations): (&'static [&'static str], Option<u32>),
    manner: &Manner,
    dice: &mut Dice,
) -> Triple {
    let mut events = walk(&mini, net, (relaxed, most_deviations), manner, dice);
    let mut damaged = false;
    if dice.percent(55) {
        for _ in 0..20 {
            let mut other = events.clone();
            for _ in 0..=dice.below(2) {
                damage(&mut other, net, dice);
            }
            if other != events && well_formed(&other, net) {
                events = other;
                damaged = true;
                break;
            }
        }
    }
    Triple { seed, mini: Rc::new(mini), net, relaxed, most_deviations, events, damaged }
}

/// Whether a tester can have seen this at all, and the rules say what it means: nothing happens on connections after
/// their end, accepted ones are announced before their use, and end only after something came on them.
pub fn well_formed(events: &[Event<Msg>], net: Net) -> bool {
    let mut ended = Vec::new();
    let mut accepted = Vec::new();
    let mut used = Vec::new();
    let mut known = Vec::new();
    for event in events {
        let Some(conn) = event.conn() else { continue };
        if ended.contains(&conn) {
            return false;
        }
        match event {
            Event::Accepted(_) if used.contains(&conn) => return false,
            Event::Accepted(_) => accepted.push(conn),
            // Server-made connections get numbers from 10.
            _ if conn.0 >= 10 && !accepted.contains(&conn) => return false,
            Event::Received(..) => known.push(conn),
            Event::Closed(_) | Event::HungUp(_) if accepted.contains(&conn) && !known.contains(&conn) => {
                return false;
            }
            Event::Closed(_) | Event::HungUp(_) if !matches!(net, Net::Tcp(_) | Net::Direct) => return false,
            Event::HungUp(_) if matches!(net, Net::Direct) => return false,
            Event::Closed(_) | Event::HungUp(_) => ended.push(conn),
            _ => {}
        }
        used.push(conn);
    }
    true
}

/// A trace that can happen.
fn walk(
    mini: &Mini,
    net: Net,
    (relaxed, most_deviations): (&[&'static str], Option<u32>),
    manner: &Manner,
    dice: &mut Dice,
) -> Vec<Event<Msg>> {
    let Manner { conns, most_sent, most, .. } = *manner;
    let mut brute = Brute::new(mini, net.network(), relaxed, 1_000);
    brute.most_deviations = most_deviations;
    let mut config = Config::start();
    let mut events: Vec<Event<Msg>> = Vec::new();
    let mut tokens: Vec<Arc<str>> = vec!["a".into(), "b".into()];
    let udp = matches!(net, Net::Udp(_));
    let burst = if matches!(net, Net::Direct) || dice.percent(25) { 0 } else { conns.min(most_sent) };
    let mut sent = 0;
    let mut ended: Vec<WireConn> = Vec::new();
    let mut wires: Vec<WireConn> = (0..conns as u32).map(WireConn).collect();
    let mut next_wire = 10;
    for round in 0..60.max(12 * most) {
        if events.len() >= most {
            break;
        }
        let bursting = round < burst;
        let what = match () {
            () if bursting => 0,
            () if manner.restless && dice.percent(if manner.long { 1 } else { 8 }) => 96 + dice.below(4),
            () => dice.below(100),
        };
        // Long traces are settled only where little is under way, and end with nobody left if clients hang up.
        if manner.long && (what == 96 || (what < 28 && config.inbox.len() + config.outbox.len() > 2)) {
            continue;
        }
        let event = match what {
            0..28 if sent < most_sent => {
                if matches!(net, Net::Direct) && !config.outbox.is_empty() {
                    continue;
                }
                let wire = if bursting { wires[round] } else { *dice.of(&wires) };
                if ended.contains(&wire) {
                    continue;
                }
                Event::Sent(wire, request(mini, &tokens, Some((manner, events.len())), dice))
            }
            28..60 => {
                if let Some(next) = dice.take(brute.deliveries(&config)) {
                    config = next;
                }
                continue;
            }
            60..66 => {
                if let Some(next) = dice.take(brute.internal_turns(&config)) {
                    config = next;
                }
                continue;
            }
            66..96 => {
                let Some((lane, at)) = dice.take(brute.visible(&config)) else { continue };
                let output = config.outbox[&lane][at].clone();
                let wire = match (output.conn.wire(), config.bound.get(&output.conn)) {
                    (Some(number), _) => WireConn(number),
                    (None, Some(wire)) => *wire,
                    (None, None) => {
                        let wire = WireConn(next_wire);
                        next_wire += 1;
                        let accepted = Event::Accepted(wire);
                        config = brute.event(vec![config], &accepted).unwrap().pop().unwrap();
                        events.push(accepted);
                        wires.push(wire);
                        wire
                    }
                };
                if ended.contains(&wire) {
                    continue;
                }
                match output.item {
                    Some(out) => {
                        let msg = reveal(&out, &config.facts, &mut tokens, dice);
                        Event::Received(wire, msg)
                    }
                    None => Event::Closed(wire),
                }
            }
            96 if !udp && !matches!(net, Net::Direct) => {
                let wire = *dice.of(&wires);
                if ended.contains(&wire) {
                    continue;
                }
                Event::HungUp(wire)
            }
            97 if matches!(net, Net::Tcp(Tcp { breaks: true })) => {
                let wire = *dice.of(&wires);
                if ended.contains(&wire) {
                    continue;
                }
                Event::Closed(wire)
            }
            98 => Event::Quiescent,
            99 if mini.family != Family::Hangup => Event::Quiescent,
            _ if mini.family == Family::Hangup && dice.percent(60) && events.len() > 2 => {
                let wire = *dice.of(&wires);
                if ended.contains(&wire) {
                    continue;
                }
                Event::HungUp(wire)
            }
            _ => continue,
        };
        // Only this configuration, and only what it can do without further hidden steps.
        let Some(next) = only(&mut brute, &config, &event, dice) else { continue };
        config = next;
        match &event {
            Event::Sent(..) => sent += 1,
            Event::Closed(wire) | Event::HungUp(wire) => ended.push(*wire),
            _ => {}
        }
        events.push(event);
    }
    if dice.percent(12) && only(&mut brute, &config, &Event::Quiescent, dice).is_some() {
        events.push(Event::Quiescent);
    }
    events
}

/// One way for this configuration to show the event.
fn only(
    brute: &mut Brute<'_, Mini>,
    config: &Config<Mini>,
    event: &Event<Msg>,
    dice: &mut Dice,
) -> Option<Config<Mini>> {
    dice.take(brute.event(vec![config.clone()], event).ok()?)
}

/// What a trace is like.
struct Manner {
    conns: usize,
    /// How many values there are, and how many keys.
    values: usize,
    keys: usize,
    most_sent: usize,
    most: usize,
    /// Connections end, and all comes to rest, more often than else.
    restless: bool,
    long: bool,
}

impl Manner {
    fn random(family: Family, net: Net, dice: &mut Dice) -> Self {
        let udp = matches!(net, Net::Udp(_));
        let heavy = udp
            || matches!(
                family,
                Family::Choosy | Family::Wild | Family::Pairing | Family::Push | Family::Bump
            );
        let restless = dice.percent(25);
        if dice.percent(50) {
            // Few connections with several requests each, and contents that come again.
            return Manner {
                conns: if dice.percent(30) { 2 } else { 3 + dice.below(2) },
                values: 1 + dice.below(2),
                keys: 1 + dice.below(2),
                most_sent: if udp {
                    3
                } else if heavy {
                    4
                } else {
                    5 + dice.below(3)
                },
                most: 8 + dice.below(8),
                restless,
                long: false,
            };
        }
        Manner {
            conns: if dice.percent(75) { 3 + dice.below(3) } else { 1 + dice.below(2) },
            values: 3,
            keys: 3,
            most_sent: if heavy { 3 + dice.below(2) } else { 4 + dice.below(3) },
            most: 6 + dice.below(7),
            restless,
            long: false,
        }
    }
}

fn request(mini: &Mini, tokens: &[Arc<str>], manner: Option<(&Manner, usize)>, dice: &mut Dice) -> Msg {
    // Reads are the first operations of every family.
    let mut op = if dice.percent(35) { 0 } else { dice.below(mini.ops.len()) as u8 };
    let (values, keys) = manner.map_or((3, 3), |(manner, _)| (manner.values, manner.keys));
    let mut key = dice.below(keys.min(mini.keys as usize)) as u8;
    if let Some((Manner { long: true, .. }, at)) = manner {
        // One key gets most of it; what ties keys together comes late, when much is forgotten already.
        key = if dice.percent(85) { 0 } else { key };
        if at < 280 && mini.ops[op as usize].ties() {
            op = 0;
        }
    }
    Msg {
        op,
        key,
        vals: vec![1 + dice.below(values) as u8, 1 + dice.below(values) as u8],
        num: mini_uses_numbers(mini).then(|| dice.below(5) as i64),
        tok: mini_uses_numbers(mini).then(|| Arc::clone(dice.of(tokens))),
    }
}

fn mini_uses_numbers(mini: &Mini) -> bool {
    matches!(mini.family, Family::Conditional | Family::Counter | Family::Unknown | Family::Wild)
}

/// Turns what the model sends into what is seen, choosing secrets at random among what is possible.
fn reveal(out: &Out, facts: &Facts, tokens: &mut Vec<Arc<str>>, dice: &mut Dice) -> Msg {
    let mut facts = facts.clone();
    let mut seen: Msg = out.instantiate(&mut |var| {
        for _ in 0..4 {
            let value = match tree::sort(var) {
                Sort::Int => Value::Int(dice.below(6) as i64),
                _ if dice.percent(50) => Value::Opaque(Arc::clone(dice.of(tokens))),
                _ => Value::Opaque(Arc::from(format!("t{}", tokens.len()))),
            };
            facts.insert(Literal::Eq(Term::Var(var), Term::Const(value.clone())));
            if naive::solve(&facts, &tree::sort).is_some() {
                return value;
            }
            facts.remove(&Literal::Eq(Term::Var(var), Term::Const(value)));
        }
        let value = naive::solve(&facts, &tree::sort).unwrap().remove(&var).unwrap_or(Value::Int(0));
        facts.insert(Literal::Eq(Term::Var(var), Term::Const(value.clone())));
        value
    });
    if let Some(tok) = &mut seen.tok
        && !tokens.contains(tok)
    {
        tokens.push(Arc::clone(tok));
    }
    seen
}

/// Makes one change.
fn damage(events: &mut Vec<Event<Msg>>, net: Net, dice: &mut Dice) {
    if events.is_empty() {
        return;
    }
    let received: Vec<usize> =
        (0..events.len()).filter(|i| matches!(events[*i], Event::Received(..))).collect();
    let any = dice.below(events.len());
    let some = if received.is_empty() { any } else { *dice.of(&received) };
    match dice.below(9) {
        0 => {
            let other = dice.below(events.len());
            events.swap(any, other);
        }
        1..=3 => {
            if let Event::Received(_, msg) = &mut events[some] {
                match dice.below(5) {
                    4 if !msg.vals.is_empty() => msg.vals.extend_from_within(msg.vals.len() - 1..),
                    0 => msg.op = *dice.of(&[100, 101, 110, 111]),
                    1 if msg.num.is_some() => msg.num = msg.num.map(|n| n + [-1, 1][dice.below(2)]),
                    2 if msg.tok.is_some() => msg.tok = Some(["a", "b", "t2"][dice.below(3)].into()),
                    3 if msg.vals.len() > 1 => msg.vals.swap(0, 1),
                    _ if msg.vals.is_empty() => msg.vals.push(1),
                    _ => msg.vals[0] = 1 + dice.below(3) as u8,
                }
            }
        }
        4 => {
            let again = events[some].clone();
            let at = some + 1 + dice.below(events.len() - some);
            events.insert(at, again);
        }
        5 => {
            events.remove(some);
        }
        6 | 7 => {
            let event = events.remove(some);
            events.insert(dice.below(some + 1), event);
        }
        _ if matches!(net, Net::Udp(Udp { loss: true, .. })) => {}
        _ => events.insert(any + 1, Event::Quiescent),
    }
}

/// How many connections had requests outstanding at once, at most.
pub fn most_outstanding(events: &[Event<Msg>]) -> usize {
    let mut balance = std::collections::BTreeMap::<WireConn, i32>::new();
    let mut most = 0;
    for event in events {
        match event {
            Event::Sent(wire, _) => *balance.entry(*wire).or_default() += 1,
            Event::Received(wire, _) => *balance.entry(*wire).or_default() -= 1,
            _ => {}
        }
        most = most.max(balance.values().filter(|n| **n > 0).count());
    }
    most
}

/// A trace of one client that waits for each answer.
pub fn lock_step(mini: &Mini, dice: &mut Dice) -> Vec<Event<Msg>> {
    let mut brute = Brute::new(mini, &Direct, &[], 1_000);
    let mut config = Config::start();
    let mut events = Vec::new();
    let mut tokens: Vec<Arc<str>> = vec!["a".into(), "b".into()];
    for _ in 0..2 + dice.below(6) {
        let sent = Event::Sent(WireConn(0), request(mini, &tokens, None, dice));
        config = only(&mut brute, &config, &sent, dice).unwrap();
        events.push(sent);
        let (lane, at) = brute.visible(&config)[0];
        let out = config.outbox[&lane][at].item.clone().unwrap();
        let seen = Event::Received(WireConn(0), reveal(&out, &config.facts, &mut tokens, dice));
        config = only(&mut brute, &config, &seen, dice).unwrap();
        events.push(seen);
    }
    events
}

/// Makes an answer of the conditional family another one.
pub fn change_answer(event: &mut Event<Msg>, dice: &mut Dice) {
    let Event::Received(_, msg) = event else { return };
    match msg.op {
        PUT_DONE => msg.op = PUT_FAILED,
        PUT_FAILED => msg.op = PUT_DONE,
        GET_OK if dice.percent(40) => *msg = Msg { op: GET_NOT_MODIFIED, key: msg.key, ..Msg::default() },
        GET_OK if dice.percent(50) => msg.num = Some(dice.below(5) as i64),
        GET_OK => msg.tok = Some(["a", "b", "t2", "t3"][dice.below(4)].into()),
        _ => *msg = Msg { op: GET_OK, key: msg.key, num: Some(1), tok: Some("a".into()), ..Msg::default() },
    }
}
