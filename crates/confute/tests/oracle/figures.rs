//! The paper's derivation, figure by figure, as literal as Rust allows.
//!
//! [`tcp`] is Fig 5, [`observe`] Fig 9, [`unifier`] Fig 10, [`backtrack`] Fig 11, [`compose`] Fig 13; without
//! a network (§4.2) the server is observed directly. Programs are trees whose branches are closures, so that
//! one interpreter after another can transform them. The tester does not run against a server but follows a
//! given trace: where it sends, the next event must be `Sent`; where it receives, `Received`. A branch that
//! requires the other is filtered out.
//!
//! Interpretation where the figures are silent or imprecise:
//! - Fig 5 `oldest_in_each_conn`: a connection has two directions, each ordered by itself.
//! - Fig 10 lets two connections of the model be one physical connection; here the map is one to one.
//! - Fig 10 does not define the packets that the tester sends on accepted connections. They follow the map;
//!   as long as it has no entry, they are not delivered. (The brute-force judge allows more: do not compare
//!   such traces.)
//! - Fig 11 filters the other branches at each event; here they keep their position in the trace and process
//!   its events when they are resumed. In Fig 11 the current branch decides whether to send; here the trace
//!   does.

use std::cell::Cell as StdCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use confute::knowledge::{Literal, Sort, Var};
use confute::lang::{Cause, Conn};
use confute::trace::{Event, WireConn};

use super::naive::{self, Facts};
use super::tree::{self, Answer, Cells, Judged, Naked, Node};

/// Returns `true` if the events can be explained; `None` if that takes more steps than allowed.
pub fn judge<S: Judged>(
    model: &Rc<S>,
    network: bool,
    relaxed: &'static [&'static str],
    events: &[Event<S::M>],
    steps: usize,
) -> Option<bool> {
    let server = server(Rc::clone(model), relaxed, Cells::new(), Vec::new());
    let program = if network { compose(tcp(Vec::new()), Vec::new(), Vec::new(), server) } else { server };
    let tester = unifier(observe(program), Map::new(), Vars::default());
    backtrack(tester, events, steps)
}

// ---------------------------------------------------------------- programs

/// A packet between the server and `conn`.
struct Pkt<S: Judged> {
    conn: Conn,
    payload: Payload<S>,
}

enum Payload<S: Judged> {
    ToServer(Rc<S::M>),
    ToClient(S::O),
}

type Then<A, T> = Rc<dyn Fn(A) -> T>;

/// A program of the server or the network.
enum Program<S: Judged> {
    Recv(Then<Pkt<S>, Program<S>>),
    Send(Pkt<S>, Then<(), Program<S>>),
    Fresh(Sort, Then<Var, Program<S>>),
    Connect(Then<Conn, Program<S>>),
    If(Literal, Then<(), Program<S>>, Then<(), Program<S>>),
    /// A constraint of the server: an `IF` whose other branch fails.
    Assume(Literal, Then<(), Program<S>>),
    /// `or (x, y)`, "syntactic sugar for `b := fresh(); IF(b, x, y)`", of any number of branches.
    Or(Vec<Then<(), Program<S>>>),
    Fail,
}

/// Returns the loop around `serve`, from its current position.
fn server<S: Judged>(
    model: Rc<S>,
    relaxed: &'static [&'static str],
    cells: Cells,
    answers: Vec<Answer<S::M>>,
) -> Program<S> {
    let step = tree::step(&*model, &cells, false, &answers);
    if let Node::Done = step.node {
        let mut cells = cells;
        cells.extend(step.writes);
        return server(model, relaxed, cells, Vec::new());
    }
    let go = Rc::new(move |answer: Answer<S::M>| {
        let mut answers = answers.clone();
        answers.push(answer);
        server(Rc::clone(&model), relaxed, cells.clone(), answers)
    });
    let to = |answer: Answer<S::M>| -> Then<(), Program<S>> {
        let go = Rc::clone(&go);
        Rc::new(move |()| go(answer.clone()))
    };
    match step.node {
        Node::Recv { from: None, closes: false } => Program::Recv(Rc::new(move |pkt| match pkt.payload {
            Payload::ToServer(message) => go(Answer::Received(pkt.conn, Some(message))),
            Payload::ToClient(_) => panic!("for the client"),
        })),
        Node::Send(conn, message) => {
            Program::Send(Pkt { conn, payload: Payload::ToClient(message) }, to(Answer::Unit))
        }
        Node::Fresh(sort) => Program::Fresh(sort, Rc::new(move |var| go(Answer::Fresh(var)))),
        Node::Connect => Program::Connect(Rc::new(move |conn| go(Answer::Connected(conn)))),
        Node::Decide(literal) => Program::If(literal, to(Answer::Decided(true)), to(Answer::Decided(false))),
        Node::Assume(literal) => Program::Assume(literal, to(Answer::Unit)),
        Node::Choose(options) => Program::Or((0..options).map(|way| to(Answer::Chosen(way))).collect()),
        Node::Deviates(rule) => {
            let kept = to(Answer::Decided(false));
            let broken = relaxed.contains(&rule.name).then(|| to(Answer::Decided(true)));
            Program::Or(std::iter::once(kept).chain(broken).collect())
        }
        Node::Dead => Program::Fail,
        _ => panic!("the figures do not speak of this"),
    }
}

