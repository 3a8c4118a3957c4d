//! Deviations of a gateway: what a gateway that breaks a rule does in each phase.
//!
//! Violations in forwarded messages are habits: they are decided once per case, because a gateway that omits Via once
//! may do so at any time. Actions instead of forwarding, or in addition to it, are lapses: they are decided for each
//! request. The table in [`rules`](crate::rules) lists every deviation.

use std::sync::Arc;

use confute::lang::{Io, Register, Rule, Stop, Turn};

use super::expected::{ExpectedMessage, Kind};
use super::model::{Passes, Transit, Waiting};
use super::spec::{self, Forwarder, Way, choose};
use super::{queue, rules};
use crate::message::{Flaw, Message, Method, Request, Response};
use crate::rules::RuleSet;

/// Rules that the gateway breaks in forwarded messages.
const HABITS: Register<RuleSet> = Register::new("habits");

/// An action of a gateway instead of forwarding a request, or in addition to it.
#[derive(Clone, Copy)]
enum Lapse {
    /// Respond with a stored response.
    Remember,
    /// Forward the request twice.
    Twice,
    /// Forward the request, and send the origin a request that no client sent.
    Invent,
    /// Forward the request, but refuse it without waiting for the response.
    GiveUp,
    /// Respond without forwarding the request.
    Refuse,
    /// Grant the request without forwarding it.
    Grant,
    /// Neither forward the request nor respond.
    Swallow,
}

/// Rules about whether a message is forwarded, each with the lapses that break it.
const LAPSES: [(&Rule, &[Lapse]); 6] = [
    (&rules::NO_STORE, &[Lapse::Remember]),
    (&rules::FORWARDED_ONCE, &[Lapse::Twice]),
    (&rules::NOTHING_INVENTED, &[Lapse::Invent]),
    (&rules::FROM_ORIGIN, &[Lapse::Grant]),
    (&rules::FORWARDED, &[Lapse::GiveUp, Lapse::Refuse]),
    (&rules::GATEWAY_ANSWERED, &[Lapse::Swallow]),
];

/// A message that no correct gateway sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Instead {
    /// A request that no client sent.
    Invented,
    /// A refusal of the gateway's own.
    Refusal,
    /// A response of the gateway itself to this request, which it does not forward.
    Kept(Arc<Request>),
    /// A response of the gateway itself that grants this request, which it does not forward.
    Granted(Arc<Request>),
    /// The stored response to another request.
    Remembered,
    /// Unsolicited bytes after the end of a response.
    Surplus,
}

/// A gateway that may break rules.
pub(super) struct Deviating<'a, S: Passes> {
    transit: Transit<'a, S>,
    habits: RuleSet,
}

impl<'a, S: Passes> Deviating<'a, S> {
    pub(super) fn new(mut transit: Transit<'a, S>) -> Result<Self, Stop> {
        let habits = habits(&mut transit.io)?;
        Ok(Self { transit, habits })
    }

    /// Returns the expected message if this rule is broken here.
    fn instead(&self, instead: Instead, rule: RuleSet) -> ExpectedMessage {
        let mut tolerated = self.habits;
        tolerated.add(rule);
        ExpectedMessage { kind: Kind::Instead(instead), tolerated }
    }

    /// Sends a response to the client. Surplus bytes, if tolerated, may also follow later as a message of their own.
    fn send(&mut self, waiting: &Waiting, expected: ExpectedMessage) -> Turn {
        let tolerated = expected.tolerated;
        queue::tell(self.io(), waiting.client, waiting.ticket, &expected.into())?;
        if tolerated.has(RuleSet::SURPLUS) && self.io().choose(2)? == 1 {
            let kind = Kind::Instead(Instead::Surplus);
            self.io().send(waiting.client, ExpectedMessage { kind, tolerated })?;
        }
        Ok(())
    }

    fn lapse(&mut self, waiting: Waiting, lapse: Lapse) -> Turn {
        let forwarded = Kind::Forward(Arc::clone(&waiting.request), Arc::clone(self.transit.mapping));
        match lapse {
            Lapse::Remember => {
                let expected = self.instead(Instead::Remembered, RuleSet::NO_STORE);
                self.send(&waiting, expected)
            }
            Lapse::Twice => {
                // Either of the two may be the one whose response is forwarded: each assignment is a hypothesis.
                let expected = self.expected(forwarded);
                self.forward_only(expected)?;
                self.forward(waiting)
            }
            Lapse::Invent => {
                let expected = self.instead(Instead::Invented, RuleSet::NOTHING_INVENTED);
                self.forward_only(expected)?;
                self.forward(waiting)
            }
            Lapse::GiveUp => {
                let expected = self.expected(forwarded);
                self.forward_only(expected)?;
                let expected = self.instead(Instead::Refusal, RuleSet::FORWARDED);
                self.send(&waiting, expected)
            }
            Lapse::Refuse => {
                let kept = Instead::Kept(Arc::clone(&waiting.request));
                let expected = self.instead(kept, RuleSet::FORWARDED);
                self.send(&waiting, expected)
            }
            Lapse::Grant => {
                let granted = Instead::Granted(Arc::clone(&waiting.request));
                let expected = self.instead(granted, RuleSet::FROM_ORIGIN);
                self.send(&waiting, expected)
            }
            Lapse::Swallow => Ok(()),
        }
    }
}

