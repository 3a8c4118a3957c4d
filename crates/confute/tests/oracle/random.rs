//! Random small models, and traces of them, true and false.
//!
//! A [`Mini`] is a model as data: for each operation a few statements, interpreted by its `serve`. Families give the
//! statements their shape, a seed the details. Traces come from a random walk over the brute judge's own
//! configurations, so that each can happen; half of them are then damaged.

use std::fmt;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;

use confute::fingerprint::Fingerprint;
use confute::knowledge::{Knowledge, Literal, Sort, Term, Value, Var};
use confute::lang::{
    Access, CellData, CellKey, CellSpec, Conn, Fresh, Handler, Incoming, Io, Level, Mismatch, Number, Pattern, Register,
    Rule, Scope, ServerModel, Slot, Stop, Stored, Sym, Table, Token, Turn, Val,
};
use confute::network::{Direct, Network, Tcp, Udp};
use confute::trace::{Event, WireConn};

use super::brute::{Brute, Config};
use super::naive::{self, Facts};
use super::tree::{self, Judged, Naked};

// ---------------------------------------------------------------- chance

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

// ---------------------------------------------------------------- messages

/// What travels.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Msg {
    pub op: u8,
    pub key: u8,
    pub vals: Vec<u8>,
    pub num: Option<i64>,
    pub tok: Option<Arc<str>>,
}

/// What models send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Out {
    op: u8,
    key: u8,
    vals: Vec<u8>,
    num: Option<Sym<Number>>,
    tok: Option<Sym<Token>>,
}

impl fmt::Debug for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op{} k{} {:?}", self.op, self.key, self.vals)?;
        self.num.iter().try_for_each(|num| write!(f, " #{num}"))?;
        self.tok.iter().try_for_each(|tok| write!(f, " {tok:?}"))
    }
}

impl Naked<Msg> for Out {
    fn literals(&self, seen: &Msg) -> Option<Vec<Literal>> {
        if (self.op, self.key, &self.vals) != (seen.op, seen.key, &seen.vals) {
            return None;
        }
        let mut literals = Vec::new();
        match (&self.num, &seen.num) {
            (None, None) => {}
            (Some(sym), Some(n)) => literals.push(Literal::Eq(sym.term().clone(), Term::Const(Value::Int(*n)))),
            _ => return None,
        }
        match (&self.tok, &seen.tok) {
            (None, None) => {}
            (Some(sym), Some(t)) => {
                literals.push(Literal::Eq(sym.term().clone(), Term::Const(Value::Opaque(Arc::clone(t)))));
            }
            _ => return None,
        }
        Some(literals)
    }
}

impl Pattern<Msg> for Out {
    fn unify(&self, seen: &Msg, facts: &mut Knowledge) -> Result<(), Mismatch> {
        if (self.op, self.key, &self.vals) != (seen.op, seen.key, &seen.vals) {
            return Err(Mismatch);
        }
        match (&self.num, &seen.num) {
            (None, None) => {}
            (Some(sym), Some(n)) => sym.unify(n, facts)?,
            _ => return Err(Mismatch),
        }
        match (&self.tok, &seen.tok) {
            (None, None) => Ok(()),
            (Some(sym), Some(t)) => sym.unify(t, facts),
            _ => Err(Mismatch),
        }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Msg {
        Msg {
            op: self.op,
            key: self.key,
            vals: self.vals.clone(),
            num: self.num.as_ref().map(|sym| sym.instantiate(value)),
            tok: self.tok.as_ref().map(|sym| sym.instantiate(value)),
        }
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.num.iter().for_each(|sym| sym.vars(visit));
        self.tok.iter().for_each(|sym| sym.vars(visit));
    }
}

// ---------------------------------------------------------------- models as data

/// What a cell holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry {
    vals: Vec<u8>,
    num: Option<Sym<Number>>,
    tok: Option<Sym<Token>>,
}
confute::secrets!(Entry { num, tok });

const PLAIN: Table<u8, Entry> = Table::new("plain");
const UNKNOWN: Table<u8, Entry> = Table::unknown("unknown", |fresh: &mut Fresh<'_>, _| Entry {
    vals: Vec::new(),
    num: Some(fresh.fresh()),
    tok: Some(fresh.fresh()),
});
const PEERS: Register<Vec<Conn>> = Register::new("peers");
const PENDING: Register<Vec<(Conn, Conn)>> = Register::new("pending");

/// The only rule.
pub static RULE: Rule = Rule { name: "mini/rule", level: Level::Must, summary: "Keep to the program." };

