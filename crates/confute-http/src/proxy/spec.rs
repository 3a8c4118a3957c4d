//! Specification of a correct gateway (RFC 9110, 3.7 and 7.6): how it handles a request of a client and a response of
//! the origin, and which rules a forwarded message breaks. Clause numbers without a document refer to RFC 9110.
//!
//! In the model, every request is forwarded on a connection of its own: a gateway may reuse connections as it likes,
//! and the driver separates the exchanges on them. Which client's request has arrived at the origin is not known
//! beforehand: each possible assignment is a hypothesis.
//!
//! If the standard leaves a choice to the gateway, the turn calls `choose`, and every alternative is correct. A
//! gateway that breaks rules (`deviations`) overrides phases; this file does not depend on it.

use std::sync::Arc;

use confute::lang::{Conn, Io, Stop, Turn};

use super::expected::{ExpectedMessage, Kind};
use super::fields::{
    differing, end_to_end, has_via, is_condition, is_dropped, is_kept, is_merged, is_port_known, leaks,
    one_host,
};
use super::model::{Mapping, Passes, Transit, WAITING, Waiting};
use super::queue;
use crate::encode;
use crate::message::{Flaw, Frame, Method, Request, Response};
use crate::rules::RuleSet;
use confute_http1::text;

/// Handling of a request, or of a truncated response.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// Forward the request to the origin.
    Forward,
    /// Respond as the final recipient.
    Last,
    /// Refuse a request without Content-Length.
    Length,
    /// Forward the request on a connection that the origin has ended, and respond with an error.
    Lose,
    /// Do the same as for `Lose`, but the origin still reads the request, perhaps after the client has read the
    /// error. The origin does not respond.
    Drop,
    /// Forward the truncated response to the client.
    Relay,
    /// Respond with an error, because the origin has failed.
    Fail,
}

/// Chooses one of the alternatives; a single alternative is no choice point.
pub(super) fn choose<S: Passes, T: Copy>(io: &mut Io<'_, S>, ways: &[T]) -> Result<T, Stop> {
    match ways {
        [only] => Ok(*only),
        _ => Ok(ways[io.choose(ways.len())?]),
    }
}

/// A gateway that handles one message.
pub(super) trait Forwarder<'a, S: Passes>: Sized {
    fn transit(&mut self) -> &mut Transit<'a, S>;

    fn io(&mut self) -> &mut Io<'a, S> {
        &mut self.transit().io
    }

    /// Handles a request of a client. Its response is sent after the responses to all earlier requests on the
    /// connection (RFC 9112, 9.3.2).
    fn request(&mut self, client: Conn, request: &Arc<Request>) -> Turn {
        let ticket = queue::enter(self.io(), client)?;
        self.handle(Waiting { client, ticket, request: Arc::clone(request) })
    }

    /// Forwards a request, or responds to it.
    fn handle(&mut self, waiting: Waiting) -> Turn {
        handle(self, waiting)
    }

    /// Returns the alternatives for a request.
    fn ways(&mut self, request: &Request) -> Vec<Way> {
        ways(request)
    }

    /// Forwards a request to the origin, and waits for the response.
    fn forward(&mut self, waiting: Waiting) -> Turn {
        let upstream = self.io().connect()?;
        let kind = Kind::Forward(Arc::clone(&waiting.request), Arc::clone(self.transit().mapping));
        WAITING.set(self.io(), &upstream, waiting)?;
        let expected = self.expected(kind);
        self.io().send(upstream, expected)
    }

    /// Sends a request to the origin without waiting for the response.
    fn forward_only(&mut self, expected: ExpectedMessage) -> Turn {
        let upstream = self.io().connect()?;
        self.io().send(upstream, expected)
    }

    /// Handles a response of the origin, or `None` if the origin never responds.
    fn response(&mut self, upstream: Conn, response: Option<&Arc<Response>>) -> Turn {
        let cell = WAITING.edit(self.io(), &upstream)?;
        let Some(waiting) = cell.get(self.io())? else { return Ok(()) };
        cell.clear(self.io())?;
        self.pass_back(waiting, response)
    }

    /// Forwards a response to the client, or reports that there is none.
    fn pass_back(&mut self, waiting: Waiting, response: Option<&Arc<Response>>) -> Turn {
        pass_back(self, waiting, response)
    }

    /// Forwards a complete response to the client.
    fn relay(&mut self, waiting: Waiting, response: &Arc<Response>) -> Turn {
        self.tell(&waiting, Kind::Relay(Arc::clone(&waiting.request), Arc::clone(response)))
    }

    /// Returns `true` if the gateway may retry the request: its method is idempotent (9.2.2).
    fn may_retry(&mut self, request: &Request) -> bool {
        request.is_idempotent()
    }

    /// Sends a response to the client, after the responses to all earlier requests on its connection.
    fn tell(&mut self, waiting: &Waiting, kind: Kind) -> Turn {
        let expected = self.expected(kind);
        queue::tell(self.io(), waiting.client, waiting.ticket, &expected.into())
    }

    fn expected(&mut self, kind: Kind) -> ExpectedMessage {
        ExpectedMessage { kind, tolerated: RuleSet::default() }
    }
}

