//! What the model sends: which requests and answers are right.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Mismatch, Pattern};

use super::breach::Breach;
use super::message::{Field, Fields, Frame, Message, Request, Response};
use super::model::Mapping;
use super::{forward, relay};
use crate::message::Flaw;

/// Which messages are right, and what is overlooked because rules are broken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expected {
    pub(super) kind: Kind,
    pub(super) lax: Breach,
}

confute::plain!(Expected);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The request of a client, on its way to the origin.
    Forward(Arc<Request>, Arc<Mapping>),
    /// The same on a connection that the origin had ended.
    Dropped(Arc<Request>, Arc<Mapping>),
    /// A request that no client sent.
    Invented,
    /// The origin's answer to this request, on its way to the client.
    Relay(Arc<Request>, Arc<Response>),
    /// A refusal of the gateway's own.
    Own,
    /// What the gateway says to this request, which it keeps to itself.
    Instead(Arc<Request>),
    /// What the client is told after the origin has failed.
    Failed,
    /// What the client is told after its request went to a connection that the origin had ended.
    Lost,
    /// The gateway is the last recipient: any answer.
    Last,
    /// The gateway wants to know the length.
    Length,
    /// The answer to somebody else.
    Remembered,
    /// Bytes after the end of a response, which nobody asked for.
    Surplus,
}

impl Expected {
    /// What is wrong with this message in this place; `None` if it does not belong here at all.
    fn breaches(&self, seen: &Message) -> Option<Breach> {
        match (&self.kind, seen) {
            (Kind::Forward(sent, mapping), Message::Request(seen)) => forward::judge(sent, seen, mapping),
            (Kind::Dropped(sent, mapping), Message::Request(seen)) if seen.dropped => {
                forward::judge(sent, seen, mapping)
            }
            // One that a client did send was sent too often, which is another matter.
            (Kind::Invented, Message::Request(seen)) => {
                seen.fields.mark().is_none().then_some(Breach::INVENTED)
            }
            (Kind::Relay(request, sent), Message::Response(seen)) => Some(relay::judge(request, sent, seen)),
            (Kind::Own, Message::Response(seen)) => relay::own(seen),
            (Kind::Instead(request), Message::Response(seen)) => relay::instead(request, seen),
            (Kind::Failed, Message::Response(seen)) => Some(relay::failed(seen)),
            (Kind::Lost, Message::Response(seen)) => relay::lost(seen),
            (Kind::Last, Message::Response(seen)) => Some(relay::any(seen)),
            (Kind::Length, Message::Response(seen)) => {
                matches!(seen.status, 411 | 501).then(|| relay::any(seen))
            }
            (Kind::Remembered, Message::Response(seen)) => {
                let mut breach = relay::on_the_wire(seen);
                breach.add(Breach::STORED, true);
                seen.fields.mark().map(|_| breach)
            }
            (Kind::Surplus, Message::Response(seen)) => {
                let is_unasked = seen.asked_at.is_none() && seen.flaws.contains(&Flaw::Surplus);
                is_unasked.then(|| relay::on_the_wire(seen))
            }
            _ => None,
        }
    }
}

impl Expected {
    /// Whether this is an answer to somebody else that has nothing of the origin's, where such a thing is overlooked: a
    /// server that is more than a gateway has such answers.
    fn is_foreign(&self, seen: &Message) -> bool {
        let (Kind::Relay(_, sent), Message::Response(seen)) = (&self.kind, seen) else { return false };
        let mut breach = relay::on_the_wire(seen);
        breach.add(relay::foreign(seen), true);
        let differs = seen.status != sent.status || seen.body != sent.body;
        // Errors of that kind are its own.
        (100..500).contains(&seen.status)
            && seen.fields.mark().is_none()
            && differs
            && breach.within(self.lax)
    }

    /// Whether this is what a gateway says that makes nothing of interim responses, where that is overlooked.
    fn is_startled(&self, seen: &Message) -> bool {
        let (Kind::Relay(_, sent), Message::Response(seen)) = (&self.kind, seen) else { return false };
        let is_own = !sent.interim.is_empty() && seen.fields.mark().is_none();
        is_own && self.lax.has(Breach::STARTLED) && relay::on_the_wire(seen).within(self.lax)
    }

    /// Whether this is what comes of a gateway that cannot decode chunks with trailer fields after them, where that is
    /// overlooked: an error of its own, or an answer that breaks off.
    fn is_undecoded(&self, seen: &Message) -> bool {
        let (Kind::Relay(_, sent), Message::Response(seen)) = (&self.kind, seen) else { return false };
        let rule = if sent.unasked { Breach::UNASKED } else { Breach::TRAILERS };
        let is_error = seen.status >= 500 && seen.fields.mark().is_none();
        !sent.trailers.0.is_empty()
            && self.lax.has(rule)
            && (is_error || seen.incomplete)
            && relay::on_the_wire(seen).within(self.lax)
    }

