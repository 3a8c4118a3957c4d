//! The language in which models are written.
//!
//! A model is a plain program: [`ServerModel::serve`] is one turn of the server's loop. It interacts with its
//! environment through [`Io`], whose every operation ends in `?`, because a turn may have to stop there: no
//! message has arrived yet, or this hypothesis was just refuted. The engine then runs the turn again from its
//! beginning over the answers it has, plus one more. So **a turn must be a pure function of the answers of
//! [`Io`]**: no clock, no random numbers, no state of its own. The server's state between turns is kept in
//! [`Table`]s and [`Register`]s.
//!
//! Three conventions keep a model cheap to search. They are checked, and the error names the one that a turn
//! breaks:
//!
//! 1. **Receive first.** A turn begins with [`Io::recv`].
//! 2. **Open before you look.** A turn opens every cell it may touch before it reads any, or chooses
//!    anything. Its *footprint* then follows from the message alone, the engine learns it by a dry run, and
//!    turns on different cells are searched separately without any partition function.
//! 3. **One response to the sender.** A turn sends one message, to the connection it received from, unless it
//!    declared another number before its first read or choice ([`Io::replies`]).
//!
//! A server that does not fit (a proxy, a broadcast, a scan over all keys) calls [`Io::whole`] first, or
//! calls [`Io::connect`] before its first read or choice; its turns are then searched together with
//! everything else. So does a turn that sends to another connection: a publish sends to all subscribers, whose connections are kept in a
//! cell. A response that comes later needs no such turn: a request that cannot be handled yet waits ([`Io::wait`]).
//! `models/tests/litmus/waiting.rs` has models of both kinds.
//!
//! Keys that the server chooses, and tables that are listed, are [`Objects`].

mod about;
mod cells;
mod handler;
mod message;
mod mistake;
pub mod objects;
mod rule;
mod sym;
mod text;
pub mod versions;

use std::fmt::Display;
use std::rc::Rc;

pub use about::About;
pub use cells::{CellData, CellKey, CellSpec, CellValue, Fresh, HasVars, Register, Slot, Table, Val};
pub use handler::{Access, Cause, Change, Conn, Handler, Incoming, Layer, Layered, Scope, Stop, Turn};
pub use message::{Mismatch, Pattern};
pub use mistake::{Mistake, panicked_model, runs_model};
pub(crate) use mistake::{attributed, guarded, turn_of};
pub use objects::{ObjectKey, ObjectSlot, ObjectTable, Objects};
pub use rule::{Level, Rule};
pub use sym::{Flag, Formula, Number, Secret, Sym, Token};
pub use text::Text;
pub use versions::Versions;

use crate::knowledge::Value;

/// A model of correct servers: every behaviour it can show is allowed, and no other.
///
/// # Display of messages
///
/// Reports, proofs and JSON files show messages, plain ones and those of the model, by `Display`, never by
/// `Debug`:
///
/// - `{}` is the whole message in one line (`PUT …r0, If-Match: "a" "<00001>"`). Text that a peer chose is
///   quoted and escaped: no message may break the line, or look like two.
/// - `{:#}`, the alternate form ([`Formatter::alternate`](std::fmt::Formatter::alternate)), names the message
///   in a word or two, for sentences of a proof (`PUT …r0`, `201`). Messages that are short anyway may look
///   the same in both.
///
/// A [`Sym`] in [`Out`](Self::Out) is written with `{}`: the engine replaces the name printed for a secret by
/// the value where that is known.
pub trait ServerModel {
    /// Type of messages on connections, in both directions, fully known.
    type Msg: Display + 'static;
    /// Type of what the model sends: a message that may have unknown parts. Equal to `Msg` if the model has
    /// no secrets.
    type Out: Pattern<Self::Msg> + Display;

    /// Runs one turn of the server's loop.
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn;