/// Which cell an operation means.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    This,
    Next,
    At(u8),
    /// Of an internal turn.
    Picked,
}

/// Where a part of a new entry comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    None,
    Keep,
    Message,
    /// Chosen in secret: numbers above the old one, tokens other than the old one, if `new`.
    Fresh {
        new: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Cond {
    Empty(usize),
    /// The second value of the message is what the cell holds.
    Holds(usize),
    Tok(usize),
    Num(usize),
    NumBelow(usize),
    Deviates,
}

#[derive(Clone, Copy, Debug)]
pub enum From {
    Anyone,
    Upstream,
    Asker,
}

#[derive(Clone, Debug)]
pub enum Do {
    Put { slot: usize, num: Source, tok: Source },
    Append(usize),
    Clear(usize),
    Copy { from: usize, to: usize },
    Answer { op: u8, show: Option<usize> },
    If(Cond, Vec<Do>, Vec<Do>),
    Choose(Vec<Vec<Do>>),
    /// The message goes upstream.
    Forward,
    /// Wait for another message.
    Receive(From),
    /// Answer the asker with the second message.
    AnswerSecond,
    /// Answer whoever sent the second message.
    AnswerOther,
    Close,
    Subscribe,
    Unsubscribe,
    Publish { op: u8, show: Option<usize> },
    /// Keep in mind who asked.
    Remember,
    /// Answer the one whom this upstream connection is for.
    Relay,
}

/// What happens on a message.
#[derive(Clone, Debug, Default)]
pub struct Op {
    pub connect: bool,
    pub opens: Vec<(Place, Access)>,
    pub peers: Option<Access>,
    pub pending: Option<Access>,
    pub body: Vec<Do>,
}

/// A model as data.
#[derive(Clone, Debug)]
pub struct Mini {
    pub family: Family,
    pub keys: u8,
    pub unknown: bool,
    pub ops: Vec<Op>,
    /// For messages on connections that the server opened.
    pub upstream: Option<Op>,
    /// The server takes notice of clients that hang up.
    pub on_close: Option<Op>,
    pub internal: Vec<Op>,
}

impl Op {
    fn new(opens: &[(Place, Access)], body: Vec<Do>) -> Self {
        Op { opens: opens.to_vec(), body, ..Op::default() }
    }

    /// How many answers it gives, if that does not depend on anything.
    fn answers(body: &[Do]) -> Option<u32> {
        let mut count = 0;
        for act in body {
            count += match act {
                Do::Answer { .. } => 1,
                Do::If(_, a, b) => same([Op::answers(a), Op::answers(b)])?,
                Do::Choose(ways) => same(ways.iter().map(|way| Op::answers(way)))?,
                _ => 0,
            };
        }
        Some(count)
    }

    fn reaches_far(body: &[Do]) -> bool {
        body.iter().any(|act| match act {
            Do::Forward
            | Do::Receive(_)
            | Do::AnswerSecond
            | Do::AnswerOther
            | Do::Close
            | Do::Publish { .. }
            | Do::Relay => true,
            Do::If(_, a, b) => Op::reaches_far(a) || Op::reaches_far(b),
            Do::Choose(ways) => ways.iter().any(|way| Op::reaches_far(way)),
            _ => false,
        })
    }
}

fn same(all: impl IntoIterator<Item = Option<u32>>) -> Option<u32> {
    let mut all = all.into_iter();
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

struct Frame {
    conn: Option<Conn>,
    msg: Rc<Msg>,
    up: Option<Conn>,
    second: Option<(Conn, Rc<Msg>)>,
    slots: Vec<Slot<Entry>>,
    peers: Option<Slot<Vec<Conn>>>,
    pending: Option<Slot<Vec<(Conn, Conn)>>>,
}

impl ServerModel for Mini {
    type Msg = Msg;
    type Out = Out;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, msg, op) = if let Some(on_close) = &self.on_close {
            match io.recv_event()? {
                (conn, Incoming::Closed) => (conn, Rc::default(), on_close),
                (conn, Incoming::Message(msg)) => {
                    let op = self.op(conn, &msg);
                    (conn, msg, op)
                }
            }
        } else {
            let (conn, msg) = io.recv()?;
            let op = self.op(conn, &msg);
            (conn, msg, op)
        };
        self.run(io, op, Some(conn), msg, None)
    }

    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        if self.internal.is_empty() {
            return io.idle();
        }
        if self.internal.iter().any(|op| Op::reaches_far(&op.body)) {
            io.whole()?;
        }
        let way = if self.internal.len() > 1 { io.choose(self.internal.len())? } else { 0 };
        let op = &self.internal[way];
        let picked = if op.opens.iter().any(|(place, _)| matches!(place, Place::Picked)) {
            Some(self.table().pick(io)?)
        } else {
            None
        };
        self.run(io, op, None, Rc::new(Msg { vals: vec![7], ..Msg::default() }), picked)
    }

    fn rules(&self) -> &'static [Rule] {
        std::slice::from_ref(&RULE)
    }
}