// ---------------------------------------------------------------- Fig 5

fn tcp<S: Judged>(buffer: Vec<Pkt<S>>) -> Program<S> {
    let buffer = Rc::new(buffer);
    let absorb: Then<(), Program<S>> = {
        let buffer = Rc::clone(&buffer);
        Rc::new(move |()| {
            let buffer = Rc::clone(&buffer);
            Program::Recv(Rc::new(move |pkt| {
                let mut buffer = buffer.to_vec();
                buffer.push(pkt);
                tcp(buffer)
            }))
        })
    };
    let emit: Then<(), Program<S>> = Rc::new(move |()| {
        let pkts = oldest_in_each_conn(&buffer);
        // pick_one
        Program::Or(
            pkts.into_iter()
                .map(|at| -> Then<(), Program<S>> {
                    let buffer = Rc::clone(&buffer);
                    Rc::new(move |()| {
                        let mut rest = buffer.to_vec();
                        let pkt = rest.remove(at);
                        Program::Send(pkt, Rc::new(move |()| tcp(rest.clone())))
                    })
                })
                .collect(),
        )
    });
    Program::Or(vec![absorb, emit])
}

fn oldest_in_each_conn<S: Judged>(buffer: &[Pkt<S>]) -> Vec<usize> {
    let conn = |pkt: &Pkt<S>| (pkt.conn, pkt.to_server());
    (0..buffer.len())
        .filter(|at| buffer[..*at].iter().all(|older| conn(older) != conn(&buffer[*at])))
        .collect()
}

// ---------------------------------------------------------------- Fig 13

fn compose<S: Judged>(net: Program<S>, bi: Vec<Pkt<S>>, bo: Vec<Pkt<S>>, srv: Program<S>) -> Program<S> {
    match srv {
        Program::Send(pkt, s) => {
            let mut bo = bo;
            bo.push(pkt);
            compose(net, bi, bo, s(()))
        }
        Program::Recv(s) => {
            if bi.is_empty() {
                step_net(net, bi, bo, Program::Recv(s))
            } else {
                let mut rest = bi;
                let p0 = rest.remove(0);
                compose(net, rest, bo, s(p0))
            }
        }
        // The network is a tree without state, so the same program can continue in each branch.
        other => other.map(Rc::new(move |srv| compose(net.clone(), bi.clone(), bo.clone(), srv))),
    }
}

fn step_net<S: Judged>(net: Program<S>, bi: Vec<Pkt<S>>, bo: Vec<Pkt<S>>, srv: Program<S>) -> Program<S> {
    match net {
        Program::Send(pkt, n) => {
            if pkt.to_server() {
                let mut bi = bi;
                bi.push(pkt);
                compose(n(()), bi, bo, srv)
            } else {
                Program::Send(pkt, Rc::new(move |()| compose(n(()), bi.clone(), bo.clone(), srv.clone())))
            }
        }
        Program::Recv(n) => {
            if bo.is_empty() {
                Program::Recv(Rc::new(move |p1| compose(n(p1), bi.clone(), bo.clone(), srv.clone())))
            } else {
                let mut rest = bo;
                let p0 = rest.remove(0);
                compose(n(p0), bi, rest, srv)
            }
        }
        other => other.map(Rc::new(move |net| compose(net, bi.clone(), bo.clone(), srv.clone()))),
    }
}

// ---------------------------------------------------------------- Fig 9

/// A program of the observer: the actions of the tester, with conjectures to check.
enum Observer<S: Judged> {
    /// `p := gen_pkt(); send(p)`.
    GenSend(Then<Pkt<S>, Observer<S>>),
    /// `p := recv()`.
    Recv(Then<Seen<S>, Observer<S>>),
    /// `guard(p0, p1)`.
    Guard(Conn, S::O, Seen<S>, Then<(), Observer<S>>),
    Determine(Vec<Then<(), Observer<S>>>),
    /// `unify(x, v)`.
    Unify(Literal, bool, Then<(), Observer<S>>),
    Fresh(Sort, Then<Var, Observer<S>>),
    Connect(Then<Conn, Observer<S>>),
    Fail,
}