/// Returns the rules that are broken in forwarded messages, which the first turn decides.
fn habits<S: Passes>(io: &mut Io<'_, S>) -> Result<RuleSet, Stop> {
    let cell = HABITS.edit(io)?;
    if let Some(known) = cell.get(io)? {
        return Ok(known);
    }
    let mut habits = RuleSet::default();
    for rule in rules::ALL.iter().filter(|rule| LAPSES.iter().all(|(lapse, _)| lapse.name != rule.name)) {
        if io.deviates(rule)? {
            habits.add(RuleSet::of(rule));
        }
    }
    cell.set(io, habits)?;
    Ok(habits)
}

impl<'a, S: Passes> Forwarder<'a, S> for Deviating<'a, S> {
    fn transit(&mut self) -> &mut Transit<'a, S> {
        &mut self.transit
    }

    fn handle(&mut self, waiting: Waiting) -> Turn {
        for (rule, lapses) in LAPSES {
            if self.io().deviates(rule)? {
                let lapse = choose(self.io(), lapses)?;
                return self.lapse(waiting, lapse);
            }
        }
        spec::handle(self, waiting)
    }

    fn ways(&mut self, request: &Request) -> Vec<Way> {
        let mut ways = spec::ways(request);
        if let (Way::Last, true) = (ways[0], self.habits.has(RuleSet::FORWARDS_ZERO)) {
            ways.insert(1, Way::Forward);
        }
        ways
    }

    fn pass_back(&mut self, waiting: Waiting, response: Option<&Arc<Response>>) -> Turn {
        let is_early = response.is_some_and(|response| !response.interim.is_empty());
        // A gateway that takes an interim response for the final one may wait forever for its content.
        let waits = if is_early {
            self.habits.has(RuleSet::INTERIM) && self.io().choose(2)? == 1
        } else {
            self.io().deviates(&rules::GATEWAY_ANSWERED)?
        };
        if waits {
            // Nothing is sent, or not to its end.
            let Some(response) = response.filter(|_| !is_early) else { return Ok(()) };
            if self.io().choose(2)? == 0 {
                return Ok(());
            }
            let mut expected = self.expected(Kind::Relay(Arc::clone(&waiting.request), Arc::clone(response)));
            expected.tolerated.add(RuleSet::GATEWAY_ANSWERED);
            return self.send(&waiting, expected);
        }
        spec::pass_back(self, waiting, response)
    }

    fn relay(&mut self, waiting: Waiting, response: &Arc<Response>) -> Turn {
        // A gateway that forwards a request twice may do so after the first response, and more than once.
        if waiting.request.is_idempotent() && self.io().deviates(&rules::FORWARDED_ONCE)? {
            return self.forward(waiting);
        }
        let kind = Kind::Relay(Arc::clone(&waiting.request), Arc::clone(response));
        self.tell(&waiting, kind)
    }

    fn may_retry(&mut self, request: &Request) -> bool {
        request.is_idempotent() || self.habits.has(RuleSet::RETRY)
    }

    fn tell(&mut self, waiting: &Waiting, kind: Kind) -> Turn {
        let expected = self.expected(kind);
        self.send(waiting, expected)
    }

    fn expected(&mut self, kind: Kind) -> ExpectedMessage {
        ExpectedMessage { kind, tolerated: self.habits }
    }
}

impl Instead {
    /// Returns the rules that this message breaks as an instance of this deviation; `None` if it is no instance.
    pub(super) fn violations(&self, seen: &Message) -> Option<RuleSet> {
        match (self, seen) {
            // A marked request was sent by a client, and forwarded too often: that breaks another rule.
            (Instead::Invented, Message::Request(seen)) => {
                seen.forwarded.fields.mark().is_none().then_some(RuleSet::NOTHING_INVENTED)
            }
            (Instead::Refusal, Message::Response(seen)) => refusal(seen),
            (Instead::Kept(request), Message::Response(seen)) => kept(request, seen),
            (Instead::Granted(request), Message::Response(seen)) => granted(request, seen),
            (Instead::Remembered, Message::Response(seen)) => {
                let mut broken = spec::on_the_wire(seen);
                broken.add(RuleSet::NO_STORE);
                seen.forwarded.fields.mark().map(|_| broken)
            }
            (Instead::Surplus, Message::Response(seen)) => {
                let is_unasked = seen.forwarded.asked_at.is_none() && seen.flaws.contains(&Flaw::Surplus);
                is_unasked.then(|| spec::on_the_wire(seen))
            }
            _ => None,
        }
    }
}