impl Mini {
    fn table(&self) -> &'static Table<u8, Entry> {
        if self.unknown { &UNKNOWN } else { &PLAIN }
    }

    fn op(&self, conn: Conn, msg: &Msg) -> &Op {
        match &self.upstream {
            Some(op) if conn.is_opened_by_server() => op,
            _ => &self.ops[msg.op as usize % self.ops.len()],
        }
    }

    fn run(&self, io: &mut Io<'_, Self>, op: &Op, conn: Option<Conn>, msg: Rc<Msg>, picked: Option<u8>) -> Turn {
        if conn.is_some() {
            match Op::answers(&op.body) {
                Some(1) if !Op::reaches_far(&op.body) => {}
                Some(count) if !Op::reaches_far(&op.body) => io.replies(count)?,
                _ => io.whole()?,
            }
        }
        let up = if op.connect { Some(io.connect()?) } else { None };
        let mut slots = Vec::new();
        for (place, access) in &op.opens {
            let key = match place {
                Place::This => msg.key % self.keys,
                Place::Next => (msg.key + 1) % self.keys,
                Place::At(key) => *key % self.keys,
                Place::Picked => picked.unwrap(),
            };
            slots.push(match access {
                Access::Read => self.table().view(io, &key)?,
                Access::Write => self.table().edit(io, &key)?,
            });
        }
        let peers = match op.peers {
            Some(_) => Some(PEERS.edit(io)?),
            None => None,
        };
        let pending = match op.pending {
            Some(_) => Some(PENDING.edit(io)?),
            None => None,
        };
        self.all(io, &op.body, &mut Frame { conn, msg, up, second: None, slots, peers, pending })
    }

    fn all(&self, io: &mut Io<'_, Self>, body: &[Do], frame: &mut Frame) -> Turn {
        body.iter().try_for_each(|act| self.act(io, act, frame))
    }

    fn act(&self, io: &mut Io<'_, Self>, act: &Do, frame: &mut Frame) -> Turn {
        let val = frame.msg.vals.first().copied().unwrap_or(0);
        match act {
            Do::Put { slot, num, tok } => {
                let old = match (num, tok) {
                    (Source::None | Source::Message | Source::Fresh { new: false }, Source::None | Source::Message)
                    | (Source::None | Source::Message, Source::Fresh { new: false }) => Entry::default(),
                    _ => frame.slots[*slot].get(io)?.unwrap_or_default(),
                };
                let num = match num {
                    Source::None => None,
                    Source::Keep => old.num,
                    Source::Message => Some(Sym::known(&frame.msg.num.unwrap_or(0))),
                    Source::Fresh { new } => {
                        let fresh = io.fresh::<Number>()?;
                        if let (true, Some(old)) = (new, old.num) {
                            io.assume(old.less_than(&fresh))?;
                        }
                        Some(fresh)
                    }
                };
                let tok = match tok {
                    Source::None => None,
                    Source::Keep => old.tok,
                    Source::Message => frame.msg.tok.as_ref().map(Sym::known),
                    Source::Fresh { new } => {
                        let fresh = io.fresh::<Token>()?;
                        if let (true, Some(old)) = (new, old.tok) {
                            io.assume(old.equals(&fresh).negate())?;
                        }
                        Some(fresh)
                    }
                };
                let vals = if self.unknown { Vec::new() } else { vec![val] };
                frame.slots[*slot].set(io, Entry { vals, num, tok })
            }
            Do::Append(slot) => {
                let mut entry = frame.slots[*slot].get(io)?.unwrap_or_default();
                entry.vals.push(val);
                frame.slots[*slot].set(io, entry)
            }
            Do::Clear(slot) => frame.slots[*slot].clear(io),
            Do::Copy { from, to } => match frame.slots[*from].get(io)? {
                Some(entry) => frame.slots[*to].set(io, entry),
                None => frame.slots[*to].clear(io),
            },
            Do::Answer { op, show } => {
                let out = self.out(io, *op, *show, frame)?;
                io.send(frame.conn.unwrap(), out)
            }
            Do::If(cond, yes, no) => {
                let so = self.cond(io, *cond, frame)?;
                self.all(io, if so { yes } else { no }, frame)
            }
            Do::Choose(ways) => {
                let way = io.choose(ways.len())?;
                self.all(io, &ways[way], frame)
            }
            Do::Forward => {
                let out = Out { op: 90, key: frame.msg.key, vals: frame.msg.vals.clone(), num: None, tok: None };
                io.send(frame.up.unwrap(), out)
            }
            Do::Receive(from) => {
                frame.second = Some(match from {
                    From::Anyone => io.recv()?,
                    From::Upstream => (frame.up.unwrap(), io.recv_from(frame.up.unwrap())?),
                    From::Asker => (frame.conn.unwrap(), io.recv_from(frame.conn.unwrap())?),
                });
                Ok(())
            }
            Do::AnswerSecond | Do::AnswerOther => {
                let (other, second) = frame.second.clone().unwrap();
                let (to, msg) = match act {
                    Do::AnswerSecond => (frame.conn.unwrap(), &second),
                    _ => (other, &frame.msg),
                };
                let out = Out { op: 91, key: msg.key, vals: msg.vals.clone(), num: None, tok: None };
                io.send(to, out)
            }
            Do::Close => io.close(frame.conn.unwrap()),
            Do::Subscribe | Do::Unsubscribe => {
                let slot = frame.peers.as_ref().unwrap();
                let mut peers = slot.get(io)?.unwrap_or_default();
                let conn = frame.conn.unwrap();
                peers.retain(|peer| *peer != conn);
                if matches!(act, Do::Subscribe) {
                    peers.push(conn);
                }
                slot.set(io, peers)
            }
            Do::Publish { op, show } => {
                let peers = frame.peers.as_ref().unwrap().get(io)?.unwrap_or_default();
                for peer in peers {
                    let out = self.out(io, *op, *show, frame)?;
                    io.send(peer, out)?;
                }
                Ok(())
            }
            Do::Remember => {
                let slot = frame.pending.as_ref().unwrap();
                let mut pending = slot.get(io)?.unwrap_or_default();
                pending.push((frame.up.unwrap(), frame.conn.unwrap()));
                pending.sort();
                slot.set(io, pending)
            }
            Do::Relay => {
                let slot = frame.pending.as_ref().unwrap();
                let mut pending = slot.get(io)?.unwrap_or_default();
                let Some(at) = pending.iter().position(|(up, _)| Some(*up) == frame.conn) else { return Ok(()) };
                let (_, client) = pending.remove(at);
                slot.set(io, pending)?;
                let out = Out { op: 92, key: frame.msg.key, vals: frame.msg.vals.clone(), num: None, tok: None };
                io.send(client, out)
            }
        }
    }

    fn out(&self, io: &mut Io<'_, Self>, op: u8, show: Option<usize>, frame: &Frame) -> Result<Out, Stop> {
        let key = frame.msg.key;
        let Some(slot) = show else { return Ok(Out { op, key, vals: vec![], num: None, tok: None }) };
        Ok(match frame.slots[slot].get(io)? {
            Some(Entry { vals, num, tok }) => Out { op, key, vals, num, tok },
            None => Out { op: op + 1, key, vals: vec![], num: None, tok: None },
        })
    }

    fn cond(&self, io: &mut Io<'_, Self>, cond: Cond, frame: &Frame) -> Result<bool, Stop> {
        match cond {
            Cond::Empty(slot) => Ok(frame.slots[slot].get(io)?.is_none()),
            Cond::Holds(slot) => {
                let expected = frame.msg.vals.get(1).copied();
                Ok(frame.slots[slot].get(io)?.unwrap_or_default().vals.last().copied() == expected)
            }
            Cond::Tok(slot) => match (frame.slots[slot].get(io)?.unwrap_or_default().tok, &frame.msg.tok) {
                (Some(have), Some(want)) => io.branch(have.is(want)),
                _ => Ok(false),
            },
            Cond::Num(slot) | Cond::NumBelow(slot) => {
                match (frame.slots[slot].get(io)?.unwrap_or_default().num, frame.msg.num) {
                    (Some(have), Some(want)) if matches!(cond, Cond::Num(_)) => io.branch(have.is(&want)),
                    (Some(have), Some(want)) => io.branch(have.less_than(&Sym::known(&want))),
                    _ => Ok(false),
                }
            }
            Cond::Deviates => io.deviates(&RULE),
        }
    }
}