/// A message received by the tester.
struct Seen<S: Judged> {
    pcid: WireConn,
    message: Rc<S::M>,
}

fn observe<S: Judged>(server: Program<S>) -> Observer<S> {
    match server {
        Program::Recv(s) => Observer::GenSend(Rc::new(move |p| observe(s(p)))),
        Program::Send(pkt, s) => Observer::Recv(Rc::new(move |p| {
            let Payload::ToClient(message) = &pkt.payload else { panic!("for the server") };
            let s = Rc::clone(&s);
            Observer::Guard(pkt.conn, message.clone(), p, Rc::new(move |()| observe(s(()))))
        })),
        Program::If(x, s1, s2) => {
            let y = x.clone();
            Observer::Determine(vec![
                Rc::new(move |()| {
                    let s1 = Rc::clone(&s1);
                    Observer::Unify(x.clone(), true, Rc::new(move |()| observe(s1(()))))
                }),
                Rc::new(move |()| {
                    let s2 = Rc::clone(&s2);
                    Observer::Unify(y.clone(), false, Rc::new(move |()| observe(s2(()))))
                }),
            ])
        }
        Program::Assume(x, s) => Observer::Unify(x, true, Rc::new(move |()| observe(s(())))),
        Program::Or(ways) => Observer::Determine(
            ways.into_iter()
                .map(|way| -> Then<(), Observer<S>> { Rc::new(move |()| observe(way(()))) })
                .collect(),
        ),
        Program::Fresh(sort, s) => Observer::Fresh(sort, Rc::new(move |var| observe(s(var)))),
        Program::Connect(s) => Observer::Connect(Rc::new(move |conn| observe(s(conn)))),
        Program::Fail => Observer::Fail,
    }
}

// ---------------------------------------------------------------- Fig 10

/// Map from connections of the model (mcid) to physical ones (pcid).
type Map = BTreeMap<Conn, WireConn>;

/// Variables and constraints.
#[derive(Clone, Default)]
struct Vars {
    next: u32,
    constraints: Facts,
}

/// A program of the tester, still nondeterministic.
enum Tester<S: Judged> {
    Send(Then<(WireConn, Rc<S::M>, bool), Tester<S>>),
    Recv(Then<Seen<S>, Tester<S>>),
    Determine(Vec<Then<(), Tester<S>>>),
    Fail,
}

fn unifier<S: Judged>(observer: Observer<S>, map: Map, vars: Vars) -> Tester<S> {
    match observer {
        Observer::Fresh(sort, o) => {
            let (x1, vars) = new_var(sort, vars);
            unifier(o(x1), map, vars)
        }
        Observer::Connect(o) => {
            // Numbered like a variable, in the order of creation.
            let mut vars = vars;
            vars.next += 1;
            unifier(o(Conn::opened(Cause::Delivery { sent: vars.next, copy: 0 }, 0)), map, vars)
        }
        Observer::Unify(x, v, o) => {
            let x = if v { x } else { x.negated() };
            match assert([x], vars) {
                Some(vars) => unifier(o(()), map, vars),
                None => Tester::Fail,
            }
        }
        Observer::Guard(mc, p0, p1, o) => {
            let Some(vars) = p0.literals(&p1.message).and_then(|literals| assert(literals, vars)) else {
                return Tester::Fail;
            };
            let pc = p1.pcid;
            if !mc.is_opened_by_server() {
                // A client's connection has the same name on both sides.
                return if mc == Conn::client(pc.0) { unifier(o(()), map, vars) } else { Tester::Fail };
            }
            match map.get(&mc) {
                Some(known) if *known == pc => unifier(o(()), map, vars),
                None if map.values().all(|other| *other != pc) => {
                    let mut map = map;
                    map.insert(mc, pc);
                    unifier(o(()), map, vars)
                }
                _ => Tester::Fail,
            }
        }
        Observer::GenSend(o) => Tester::Send(Rc::new(move |(pc, message, accepted)| {
            let mc = if accepted {
                map.iter().find(|(_, known)| **known == pc).map(|(mc, _)| *mc)
            } else {
                Some(Conn::client(pc.0))
            };
            let Some(conn) = mc else { return Tester::Fail };
            let pkt = Pkt { conn, payload: Payload::ToServer(message) };
            unifier(o(pkt), map.clone(), vars.clone())
        })),
        Observer::Recv(o) => Tester::Recv(Rc::new(move |p| unifier(o(p), map.clone(), vars.clone()))),
        Observer::Determine(ways) => Tester::Determine(
            ways.into_iter()
                .map(|way| -> Then<(), Tester<S>> {
                    let (map, vars) = (map.clone(), vars.clone());
                    Rc::new(move |()| unifier(way(()), map.clone(), vars.clone()))
                })
                .collect(),
        ),
        Observer::Fail => Tester::Fail,
    }
}