/// Forwards a request, or responds to it.
pub(super) fn handle<'a, S: Passes>(gateway: &mut impl Forwarder<'a, S>, waiting: Waiting) -> Turn {
    let ways = gateway.ways(&waiting.request);
    match choose(gateway.io(), &ways)? {
        Way::Last => gateway.tell(&waiting, Kind::Last),
        Way::Length => gateway.tell(&waiting, Kind::Length),
        Way::Lose => gateway.tell(&waiting, Kind::Lost),
        Way::Drop => {
            let kind = Kind::Dropped(Arc::clone(&waiting.request), Arc::clone(gateway.transit().mapping));
            let expected = gateway.expected(kind);
            gateway.forward_only(expected)?;
            gateway.tell(&waiting, Kind::Lost)
        }
        Way::Forward | Way::Relay | Way::Fail => gateway.forward(waiting),
    }
}

/// Returns the alternatives of a correct gateway. With Max-Forwards: 0 it is the final recipient (7.6.2). It may
/// require Content-Length (RFC 9112, 6.1 and 6.3). It may also forward a request on a connection that the origin has
/// ended, and notice that too late. Whether that is possible is checked with the response, because only the driver
/// knows which connections the origin has ended.
pub(super) fn ways(request: &Request) -> Vec<Way> {
    let is_last = request.max_forwards() == Some(0);
    let mut ways = vec![if is_last { Way::Last } else { Way::Forward }];
    if request.chunked {
        ways.push(Way::Length);
    }
    ways.extend([Way::Lose, Way::Drop]);
    ways
}

/// Forwards a response. If it is truncated, the gateway forwards the part that it received, responds with an error
/// (15.6.3), or retries the request.
pub(super) fn pass_back<'a, S: Passes>(
    gateway: &mut impl Forwarder<'a, S>,
    waiting: Waiting,
    response: Option<&Arc<Response>>,
) -> Turn {
    // A gateway that has closed its side of the connection may still read the response (a half-close, RFC 9112, 9.6)
    // or not.
    let whole =
        response.filter(|response| response.forwarded.cut.is_none() && !response.forwarded.half_closed);
    if let Some(response) = whole {
        return gateway.relay(waiting, response);
    }
    let mut ways = vec![Way::Fail];
    if response.is_some_and(|response| response.forwarded.cut != Some(0)) {
        ways.push(Way::Relay);
    }
    if gateway.may_retry(&waiting.request) {
        ways.push(Way::Forward);
    }
    match (choose(gateway.io(), &ways)?, response) {
        (Way::Relay, Some(response)) => {
            let kind = Kind::Relay(Arc::clone(&waiting.request), Arc::clone(response));
            gateway.tell(&waiting, kind)
        }
        (Way::Forward, _) => gateway.forward(waiting),
        _ => gateway.tell(&waiting, Kind::Failed),
    }
}