impl Judged for Mini {
    type M = Msg;
    type O = Out;

    fn initial(&self, _: &'static str, _: &dyn CellKey, fresh: &mut dyn FnMut(Sort) -> Var) -> Val {
        let num = Some(sym::<Number>(fresh(Sort::Int)));
        let tok = Some(sym::<Token>(fresh(Sort::Opaque)));
        let data = Entry { vals: Vec::new(), num, tok };
        let value: Rc<Stored<dyn CellData>> = Rc::new(Stored { fingerprint: Fingerprint::of(&data), data });
        value
    }
}

/// A secret by its name. The library gives secrets only to turns, so a turn is what asks for it.
fn sym<T: confute::lang::Secret>(var: Var) -> Sym<T> {
    struct Give(Var);
    impl Handler<Msg, Out> for Give {
        fn fresh(&mut self, _: Sort) -> Result<Var, Stop> {
            Ok(self.0)
        }
        fn recv(&mut self, _: Option<Conn>, _: bool) -> Result<(Conn, Incoming<Msg>), Stop> {
            unreachable!()
        }
        fn send(&mut self, _: Conn, _: Out) -> Turn {
            unreachable!()
        }
        fn connect(&mut self) -> Result<Conn, Stop> {
            unreachable!()
        }
        fn close(&mut self, _: Conn) -> Turn {
            unreachable!()
        }
        fn decide(&mut self, _: &Literal) -> Result<bool, Stop> {
            unreachable!()
        }
        fn assume(&mut self, _: &Literal) -> Turn {
            unreachable!()
        }
        fn choose(&mut self, _: usize) -> Result<usize, Stop> {
            unreachable!()
        }
        fn deviates(&mut self, _: &'static Rule) -> Result<bool, Stop> {
            unreachable!()
        }
        fn scope(&mut self, _: Scope) -> Turn {
            unreachable!()
        }
        fn open(&mut self, _: &CellSpec<'_>, _: Access) -> Result<u32, Stop> {
            unreachable!()
        }
        fn read(&mut self, _: u32) -> Result<Option<Val>, Stop> {
            unreachable!()
        }
        fn write(&mut self, _: u32, _: Option<Val>) -> Turn {
            unreachable!()
        }
        fn pick(&mut self, _: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
            unreachable!()
        }
        fn scan(&mut self, _: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
            unreachable!()
        }
    }
    Io::<Mini>::new(&mut Give(var)).fresh().unwrap()
}