/// Returns the rules that a refusal by the gateway itself breaks, if nothing is wrong with the request.
fn refusal(seen: &Response) -> Option<RuleSet> {
    let mut broken = spec::own(seen);
    broken.add_if(seen.status != 0, RuleSet::FORWARDED);
    // If the cause of the failure is known (`provoked`), a specific rule forbids it.
    (!seen.forwarded.provoked && (seen.status >= 400 || seen.status == 0)).then_some(broken)
}

/// Returns the rules that a response to a request that was not forwarded breaks. Besides refusals, this covers
/// redirections, and OPTIONS with the gateway itself as the target (RFC 9110, 7.4 and 9.3.7).
pub(super) fn kept(request: &Request, seen: &Response) -> Option<RuleSet> {
    let is_elsewhere = (300..400).contains(&seen.status) && seen.status != 304;
    let is_about_itself = request.method == Method::Options && (200..300).contains(&seen.status);
    if !(is_elsewhere || is_about_itself) || seen.forwarded.fields.mark().is_some() {
        return refusal(seen);
    }
    let mut broken = spec::own(seen);
    broken.add(RuleSet::FORWARDED);
    Some(broken)
}

/// Returns the rules that a response breaks that grants a request, if the request was not forwarded. OPTIONS may be about
/// the gateway itself.
fn granted(request: &Request, seen: &Response) -> Option<RuleSet> {
    let is_own = seen.forwarded.fields.mark().is_none() && request.method != Method::Options;
    let mut broken = spec::own(seen);
    broken.add(RuleSet::FROM_ORIGIN);
    (is_own && (200..300).contains(&seen.status)).then_some(broken)
}

/// A response that differs from the forwarded form of `sent` in a tolerated way.
pub(super) struct Excuse<'a> {
    pub(super) request: &'a Request,
    pub(super) sent: &'a Response,
    pub(super) seen: &'a Response,
    pub(super) tolerated: RuleSet,
}

impl Excuse<'_> {
    pub(super) fn holds(&self) -> bool {
        self.is_foreign() || self.is_mismeasured() || self.is_startled() || self.is_undecoded()
    }

    fn is_clean(&self) -> bool {
        spec::on_the_wire(self.seen).within(self.tolerated)
    }

    /// Returns `true` if it is a response to another request, without the mark of the origin: a server that contains
    /// a gateway has such responses.
    fn is_foreign(&self) -> bool {
        let Excuse { sent, seen, .. } = self;
        let differs = seen.status != sent.status || seen.body != sent.body;
        // A 5xx is an error of the gateway itself.
        (100..500).contains(&seen.status)
            && seen.forwarded.fields.mark().is_none()
            && differs
            && self.is_clean()
            && self.tolerated.has(spec::foreign(seen))
    }

    /// Returns `true` if only the declared length is wrong: the content ends too early, runs into the next message,
    /// or stalls waiting for it.
    fn is_mismeasured(&self) -> bool {
        let Excuse { request, sent, seen, .. } = self;
        let is_odd = |flaw: &Flaw| matches!(flaw, Flaw::Surplus | Flaw::Overlong | Flaw::Stalled);
        if !self.tolerated.has(RuleSet::LENGTH) || !(seen.incomplete || seen.flaws.iter().any(is_odd)) {
            return false;
        }
        let mut repaired = Response::clone(seen);
        repaired.flaws.retain(|flaw| !is_odd(flaw));
        if sent.body.starts_with(&*seen.body) || seen.body.starts_with(&*sent.body) {
            repaired.body = Arc::clone(&sent.body);
        }
        spec::relayed(request, sent, &repaired).within(self.tolerated)
    }

    /// Returns `true` if it is a response of a gateway that cannot handle interim responses.
    fn is_startled(&self) -> bool {
        let is_own = !self.sent.interim.is_empty() && self.seen.forwarded.fields.mark().is_none();
        is_own && self.tolerated.has(RuleSet::INTERIM) && self.is_clean()
    }

    /// Returns `true` if it is a response of a gateway that cannot decode chunks with trailer fields: an error of the
    /// gateway itself, or a truncated response.
    fn is_undecoded(&self) -> bool {
        let Excuse { sent, seen, .. } = self;
        let rule = if sent.forwarded.unasked { RuleSet::UNASKED_TRAILERS } else { RuleSet::TRAILERS_DECODED };
        let is_error = seen.status >= 500 && seen.forwarded.fields.mark().is_none();
        !sent.forwarded.trailers.0.is_empty()
            && self.tolerated.has(rule)
            && (is_error || seen.incomplete)
            && self.is_clean()
    }
}
