//! The language in which models are written.
//!
//! A model is a plain program: [`ServerModel::serve`] is one turn of the server's loop. It talks to the world through
//! [`Io`], whose every operation ends in `?`, because a turn may have to stop there: no message has come yet, or this
//! hypothesis just died. The engine then runs the turn again from its beginning over the answers it has, plus one
//! more. So **a turn must be a pure function of what [`Io`] tells it**: no clock, no random numbers, no state of its
//! own. What the server remembers between turns lives in [`Table`]s and [`Register`]s.
//!
//! Three habits keep a model cheap to search. They are checked, and a turn that breaks one is told so by name:
//!
//! 1. **Receive first.** A turn begins with [`Io::recv`].
//! 2. **Open before you look.** A turn names every cell it may touch before it reads any, or chooses anything. Then its
//!    *footprint* follows from the message alone, the engine learns it by a dry run, and turns on different cells are
//!    searched apart without any partition function.
//! 3. **One answer to the one who asked.** A turn sends one message, to the connection it received from, unless it
//!    said otherwise before its first look ([`Io::replies`]).
//!
//! A server that is not like that (a proxy, a broadcast, a scan over all keys) calls [`Io::whole`] first, or does its
//! [`Io::connect`] before its first look; its turns are then searched together with everything else.

mod cells;
mod handler;
mod message;
mod mistake;
mod rule;
mod sym;
mod text;

use std::fmt::Display;
use std::rc::Rc;

pub use cells::{CellData, CellKey, CellSpec, Fresh, HasVars, Register, Slot, Stored, Table, Val};
pub use handler::{Access, Cause, Change, Conn, Handler, Incoming, Layer, Layered, Scope, Stop, Turn};
pub use message::{Mismatch, Pattern};
pub use mistake::Mistake;
pub(crate) use mistake::{guarded, turn_of};
pub use rule::{Level, Rule};
pub use sym::{Flag, Formula, Number, Secret, Sym, Token};
pub use text::Text;

/// A model of correct servers: every behaviour it can show is allowed, and no other.
///
/// # How messages are shown
///
/// Reports, proofs and JSON files show messages and what the model sends by `Display`, never by `Debug`:
///
/// - `{}` is the whole message in one line (`PUT …r0, If-Match: "a" "<00001>"`). Text that a peer chose is quoted and escaped:
///   no message may break the line, or pass for two.
/// - `{:#}`, the alternate form ([`Formatter::alternate`](std::fmt::Formatter::alternate)), names the message in a word or two, for
///   sentences of a proof (`PUT …r0`, `201`). Messages that are short anyway may look the same in both.
///
/// A [`Sym`] in [`Out`](Self::Out) is written with `{}`: the engine replaces what it prints for a secret by the value where that is
/// known.
pub trait ServerModel {
    /// What travels over connections, both ways, fully known.
    type Msg: Display + 'static;
    /// What the model sends: a message that may have unknown parts. The same type as `Msg` where nothing is secret.
    type Out: Pattern<Self::Msg> + Display;

    /// One turn of the server's loop.
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn;

    /// A turn that starts without a message: a cache evicts, an idle connection is closed. Most models have none.
    ///
    /// Which of several things happens is asked with [`Io::choose`] and [`Table::pick`] at the start of the turn. Each
    /// of them may happen at most once between two messages that touch the same cells; one that can happen more often
    /// chooses how often inside the turn. Without such a bound no search would end.
    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        io.idle()
    }

    /// Whether a turn that would send `sent` now might send `seen` instead once texts opened with [`Table::grow`] have
    /// grown. Saying yes is always right; a good no (a value read later must begin with the present one) spares the
    /// search most orders of concurrent additions.
    fn may_grow_into(&self, sent: &Self::Out, seen: &Self::Msg) -> bool {
        let _ = (sent, seen);
        true
    }

    /// Whether the server may evaluate this request in parallel with the requests behind it on the same connection: those
    /// may then see an earlier state than this one does. Answers keep their order all the same. Only for requests whose turn
    /// reads and never writes.
    fn is_parallel(&self, request: &Self::Msg) -> bool {
        let _ = request;
        false
    }

    /// Whether a breach of this rule can show in this message, which was sent to the server or received from it. Saying yes is
    /// always right; a rule that can show in no message of a trace is not tried as what explains it.
    fn concerns(&self, rule: &Rule, message: &Self::Msg) -> bool {
        let _ = (rule, message);
        true
    }

    /// Whether a server that breaks this rule once breaks it as readily again, so that the number of deviations says nothing: one
    /// that is busy refuses several requests. Where a rule that is as weak or stronger is blamed, this one is named beside it if
    /// it explains the trace too, however often it would have to be broken.
    fn is_habitual(&self, rule: &Rule) -> bool {
        let _ = rule;
        false
    }

    /// The name of this model, for messages about its mistakes.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// The rules that this model can deviate from, for the catalogue and for blame.
    fn rules(&self) -> &'static [Rule] {
        &[]
    }
}