// ---------------------------------------------------------------- families

macro_rules! families {
    ($($family:ident),+ $(,)?) => {
        /// The shape of a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Family { $($family),+ }
        /// All shapes.
        pub const FAMILIES: &[Family] = &[$(Family::$family),+];
    };
}
families!(
    Cells, Lists, Conditional, Counter, Replies, Transfer, Relay, Proxy, Broadcast, Pairing, Session, Closer, Hangup,
    Evict, Bump, Push, Choosy, Unknown, Deviant, Wild,
);

use Access::{Read as R, Write as W};
use Place::{At, Next, Picked, This};

const NONE: Source = Source::None;
const FRESH: Source = Source::Fresh { new: false };
const NEW: Source = Source::Fresh { new: true };

fn put(slot: usize) -> Do {
    Do::Put { slot, num: NONE, tok: NONE }
}
fn answer(op: u8) -> Do {
    Do::Answer { op, show: None }
}
fn show(op: u8, slot: usize) -> Do {
    Do::Answer { op, show: Some(slot) }
}
fn read() -> Op {
    Op::new(&[(This, R)], vec![show(100, 0)])
}
fn write() -> Op {
    Op::new(&[(This, W)], vec![put(0), answer(110)])
}
fn cas() -> Op {
    Op::new(&[(This, W)], vec![Do::If(Cond::Holds(0), vec![put(0), answer(110)], vec![answer(111)])])
}
fn append() -> Op {
    Op::new(&[(This, W)], vec![Do::Append(0), answer(110)])
}
fn peers(mut op: Op) -> Op {
    op.peers = Some(W);
    op
}

