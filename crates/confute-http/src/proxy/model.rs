//! A gateway: what a client asks goes to the origin, what the origin answers goes back to that client.
//!
//! Every request goes out on a connection of its own: which connections a gateway really uses again is its own affair, and
//! the driver tells every exchange apart. Whose request came to the origin is not known before it was seen: each way to
//! tell is a hypothesis.
//!
//! Which rules a gateway breaks in what it passes on is decided once, and kept: a gateway that may leave out Via may do so at
//! any time. What it does instead of passing something on, or besides, is decided each time.
//!
//! Premises: the origin's answers forbid storing and transforming; several requests are under way on one connection only
//! if all of them are safe.

use std::sync::Arc;

use confute::lang::{Conn, Io, Register, Rule, ServerModel, Stop, Table, Turn};
use serde::{Deserialize, Serialize};

use super::breach::{Breach, NAMES};
use super::expected::{Expected, Kind};
use super::message::{Message, Request, Response};
use super::rules;

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

/// What a client will be told, in the order of its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Queue {
    next: u32,
    replies: Vec<(u32, Option<Expected>)>,
}

confute::plain!(Waiting, Queue);

/// By connection to the origin.
const WAITING: Table<Conn, Waiting> = Table::new("waiting");
/// By client.
const QUEUES: Table<Conn, Queue> = Table::new("queues");
/// Which rules this gateway breaks.
const HABITS: Register<Breach> = Register::new("habits");

impl ServerModel for Gateway {
    type Msg = Message;
    type Out = Expected;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        io.whole()?;
        let turn = Passing { mapping: &self.mapping, lax: habits(io)? };
        match &*message {
            Message::Request(request) => turn.asked(io, conn, request),
            Message::Response(answer) => turn.answered(io, conn, Some(answer)),
            Message::Unanswered => turn.answered(io, conn, None),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        rules::ALL
    }
}

/// Which rules are broken: decided in the first turn.
fn habits(io: &mut Io<'_, Gateway>) -> Result<Breach, Stop> {
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
fn choose(io: &mut Io<'_, Gateway>, ways: &[Way]) -> Result<Way, Stop> {
    match ways {
        [only] => Ok(*only),
        _ => Ok(ways[io.choose(ways.len())?]),
    }
}

/// Sends something to the origin, and does not wait for the answer.
fn forward_only(io: &mut Io<'_, Gateway>, request: Expected) -> Turn {
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
    fn asked(&self, io: &mut Io<'_, Gateway>, client: Conn, request: &Arc<Request>) -> Turn {
        let queue = QUEUES.edit(io, &client)?;
        let Queue { next, mut replies } = queue.get(io)?.unwrap_or_default();
        replies.push((next, None));
        queue.set(io, Queue { next: next + 1, replies })?;
        let waiting = Waiting { client, ticket: next, request: Arc::clone(request) };
        match self.way(io, request)? {
            Way::Forward | Way::Relay => self.forward(io, waiting),
            Way::GiveUp => {
                forward_only(io, self.forwarded(request))?;
                self.reply(io, &waiting, self.despite(Kind::Own, Breach::NEEDLESS))
            }
            Way::Refuse => self.reply(io, &waiting, self.despite(Kind::Own, Breach::NEEDLESS)),
            Way::Last => self.reply(io, &waiting, self.expected(Kind::Last)),
            Way::Length => self.reply(io, &waiting, self.expected(Kind::Length)),
            Way::Remember => self.reply(io, &waiting, self.despite(Kind::Remembered, Breach::STORED)),
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
    fn way(&self, io: &mut Io<'_, Gateway>, request: &Request) -> Result<Way, Stop> {
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
        choose(io, &ways)
    }

    fn forwarded(&self, request: &Arc<Request>) -> Expected {
        self.expected(Kind::Forward(Arc::clone(request), Arc::clone(self.mapping)))
    }

    /// Sends a request to the origin, and waits for the answer.
    fn forward(&self, io: &mut Io<'_, Gateway>, waiting: Waiting) -> Turn {
        let upstream = io.connect()?;
        let request = self.forwarded(&waiting.request);
        WAITING.set(io, &upstream, waiting)?;
        io.send(upstream, request)
    }

    /// The origin answers, or never will.
    fn answered(&self, io: &mut Io<'_, Gateway>, upstream: Conn, answer: Option<&Arc<Response>>) -> Turn {
        let cell = WAITING.edit(io, &upstream)?;
        let Some(waiting) = cell.get(io)? else { return Ok(()) };
        cell.clear(io)?;
        let relay = |answer: &Arc<Response>| {
            self.expected(Kind::Relay(Arc::clone(&waiting.request), Arc::clone(answer)))
        };
        let whole = answer.filter(|answer| answer.cut.is_none());
        if let Some(answer) = whole {
            return self.reply(io, &waiting, relay(answer));
        }
        let mut ways = vec![Way::Refuse];
        if answer.is_some_and(|answer| answer.cut != Some(0)) {
            ways.push(Way::Relay);
        }
        if waiting.request.is_idempotent() || self.lax.has(Breach::RETRY) {
            ways.push(Way::Forward);
        }
        match (choose(io, &ways)?, answer) {
            (Way::Relay, Some(answer)) => self.reply(io, &waiting, relay(answer)),
            (Way::Forward, _) => self.forward(io, waiting),
            _ => self.reply(io, &waiting, self.expected(Kind::Failed)),
        }
    }

    /// Tells a client, as soon as all that it asked before is told.
    fn reply(&self, io: &mut Io<'_, Gateway>, waiting: &Waiting, reply: Expected) -> Turn {
        let cell = QUEUES.edit(io, &waiting.client)?;
        let Queue { next, mut replies } = cell.get(io)?.unwrap_or_default();
        for (ticket, known) in &mut replies {
            if *ticket == waiting.ticket {
                *known = Some(reply.clone());
            }
        }
        let ready = replies.iter().take_while(|(_, reply)| reply.is_some()).count();
        let told: Vec<_> = replies.drain(..ready).filter_map(|(_, reply)| reply).collect();
        cell.set(io, Queue { next, replies })?;
        told.into_iter().try_for_each(|reply| io.send(waiting.client, reply))
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
