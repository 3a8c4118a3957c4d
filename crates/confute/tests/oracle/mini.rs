//! A model as data: each operation is a list of statements, interpreted by `serve`.
//!
//! It follows the conventions of the language by construction: operations open their cells first, and declare
//! their scope. Messages have plain parts and parts that can be secret.

use std::fmt;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;

use confute::fingerprint::Fingerprint;
use confute::knowledge::{Knowledge, Literal, Sort, Term, Value, Var};
use confute::lang::{
    About, Access, CellData, CellKey, CellSpec, CellValue, Conn, Fresh, Handler, Incoming, Io, Level,
    Mismatch, Number, Objects, Pattern, Register, Rule, Scope, ServerModel, Slot, Stop, Sym, Table, Token,
    Turn, Val,
};

use super::families::Family;
use super::tree::{Judged, Naked};

/// A message on a connection.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Msg {
    pub op: u8,
    pub key: u8,
    pub vals: Vec<u8>,
    pub num: Option<i64>,
    pub tok: Option<Arc<str>>,
}

/// A message of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Out {
    op: u8,
    key: u8,
    vals: Vec<u8>,
    num: Option<Sym<Number>>,
    tok: Option<Sym<Token>>,
}

impl fmt::Display for Out {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op{} k{} {:?}", self.op, self.key, self.vals)?;
        self.num.iter().try_for_each(|num| write!(f, " #{num}"))?;
        self.tok.iter().try_for_each(|tok| write!(f, " {tok}"))
    }
}

impl fmt::Display for Msg {
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
            (Some(sym), Some(n)) => {
                literals.push(Literal::Eq(sym.term().clone(), Term::Const(Value::Int(*n))));
            }
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

/// Content of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry {
    vals: Vec<u8>,
    num: Option<Sym<Number>>,
    tok: Option<Sym<Token>>,
}
confute::secrets!(Entry { num, tok });

impl Entry {
    fn with(mut self, val: u8) -> Self {
        self.vals.push(val);
        self
    }
}

const PLAIN: Table<u8, Entry> = Table::new("plain");
const UNKNOWN: Table<u8, Entry> = Table::unknown("unknown", |fresh: &mut Fresh<'_>, _| Entry {
    vals: Vec::new(),
    num: Some(fresh.fresh()),
    tok: Some(fresh.fresh()),
});
const OBJECTS: Objects<Token, Entry> = Objects::new("objects").never_twice(&RULE);
const REUSED: Objects<Token, Entry> = Objects::new("reused").reuses();
const PEERS: Register<Vec<Conn>> = Register::new("peers");
const PENDING: Register<Vec<(Conn, Conn)>> = Register::new("pending");

/// Name of the only rule.
pub const RULE_NAME: &str = "mini/rule";
/// The only rule.
pub static RULE: Rule = Rule { name: RULE_NAME, level: Level::Must, summary: "Keep to the program." };

/// The cell an operation refers to.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub enum Place {
    This,
    Next,
    At(u8),
    /// The cell picked by an internal turn.
    Picked,
}

/// Source of a part of a new entry.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub enum Source {
    None,
    Keep,
    Message,
    /// A new secret; if `new`, a number above the old one, or a token other than the old one.
    Fresh {
        new: bool,
    },
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub enum Cond {
    Empty(usize),
    /// The second value of the message equals the content of the cell.
    Holds(usize),
    Tok(usize),
    Num(usize),
    NumBelow(usize),
    Deviates,
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub enum From {
    Anyone,
    Upstream,
    Asker,
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Do {
    Put {
        slot: usize,
        num: Source,
        tok: Source,
    },
    Append(usize),
    /// Appends without reading the cell.
    Add(usize),
    Clear(usize),
    /// Removes the first or the last value and responds with it.
    Take {
        front: bool,
    },
    /// Leaves the request waiting.
    Wait,
    Copy {
        from: usize,
        to: usize,
    },
    Answer {
        op: u8,
        show: Option<usize>,
    },
    If(Cond, Vec<Do>, Vec<Do>),
    Choose(Vec<Vec<Do>>),
    /// Forwards the message upstream.
    Forward,
    /// Waits for another message.
    Receive(From),
    /// Responds to the sender of the first message with the second message.
    AnswerSecond,
    /// Responds to the sender of the second message.
    AnswerOther,
    Close,
    /// Closes the connections of all other subscribers.
    Kick,
    /// Responds with all cells.
    List,
    Subscribe,
    Unsubscribe,
    Publish {
        op: u8,
        show: Option<usize>,
    },
    /// Remembers the sender of the request.
    Remember,
    /// Responds to the client that this upstream connection belongs to.
    Relay,
    /// Creates an object with the value of the message, and responds with its token; if `choosy`, perhaps creates none.
    Create {
        choosy: bool,
    },
    /// Responds with the object whose token is in the message.
    Find,
    /// Sets the object whose token is in the message, if it exists.
    Replace,
    /// Removes the object whose token is in the message.
    Remove,
    /// Responds with the values of all objects.
    Roster,
}

/// Operation: the handling of a message.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Op {
    pub connect: bool,
    pub opens: Vec<(Place, Access)>,
    pub peers: Option<Access>,
    pub pending: Option<Access>,
    pub body: Vec<Do>,
}

/// A model as data.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Mini {
    pub family: Family,
    pub keys: u8,
    pub unknown: bool,
    pub ops: Vec<Op>,
    /// Operation for messages on connections that the server opened.
    pub upstream: Option<Op>,
    /// Operation for clients that close their connection; `None` if the server ignores them.
    pub on_close: Option<Op>,
    pub internal: Vec<Op>,
}