/// A random model of this family.
pub fn mini(family: Family, dice: &mut Dice) -> Mini {
    let keys = 1 + dice.below(3) as u8;
    let mut mini =
        Mini { family, keys, unknown: false, ops: vec![], upstream: None, on_close: None, internal: vec![] };
    let ops = match family {
        Family::Cells => vec![read(), read(), write(), cas()],
        Family::Lists => {
            let tell = Op::new(&[(This, W)], vec![Do::Append(0), show(100, 0)]);
            vec![read(), read(), append(), if dice.percent(50) { tell } else { append() }]
        }
        Family::Conditional => {
            mini.unknown = true;
            conditional()
        }
        Family::Counter => {
            let tok = if dice.percent(50) { NEW } else { NONE };
            let bump = Do::Put { slot: 0, num: NEW, tok };
            let below = Do::If(Cond::NumBelow(0), vec![answer(120)], vec![answer(121)]);
            let told = if dice.percent(50) { show(110, 0) } else { answer(110) };
            vec![read(), Op::new(&[(This, R)], vec![below]), Op::new(&[(This, W)], vec![bump, told])]
        }
        Family::Replies => {
            let silent = Op::new(&[(This, W)], vec![put(0)]);
            let twice = Op::new(&[(This, R)], vec![answer(115), show(100, 0)]);
            let maybe = Do::If(Cond::Empty(0), vec![], vec![show(100, 0)]);
            let maybe = Op::new(&[(This, R)], vec![maybe]);
            vec![read(), silent, twice, if dice.percent(40) { maybe } else { write() }]
        }
        Family::Transfer => {
            mini.keys = keys.max(2);
            let copy = Op::new(&[(This, W), (Next, W)], vec![Do::Copy { from: 0, to: 1 }, answer(112)]);
            let moved = vec![Do::Copy { from: 0, to: 1 }, Do::Clear(0), answer(112)];
            let moved = Op::new(
                &[(This, W), (Next, W)],
                vec![Do::If(Cond::Empty(0), vec![answer(113)], moved)],
            );
            let both = Op::new(&[(This, R), (Next, R)], vec![
                Do::If(Cond::Empty(0), vec![show(100, 1)], vec![Do::If(Cond::Empty(1), vec![answer(114)], vec![show(102, 0)])]),
            ]);
            vec![read(), both, write(), if dice.percent(50) { copy } else { moved }]
        }
        Family::Relay => {
            let ask = Op {
                connect: true,
                pending: Some(W),
                body: vec![Do::Forward, Do::Remember],
                ..Op::default()
            };
            mini.upstream = Some(Op { pending: Some(W), body: vec![Do::Relay], ..Op::default() });
            let fire = Op { connect: true, body: vec![Do::Forward], ..Op::default() };
            vec![ask.clone(), if dice.percent(30) { fire } else { ask }, write(), read()]
        }
        Family::Proxy => {
            let body = vec![Do::Forward, Do::Receive(From::Upstream), Do::AnswerSecond];
            let ask = Op { connect: true, body, ..Op::default() };
            // A message upstream that nobody waits for.
            mini.upstream = Some(Op::new(&[], vec![]));
            vec![ask, read(), write()]
        }
        Family::Broadcast => {
            let publish = Op::new(&[(This, W)], vec![put(0), Do::Publish { op: 130, show: Some(0) }]);
            let subscribe = Op::new(&[], vec![Do::Subscribe, answer(116)]);
            vec![read(), peers(subscribe.clone()), peers(publish), peers(subscribe)]
        }
        Family::Pairing => {
            let pair = Op::new(&[(This, R)], vec![Do::Receive(From::Anyone), Do::AnswerSecond, Do::AnswerOther]);
            let late = Op::new(&[(This, W)], vec![put(0), Do::Receive(From::Anyone), Do::AnswerOther, show(100, 0)]);
            vec![read(), read(), write(), if dice.percent(50) { pair } else { late }]
        }
        Family::Session => {
            let two = Op::new(&[(This, W)], vec![answer(117), Do::Receive(From::Asker), put(0), show(100, 0)]);
            let ask = Op::new(&[(This, W)], vec![put(0), Do::Receive(From::Asker), Do::AnswerSecond]);
            vec![read(), write(), if dice.percent(50) { two } else { ask }, read()]
        }
        Family::Closer => {
            let quit = Op::new(&[(This, R)], vec![show(100, 0), Do::Close]);
            let bye = Op::new(&[(This, W)], vec![put(0), Do::Close]);
            let full = Do::If(Cond::Empty(0), vec![put(0), answer(110)], vec![answer(118), Do::Close]);
            let full = Op::new(&[(This, W)], vec![full]);
            vec![read(), quit, if dice.percent(50) { bye } else { full }, write()]
        }
        Family::Hangup => {
            let log = Op::new(&[(At(0), W)], vec![Do::Append(0)]);
            let leave = peers(Op::new(&[], vec![Do::Unsubscribe]));
            let publish = peers(Op::new(&[(This, R)], vec![Do::Publish { op: 130, show: Some(0) }]));
            let subscribe = peers(Op::new(&[], vec![Do::Subscribe, answer(116)]));
            if dice.percent(60) {
                mini.on_close = Some(log);
                vec![read(), read(), write(), append()]
            } else {
                mini.on_close = Some(leave);
                vec![read(), subscribe, publish, write()]
            }
        }
        Family::Evict => {
            mini.internal = vec![Op::new(&[(Picked, W)], vec![Do::Clear(0)])];
            vec![read(), read(), write(), if dice.percent(50) { cas() } else { append() }]
        }
        Family::Bump => {
            let bump = Op::new(&[(Picked, W)], vec![Do::Append(0)]);
            let reset = Op::new(&[(At(0), W)], vec![Do::Clear(0)]);
            mini.internal = if dice.percent(50) { vec![bump] } else { vec![bump, reset] };
            vec![read(), read(), write()]
        }
        Family::Push => {
            let push = peers(Op::new(&[(At(0), R)], vec![Do::Publish { op: 130, show: Some(0) }]));
            mini.internal = vec![push];
            vec![read(), peers(Op::new(&[], vec![Do::Subscribe, answer(116)])), write()]
        }
        Family::Choosy => {
            let lossy = Op::new(&[(This, W)], vec![Do::Choose(vec![vec![put(0)], vec![]]), answer(110)]);
            let coy = Op::new(&[(This, R)], vec![Do::Choose(vec![vec![show(100, 0)], vec![answer(119)]])]);
            let odd = Do::Choose(vec![vec![put(0)], vec![Do::Append(0)], vec![Do::Clear(0)]]);
            vec![read(), coy, lossy, Op::new(&[(This, W)], vec![odd, answer(110)])]
        }
        Family::Unknown => {
            mini.unknown = true;
            let set = Do::Put { slot: 0, num: Source::Message, tok: Source::Keep };
            let tag = Do::Put { slot: 0, num: Source::Keep, tok: FRESH };
            let is = Do::If(Cond::Num(0), vec![answer(120)], vec![answer(121)]);
            let below = Do::If(Cond::NumBelow(0), vec![answer(120)], vec![answer(121)]);
            let ask = Op::new(&[(This, R)], vec![if dice.percent(50) { is } else { below }]);
            vec![read(), ask, Op::new(&[(This, W)], vec![if dice.percent(60) { set } else { tag }, answer(110)])]
        }
        Family::Deviant => {
            let stale = Do::If(Cond::Deviates, vec![answer(110)], vec![put(0), answer(110)]);
            let wrong = Do::If(Cond::Deviates, vec![answer(119)], vec![show(100, 0)]);
            vec![read(), Op::new(&[(This, R)], vec![wrong]), Op::new(&[(This, W)], vec![stale])]
        }
        Family::Wild => {
            mini.unknown = dice.percent(30);
            let mut ops = vec![read()];
            for _ in 0..2 + dice.below(2) {
                let mut body = wild(dice, 2);
                body.push(if dice.percent(60) { show(100, dice.below(2)) } else { answer(110) });
                ops.push(Op::new(&[(This, W), (if dice.percent(50) { Next } else { At(0) }, W)], body));
            }
            ops
        }
    };
    mini.ops = ops;
    mini
}

