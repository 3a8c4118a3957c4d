//! A gateway: what a client asks goes to the origin, what the origin answers goes back to that client.
//!
//! Every request goes out on a connection of its own: which connections a gateway really uses again is its own affair, and
//! the driver tells every exchange apart. Whose request came to the origin is not known before it was seen: each way to
//! tell is a hypothesis.
//!
//! Which rules a gateway breaks in what it passes on is decided once, and kept: a gateway that may leave out Via may do so at
//! any time. What it does instead of passing something on, or besides, is decided each time.
//!
//! A request may go to a connection that the origin has ended, which the gateway finds out too late: then the client is told
//! 502, 503 or 504, and the origin never sees the request, or drops it. The answer itself says when the origin last ended a connection
//! ([`Response::origin_ended_at`]), because ends of idle connections are no messages.
//!
//! Premises: the origin's answers forbid storing and transforming; several requests are under way on one connection only
//! if all of them are safe.

use std::sync::Arc;

use confute::lang::{Conn, HasVars, Io, Register, Rule, ServerModel, Stop, Table, Turn};
use serde::{Deserialize, Serialize};

use super::breach::{Breach, NAMES};
use super::expected::{Expected, Kind};
use super::message::{Message, Request, Response};
use super::{queue, rules};

/// What a gateway makes of targets and hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mapping {
    /// What targets begin with at the gateway,
    pub from: String,
    /// and at the origin.
    pub to: String,
    /// The Host of clients.
    pub host: String,
    /// Host and port of the origin.
    pub origin: String,
}

impl Mapping {
    /// The target at the origin.
    pub(super) fn target(&self, target: &str) -> String {
        match target.strip_prefix(&self.from) {
            Some(rest) => format!("{}{rest}", self.to),
            None => target.to_owned(),
        }
    }
}

/// The model of a gateway.
#[derive(Clone, Debug, Default)]
pub struct Gateway {
    /// How targets are mapped.
    pub mapping: Arc<Mapping>,
}

/// Who waits for an answer of the origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    client: Conn,
    ticket: u32,
    request: Arc<Request>,
}

confute::plain!(Waiting);

impl Waiting {
    /// Tells the client, as soon as all that it asked before is told. Who sends more than a response has may send it later.
    fn tell<S: Passes>(&self, io: &mut Io<'_, S>, reply: Expected) -> Turn {
        let lax = reply.lax;
        queue::tell(io, self.client, self.ticket, &reply.into())?;
        if lax.has(Breach::SURPLUS) && io.choose(2)? == 1 {
            io.send(self.client, Expected { kind: Kind::Surplus, lax })?;
        }
        Ok(())
    }
}

/// By connection to the origin.
const WAITING: Table<Conn, Waiting> = Table::new("waiting");
/// Which rules this gateway breaks.
const HABITS: Register<Breach> = Register::new("habits");

impl ServerModel for Gateway {
    type Msg = Message;
    type Out = Expected;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        self.pass(io, conn, &message)
    }

    fn rules(&self) -> &'static [Rule] {
        rules::ALL
    }
}

/// A model that is a gateway, or has one in it.
pub(crate) trait Passes: ServerModel<Out: From<Expected> + HasVars> {}

impl<S: ServerModel<Out: From<Expected> + HasVars>> Passes for S {}

impl Gateway {
    /// A turn, once it is known what was received.
    pub(crate) fn pass<S: Passes>(&self, io: &mut Io<'_, S>, conn: Conn, message: &Message) -> Turn {
        io.whole()?;
        let turn = Passing { mapping: &self.mapping, lax: habits(io)? };
        match message {
            Message::Request(request) => turn.asked(io, conn, request),
            Message::Response(answer) => turn.answered(io, conn, Some(answer)),
            Message::Unanswered => turn.answered(io, conn, None),
        }
    }
}

/// Which rules are broken: decided in the first turn.
fn habits<S: Passes>(io: &mut Io<'_, S>) -> Result<Breach, Stop> {
    let cell = HABITS.edit(io)?;
    if let Some(known) = cell.get(io)? {
        return Ok(known);
    }
    let mut habits = Breach::default();
    for (breach, rule) in NAMES.iter().filter(|(breach, _)| !Breach::LAPSES.contains(breach)) {
        habits.add(*breach, io.deviates(rule)?);
    }
    cell.set(io, habits)?;
    Ok(habits)
}

/// One of these ways to go on; no question where there is but one.
fn choose<S: Passes>(io: &mut Io<'_, S>, ways: &[Way]) -> Result<Way, Stop> {
    match ways {
        [only] => Ok(*only),
        _ => Ok(ways[io.choose(ways.len())?]),
    }
}

/// Sends something to the origin, and does not wait for the answer.
fn forward_only<S: Passes>(io: &mut Io<'_, S>, request: Expected) -> Turn {
    let upstream = io.connect()?;
    io.send(upstream, request)
}

/// One turn.
struct Passing<'a> {
    mapping: &'a Arc<Mapping>,
    lax: Breach,
}