    /// Runs a turn that starts without a message: a cache evicts, an idle connection is closed. Most models
    /// have none.
    ///
    /// The turn selects one of several actions with [`Io::choose`] and [`Table::pick`] at its start. Each
    /// action may happen at most once between two messages that touch the same cells; a turn for an action
    /// that can happen more often chooses the number of times itself. Without such a bound no search would
    /// terminate.
    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        io.idle()
    }

    /// Returns `true` if a turn that would send `sent` now might send `seen` instead once texts opened with
    /// [`Table::grow`] have grown. `true` is always correct; a precise `false` (a value read later must begin
    /// with the present one) saves the search most orders of concurrent additions.
    fn may_grow_into(&self, sent: &Self::Out, seen: &Self::Msg) -> bool {
        let _ = (sent, seen);
        true
    }

    /// Returns `true` if the server may evaluate this request in parallel with the requests behind it on the
    /// same connection: those may then see an earlier state than this one does. Responses still keep their
    /// order. Only for requests whose turn reads and never writes.
    fn is_parallel(&self, request: &Self::Msg) -> bool {
        let _ = request;
        false
    }

    /// Returns `true` if a deviation from this rule can show in this message, which was sent to the server or
    /// received from it. `true` is always correct; a rule that can show in no message of a trace is not tried
    /// as an explanation.
    fn concerns(&self, rule: &Rule, message: &Self::Msg) -> bool {
        let _ = (rule, message);
        true
    }

    /// Returns `true` if a server that breaks this rule once is as likely to break it again, so that the
    /// number of deviations is no evidence: a busy server refuses several requests. Where a rule of the same
    /// or a higher level is blamed, this one is reported beside it if it explains the trace too, regardless
    /// of the number of deviations needed.
    fn is_habitual(&self, rule: &Rule) -> bool {
        let _ = rule;
        false
    }

    /// Visits the values in a message, a request or a response, that may be ids of [`Objects`]. A turn that creates an object tells
    /// its id in its response, and the search looks for it among these values. One that is visited without being an id costs
    /// time only. Models without [`Objects`] need not implement it.
    fn told(&self, message: &Self::Msg, visit: &mut dyn FnMut(Value)) {
        let _ = (message, visit);
    }

    /// Names the value that an exchange is about, in a model whose values do not mind each other: a queue, a stack, a set.
    ///
    /// With any other answer than [`About::Anything`] the model promises: if a sequence of exchanges is right from the
    /// initial state on, it stays right without all exchanges about one value, and without any one about nothing. The
    /// search uses it to look at few values of a long history at a time: an order of two items of a queue is given up at
    /// once if the responses about these two alone contradict it.
    ///
    /// `response` is `None` if none was observed. A dequeue without a response may have removed any item, so it is about
    /// anything; with the response that the model would have sent it is about one.
    ///
    /// The promise is a strong one. A queue of limited length must not make it: without the exchanges about one item
    /// another that was refused would have had room.
    fn about(&self, request: &Self::Msg, response: Option<&Self::Msg>) -> About {
        let _ = (request, response);
        About::Anything
    }

    /// Returns the name of this model, for messages about its mistakes.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// Returns the rules that this model can deviate from, for the catalogue and for blame.
    fn rules(&self) -> &'static [Rule] {
        &[]
    }
}

/// The interface between a turn and its environment. Every operation goes to a [`Handler`]: the search, the
/// simulator, or a custom interpreter around another.
pub struct Io<'a, S: ServerModel + ?Sized> {
    handler: &'a mut dyn Handler<S::Msg, S::Out>,
}

impl<'a, S: ServerModel + ?Sized> Io<'a, S> {
    /// Returns an interface to this handler.
    pub fn new(handler: &'a mut dyn Handler<S::Msg, S::Out>) -> Self {
        Self { handler }
    }

    /// Returns the handler, for interpreters that wrap one model in another.
    pub fn handler(&mut self) -> &mut dyn Handler<S::Msg, S::Out> {
        self.handler
    }

    /// Receives the next message from any connection.
    pub fn recv(&mut self) -> Result<(Conn, Rc<S::Msg>), Stop> {
        match self.handler.recv(None, false)? {
            (conn, Incoming::Message(message)) => Ok((conn, message)),
            (_, Incoming::Closed) => Err(Stop::Refused),
        }
    }

    /// Receives the next message from this connection; all others wait.
    pub fn recv_from(&mut self, conn: Conn) -> Result<Rc<S::Msg>, Stop> {
        match self.handler.recv(Some(conn), false)? {
            (_, Incoming::Message(message)) => Ok(message),
            (_, Incoming::Closed) => Err(Stop::Refused),
        }
    }

