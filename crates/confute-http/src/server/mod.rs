//! The server as a whole: the model of an origin server, that of a gateway, or both, as in the paper's first example.
//!
//! This module contains no HTTP semantics. Each turn is run by the model that its message belongs to, with the rules
//! and the state of both. Responses leave a connection in the order of its requests, whichever of the two models they
//! come from. Turns of the gateway are run directly. Turns of the origin are run by an interpreter around the one that
//! runs this model (the paper's Fig 8). If other requests are outstanding on a connection, it puts the response into
//! the queue that the gateway keeps for each connection. Otherwise there is no queue to wait in, and turns of the
//! origin touch only the cells that they always touch.

use std::fmt::{self, Display, Formatter};
use std::rc::Rc;
use std::sync::LazyLock;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{
    Conn, Handler, HasVars, Incoming, Io, Layer, Layered, Mismatch, Pattern, Rule, Scope, ServerModel, Stop,
    Turn,
};

use crate::message::Message;
use crate::model::Origin;
use crate::proxy::{Gateway, queue};
use crate::{model, proxy, rules};

/// The model of a server: of an origin server, of a gateway, or of one that is both, each for its own paths.
#[derive(Clone, Debug)]
pub struct Server {
    /// Model for the paths that the server serves itself.
    pub origin: Option<Origin>,
    /// Model for the paths that the server forwards.
    pub gateway: Option<Gateway>,
}

/// Returns the rules of origin servers and gateways, each once; the two have some in common.
pub fn all_rules() -> &'static [Rule] {
    static ALL: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        let more = proxy::rules::ALL.iter().filter(|rule| !rules::RULES.contains(rule));
        let copy = |&Rule { name, level, summary }: &Rule| Rule { name, level, summary };
        rules::RULES.iter().chain(more).map(copy).collect()
    });
    &ALL
}

impl ServerModel for Server {
    type Msg = Message;
    type Out = Expected;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        match (&self.origin, &self.gateway) {
            (_, Some(gateway)) if message.is_forwarded() => gateway.pass(io, conn, &message),
            (Some(origin), _) => {
                let is_behind = message.request().is_some_and(|request| request.is_behind);
                if is_behind {
                    io.whole()?;
                }
                let received = Some((conn, message));
                let mut serving = Layered(Serving { inner: io.handler(), received, is_behind });
                origin.serve(&mut Io::new(&mut serving))
            }
            _ => io.replies(0),
        }
    }

    fn is_parallel(&self, request: &Message) -> bool {
        // Responses of both kinds wait in one queue, so the order of reads can be observed.
        self.gateway.is_none() && self.origin.is_some_and(|origin| origin.is_parallel(request))
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        let is_among = |rules: &[Rule]| rules.iter().any(|one| one.name == rule.name);
        match (&self.origin, &self.gateway) {
            (Some(origin), None) => origin.concerns(rule, message),
            (Some(_), Some(gateway)) if message.is_forwarded() => {
                is_among(proxy::rules::ALL) && gateway.concerns(rule, message)
            }
            (Some(origin), Some(_)) => is_among(rules::RULES) && origin.concerns(rule, message),
            (None, _) => true,
        }
    }

    fn is_habitual(&self, rule: &Rule) -> bool {
        self.gateway.is_none() && self.origin.is_some_and(|origin| origin.is_habitual(rule))
    }

    fn rules(&self) -> &'static [Rule] {
        match (&self.origin, &self.gateway) {
            (Some(_), Some(_)) => all_rules(),
            (None, Some(_)) => proxy::rules::ALL,
            _ => rules::RULES,
        }
    }
}

/// Handler that runs a turn of the origin inside one of the whole server.
struct Serving<'a> {
    inner: &'a mut dyn Handler<Message, Expected>,
    /// The message that the turn will receive.
    received: Option<(Conn, Rc<Message>)>,
    /// `true` if the response must wait in the queue.
    is_behind: bool,
}

impl Layer<Message, model::ExpectedResponse> for Serving<'_> {
    type Msg = Message;
    type Out = Expected;

    fn below(&mut self) -> &mut dyn Handler<Message, Expected> {
        &mut *self.inner
    }

    fn recv(&mut self, _: Option<Conn>, _: bool) -> Result<(Conn, Incoming<Message>), Stop> {
        let (conn, message) = self.received.take().ok_or(Stop::Blocked)?;
        Ok((conn, Incoming::Message(message)))
    }

    fn send(&mut self, to: Conn, message: model::ExpectedResponse) -> Turn {
        let message = Expected::Own(message);
        if !self.is_behind {
            return self.inner.send(to, message);
        }
        let io = &mut Io::<Server>::new(self.inner);
        let ticket = queue::enter(io, to)?;
        queue::tell(io, to, ticket, &message)
    }

    fn scope(&mut self, scope: Scope) -> Turn {
        // The turn has the widest scope already.
        if self.is_behind { Ok(()) } else { self.inner.scope(scope) }
    }
}

/// Pattern of the messages that a correct server sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expected {
    /// A response of the server itself.
    Own(model::ExpectedResponse),
    /// A message through the gateway.
    Forwarded(proxy::ExpectedMessage),
}

impl From<proxy::ExpectedMessage> for Expected {
    fn from(expected: proxy::ExpectedMessage) -> Self {
        Expected::Forwarded(expected)
    }
}

impl HasVars for Expected {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        match self {
            Expected::Own(expected) => Pattern::<Message>::vars(expected, visit),
            Expected::Forwarded(expected) => HasVars::vars(expected, visit),
        }
    }
}

impl Pattern<Message> for Expected {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match self {
            Expected::Own(expected) if !seen.is_forwarded() => expected.unify(seen, facts),
            Expected::Forwarded(expected) if seen.is_forwarded() => expected.unify(seen, facts),
            _ => Err(Mismatch),
        }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Message {
        match self {
            Expected::Own(expected) => expected.instantiate(value),
            Expected::Forwarded(expected) => expected.instantiate(value),
        }
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        HasVars::vars(self, visit);
    }
}

impl Display for Expected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Own(expected) => expected.fmt(f),
            Expected::Forwarded(expected) => expected.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
