//! The interface of interpreters of models: one method per effect.
//!
//! The paper's interpreters transform one interaction tree into another (Fig 8). Here a model calls a
//! [`Handler`], and an interpreter is a handler around another handler: it sees every effect on its way out
//! and every answer on its way in. The search, the dry run and the simulator are handlers too.

use std::fmt;
use std::rc::Rc;

use super::cells::{CellKey, CellSpec, Val};
use super::mistake::Mistake;
use super::objects::{self, ObjectTable};
use super::rule::Rule;
use crate::knowledge::{Literal, Sort, Term, Var};

/// Result of a turn.
pub type Turn = Result<(), Stop>;

/// Reason why a turn stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The turn waits for a message that has not arrived.
    Blocked,
    /// The turn does not accept this message now: it waits for another connection, does not handle closing, or lets the request
    /// wait ([`Io::wait`](super::Io::wait)).
    Refused,
    /// The hypothesis contradicts itself.
    Dead,
    /// The internal turn does nothing.
    Idle,
    /// A dry run has seen enough.
    Looked,
    /// The model's author made a mistake.
    Mistake(Box<Mistake>),
}

impl From<Mistake> for Stop {
    fn from(mistake: Mistake) -> Self {
        Stop::Mistake(Box::new(mistake))
    }
}

/// A connection as a model sees it: opened by a client, or by the model itself and then named after its
/// cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conn(pub(crate) u64);

const OPENED_BY_SERVER: u64 = 1 << 63;

impl Conn {
    /// Returns the connection of the client with this number.
    pub const fn client(number: u32) -> Self {
        Self(number as u64)
    }

    /// Returns the connection that the server opened as the `index`-th of this cause.
    pub const fn opened(cause: Cause, index: u32) -> Self {
        Self(OPENED_BY_SERVER | cause.named(index))
    }

    /// Returns a placeholder for a connection that the tester accepted, before the search knows which of the
    /// server's connections it is.
    pub(crate) const fn accepted(number: u32) -> Self {
        Self((1 << 62) | number as u64)
    }

    /// Returns `true` if the server opened the connection.
    pub const fn is_opened_by_server(self) -> bool {
        self.0 & OPENED_BY_SERVER != 0
    }

    /// Returns the client's number, if a client opened the connection.
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

/// Origin of a secret or a connection. Names derived from it do not depend on the order of independent
/// events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// One copy of the message sent as number `sent`.
    Delivery {
        /// Index of the message, in the order of sending.
        sent: u32,
        /// Index of the copy (a network may duplicate messages).
        copy: u8,
    },
    /// The `n`-th internal turn of this hypothesis, at this cell.
    Internal {
        /// The cell that the turn picked, or `u32::MAX`.
        cell: u32,
        /// Number of internal turns before this one.
        n: u32,
    },
    /// The initial content of the cell with this number.
    Cell(u32),
}

impl Cause {
    /// Returns a name of 63 bits: 2 for the kind, 32 for the number, 29 for the rest.
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

/// An incoming event on a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming<M: ?Sized> {
    /// A message.
    Message(Rc<M>),
    /// The peer closed the connection.
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

/// Kind of access to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Access {
    /// The turn only reads the cell.
    Read,
    /// The turn only appends to the text in the cell.
    Grow,
    /// The turn writes the cell, perhaps after reading it.
    Write,
}

/// Declaration of a turn about itself, made before its first read or choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The turn may touch any cell and any connection.
    Whole,
    /// The turn sends this number of messages to the connection it received from.
    Replies(u32),
}

/// A function from the old content of a cell to the new one.
pub type Change<'a> = dyn Fn(Option<Val>) -> Result<Option<Val>, Stop> + 'a;