fn new_var(sort: Sort, mut vars: Vars) -> (Var, Vars) {
    vars.next += 1;
    (tree::name(Cause::Delivery { sent: vars.next, copy: 0 }, 0, sort), vars)
}

fn assert(facts: impl IntoIterator<Item = Literal>, mut vars: Vars) -> Option<Vars> {
    vars.constraints.extend(facts);
    naive::solve(&vars.constraints, &tree::sort).is_some().then_some(vars)
}

// ---------------------------------------------------------------- Fig 11

fn backtrack<S: Judged>(tester: Tester<S>, events: &[Event<S::M>], steps: usize) -> Option<bool> {
    let accepted = |wire: WireConn| events.contains(&Event::Accepted(wire));
    let left = StdCell::new(steps);
    let events: Vec<&Event<S::M>> =
        events.iter().filter(|event| !matches!(event, Event::Opened(_) | Event::Accepted(_))).collect();
    // Each branch is stored with its position in the trace.
    let mut current = (tester, 0);
    let mut others: Vec<(Then<(), Tester<S>>, usize)> = Vec::new();
    loop {
        left.set(left.get().checked_sub(1)?);
        let (tester, at) = current;
        let next = match (tester, events.get(at)) {
            (Tester::Determine(ways), _) => {
                others.extend(ways.into_iter().rev().map(|way| (way, at)));
                None
            }
            // The branch did not fail before the trace ended.
            (Tester::Send(_) | Tester::Recv(_), None) => return Some(true),
            (Tester::Send(t), Some(Event::Sent(wire, message))) => {
                Some(t((*wire, Rc::new(message.clone()), accepted(*wire))))
            }
            (Tester::Recv(t), Some(Event::Received(wire, message))) => {
                Some(t(Seen { pcid: *wire, message: Rc::new(message.clone()) }))
            }
            _ => None,
        };
        current = match next {
            Some(tester) => (tester, at + 1),
            None => match others.pop() {
                Some((another, at)) => (another(()), at),
                None => return Some(false),
            },
        };
    }
}

// ---------------------------------------------------------------- plumbing

impl<S: Judged> Pkt<S> {
    fn to_server(&self) -> bool {
        matches!(self.payload, Payload::ToServer(_))
    }
}

impl<S: Judged> Clone for Pkt<S> {
    fn clone(&self) -> Self {
        let payload = match &self.payload {
            Payload::ToServer(message) => Payload::ToServer(Rc::clone(message)),
            Payload::ToClient(message) => Payload::ToClient(message.clone()),
        };
        Self { conn: self.conn, payload }
    }
}

impl<S: Judged> Clone for Program<S> {
    fn clone(&self) -> Self {
        match self {
            Program::Recv(k) => Program::Recv(Rc::clone(k)),
            Program::Send(pkt, k) => Program::Send(pkt.clone(), Rc::clone(k)),
            Program::Fresh(sort, k) => Program::Fresh(*sort, Rc::clone(k)),
            Program::Connect(k) => Program::Connect(Rc::clone(k)),
            Program::If(x, a, b) => Program::If(x.clone(), Rc::clone(a), Rc::clone(b)),
            Program::Assume(x, k) => Program::Assume(x.clone(), Rc::clone(k)),
            Program::Or(ways) => Program::Or(ways.clone()),
            Program::Fail => Program::Fail,
        }
    }
}

impl<S: Judged> Program<S> {
    /// Implements the figures' last line, `r := _(); s'(r) ⇒ r1 := _(); …(s'(r1))`: any other event is passed
    /// on unchanged.
    fn map(self, f: Rc<dyn Fn(Program<S>) -> Program<S>>) -> Program<S> {
        let after = |k: Then<(), Program<S>>| -> Then<(), Program<S>> {
            let f = Rc::clone(&f);
            Rc::new(move |()| f(k(())))
        };
        match self {
            Program::If(x, a, b) => Program::If(x, after(a), after(b)),
            Program::Assume(x, k) => Program::Assume(x, after(k)),
            Program::Or(ways) => Program::Or(ways.into_iter().map(after).collect()),
            Program::Fresh(sort, k) => Program::Fresh(sort, Rc::new(move |var| f(k(var)))),
            Program::Connect(k) => Program::Connect(Rc::new(move |conn| f(k(conn)))),
            Program::Fail => Program::Fail,
            Program::Recv(_) | Program::Send(..) => panic!("has a line of its own"),
        }
    }
}