/// PUT if the tag is this, GET unless it is: Fig 1 and Fig 6. The value is the number.
fn conditional() -> Vec<Op> {
    let get = Do::If(Cond::Tok(0), vec![answer(GET_NOT_MODIFIED)], vec![show(GET_OK, 0)]);
    let set = Do::Put { slot: 0, num: Source::Message, tok: FRESH };
    let put = Do::If(Cond::Tok(0), vec![set, answer(PUT_DONE)], vec![answer(PUT_FAILED)]);
    vec![Op::new(&[(This, R)], vec![get]), Op::new(&[(This, W)], vec![put])]
}
pub const GET_OK: u8 = 100;
pub const GET_NOT_MODIFIED: u8 = 104;
pub const PUT_DONE: u8 = 110;
pub const PUT_FAILED: u8 = 111;

fn wild(dice: &mut Dice, depth: usize) -> Vec<Do> {
    let mut body = Vec::new();
    for _ in 0..dice.below(3) {
        let slot = dice.below(2);
        body.push(match dice.below(if depth > 0 { 8 } else { 5 }) {
            0 => put(slot),
            1 => Do::Put { slot, num: *dice.of(&[NONE, Source::Keep, Source::Message, NEW]), tok: *dice.of(&[NONE, FRESH, NEW]) },
            2 => Do::Append(slot),
            3 => Do::Clear(slot),
            4 => Do::Copy { from: slot, to: 1 - slot },
            5 | 6 => {
                let cond = *dice.of(&[Cond::Empty(slot), Cond::Holds(slot), Cond::Tok(slot), Cond::Num(slot), Cond::NumBelow(slot)]);
                Do::If(cond, wild(dice, depth - 1), wild(dice, depth - 1))
            }
            _ => Do::Choose(vec![wild(dice, depth - 1), wild(dice, depth - 1)]),
        });
    }
    body
}

