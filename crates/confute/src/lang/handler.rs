//! What an interpreter of models implements: one method an effect.
//!
//! The paper's interpreters transform one interaction tree into another (Fig 8). Here a model calls a [`Handler`], and
//! an interpreter is a handler around another handler: it sees every effect on its way out and every answer on its way
//! in. The search, the dry run and the simulator are handlers too.

use std::fmt;
use std::rc::Rc;

use super::cells::{CellKey, CellSpec, Val};
use super::mistake::Mistake;
use super::rule::Rule;
use crate::knowledge::{Literal, Sort, Var};

/// How a turn ends.
pub type Turn = Result<(), Stop>;

/// Why a turn stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It waits for a message that has not come.
    Blocked,
    /// It does not take this message now (it waits for another connection, or does not care about closing).
    Refused,
    /// This hypothesis contradicts itself.
    Dead,
    /// An internal turn that does nothing.
    Idle,
    /// A dry run saw enough.
    Looked,
    /// The model's author made a mistake.
    Mistake(Box<Mistake>),
}

impl From<Mistake> for Stop {
    fn from(mistake: Mistake) -> Self {
        Stop::Mistake(Box::new(mistake))
    }
}

/// A connection as a model sees it: opened by a client, or by the model itself and then named after its cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conn(pub(crate) u64);

const OPENED_BY_SERVER: u64 = 1 << 63;

impl Conn {
    /// The connection of the client with this number.
    pub const fn client(number: u32) -> Self {
        Self(number as u64)
    }

    /// A connection that the server opened, the `index`-th of this cause.
    pub const fn opened(cause: Cause, index: u32) -> Self {
        Self(OPENED_BY_SERVER | cause.named(index))
    }

    /// Stands for a connection that the tester accepted, before anybody knows which of the server's it is.
    pub(crate) const fn accepted(number: u32) -> Self {
        Self((1 << 62) | number as u64)
    }

    /// Whether the server opened it.
    pub const fn is_opened_by_server(self) -> bool {
        self.0 & OPENED_BY_SERVER != 0
    }

    /// The client's number, if a client opened it.
    pub const fn wire(self) -> Option<u32> {
        if self.is_opened_by_server() { None } else { Some(self.0 as u32) }
    }
}

impl fmt::Debug for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wire() {
            Some(number) => write!(f, "c{number}"),
            None => write!(f, "up{:x}", self.0 & !OPENED_BY_SERVER),
        }
    }
}

/// What made something: so that names do not depend on the order in which independent things happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// This copy of the message sent as number `sent`.
    Delivery {
        /// Which message, in the order of sending.
        sent: u32,
        /// Which of its copies (a network may duplicate).
        copy: u8,
    },
    /// The `n`-th internal turn of this hypothesis, at this cell.
    Internal {
        /// The cell it picked, or `u32::MAX`.
        cell: u32,
        /// How many came before.
        n: u32,
    },
    /// The initial content of the cell with this number.
    Cell(u32),
}

impl Cause {
    /// 63 bits: 2 of kind, 32 of number, 29 of the rest.
    pub(crate) const fn named(self, index: u32) -> u64 {
        let (kind, number, rest) = match self {
            Cause::Delivery { sent, copy } => {
                (0u64, sent, ((copy as u64) << 21) | (index as u64 & 0x1f_ffff))
            }
            Cause::Internal { cell, n } => (1, cell, ((n as u64 & 0x1f_ffff) << 8) | (index as u64 & 0xff)),
            Cause::Cell(number) => (2, number, index as u64 & 0x1fff_ffff),
        };
        (kind << 61) | ((number as u64) << 29) | rest
    }
}

/// What a connection brings.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming<M: ?Sized> {
    /// A message.
    Message(Rc<M>),
    /// The peer closed it.
    Closed,
}

impl<M: ?Sized> Clone for Incoming<M> {
    fn clone(&self) -> Self {
        match self {
            Incoming::Message(message) => Incoming::Message(Rc::clone(message)),
            Incoming::Closed => Incoming::Closed,
        }
    }
}

/// What a turn wants to do with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Only read it.
    Read,
    /// Add to the end of the text in it, and no more.
    Grow,
    /// Write it, perhaps after reading it.
    Write,
}

/// What a turn says about itself before its first look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// It may touch anything.
    Whole,
    /// It sends so many messages to the connection it received from.
    Replies(u32),
}

/// How a cell's content changes, whatever it is.
pub type Change<'a> = dyn Fn(Option<Val>) -> Result<Option<Val>, Stop> + 'a;