/// An interpreter of models. Each method is an effect; its result is the answer of the environment.
///
/// `M` is the type of messages, `O` the type of what models send.
pub trait Handler<M, O> {
    /// Receives a message, from this connection or (`None`) from any. If `closes` is set, the close of a
    /// connection is also received.
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop>;
    /// Sends a message.
    fn send(&mut self, to: Conn, message: O) -> Turn;
    /// Opens a connection.
    fn connect(&mut self) -> Result<Conn, Stop>;
    /// Closes a connection.
    fn close(&mut self, conn: Conn) -> Turn;
    /// Creates a secret.
    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop>;
    /// Decides a literal. Both answers are possible if no known fact excludes one.
    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop>;
    /// Assumes a literal.
    fn assume(&mut self, literal: &Literal) -> Turn;
    /// Chooses one of `options` alternatives.
    fn choose(&mut self, options: usize) -> Result<usize, Stop>;
    /// Returns `true` if the server breaks this rule here.
    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop>;
    /// Returns `true` if this rule may be broken anywhere without being counted. See
    /// [`Io::forgives`](super::Io::forgives).
    fn forgives(&mut self, rule: &'static Rule) -> bool {
        let _ = rule;
        false
    }
    /// Returns `true` if this rule is relaxed.
    fn relaxes(&mut self, rule: &'static Rule) -> bool {
        let _ = rule;
        false
    }
    /// Sends a message that the model does not describe. Only the search can: it has messages to compare.
    fn anything(&mut self, to: Conn) -> Turn {
        let _ = to;
        Err(Stop::Dead)
    }
    /// Declares the scope of the turn.
    fn scope(&mut self, scope: Scope) -> Turn;
    /// Opens a cell that the turn will touch. The returned number identifies the cell from then on.
    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop>;
    /// Returns the content of an open cell.
    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop>;
    /// Sets the content of a cell open for writing.
    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn;
    /// Computes the content of a cell open for writing from the old content, which the turn does not learn.
    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        let before = self.read(cell)?;
        self.write(cell, change(before)?)
    }
    /// Returns the key of any cell of this table that was ever opened, for internal turns.
    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop>;
    /// Returns every cell of this table that was ever opened; requires [`Scope::Whole`].
    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop>;
    /// Returns the id and the cell of a new object.
    fn create(&mut self, table: ObjectTable) -> Result<(Term, u32), Stop> {
        objects::create(self, table)
    }
    /// Opens the cell of the object with this id, which is empty if there never was one.
    fn find(&mut self, table: ObjectTable, id: &Term, access: Access) -> Result<u32, Stop> {
        objects::find(self, table, id, access)
    }
    /// Returns the cell to which a new object with this cell and this id is to be written, and the content of that cell: it is another
    /// one if the id was given before.
    fn claim(&mut self, table: ObjectTable, cell: u32, id: &Term) -> Result<(u32, Option<Val>), Stop> {
        objects::claim(self, table, cell, id)
    }
    /// Returns the cells of all objects with their ids, and perhaps empty ones.
    fn roster(&mut self, table: ObjectTable) -> Result<Vec<(Term, u32)>, Stop> {
        objects::roster(self, table)
    }
}

/// An interpreter around another: methods without an implementation are forwarded. The methods are those of
/// [`Handler`]; [`Layered`] turns a layer into a handler.
///
/// The messages inside may differ from those outside, so `recv` and `send` have no default.
pub trait Layer<M, O> {
    /// Type of the messages outside.
    type Msg;
    /// Type of what is sent outside.
    type Out;

    /// Returns the interpreter that this one wraps.
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
    /// See [`Handler::relaxes`].
    fn relaxes(&mut self, rule: &'static Rule) -> bool {
        self.below().relaxes(rule)
    }
    /// See [`Handler::anything`].
    fn anything(&mut self, to: Conn) -> Turn {
        self.below().anything(to)
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
    /// See [`Handler::create`].
    fn create(&mut self, table: ObjectTable) -> Result<(Term, u32), Stop> {
        self.below().create(table)
    }
    /// See [`Handler::find`].
    fn find(&mut self, table: ObjectTable, id: &Term, access: Access) -> Result<u32, Stop> {
        self.below().find(table, id, access)
    }
    /// See [`Handler::claim`].
    fn claim(&mut self, table: ObjectTable, cell: u32, id: &Term) -> Result<(u32, Option<Val>), Stop> {
        self.below().claim(table, cell, id)
    }
    /// See [`Handler::roster`].
    fn roster(&mut self, table: ObjectTable) -> Result<Vec<(Term, u32)>, Stop> {
        self.below().roster(table)
    }
}

/// Handler made of a layer.
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
    fn relaxes(&mut self, rule: &'static Rule) -> bool {
        Layer::relaxes(&mut self.0, rule)
    }
    fn anything(&mut self, to: Conn) -> Turn {
        Layer::anything(&mut self.0, to)
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
    fn create(&mut self, table: ObjectTable) -> Result<(Term, u32), Stop> {
        Layer::create(&mut self.0, table)
    }
    fn find(&mut self, table: ObjectTable, id: &Term, access: Access) -> Result<u32, Stop> {
        Layer::find(&mut self.0, table, id, access)
    }
    fn claim(&mut self, table: ObjectTable, cell: u32, id: &Term) -> Result<(u32, Option<Val>), Stop> {
        Layer::claim(&mut self.0, table, cell, id)
    }
    fn roster(&mut self, table: ObjectTable) -> Result<Vec<(Term, u32)>, Stop> {
        Layer::roster(&mut self.0, table)
    }
}