// ---------------------------------------------------------------- networks

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
    let ends = matches!(family, Family::Closer | Family::Hangup);
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
        _ => Net::Tcp(Tcp { breaks: dice.percent(if ends { 30 } else { 4 }) }),
    }
}

// ---------------------------------------------------------------- traces

/// A model, a network and a trace.
pub struct Triple {
    pub seed: u64,
    pub mini: Rc<Mini>,
    pub net: Net,
    pub relaxed: &'static [&'static str],
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
    let mut events = walk(&mini, net, relaxed, &mut dice);
    let mut damaged = false;
    if dice.percent(55) {
        for _ in 0..20 {
            let mut other = events.clone();
            for _ in 0..1 + dice.below(2) {
                damage(&mut other, net, &mut dice);
            }
            if other != events && well_formed(&other, net) {
                events = other;
                damaged = true;
                break;
            }
        }
    }
    Triple { seed, mini: Rc::new(mini), net, relaxed, events, damaged }
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
            Event::Closed(_) | Event::HungUp(_) if accepted.contains(&conn) && !known.contains(&conn) => return false,
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
pub fn walk(mini: &Mini, net: Net, relaxed: &[&'static str], dice: &mut Dice) -> Vec<Event<Msg>> {
    let mut brute = Brute::new(mini, net.network(), relaxed, 1_000);
    let mut config = Config::start();
    let mut events: Vec<Event<Msg>> = Vec::new();
    let mut tokens: Vec<Arc<str>> = vec!["a".into(), "b".into()];
    let conns = if dice.percent(75) { 3 + dice.below(3) } else { 1 + dice.below(2) };
    let udp = matches!(net, Net::Udp(_));
    let heavy = udp || matches!(mini.family, Family::Choosy | Family::Wild | Family::Pairing | Family::Push | Family::Bump);
    let most_sent = if heavy { 3 + dice.below(2) } else { 4 + dice.below(3) };
    let most = 6 + dice.below(7);
    let burst = if matches!(net, Net::Direct) || dice.percent(25) { 0 } else { conns.min(most_sent) };
    let mut sent = 0;
    let mut ended: Vec<WireConn> = Vec::new();
    let mut wires: Vec<WireConn> = (0..conns as u32).map(WireConn).collect();
    let mut next_wire = 10;
    for round in 0..60 {
        if events.len() >= most {
            break;
        }
        let bursting = round < burst;
        let what = if bursting { 0 } else { dice.below(100) };
        let event = match what {
            0..28 if sent < most_sent => {
                if matches!(net, Net::Direct) && !config.outbox.is_empty() {
                    continue;
                }
                let wire = if bursting { wires[round] } else { *dice.of(&wires) };
                if ended.contains(&wire) {
                    continue;
                }
                Event::Sent(wire, request(mini, &tokens, dice))
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
    events
}

/// One way for this configuration to show the event.
fn only<'a>(
    brute: &mut Brute<'a, Mini>,
    config: &Config<Mini>,
    event: &Event<Msg>,
    dice: &mut Dice,
) -> Option<Config<Mini>> {
    dice.take(brute.event(vec![config.clone()], event).ok()?)
}

fn request(mini: &Mini, tokens: &[Arc<str>], dice: &mut Dice) -> Msg {
    // Reads are the first operations of every family.
    let op = if dice.percent(35) { 0 } else { dice.below(mini.ops.len()) as u8 };
    Msg {
        op,
        key: dice.below(mini.keys as usize) as u8,
        vals: vec![1 + dice.below(3) as u8, 1 + dice.below(3) as u8],
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
        1 | 2 | 3 => {
            if let Event::Received(_, msg) = &mut events[some] {
                match dice.below(4) {
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
        let sent = Event::Sent(WireConn(0), request(mini, &tokens, dice));
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
