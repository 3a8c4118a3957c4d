//! Expected messages, which the model sends in place of concrete ones. `spec` decides which messages fit.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Mismatch, Pattern};

use super::deviations::{Excuse, Instead};
use super::fields::kept;
use super::model::Mapping;
use super::spec;
use crate::message::{Field, Message, Request, Response};
use crate::rules::RuleSet;

/// The set of correct messages, and the rules that a message may break.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExpectedMessage {
    pub(super) kind: Kind,
    pub(super) tolerated: RuleSet,
}

confute::plain!(ExpectedMessage);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Forwarded form of a client's request.
    Forward(Arc<Request>, Arc<Mapping>),
    /// Forwarded form of a client's request, on a connection that the origin had ended.
    Dropped(Arc<Request>, Arc<Mapping>),
    /// Forwarded form of the origin's response to this request.
    Relay(Arc<Request>, Arc<Response>),
    /// Response after the origin has failed.
    Failed,
    /// Response to a request that was forwarded on a connection that the origin had ended.
    Lost,
    /// Any response of the gateway as the final recipient.
    Last,
    /// Refusal of a request without Content-Length.
    Length,
    /// A message that no correct gateway sends.
    Instead(Instead),
}

impl ExpectedMessage {
    /// Returns the rules that this message breaks as the expected one; `None` if it cannot be the expected one.
    fn violations(&self, seen: &Message) -> Option<RuleSet> {
        match (&self.kind, seen) {
            (Kind::Forward(sent, mapping), Message::Request(seen)) => spec::forwarded(sent, seen, mapping),
            (Kind::Dropped(sent, mapping), Message::Request(seen)) if seen.forwarded.dropped => {
                spec::forwarded(sent, seen, mapping)
            }
            (Kind::Relay(request, sent), Message::Response(seen)) => Some(spec::relayed(request, sent, seen)),
            (Kind::Failed, Message::Response(seen)) => Some(spec::failed(seen)),
            (Kind::Lost, Message::Response(seen)) => spec::lost(seen),
            (Kind::Last, Message::Response(seen)) => Some(spec::own(seen)),
            (Kind::Length, Message::Response(seen)) => {
                matches!(seen.status, 411 | 501).then(|| spec::own(seen))
            }
            (Kind::Instead(instead), seen) => instead.violations(seen),
            _ => None,
        }
    }

    /// Returns `true` if the message is a consequence of a tolerated violation, though it is not the expected one.
    fn is_excused(&self, seen: &Message) -> bool {
        let (Kind::Relay(request, sent), Message::Response(seen)) = (&self.kind, seen) else { return false };
        Excuse { request, sent, seen, tolerated: self.tolerated }.holds()
    }
}

impl Pattern<Message> for ExpectedMessage {
    fn unify(&self, seen: &Message, _: &mut Knowledge) -> Result<(), Mismatch> {
        match self.violations(seen) {
            Some(broken) if broken.within(self.tolerated) => Ok(()),
            _ if self.is_excused(seen) => Ok(()),
            _ => Err(Mismatch),
        }
    }

    fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> Message {
        let own = |status| Response { status, ..Response::default() }.forwarding(|_| {}).into();
        match &self.kind {
            Kind::Forward(request, mapping) | Kind::Dropped(request, mapping) => {
                forwarded(request, mapping).into()
            }
            Kind::Relay(_, response) => {
                let (fields, incomplete) =
                    (kept(&response.forwarded.fields), response.forwarded.cut.is_some());
                let response = Response { incomplete, ..(**response).clone() };
                let response = response.forwarding(|part| (part.fields, part.cut) = (fields, None));
                response.into()
            }
            Kind::Failed | Kind::Lost => own(502),
            Kind::Last => own(204),
            Kind::Length => own(411),
            Kind::Instead(Instead::Invented) => Request::default().forwarding(|_| {}).into(),
            Kind::Instead(Instead::Refusal | Instead::Kept(_)) => own(502),
            Kind::Instead(Instead::Granted(_) | Instead::Remembered | Instead::Surplus) => own(200),
        }
    }
}

/// Returns a request as a correct gateway forwards it.
fn forwarded(request: &Request, mapping: &Mapping) -> Request {
    let mut fields = kept(&request.forwarded.fields);
    let limited = request.max_forwards();
    for field in &mut fields.0 {
        if field.0.eq_ignore_ascii_case("Host") {
            field.1 = mapping.origin.as_str().into();
        } else if let (true, Some(limit)) = (field.0.eq_ignore_ascii_case("Max-Forwards"), limited) {
            field.1 = limit.saturating_sub(1).to_string().into();
        }
    }
    fields.0.push(Field::new("Via", "1.1 gateway"));
    let path = mapping.target(&request.path).into();
    Request { path, ..request.clone() }.forwarding(|part| part.fields = fields)
}

impl Display for ExpectedMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_short = f.alternate();
        f.write_str(match &self.kind {
            Kind::Forward(request, mapping) | Kind::Dropped(request, mapping) => {
                return Message::Request(Arc::new(forwarded(request, mapping))).fmt(f);
            }
            Kind::Relay(_, response) => return Message::Response(Arc::clone(response)).fmt(f),
            Kind::Failed if is_short => "5xx",
            Kind::Lost if is_short => "502, 503 or 504",
            Kind::Last if is_short => "an answer of the gateway's own",
            Kind::Length if is_short => "411",
            Kind::Failed => "5xx, because the origin has failed",
            Kind::Lost => "502, 503 or 504, because the origin had ended the connection",
            Kind::Last => "an answer of the gateway's own, as the last recipient",
            Kind::Length => "411, because the length is not told",
            Kind::Instead(Instead::Invented) => "a request that nobody sent",
            Kind::Instead(Instead::Refusal | Instead::Kept(_)) => "a refusal of the gateway's own",
            Kind::Instead(Instead::Granted(_)) => "2xx of the gateway's own",
            Kind::Instead(Instead::Remembered) => "an answer to somebody else",
            Kind::Instead(Instead::Surplus) => "bytes after the end of a response",
        })
    }
}