impl Passing<'_> {
    fn expected(&self, kind: Kind) -> Expected {
        Expected { kind, lax: self.lax }
    }

    /// What comes of a rule that is broken here.
    fn despite(&self, kind: Kind, breach: Breach) -> Expected {
        let mut expected = self.expected(kind);
        expected.lax.add(breach, true);
        expected
    }

    /// A client asks.
    fn asked<S: Passes>(&self, io: &mut Io<'_, S>, client: Conn, request: &Arc<Request>) -> Turn {
        let ticket = queue::enter(io, client)?;
        let waiting = Waiting { client, ticket, request: Arc::clone(request) };
        match self.way(io, request)? {
            Way::Forward | Way::Relay => self.forward(io, waiting),
            Way::GiveUp => {
                forward_only(io, self.forwarded(request))?;
                waiting.tell(io, self.despite(Kind::Own, Breach::NEEDLESS))
            }
            Way::Refuse => {
                waiting.tell(io, self.despite(Kind::Instead(Arc::clone(request)), Breach::NEEDLESS))
            }
            Way::Last => waiting.tell(io, self.expected(Kind::Last)),
            Way::Length => waiting.tell(io, self.expected(Kind::Length)),
            Way::Lose => waiting.tell(io, self.expected(Kind::Lost)),
            Way::Drop => {
                let request = Kind::Dropped(Arc::clone(request), Arc::clone(self.mapping));
                forward_only(io, self.expected(request))?;
                waiting.tell(io, self.expected(Kind::Lost))
            }
            Way::Remember => waiting.tell(io, self.despite(Kind::Remembered, Breach::STORED)),
            Way::Twice => {
                // Either may be the one whose answer counts.
                forward_only(io, self.forwarded(request))?;
                self.forward(io, waiting)
            }
            Way::Invent => {
                forward_only(io, self.despite(Kind::Invented, Breach::INVENTED))?;
                self.forward(io, waiting)
            }
            Way::Swallow => Ok(()),
        }
    }

    /// What to do with a request.
    fn way<S: Passes>(&self, io: &mut Io<'_, S>, request: &Request) -> Result<Way, Stop> {
        let lapses = [
            (&rules::NO_STORE, &[Way::Remember][..]),
            (&rules::ONCE, &[Way::Twice]),
            (&rules::NOTHING_INVENTED, &[Way::Invent]),
            (&rules::FORWARDED, &[Way::GiveUp, Way::Refuse]),
            (&rules::ANSWERED, &[Way::Swallow]),
        ];
        for (rule, ways) in lapses {
            if io.deviates(rule)? {
                return choose(io, ways);
            }
        }
        let is_last = request.max_forwards() == Some(0);
        let mut ways = vec![if is_last { Way::Last } else { Way::Forward }];
        if is_last && self.lax.has(Breach::ZERO) {
            ways.push(Way::Forward);
        }
        if request.chunked {
            ways.push(Way::Length);
        }
        // That it is possible says the answer: only the driver knows which connections the origin has ended.
        ways.extend([Way::Lose, Way::Drop]);
        choose(io, &ways)
    }

    fn forwarded(&self, request: &Arc<Request>) -> Expected {
        self.expected(Kind::Forward(Arc::clone(request), Arc::clone(self.mapping)))
    }

    /// Sends a request to the origin, and waits for the answer.
    fn forward<S: Passes>(&self, io: &mut Io<'_, S>, waiting: Waiting) -> Turn {
        let upstream = io.connect()?;
        let request = self.forwarded(&waiting.request);
        WAITING.set(io, &upstream, waiting)?;
        io.send(upstream, request)
    }

    /// The origin answers, or never will.
    fn answered<S: Passes>(
        &self,
        io: &mut Io<'_, S>,
        upstream: Conn,
        answer: Option<&Arc<Response>>,
    ) -> Turn {
        let cell = WAITING.edit(io, &upstream)?;
        let Some(waiting) = cell.get(io)? else { return Ok(()) };
        cell.clear(io)?;
        let relay = |answer: &Arc<Response>| {
            self.expected(Kind::Relay(Arc::clone(&waiting.request), Arc::clone(answer)))
        };
        let is_early = answer.is_some_and(|answer| !answer.interim.is_empty());
        // Who takes an interim response for the answer may wait for the rest of it.
        let waits = if is_early {
            self.lax.has(Breach::STARTLED) && io.choose(2)? == 1
        } else {
            io.deviates(&rules::ANSWERED)?
        };
        if waits {
            return Ok(());
        }
        // What comes after the gateway has ended its side may be read by it (a half-close, RFC 9112, 9.6) or not.
        let whole = answer.filter(|answer| answer.cut.is_none() && !answer.half_closed);
        if let Some(answer) = whole {
            // Who sends it twice may wait for the first answer, and does not stop there.
            if waiting.request.is_idempotent() && io.deviates(&rules::ONCE)? {
                return self.forward(io, waiting);
            }
            return waiting.tell(io, relay(answer));
        }
        let mut ways = vec![Way::Refuse];
        if answer.is_some_and(|answer| answer.cut != Some(0)) {
            ways.push(Way::Relay);
        }
        if waiting.request.is_idempotent() || self.lax.has(Breach::RETRY) {
            ways.push(Way::Forward);
        }
        match (choose(io, &ways)?, answer) {
            (Way::Relay, Some(answer)) => waiting.tell(io, relay(answer)),
            (Way::Forward, _) => self.forward(io, waiting),
            _ => waiting.tell(io, self.expected(Kind::Failed)),
        }
    }
}

/// What becomes of a request, or of an answer that broke off.
#[derive(Clone, Copy)]
enum Way {
    /// It goes to the origin.
    Forward,
    /// It does, but the gateway does not wait for the answer.
    GiveUp,
    /// The gateway answers with an error.
    Refuse,
    /// The gateway answers, as the last recipient.
    Last,
    /// The gateway does not take chunks.
    Length,
    /// It goes to a connection that the origin has ended, and the gateway answers with an error.
    Lose,
    /// The same, and the origin still reads it, but does not answer; perhaps after the client has read the error.
    Drop,
    /// The gateway answers with what it remembers.
    Remember,
    /// It goes to the origin twice.
    Twice,
    /// Something else goes to the origin too.
    Invent,
    /// Nothing at all.
    Swallow,
    /// What there is of it goes to the client.
    Relay,
}