    /// Receives the next message from any connection, or the event that its peer closed it.
    pub fn recv_event(&mut self) -> Result<(Conn, Incoming<S::Msg>), Stop> {
        self.handler.recv(None, true)
    }

    /// Sends a message. It is in flight at once, even if this turn stops later.
    pub fn send(&mut self, to: Conn, message: impl Into<S::Out>) -> Turn {
        self.handler.send(to, message.into())
    }

    /// Opens a connection to an external peer (for a proxy: to the origin server).
    pub fn connect(&mut self) -> Result<Conn, Stop> {
        self.handler.connect()
    }

    /// Closes a connection. Messages sent before still arrive; messages that the peer sends from now on are
    /// lost.
    pub fn close(&mut self, conn: Conn) -> Turn {
        self.handler.close(conn)
    }

    /// Returns a new secret: a value that the server chooses and does not reveal yet.
    pub fn fresh<T: Secret>(&mut self) -> Result<Sym<T>, Stop> {
        Ok(Sym::var(self.handler.fresh(T::SORT)?))
    }

    /// Returns `true` if the formula holds. If the known facts allow both answers, both are tried, and each
    /// is remembered as a fact.
    pub fn branch(&mut self, formula: impl Into<Formula>) -> Result<bool, Stop> {
        let formula = formula.into();
        let handler = &mut *self.handler;
        formula.evaluate(&mut |literal| handler.decide(literal))
    }

    /// Continues only where the formula holds: a constraint that the server observes in its choice.
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