impl Op {
    pub fn new(opens: &[(Place, Access)], body: Vec<Do>) -> Self {
        Op { opens: opens.to_vec(), body, ..Op::default() }
    }

    /// Returns the number of responses, if it is constant.
    fn answers(body: &[Do]) -> Option<u32> {
        let mut count = 0;
        for act in body {
            count += match act {
                Do::Answer { .. }
                | Do::Take { .. }
                | Do::Find
                | Do::Create { .. }
                | Do::Replace
                | Do::Remove
                | Do::Roster => 1,
                Do::If(_, a, b) => same([a, b].map(|way| Op::answers_unless_it_waits(way)))?,
                Do::Choose(ways) => same(ways.iter().map(|way| Op::answers_unless_it_waits(way)))?,
                _ => 0,
            };
        }
        Some(count)
    }

    /// Returns the number of responses of an alternative; one that waits may have any.
    fn answers_unless_it_waits(body: &[Do]) -> Option<u32> {
        if matches!(body, [Do::Wait]) { Some(1) } else { Op::answers(body) }
    }

    /// Returns `true` if the operation concerns more than one cell.
    pub fn ties(&self) -> bool {
        self.opens.len() > 1 || Op::reaches_far(&self.body)
    }

    fn reaches_far(body: &[Do]) -> bool {
        body.iter().any(|act| match act {
            Do::Forward
            | Do::Receive(_)
            | Do::AnswerSecond
            | Do::AnswerOther
            | Do::Close
            | Do::Kick
            | Do::List
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

    fn told(&self, message: &Msg, visit: &mut dyn FnMut(Value)) {
        if self.family == Family::Objects {
            message.tok.iter().for_each(|tok| visit(Value::Opaque(Arc::clone(tok))));
        }
    }

    fn about(&self, request: &Msg, response: Option<&Msg>) -> About {
        let body = &self.ops[request.op as usize % self.ops.len()].body;
        match (self.family, body.first(), response) {
            (Family::Items, Some(Do::Add(_)), _) => About::value(&request.vals.first()),
            (Family::Items, Some(Do::Take { .. }), Some(Msg { op: TAKEN, vals, .. })) => {
                About::value(&vals.first())
            }
            (Family::Items, Some(Do::Take { .. }), Some(Msg { op: NOTHING, .. })) => About::Nothing,
            _ => About::Anything,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        std::slice::from_ref(&RULE)
    }
}

/// Response with the value that was taken.
const TAKEN: u8 = 122;
/// Response that there is no value.
const NOTHING: u8 = 123;

impl Mini {
    fn take(io: &mut Io<'_, Self>, front: bool, frame: &Frame) -> Turn {
        let (conn, key) = (frame.conn.unwrap(), frame.msg.key);
        let mut entry = frame.slots[0].get(io)?.unwrap_or_default();
        let taken = match entry.vals.len() {
            0 => None,
            _ if front => Some(entry.vals.remove(0)),
            _ => entry.vals.pop(),
        };
        match (taken, entry.vals.is_empty()) {
            (None, _) => {}
            (Some(_), true) => frame.slots[0].clear(io)?,
            (Some(_), false) => frame.slots[0].set(io, entry)?,
        }
        let op = if taken.is_some() { TAKEN } else { NOTHING };
        io.send(conn, Out { op, key, vals: taken.into_iter().collect(), num: None, tok: None })
    }

    fn table(&self) -> &'static Table<u8, Entry> {
        if self.unknown { &UNKNOWN } else { &PLAIN }
    }

    fn op(&self, conn: Conn, msg: &Msg) -> &Op {
        match &self.upstream {
            Some(op) if conn.is_opened_by_server() => op,
            _ => &self.ops[msg.op as usize % self.ops.len()],
        }
    }

    fn run(
        &self,
        io: &mut Io<'_, Self>,
        op: &Op,
        conn: Option<Conn>,
        msg: Rc<Msg>,
        picked: Option<u8>,
    ) -> Turn {
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
                Access::Grow | Access::Write => self.table().edit(io, &key)?,
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
            Do::Put { slot, num, tok } => self.put(io, *slot, (num, tok), frame),
            Do::Append(slot) => {
                let mut entry = frame.slots[*slot].get(io)?.unwrap_or_default();
                entry.vals.push(val);
                frame.slots[*slot].set(io, entry)
            }
            Do::Add(slot) => frame.slots[*slot].update(io, |entry| Some(entry.unwrap_or_default().with(val))),
            Do::Clear(slot) => frame.slots[*slot].clear(io),
            Do::Take { front } => Self::take(io, *front, frame),
            Do::Wait => io.wait(),
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
                let out =
                    Out { op: 90, key: frame.msg.key, vals: frame.msg.vals.clone(), num: None, tok: None };
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
            Do::Kick => {
                let slot = frame.peers.as_ref().unwrap();
                let own = frame.conn.unwrap();
                let (stay, go): (Vec<Conn>, Vec<Conn>) =
                    slot.get(io)?.unwrap_or_default().into_iter().partition(|peer| *peer == own);
                slot.set(io, stay)?;
                go.into_iter().try_for_each(|peer| io.close(peer))
            }
            Do::List => {
                let entries = self.table().entries(io)?;
                let vals =
                    entries.into_iter().flat_map(|(key, entry)| [vec![key], entry.vals].concat()).collect();
                let out = Out { op: 140, key: 0, vals, num: None, tok: None };
                io.send(frame.conn.unwrap(), out)
            }
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
                peers.into_iter().try_for_each(|peer| {
                    let out = self.out(io, *op, *show, frame)?;
                    io.send(peer, out)
                })
            }
            Do::Remember => {
                let slot = frame.pending.as_ref().unwrap();
                let mut pending = slot.get(io)?.unwrap_or_default();
                pending.push((frame.up.unwrap(), frame.conn.unwrap()));
                pending.sort();
                slot.set(io, pending)
            }
            Do::Relay => Self::relay(io, frame),
            Do::Create { .. } | Do::Find | Do::Replace | Do::Remove | Do::Roster => {
                let out = self.object(io, act, frame)?;
                io.send(frame.conn.unwrap(), out)
            }
        }
    }

    fn object(&self, io: &mut Io<'_, Self>, act: &Do, frame: &Frame) -> Result<Out, Stop> {
        let objects = if self.unknown { &REUSED } else { &OBJECTS };
        let vals = frame.msg.vals[..1].to_vec();
        let entry = Entry { vals, ..Entry::default() };
        let out = |op: u8, vals: Vec<u8>, tok: Option<Sym<Token>>| Out { op, key: 0, vals, num: None, tok };
        let id = Sym::known(frame.msg.tok.as_ref().unwrap());
        Ok(match act {
            Do::Create { choosy } => {
                let (id, slot) = objects.create(io)?;
                if *choosy && io.choose(2)? == 1 {
                    return Ok(out(111, vec![], None));
                }
                slot.set(io, entry)?;
                out(110, vec![], Some(id))
            }
            Do::Find => match objects.find(io, &id)?.get(io)? {
                Some(entry) => out(100, entry.vals, None),
                None => out(101, vec![], None),
            },
            Do::Replace => {
                let slot = objects.edit(io, &id)?;
                if slot.get(io)?.is_none() {
                    return Ok(out(111, vec![], None));
                }
                slot.set(io, entry)?;
                out(110, vec![], None)
            }
            Do::Remove => {
                objects.edit(io, &id)?.remove(io)?;
                out(110, vec![], None)
            }
            _ => {
                let mut vals: Vec<u8> =
                    objects.list(io)?.into_iter().flat_map(|(_, entry)| entry.vals).collect();
                vals.sort_unstable();
                out(140, vals, None)
            }
        })
    }

    fn relay(io: &mut Io<'_, Self>, frame: &mut Frame) -> Turn {
        let slot = frame.pending.as_ref().unwrap();
        let mut pending = slot.get(io)?.unwrap_or_default();
        let Some(at) = pending.iter().position(|(up, _)| Some(*up) == frame.conn) else {
            return Ok(());
        };
        let (_, client) = pending.remove(at);
        slot.set(io, pending)?;
        let out = Out { op: 92, key: frame.msg.key, vals: frame.msg.vals.clone(), num: None, tok: None };
        io.send(client, out)
    }

    fn put(
        &self,
        io: &mut Io<'_, Self>,
        slot: usize,
        (num, tok): (&Source, &Source),
        frame: &mut Frame,
    ) -> Turn {
        let old = match (num, tok) {
            (
                Source::None | Source::Message | Source::Fresh { new: false },
                Source::None | Source::Message,
            )
            | (Source::None | Source::Message, Source::Fresh { new: false }) => Entry::default(),
            _ => frame.slots[slot].get(io)?.unwrap_or_default(),
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
        let vals = if self.unknown { Vec::new() } else { vec![frame.msg.vals.first().copied().unwrap_or(0)] };
        frame.slots[slot].set(io, Entry { vals, num, tok })
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
        let value: Rc<CellValue<dyn CellData>> =
            Rc::new(CellValue { fingerprint: Fingerprint::of(&data), data });
        value
    }
}

/// Returns the secret with this name. The library gives secrets only to turns, so this runs a turn that
/// requests it.
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