/// Returns the rules that `seen` breaks as the forwarded form of `sent`; `None` if it is the form of another request.
pub(super) fn forwarded(sent: &Request, seen: &Request, mapping: &Mapping) -> Option<RuleSet> {
    if seen.forwarded.fields.mark().is_some_and(|mark| Some(mark) != sent.forwarded.fields.mark()) {
        return None;
    }
    let mut broken = RuleSet::default();
    // A gateway may forward HEAD as GET (3.7: inbound it may use any protocol).
    let is_more = sent.method == Method::Head && seen.method == Method::Get;
    broken.add_if(seen.method != sent.method && !is_more, RuleSet::METHOD);
    broken.add_if(*seen.path != *mapping.target(&sent.path), RuleSet::TARGET);
    broken.add_if(seen.content() != sent.content(), RuleSet::REQUEST_CONTENT);
    broken.add_if(!seen.forwarded.flaws.is_empty(), RuleSet::FORWARDED_GRAMMAR);
    match one_host(seen) {
        Some(host) => broken.add_if(!is_port_known(host, mapping), RuleSet::PORT),
        // HTTP/1.0 does not require Host.
        None => broken.add_if(seen.forwarded.minor > 0 || seen.forwarded.fields.has("Host"), RuleSet::HOST),
    }
    broken.add_if(!has_via(sent, seen), RuleSet::VIA);
    if let Some(forwards) = sent.max_forwards() {
        let is_less = seen.max_forwards().is_some_and(|left| left < forwards);
        broken.add_if(forwards > 0 && !is_less, RuleSet::FORWARDS);
        broken.add_if(forwards == 0, RuleSet::FORWARDS_ZERO);
    }
    leaks(&sent.forwarded.fields, &seen.forwarded.fields, &mut broken);
    broken.add_if(
        is_merged(&sent.forwarded.trailers, &sent.forwarded.fields, &seen.forwarded.fields),
        RuleSet::TRAILERS_APART,
    );
    // A cache may request another representation or part than its client did.
    let may_differ = |name: &str| sent.is_read() && is_condition(name);
    for name in end_to_end(&sent.forwarded.fields) {
        let is_kept = is_kept(name, &sent.forwarded.fields, &seen.forwarded.fields);
        let rule = match () {
            () if is_condition(name) => RuleSet::CONDITIONS,
            () if sent.is_to_proxy() && is_dropped(name, &seen.forwarded.fields) => RuleSet::FIELDS_FORWARDED,
            () => RuleSet::REQUEST_FIELDS,
        };
        broken.add_if(!is_kept && !may_differ(name), rule);
    }
    Some(broken)
}

/// Returns the rules that a response breaks on the wire.
pub(super) fn on_the_wire(seen: &Response) -> RuleSet {
    let mut broken = RuleSet::default();
    for flaw in &seen.flaws {
        broken.add(match flaw {
            Flaw::Surplus => RuleSet::SURPLUS,
            Flaw::Overlong => RuleSet::LENGTH,
            Flaw::Chunks => RuleSet::CHUNKS,
            Flaw::Grammar | Flaw::Tag => RuleSet::GRAMMAR,
            Flaw::Framing => RuleSet::FRAMING_FIELDS,
            Flaw::AfterClose => RuleSet::LAST,
            Flaw::Stalled => RuleSet::GATEWAY_ANSWERED,
            // The fields of the response are set by the origin, which is the tester.
            Flaw::Breaks(_) => continue,
        });
    }
    broken
}

/// Returns the rule that a response to another request breaks.
pub(super) fn foreign(seen: &Response) -> RuleSet {
    if seen.pipelined { RuleSet::ORDER } else { RuleSet::OWN_ANSWER }
}

/// Returns the rules that `seen` breaks as the forwarded form of `sent`, the origin's response to `request`.
pub(super) fn relayed(request: &Request, sent: &Response, seen: &Response) -> RuleSet {
    let (broken, wire) = (relayed_whole(request, sent, seen), on_the_wire(seen));
    if sent.forwarded.cut.is_none() || (seen.incomplete && broken == wire) {
        return broken;
    }
    // A response to HEAD, or a 304, needs only the header section of the truncated response.
    let is_head_enough =
        request.method == Method::Head || (seen.status == 304 && evaluates(request, sent, seen));
    if is_head_enough && !seen.incomplete && encode::has_head(sent) {
        return broken;
    }
    // A part that lies entirely within the received prefix of a 200 may be sent as 206 (RFC 9111, 3.3).
    if seen.status == 206 && evaluates(request, sent, seen) && !seen.incomplete && is_within(sent, seen) {
        return broken;
    }
    // Any other difference is a consequence of how the gateway handles the failure.
    let mut failure = wire;
    failure.add(RuleSet::FAILURE_TOLD);
    failure
}

