//! A server that is an origin and a gateway: the two models, put together.
//!
//! The gateway's turns are run as they are; the origin's are run by an interpreter around the one that runs this model (the
//! paper's Fig 8), which puts its answers into the line that the gateway keeps for each connection. Where nothing is under
//! way on a connection there is no line to wait in: then the origin's turns touch what they always touch, and no more.

use std::rc::Rc;
use std::sync::LazyLock;

use confute::lang::{Conn, Handler, Incoming, Io, Layer, Layered, Rule, Scope, ServerModel, Stop, Turn};

use super::message::{Expected, Message};
use crate::message::Msg;
use crate::model::Origin;
use crate::proxy::{Gateway, queue};
use crate::{model, proxy};

/// The model.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Below one prefix,
    pub origin: Origin,
    /// and below the other.
    pub gateway: Gateway,
}

/// The rules of both; some are the same.
pub fn rules() -> &'static [Rule] {
    static ALL: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        let origin = crate::rules::RULES;
        let more = proxy::rules::ALL.iter().filter(|rule| !origin.contains(rule));
        origin
            .iter()
            .chain(more)
            .map(|&Rule { name, level, summary }| Rule { name, level, summary })
            .collect()
    });
    &ALL
}

impl ServerModel for Server {
    type Msg = Message;
    type Out = Expected;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let (request, is_behind) = match &*message {
            Message::Passed(message) => return self.gateway.pass(io, conn, message),
            Message::Served(request) => (request, false),
            Message::Behind(request) => (request, true),
        };
        if is_behind {
            io.whole()?;
        }
        let received = Some((conn, Rc::new(request.clone())));
        let mut serving = Layered(Serving { inner: io.handler(), received, is_behind });
        self.origin.serve(&mut Io::new(&mut serving))
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        let is_among = |rules: &[Rule]| rules.iter().any(|one| one.name == rule.name);
        match message {
            Message::Served(message) | Message::Behind(message) => {
                is_among(crate::rules::RULES) && self.origin.concerns(rule, message)
            }
            Message::Passed(message) => is_among(proxy::rules::ALL) && self.gateway.concerns(rule, message),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        rules()
    }
}

/// Runs a turn of the origin inside one of the whole server.
struct Serving<'a> {
    inner: &'a mut dyn Handler<Message, Expected>,
    /// What it will receive.
    received: Option<(Conn, Rc<Msg>)>,
    /// Whether its answer has to wait in line.
    is_behind: bool,
}

impl Layer<Msg, model::Expected> for Serving<'_> {
    type Msg = Message;
    type Out = Expected;

    fn below(&mut self) -> &mut dyn Handler<Message, Expected> {
        &mut *self.inner
    }

    fn recv(&mut self, _: Option<Conn>, _: bool) -> Result<(Conn, Incoming<Msg>), Stop> {
        let (conn, message) = self.received.take().ok_or(Stop::Blocked)?;
        Ok((conn, Incoming::Message(message)))
    }

    fn send(&mut self, to: Conn, message: model::Expected) -> Turn {
        let message = Expected::Served(message);
        if !self.is_behind {
            return self.inner.send(to, message);
        }
        let io = &mut Io::<Server>::new(self.inner);
        let ticket = queue::enter(io, to)?;
        queue::tell(io, to, ticket, &message)
    }

    fn scope(&mut self, scope: Scope) -> Turn {
        // It has the widest already.
        if self.is_behind { Ok(()) } else { self.inner.scope(scope) }
    }
}