    /// Chooses one of `options` alternatives (the paper's `or`), from 0.
    pub fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        self.handler.choose(options)
    }

    /// Returns `true` if the server breaks this rule here. Always `false` while the rule is in force.
    pub fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        self.handler.deviates(rule)
    }

    /// Returns `true` if the server may break this rule anywhere, any number of times, without being counted.
    /// Then a model need not call [`deviates`](Self::deviates), which creates two alternatives: it may fold
    /// the effect of a deviation into what it sends, if that allows exactly what a server that breaks the
    /// rule could send. A turn with fewer choices is searched faster. Always `false` while the rule is in
    /// force, and where deviations are counted.
    pub fn forgives(&mut self, rule: &'static Rule) -> bool {
        self.handler.forgives(rule)
    }

    /// Returns `true` if the server may break this rule here or elsewhere. A model uses it to keep what only a deviation can show:
    /// see [`Versions`].
    pub fn relaxes(&mut self, rule: &'static Rule) -> bool {
        self.handler.relaxes(rule)
    }

    /// Sends some message, whatever it is: the consequence of a deviation that the model does not describe. It explains every
    /// response, so use it only where a rule is broken:
    ///
    /// ```
    /// # use confute::lang::{Io, Rule, ServerModel, Turn};
    /// static WELL_FORMED: Rule = Rule::must("echo/well-formed", "A response repeats the request.");
    ///
    /// # struct Echo;
    /// # impl ServerModel for Echo {
    /// #     type Msg = String;
    /// #     type Out = String;
    /// fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
    ///     let (conn, request) = io.recv()?;
    ///     if io.deviates(&WELL_FORMED)? {
    ///         return io.anything(conn);
    ///     }
    ///     io.send(conn, request.to_string())
    /// }
    /// # }
    /// # use confute::{Options, judge, network::Tcp, trace::{Event, WireConn}};
    /// # let (c, tcp) = (WireConn(0), Tcp { breaks: false });
    /// # let wrong = [Event::Sent(c, "a".to_owned()), Event::Received(c, "b".to_owned())];
    /// # assert!(judge(&Echo, &tcp, &wrong, &Options::default()).is_refuted());
    /// # let relaxed = Options { relaxed: vec![WELL_FORMED.name], ..Options::default() };
    /// # assert!(judge(&Echo, &tcp, &wrong, &relaxed).is_unrefuted());
    /// ```
    pub fn anything(&mut self, to: Conn) -> Turn {
        self.handler.anything(to)
    }

    /// Returns the moment of this turn: a secret number, at least the time at which the request was sent.
    ///
    /// The engine has no clock, and a turn must not read one. Time enters by messages: a driver notes in each when it was sent or
    /// received, and the moment of a turn lies between. The [`Pattern`] of the response adds the other bound
    /// (`moment ≤ received`, [`Sym::at_most`]). A value that expires is then a comparison of two moments:
    ///
    /// ```
    /// # use confute::lang::{Io, Number, ServerModel, Stop, Sym};
    /// # fn is_expired<S: ServerModel>(io: &mut Io<'_, S>, sent: i64, stored: &Sym<Number>) -> Result<bool, Stop> {
    /// // `stored` is the moment of the turn that stored the value for 1,000 milliseconds.
    /// let now = io.moment(sent)?;
    /// Ok(!io.branch(now.at_most(stored, 999))?)
    /// # }
    /// ```
    ///
    /// An internal turn that removes the value would need no times, but it could remove it at once, so it excuses a server whose
    /// values expire too early.
    pub fn moment(&mut self, sent: i64) -> Result<Sym<Number>, Stop> {
        let now = self.fresh::<Number>()?;
        self.assume(Sym::<Number>::known(&sent).at_most(&now, 0))?;
        Ok(now)
    }

    /// Ends the turn and lets its request wait: nothing has happened, and the server takes the request up once the state is another.
    ///
    /// A request that waits is one that arrives later. Requests take any time to arrive, so no client can tell the two apart, and a
    /// model needs no list of those who wait: this is a queue whose `take` waits for an item, however many clients wait for
    /// it, and it may serve them in any order.
    ///
    /// ```
    /// # use confute::lang::{Io, ServerModel, Table, Turn};
    /// const ITEMS: Table<String, Vec<String>> = Table::new("items");
    ///
    /// # struct Queues;
    /// # impl ServerModel for Queues {
    /// #     type Msg = String;
    /// #     type Out = String;
    /// fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
    ///     let (conn, request) = io.recv()?;
    ///     let (queue, item) = request.split_once(' ').unwrap_or((&request, ""));
    ///     let cell = ITEMS.edit(io, &queue.to_owned())?;
    ///     let mut items = cell.get(io)?.unwrap_or_default();
    ///     if !item.is_empty() {
    ///         items.push(item.to_owned());
    ///         cell.set(io, items)?;
    ///         return io.send(conn, "done");
    ///     }
    ///     if items.is_empty() {
    ///         return io.wait();
    ///     }
    ///     let first = items.remove(0);
    ///     cell.set(io, items)?;
    ///     io.send(conn, first)
    /// }
    /// # }
    /// # use confute::{Options, judge, network::Tcp, trace::{Event, WireConn}};
    /// # let refuted = |events: &[_]| judge(&Queues, &Tcp { breaks: false }, events, &Options::default()).is_refuted();
    /// # let sent = |conn, line: &str| Event::Sent(WireConn(conn), line.to_owned());
    /// # let received = |conn, line: &str| Event::Received(WireConn(conn), line.to_owned());
    /// # let waits = [sent(0, "q"), Event::Quiescent, sent(1, "q a"), received(1, "done"), received(0, "a")];
    /// # assert!(!refuted(&waits));
    /// # assert!(refuted(&[sent(0, "q"), received(0, "a")]));
    /// # assert!(refuted(&[&waits[..4], &[Event::Quiescent]].concat()), "it is owed");
    /// ```
    ///
    /// Requests behind it on its connection wait too. At rest ([`Event::Quiescent`](crate::trace::Event::Quiescent)) no request may be
    /// left that need not wait. A turn that sends something first does not wait but handles its request: nothing that it did before it
    /// waits takes place.
    pub fn wait(&mut self) -> Turn {
        Err(Stop::Refused)
    }

    /// Declares that this turn may touch anything: any cell, any connection, several messages.
    pub fn whole(&mut self) -> Turn {
        self.handler.scope(Scope::Whole)
    }

    /// Declares that this turn sends exactly `count` messages to the connection it received from (default:
    /// one).
    pub fn replies(&mut self, count: u32) -> Turn {
        self.handler.scope(Scope::Replies(count))
    }

    /// Ends an internal turn that does nothing.
    pub fn idle(&mut self) -> Turn {
        Err(Stop::Idle)
    }
}