    /// Whether all that is wrong is the length that was told, where that is overlooked: content that ends too early, or goes
    /// on into what comes next, or waits for it.
    fn is_mismeasured(&self, seen: &Message) -> bool {
        let (Kind::Relay(request, sent), Message::Response(seen)) = (&self.kind, seen) else { return false };
        let is_odd = |flaw: &Flaw| matches!(flaw, Flaw::Surplus | Flaw::Stalled);
        if !self.lax.has(Breach::LENGTH) || !(seen.incomplete || seen.flaws.iter().any(is_odd)) {
            return false;
        }
        let mut meant = Response::clone(seen);
        meant.flaws.retain(|flaw| !is_odd(flaw));
        if sent.body.starts_with(&*seen.body) || seen.body.starts_with(&*sent.body) {
            meant.body = Arc::clone(&sent.body);
        }
        relay::judge(request, sent, &meant).within(self.lax)
    }
}

impl Pattern<Message> for Expected {
    fn unify(&self, seen: &Message, _: &mut Knowledge) -> Result<(), Mismatch> {
        match self.breaches(seen) {
            Some(breach) if breach.within(self.lax) => Ok(()),
            _ if self.is_foreign(seen) || self.is_mismeasured(seen) => Ok(()),
            _ if self.is_startled(seen) || self.is_undecoded(seen) => Ok(()),
            _ => Err(Mismatch),
        }
    }

    fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> Message {
        let own = |status| {
            Message::Response(Arc::new(Response { status, frame: Frame::Sized, ..Response::default() }))
        };
        match &self.kind {
            Kind::Forward(request, mapping) | Kind::Dropped(request, mapping) => {
                Message::Request(Arc::new(forwarded(request, mapping)))
            }
            Kind::Invented => Message::Request(Arc::new(Request::default())),
            Kind::Relay(_, answer) => {
                let fields = kept(&answer.fields);
                let incomplete = answer.cut.is_some();
                Message::Response(Arc::new(Response { fields, incomplete, cut: None, ..(**answer).clone() }))
            }
            Kind::Own | Kind::Instead(_) | Kind::Failed | Kind::Lost => own(502),
            Kind::Last => own(204),
            Kind::Length => own(411),
            Kind::Remembered | Kind::Surplus => own(200),
        }
    }
}

/// What is not about one connection.
fn kept(fields: &Fields) -> Fields {
    let named = fields.connection();
    let known = ["connection", "keep-alive", "proxy-connection", "te"];
    let is_kept = |field: &&Field| {
        let name = field.0.to_ascii_lowercase();
        !named.contains(&name) && !known.contains(&&*name)
    };
    Fields(fields.0.iter().filter(is_kept).cloned().collect())
}

/// A request as a correct gateway forwards it.
fn forwarded(request: &Request, mapping: &Mapping) -> Request {
    let mut fields = kept(&request.fields);
    let limited = request.max_forwards();
    for field in &mut fields.0 {
        if field.0.eq_ignore_ascii_case("Host") {
            field.1 = mapping.origin.as_str().into();
        } else if let (true, Some(limit)) = (field.0.eq_ignore_ascii_case("Max-Forwards"), limited) {
            field.1 = limit.saturating_sub(1).to_string().into();
        }
    }
    fields.0.push(Field::new("Via", "1.1 gateway"));
    Request { target: mapping.target(&request.target).into(), fields, ..request.clone() }
}

impl Display for Expected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Forward(request, mapping) | Kind::Dropped(request, mapping) => {
                Message::Request(Arc::new(forwarded(request, mapping))).fmt(f)
            }
            Kind::Invented => f.write_str("a request that nobody sent"),
            Kind::Relay(_, answer) => Message::Response(Arc::clone(answer)).fmt(f),
            Kind::Failed if f.alternate() => f.write_str("5xx"),
            Kind::Lost if f.alternate() => f.write_str("502, 503 or 504"),
            Kind::Last if f.alternate() => f.write_str("an answer of the gateway's own"),
            Kind::Length if f.alternate() => f.write_str("411"),
            Kind::Own | Kind::Instead(_) => f.write_str("a refusal of the gateway's own"),
            Kind::Failed => f.write_str("5xx, because the origin has failed"),
            Kind::Lost => f.write_str("502, 503 or 504, because the origin had ended the connection"),
            Kind::Last => f.write_str("an answer of the gateway's own, as the last recipient"),
            Kind::Length => f.write_str("411, because the length is not told"),
            Kind::Remembered => f.write_str("an answer to somebody else"),
            Kind::Surplus => f.write_str("bytes after the end of a response"),
        }
    }
}