/// How a turn talks to the world. Every operation goes to a [`Handler`]: the search, the simulator, or an interpreter
/// of your own around another.
pub struct Io<'a, S: ServerModel + ?Sized> {
    handler: &'a mut dyn Handler<S::Msg, S::Out>,
}

impl<'a, S: ServerModel + ?Sized> Io<'a, S> {
    /// Runs a turn by this handler.
    pub fn new(handler: &'a mut dyn Handler<S::Msg, S::Out>) -> Self {
        Self { handler }
    }

    /// The handler, for interpreters that wrap one model in another.
    pub fn handler(&mut self) -> &mut dyn Handler<S::Msg, S::Out> {
        self.handler
    }

    /// The next message from any connection.
    pub fn recv(&mut self) -> Result<(Conn, Rc<S::Msg>), Stop> {
        match self.handler.recv(None, false)? {
            (conn, Incoming::Message(message)) => Ok((conn, message)),
            (_, Incoming::Closed) => Err(Stop::Refused),
        }
    }

    /// The next message from this connection; all others wait.
    pub fn recv_from(&mut self, conn: Conn) -> Result<Rc<S::Msg>, Stop> {
        match self.handler.recv(Some(conn), false)? {
            (_, Incoming::Message(message)) => Ok(message),
            (_, Incoming::Closed) => Err(Stop::Refused),
        }
    }

    /// The next message from any connection, or the news that the peer closed it.
    pub fn recv_event(&mut self) -> Result<(Conn, Incoming<S::Msg>), Stop> {
        self.handler.recv(None, true)
    }

    /// Sends a message. It is under way at once, also if this turn stops later on.
    pub fn send(&mut self, to: Conn, message: impl Into<S::Out>) -> Turn {
        self.handler.send(to, message.into())
    }

    /// Opens a connection to some peer outside (for a proxy: to the origin server).
    pub fn connect(&mut self) -> Result<Conn, Stop> {
        self.handler.connect()
    }

    /// Closes a connection. What was sent before still arrives; what the peer sends from now on is lost.
    pub fn close(&mut self, conn: Conn) -> Turn {
        self.handler.close(conn)
    }

    /// A value that the server chooses in secret.
    pub fn fresh<T: Secret>(&mut self) -> Result<Sym<T>, Stop> {
        Ok(Sym::var(self.handler.fresh(T::SORT)?))
    }

    /// Whether the formula holds. Where what is known leaves both open, both are tried, and remembered.
    pub fn branch(&mut self, formula: impl Into<Formula>) -> Result<bool, Stop> {
        let formula = formula.into();
        let handler = &mut *self.handler;
        formula.evaluate(&mut |literal| handler.decide(literal))
    }

    /// Goes on only where the formula holds: what the server makes sure of when it chooses.
    pub fn assume(&mut self, formula: impl Into<Formula>) -> Turn {
        match formula.into() {
            Formula::Literal(literal) => self.handler.assume(&literal),
            Formula::And(parts) => parts.into_iter().try_for_each(|part| self.assume(part)),
            other => {
                if self.branch(other)? {
                    Ok(())
                } else {
                    Err(Stop::Dead)
                }
            }
        }
    }

    /// One of `options` ways to go on (the paper's `or`), from 0.
    pub fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        self.handler.choose(options)
    }

    /// Whether the server breaks this rule here. Always false while the rule is in force.
    pub fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        self.handler.deviates(rule)
    }

    /// Whether the server may break this rule anywhere, any number of times, and nobody counts. Then a model need not ask
    /// [`deviates`](Self::deviates), which makes two ways to go on: what comes of a breach may be part of what it sends, if
    /// whatever a server that breaks the rule would send, and nothing else, is allowed there. A turn that asks less is searched
    /// faster. Always false while the rule is in force, and where deviations are counted.
    pub fn forgives(&mut self, rule: &'static Rule) -> bool {
        self.handler.forgives(rule)
    }

    /// This turn may touch anything: any cell, any connection, several messages.
    pub fn whole(&mut self) -> Turn {
        self.handler.scope(Scope::Whole)
    }

    /// This turn sends exactly so many messages to the connection it received from (default: one).
    pub fn replies(&mut self, count: u32) -> Turn {
        self.handler.scope(Scope::Replies(count))
    }

    /// Nothing happens: the end of an internal turn that is not to be.
    pub fn idle(&mut self) -> Turn {
        Err(Stop::Idle)
    }
}