/// Returns the rules that `seen` breaks as the forwarded form of `sent`, if `sent` is taken for complete.
fn relayed_whole(request: &Request, sent: &Response, seen: &Response) -> RuleSet {
    let mut broken = on_the_wire(seen);
    if seen.incomplete && seen.status < 200 {
        // The response is truncated before its final status: an interim response is not the response.
        return broken;
    }
    if seen.forwarded.fields.mark().is_some_and(|mark| Some(mark) != sent.forwarded.fields.mark()) {
        broken.add(foreign(seen));
        return broken;
    }
    let evaluates = evaluates(request, sent, seen);
    broken.add_if(seen.status != sent.status && !evaluates, RuleSet::STATUS);
    for name in differing(&sent.forwarded.fields, &seen.forwarded.fields, seen.forwarded.in_head) {
        let is_proxys = request.is_to_proxy() && is_dropped(name, &seen.forwarded.fields);
        let rule = if is_proxys { RuleSet::FIELDS_FORWARDED } else { RuleSet::RESPONSE_FIELDS };
        broken.add_if(!evaluates || is_told(name, seen.status), rule);
    }
    leaks(&sent.forwarded.fields, &seen.forwarded.fields, &mut broken);
    broken.add_if(
        is_merged(&sent.forwarded.trailers, &sent.forwarded.fields, &seen.forwarded.fields),
        RuleSet::TRAILERS_APART,
    );
    // A gateway may omit interim responses; a proxy may not.
    let are_told = sent.interim.iter().all(|status| seen.interim.contains(status));
    broken.add_if(request.is_to_proxy() && !are_told, RuleSet::INTERIM_FORWARDED);
    let (had, came) = (text::bytes(&sent.body), text::bytes(&seen.body));
    if !evaluates {
        // Some gateways forward HEAD as GET: the content of that response is not for the client.
        let is_bare = sent.forwarded.frame == Frame::Bare || request.method == Method::Head;
        let is_whole = seen.incomplete || is_bare || had == came;
        // Wrong chunks can corrupt the content, which is no further violation.
        let is_clear = !is_bare && !broken.has(RuleSet::CHUNKS);
        broken.add_if(is_clear && (!had.starts_with(&came) || !is_whole), RuleSet::NO_TRANSFORM);
    }
    broken
}

/// Returns `true` if the content of a 206 is a part of the content that the origin had sent before its response was
/// cut off. Content-Range is not among the compared fields.
fn is_within(sent: &Response, seen: &Response) -> bool {
    let (came, part) = (encode::content_before_cut(sent), text::bytes(&seen.body));
    !part.is_empty() && came.windows(part.len()).any(|window| window == &*part)
}

/// Returns `true` if the gateway, as a cache with this 200 at hand, has evaluated the preconditions or Range itself.
fn evaluates(request: &Request, sent: &Response, seen: &Response) -> bool {
    request.is_read()
        && sent.status == 200
        && matches!(seen.status, 206 | 304 | 412 | 416)
        && request.forwarded.fields.0.iter().any(|field| field.0.starts_with("If-") || &*field.0 == "Range")
}

/// Returns `true` if a response from the evaluation by a cache has this field of the 200. 412 and 416 are about the
/// request, and a 304 needs only the fields that 15.4.5 lists.
fn is_told(name: &str, status: u16) -> bool {
    match status {
        412 | 416 => false,
        304 => ["ETag", "Cache-Control"].iter().any(|each| name.eq_ignore_ascii_case(each)),
        _ => !["Content-Type", "Last-Modified"].iter().any(|each| name.eq_ignore_ascii_case(each)),
    }
}

/// Returns the rules that a response of the gateway itself breaks: it reuses no response of the origin (RFC 9111,
/// 5.2.2.5).
pub(super) fn own(seen: &Response) -> RuleSet {
    let mut broken = on_the_wire(seen);
    broken.add_if(seen.forwarded.fields.mark().is_some(), RuleSet::NO_STORE);
    broken
}

/// Returns the rules that a response breaks after the origin has failed (15.6).
pub(super) fn failed(seen: &Response) -> RuleSet {
    let mut broken = own(seen);
    broken.add_if(seen.status < 500 && seen.status != 0, RuleSet::FAILURE_TOLD);
    broken
}

/// Time for which a gateway may take an ended connection for a usable one, in microseconds.
const NOTICED: i64 = 1_000_000;

/// Returns the rules that a response breaks if its request was forwarded on a connection that the origin had ended;
/// `None` if the origin had ended no connection that could have carried it.
pub(super) fn lost(seen: &Response) -> Option<RuleSet> {
    let (asked, ended) = seen.forwarded.asked_at.zip(seen.forwarded.origin_ended_at)?;
    let is_failure = matches!(seen.status, 502..=504) && seen.forwarded.fields.mark().is_none();
    (is_failure && asked <= ended.saturating_add(NOTICED)).then(|| on_the_wire(seen))
}