/// An interpreter of models. Each method is an effect; its result is the world's answer.
///
/// `M` is the type of messages, `O` what models send.
pub trait Handler<M, O> {
    /// A message, from this connection or (`None`) from any. With `closes` the news of a closed connection counts too.
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop>;
    /// A message goes out.
    fn send(&mut self, to: Conn, message: O) -> Turn;
    /// A connection is opened.
    fn connect(&mut self) -> Result<Conn, Stop>;
    /// A connection is closed.
    fn close(&mut self, conn: Conn) -> Turn;
    /// A value is chosen in secret.
    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop>;
    /// Is this so? May be answered either way if nothing known forbids it.
    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop>;
    /// This is so.
    fn assume(&mut self, literal: &Literal) -> Turn;
    /// One of so many ways to go on.
    fn choose(&mut self, options: usize) -> Result<usize, Stop>;
    /// Is this rule broken here?
    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop>;
    /// May this rule be broken anywhere, without anybody counting? See [`Io::forgives`](super::Io::forgives).
    fn forgives(&mut self, rule: &'static Rule) -> bool {
        let _ = rule;
        false
    }
    /// The turn says how far it reaches.
    fn scope(&mut self, scope: Scope) -> Turn;
    /// The turn will touch this cell. The number stands for the cell from then on.
    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop>;
    /// The content of an open cell.
    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop>;
    /// New content for a cell open for writing.
    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn;
    /// New content for a cell open for writing, made of the old without the turn learning what that is.
    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        let before = self.read(cell)?;
        self.write(cell, change(before)?)
    }
    /// Any cell of this table that was ever opened: for internal turns.
    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop>;
    /// Every cell of this table that was ever opened; needs [`Scope::Whole`].
    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop>;
}

/// An interpreter around another: what it does not say itself is handed down. The methods are those of [`Handler`];
/// [`Layered`] makes a handler of it.
///
/// The messages inside need not be those outside, so receiving and sending are always said.
pub trait Layer<M, O> {
    /// What travels outside.
    type Msg;
    /// What is sent outside.
    type Out;

    /// The interpreter around which this is one.
    fn below(&mut self) -> &mut dyn Handler<Self::Msg, Self::Out>;
    /// See [`Handler::recv`].
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop>;
    /// See [`Handler::send`].
    fn send(&mut self, to: Conn, message: O) -> Turn;
    /// See [`Handler::connect`].
    fn connect(&mut self) -> Result<Conn, Stop> {
        self.below().connect()
    }
    /// See [`Handler::close`].
    fn close(&mut self, conn: Conn) -> Turn {
        self.below().close(conn)
    }
    /// See [`Handler::fresh`].
    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        self.below().fresh(sort)
    }
    /// See [`Handler::decide`].
    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
        self.below().decide(literal)
    }
    /// See [`Handler::assume`].
    fn assume(&mut self, literal: &Literal) -> Turn {
        self.below().assume(literal)
    }
    /// See [`Handler::choose`].
    fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        self.below().choose(options)
    }
    /// See [`Handler::deviates`].
    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        self.below().deviates(rule)
    }
    /// See [`Handler::forgives`].
    fn forgives(&mut self, rule: &'static Rule) -> bool {
        self.below().forgives(rule)
    }
    /// See [`Handler::scope`].
    fn scope(&mut self, scope: Scope) -> Turn {
        self.below().scope(scope)
    }
    /// See [`Handler::open`].
    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop> {
        self.below().open(cell, access)
    }
    /// See [`Handler::read`].
    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        self.below().read(cell)
    }
    /// See [`Handler::write`].
    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        self.below().write(cell, value)
    }
    /// See [`Handler::update`].
    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        self.below().update(cell, change)
    }
    /// See [`Handler::pick`].
    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        self.below().pick(table)
    }
    /// See [`Handler::scan`].
    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        self.below().scan(table)
    }
}

/// The handler that a layer is.
pub struct Layered<L>(pub L);

impl<M, O, L: Layer<M, O>> Handler<M, O> for Layered<L> {
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop> {
        Layer::recv(&mut self.0, from, closes)
    }
    fn send(&mut self, to: Conn, message: O) -> Turn {
        Layer::send(&mut self.0, to, message)
    }
    fn connect(&mut self) -> Result<Conn, Stop> {
        Layer::connect(&mut self.0)
    }
    fn close(&mut self, conn: Conn) -> Turn {
        Layer::close(&mut self.0, conn)
    }
    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        Layer::fresh(&mut self.0, sort)
    }
    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
        Layer::decide(&mut self.0, literal)
    }
    fn assume(&mut self, literal: &Literal) -> Turn {
        Layer::assume(&mut self.0, literal)
    }
    fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        Layer::choose(&mut self.0, options)
    }
    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        Layer::deviates(&mut self.0, rule)
    }
    fn forgives(&mut self, rule: &'static Rule) -> bool {
        Layer::forgives(&mut self.0, rule)
    }
    fn scope(&mut self, scope: Scope) -> Turn {
        Layer::scope(&mut self.0, scope)
    }
    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop> {
        Layer::open(&mut self.0, cell, access)
    }
    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        Layer::read(&mut self.0, cell)
    }
    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        Layer::write(&mut self.0, cell, value)
    }
    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        Layer::update(&mut self.0, cell, change)
    }
    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        Layer::pick(&mut self.0, table)
    }
    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        Layer::scan(&mut self.0, table)
    }
}
