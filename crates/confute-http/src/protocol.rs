//! HTTP/1.1 as a [`Protocol`] for the driver: with an origin server, a gateway, or a server that is both.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::lang::{Level, Rule};
use confute::trace::Event;
use confute_drive::{
    Asks, Caller, Dialogue, Evidence, Exchange, Exporting, Exports, Kept, Limits, Past, Protocol, Refusal,
    Setup, Side, Talk, Target as Place, Trouble, Upstream,
};

use crate::ask::{Ask, AskRequest, AskResponse};
use crate::decode::HttpReader;
use crate::discovery::Discovery;
use crate::encode::{self, Target};
use crate::message::{Message, Method, Odd, Request, Response};
use crate::model::Origin;
use crate::proxy::{Gateway, Mapping};
use crate::server::Server;
use crate::{alone, branch, discovery, experiment, export, notice, rules, settled, smaller, stray, survey};

/// Response time of the tester, in microseconds, from which on a gateway may time out.
const PATIENCE: i64 = 1_000_000;

/// HTTP/1.1 spoken with a server that is an origin server below one prefix, a gateway below another, or both.
#[derive(Clone, Debug)]
pub struct Http {
    /// `Host` and additional fields of every request.
    pub target: Target,
    /// Settings for the server as an origin server, if it is one.
    pub origin: Option<OriginSide>,
    /// Settings for the server as a gateway, if it is one.
    pub gateway: Option<GatewaySide>,
    /// Model of a correct server.
    pub model: Server,
}

/// Settings for the traffic to an origin server.
#[derive(Clone, Debug, Default)]
pub struct OriginSide {
    /// Prefix of every path. A case adds its name and each resource its own, without a slash between them, so that no
    /// collections are needed.
    pub prefix: String,
    /// Whole paths of existing resources that are only read. If there are any, nothing is written at all.
    pub resources: Vec<Arc<str>>,
    /// `true` if the user asserts that the server is a store: it accepts GET, HEAD, PUT and DELETE, and a refused
    /// request is a violation of level store. Otherwise the survey checks this first, a server that refuses PUT is not
    /// tested, and a refused request is a warning.
    pub is_store: bool,
    /// `true` if the clock of the server's storage is known not to be ahead of the clock of its responses. A store is
    /// assumed to have only one clock.
    pub clocks_agree: Arc<AtomicBool>,
}

/// Settings for the traffic to a gateway.
#[derive(Clone, Debug)]
pub struct GatewaySide {
    /// Prefix of every path.
    pub prefix: String,
    /// Address where the tester listens as origin.
    pub listens: SocketAddr,
    /// `true` if the user asserts that the server forwards everything below the prefix to that address. Otherwise a
    /// first request has to arrive there, or the server is not tested.
    pub is_promised: bool,
    discovery: Option<Arc<Discovery>>,
}

impl Default for Http {
    fn default() -> Self {
        Self::origin(Target::default(), "")
    }
}

impl Http {
    /// Creates the protocol for an origin server that is written to below this prefix.
    pub fn origin(target: Target, prefix: &str) -> Self {
        let model = Server { origin: Some(Origin::default()), gateway: None };
        let origin = OriginSide { prefix: prefix.to_owned(), ..OriginSide::default() };
        Self { target, origin: Some(origin), gateway: None, model }
    }

    /// Creates the protocol for a gateway that forwards everything below this prefix to this origin, below the prefix
    /// `to`.
    pub fn gateway(target: Target, prefix: &str, origin: SocketAddr, to: &str) -> Self {
        let mapping = Mapping {
            from: prefix.to_owned(),
            to: to.to_owned(),
            host: target.host.clone(),
            origin: origin.to_string(),
        };
        let prefix = prefix.to_owned();
        let gateway = GatewaySide { prefix, listens: origin, is_promised: false, discovery: None };
        let model = Server { origin: None, gateway: Some(Gateway { mapping: Arc::new(mapping) }) };
        Self { target, origin: None, gateway: Some(gateway), model }
    }

    /// Creates the protocol for a forward proxy, which clients choose and which forwards everything: requests name the
    /// origin in full (RFC 9112, 3.2.2).
    pub fn proxy(target: Target, origin: SocketAddr) -> Self {
        let target = Target { host: origin.to_string(), ..target };
        Self::gateway(target, &format!("http://{origin}/"), origin, "/")
    }

    /// Adds this gateway to the origin server. No path may be below the prefixes of both.
    #[must_use]
    pub fn and_gateway(mut self, gateway: Self) -> Self {
        (self.gateway, self.model.gateway) = (gateway.gateway, gateway.model.gateway);
        self
    }

    /// Restricts the traffic to an origin server to these resources, which are only read.
    #[must_use]
    pub fn reading(mut self, resources: Vec<Arc<str>>) -> Self {
        if let Some(origin) = &mut self.origin {
            origin.resources = resources;
        }
        self
    }

    /// Sets whether the user asserts that the server is set up as the test needs it: that the origin server is a store,
    /// and that the gateway forwards.
    #[must_use]
    pub fn promised(mut self, is_promised: bool) -> Self {
        if let Some(origin) = &mut self.origin {
            origin.is_store = is_promised;
        }
        if let Some(gateway) = &mut self.gateway {
            gateway.is_promised = is_promised;
        }
        self
    }

    /// Sets the mapping of paths of the gateway.
    #[must_use]
    pub fn mapping(mut self, mapping: Mapping) -> Self {
        self.model.gateway = Some(Gateway { mapping: Arc::new(mapping) });
        self
    }

    /// Sends first requests through the gateway and adopts the mapping of paths that their arrival at the origin shows.
    /// [`Setup::survey`] reports the result.
    #[must_use]
    pub fn discovered(mut self, place: Place, limits: &Limits) -> Self {
        let (Some(gateway), Some(model)) = (&self.gateway, &self.model.gateway) else { return self };
        let mapping = (*model.mapping).clone();
        let caller = Caller::new(Place { listen: Some(gateway.listens), ..place }, limits);
        let discovery = discovery::discover(&self, gateway, &mapping, caller);
        if let Some(to) = &discovery.to {
            self = self.mapping(Mapping { to: to.clone(), ..mapping });
        }
        if let Some(gateway) = &mut self.gateway {
            gateway.discovery = Some(Arc::new(discovery));
        }
        self
    }

    /// Returns the address where the tester listens as origin, if the server is a gateway.
    pub fn listens(&self) -> Option<SocketAddr> {
        self.gateway.as_ref().map(|gateway| gateway.listens)
    }

    /// Returns `true` if nothing is written.
    pub(crate) fn is_read_only(&self) -> bool {
        !self.resources().is_empty()
    }

    /// Returns the resources that are only read.
    pub(crate) fn resources(&self) -> &[Arc<str>] {
        self.origin.as_ref().map_or(&[], |origin| &origin.resources)
    }

    /// Returns `true` if the server is a gateway and nothing else.
    fn is_only_gateway(&self) -> bool {
        self.origin.is_none()
    }
}

impl OriginSide {
    /// Returns the path of a resource. Names below the prefix are new in each case; an existing resource is named by
    /// its whole path.
    fn path(&self, name: &Arc<str>, case: &str) -> Arc<str> {
        match self.resources.first() {
            // The probe names no existing resource: any of them will do.
            Some(first) if !name.starts_with('/') => first.clone(),
            Some(_) => name.clone(),
            None => format!("{}{case}-{name}", self.prefix).into(),
        }
    }
}

impl Protocol for Http {
    type Model = Server;
    type Ask = Ask;
    type Reader = HttpReader;

    fn model(&self) -> &Server {
        &self.model
    }

    fn resolve(&self, ask: &Ask, case: &str, past: &Past<Self>) -> Option<Message> {
        Some(match ask {
            Ask::Send(ask) if ask.is_forwarded() => {
                let path = format!("{}{case}-{}", self.gateway.as_ref()?.prefix, ask.name);
                ask.forwarded(path.into(), case, &self.target).into()
            }
            Ask::Send(ask) => ask.own(self.origin.as_ref()?.path(&ask.name, case), past)?.into(),
            Ask::Answer(ask) => ask.marked(&format!("{case}.a{}", ask.mark)),
        })
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        bytes.extend(encode::message(message, &self.target));
    }

    fn reader(&self, side: Side) -> HttpReader {
        HttpReader::new(side, self.is_only_gateway())
    }

    fn conceal(&self, bytes: &mut [u8]) {
        self.target.conceal(bytes);
    }

    fn dialogue(&self) -> &dyn Dialogue<Self> {
        self
    }

    fn asks(&self) -> &dyn Asks<Self> {
        self
    }

    fn upstream(&self) -> &dyn Upstream<Self> {
        self
    }

    fn evidence(&self) -> &dyn Evidence<Self> {
        self
    }

    fn setup(&self) -> &dyn Setup<Self> {
        self
    }

    fn exporting(&self) -> &dyn Exporting<Self> {
        self
    }
}

/// Returns `true` if the server itself refused a request, the subject of `store/serves`: its status neither grants the
/// request nor reports a false condition.
fn is_refused(request: &Request, response: &Response) -> bool {
    let is_put = request.method == Method::Put;
    let is_plain = is_put || matches!(request.method, Method::Get | Method::Head | Method::Delete);
    let is_refused = match response.status {
        // A server need not accept content without a length (411) or support an expectation (417).
        304 | 411 | 412 | 416 | 417 => false,
        404 | 410 => is_put,
        status => status >= 300,
    };
    is_plain && request.odd.is_none() && is_refused
}

/// Returns `true` if a gateway refused to forward a request, the subject of `gateway/forwarded`: the response is its
/// own. 502 and 504 are excluded because they report a failure of the origin.
fn is_not_forwarded(request: &Request, response: &Response) -> bool {
    let is_plain = !matches!(request.method.name(), "OPTIONS" | "TRACE");
    let is_own = response.forwarded.fields.mark().is_none();
    is_plain && is_own && response.status >= 300 && !matches!(response.status, 502 | 504)
}

impl Dialogue<Http> for Http {
    fn refusal(&self, request: &Message, reply: &Message) -> Option<Refusal> {
        let (request, response) = (request.request()?, reply.response()?);
        let is_refused = match (request.forwarded.is_there(), response.forwarded.is_there()) {
            (true, true) => is_not_forwarded(request, response),
            (false, false) => is_refused(request, response),
            _ => false,
        };
        is_refused.then(|| Refusal {
            status: response.status,
            retry_after: response.retry_after.map(Duration::from_secs),
        })
    }

    fn broken_off(&self, reply: &Message) -> Option<String> {
        let response = reply.response()?;
        let partial = response.partial.filter(|partial| partial.silence.is_none())?;
        Some(format!("{}, {partial}", response.status))
    }

    fn stamp(&self, message: &mut Message, micros: u64) {
        let micros = i64::try_from(micros).unwrap_or(i64::MAX);
        match message {
            Message::Request(request) => Arc::make_mut(request).at = micros,
            Message::Response(response) => Arc::make_mut(response).at = micros,
            Message::Unanswered => {}
        }
    }

    fn notice(&self, past: &Past<Self>, place: usize, message: &mut Message) {
        if let (Some(origin), Message::Response(response)) = (&self.origin, message)
            && !response.forwarded.is_there()
        {
            let response = Arc::make_mut(response);
            if !origin.is_store {
                notice::date(past, place, &origin.clocks_agree, response);
            }
            notice::origination(past, place, response);
            notice::note(past, place, response);
            notice::coding(past, place, response);
        }
    }

    fn follows(&self, message: &mut Message) {
        if let (Some(_), Message::Request(request)) = (&self.gateway, message)
            && !request.forwarded.is_there()
        {
            Arc::make_mut(request).is_behind = true;
        }
    }

    /// Returns 0 for a request whose chunk size is too large: the server may wait for the rest of the chunk.
    fn answers(&self, message: &Message) -> u32 {
        let waits = |request: &Request| request.odd.is_some_and(Odd::is_too_long);
        u32::from(message.request().is_some_and(|request| !waits(request)))
    }

    fn announces_end(&self, reply: &Message) -> bool {
        reply.own_response().is_some_and(|response| response.close)
    }

    /// Returns `true` for a late error of the gateway itself: the tester may have been a slow origin.
    fn is_excused(&self, answer: &Message) -> bool {
        let Some(answer) = answer.response() else { return false };
        let is_late = answer.forwarded.asked_at.is_some_and(|asked| answer.at - asked >= PATIENCE);
        is_late && answer.forwarded.fields.mark().is_none() && (answer.status >= 500 || answer.status == 408)
    }

    fn is_last(&self, message: &Message) -> bool {
        message.response().is_some_and(|response| response.forwarded.is_there() && response.close)
    }
}

impl Asks<Http> for Http {
    /// Returns a plain GET: every server can answer it, if only with an error.
    fn probe(&self) -> Option<Ask> {
        let mark = self.is_only_gateway().then_some(u64::MAX);
        Some(AskRequest { name: "probe".into(), mark, ..AskRequest::default() }.into())
    }

    /// Returns a plain HEAD, unless the request was malformed or announced as the last one. Its response has no content
    /// that could break off too.
    fn behind(&self, request: &Message) -> Option<Ask> {
        let request = request.request()?;
        let may_follow = request.odd.is_none() && !request.close && !request.close_twice;
        let mark = request.forwarded.is_there().then_some(u64::MAX - 1);
        let ask = AskRequest { method: Method::Head, name: "behind".into(), mark, ..AskRequest::default() };
        may_follow.then(|| ask.into())
    }

    fn renumber(&self, ask: &Ask, now: &dyn Fn(usize) -> usize) -> Ask {
        match ask {
            Ask::Send(ask) => smaller::renumber(ask, now).into(),
            Ask::Answer(_) => ask.clone(),
        }
    }

    fn simpler(&self, ask: &Ask) -> Vec<Ask> {
        smaller::simpler(ask)
    }

    fn plainer(&self, asks: &[&Ask]) -> Vec<Vec<Ask>> {
        // Existing resources keep their names.
        if self.is_read_only() { Vec::new() } else { smaller::plainer(asks) }
    }

    fn is_plain(&self, ask: &Ask) -> bool {
        ask.own_request().is_none_or(smaller::is_plain)
    }

    fn variants(&self, ask: &Ask) -> Vec<Ask> {
        experiment::variants(ask)
    }

    fn look(&self, ask: &Ask) -> Option<Ask> {
        experiment::look(ask)
    }

    fn follow_ups(&self, asks: &[(usize, &Ask)]) -> Vec<Ask> {
        experiment::follow_ups(asks, self.is_read_only())
    }
}

impl Upstream<Http> for Http {
    fn belongs(&self, message: &Message, case: &str) -> bool {
        let Some(request) = message.request() else { return false };
        let is_marked = |mark: &str| mark.strip_prefix(case).is_some_and(|rest| rest.starts_with('.'));
        request.path.contains(&format!("{case}-")) || request.forwarded.fields.mark().is_some_and(is_marked)
    }

    fn has_single_exchanges(&self) -> bool {
        self.gateway.is_some()
    }

    fn courtesy(&self, asked: &Message) -> Option<Message> {
        let request = asked.request()?;
        let answer = AskResponse { body: "courtesy".into(), ..AskResponse::to(request) };
        let mark = request.forwarded.fields.mark().unwrap_or("nobody");
        Some(answer.marked(&format!("courtesy-for-{mark}")))
    }

    fn suits(&self, ask: &Ask, asked: &Message) -> bool {
        match (ask, asked) {
            (Ask::Answer(answer), Message::Request(request)) => answer.suits(request),
            _ => true,
        }
    }

    fn unanswered(&self) -> Option<Message> {
        self.gateway.as_ref().map(|_| Message::Unanswered)
    }

    fn dropped(&self, question: &mut Message) {
        if let Message::Request(question) = question {
            Arc::make_mut(question).forwarded.dropped = true;
        }
    }

    fn half_closed(&self, answer: &mut Message) {
        if let Message::Response(answer) = answer {
            Arc::make_mut(answer).forwarded.half_closed = true;
        }
    }

    /// Notes in an error of the gateway itself which earlier actions of the tester may have caused it.
    fn note_causes(&self, reply: &mut Message, request: &Message, past: &Past<Self>, ended: Option<i64>) {
        let (Message::Response(reply), Some(request)) = (reply, request.request()) else { return };
        if !reply.forwarded.is_there() || reply.status < 500 || reply.forwarded.fields.mark().is_some() {
            return;
        }
        let is_hard = |answer: &Response| {
            let is_whole = answer.forwarded.cut.is_none() && !answer.forwarded.half_closed;
            is_whole && !(answer.interim.is_empty() && answer.forwarded.trailers.0.is_empty())
        };
        let mark = request.forwarded.fields.mark();
        let is_same = |seen: &Request| mark.is_some() && seen.forwarded.fields.mark() == mark;
        let provoked = past.asked.iter().any(|(peer, seen)| {
            let mut answers = past.exchanges.iter().filter(|exchange| exchange.on == *peer);
            seen.request().is_some_and(is_same)
                && answers.any(|answer| answer.request.response().is_some_and(is_hard))
        });
        let part = &mut Arc::make_mut(reply).forwarded;
        (part.origin_ended_at, part.provoked) = (ended, provoked);
    }
}

impl Evidence<Http> for Http {
    /// Raises `store/serves` to level store if the user asserts that the server is a store, and `gateway/forwarded` if
    /// the user asserts that it forwards.
    fn level(&self, rule: &Rule) -> Level {
        let is_store = self.origin.as_ref().is_some_and(|origin| origin.is_store);
        let forwards = self.gateway.as_ref().is_some_and(|gateway| gateway.is_promised);
        let is_promised = (is_store && rule.name == rules::SERVES.name)
            || (forwards && rule.name == rules::gateway::FORWARDED.name);
        if is_promised { rule.level.max(Level::Store) } else { rule.level }
    }

    fn is_spontaneous(&self, rule: &Rule) -> bool {
        experiment::is_spontaneous(rule.name)
    }

    fn control(&self, rule: &Rule, ask: &Ask) -> Option<Ask> {
        experiment::control(rule.name, ask)
    }

    /// Returns the mark of a forwarded request, which is the same on both sides of the gateway, or else the path.
    fn subject(&self, request: &Message) -> Option<String> {
        let request = request.request()?;
        if request.forwarded.is_there() {
            return request.forwarded.fields.mark().map(str::to_owned);
        }
        Some(request.path.to_string())
    }

    /// Returns `true` for safe requests, which change nothing. A refused write should not change anything either, but
    /// the violation may be just that the server performed it. A response that another one is compared with is
    /// evidence, so its request is not idle.
    fn is_idle(&self, request: &Message, reply: Option<&Message>) -> bool {
        let is_cited = reply.and_then(Message::own_response).is_some_and(|response| response.notes.is_cited);
        let is_idle = |request: &Request| !request.close_twice && request.method.is_safe();
        !is_cited && request.own_request().is_some_and(is_idle)
    }

    fn annotate(&self, trace: &mut [Event<Message>]) {
        if self.origin.is_some() {
            notice::cite(trace);
            stray::note(trace);
            settled::note(trace);
        }
    }

    fn alone(&self, trace: &[Event<Message>]) -> Option<Vec<Event<Message>>> {
        // If the server is also a gateway, a response may have waited in the queue behind responses to other requests.
        if self.gateway.is_some() { None } else { alone::alone(trace) }
    }

    fn branches(&self) -> Vec<String> {
        if self.is_only_gateway() { Vec::new() } else { branch::names(self.is_read_only()) }
    }

    fn reached(&self, exchange: &Exchange<Ask, Message>) -> Option<usize> {
        let (request, response) = (exchange.request.own_request()?, exchange.replies.last()?.own_response()?);
        branch::reached(request, response, self.is_read_only())
    }
}

impl Setup<Http> for Http {
    fn survey(&self, talk: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        let mut said = match &self.origin {
            Some(origin) => survey::survey(origin, talk)?,
            None => Vec::new(),
        };
        if let Some(discovery) = self.gateway.as_ref().and_then(|gateway| gateway.discovery.as_ref()) {
            said.extend(discovery.said.clone()?);
            discovery.cases.iter().for_each(|case| talk.keep(case.clone()));
        }
        Ok(said)
    }

    fn plant(&self, talk: &Talk<'_, Self>) -> bool {
        // Resources that are only read are not written to, and the server cannot lose a write that was never made.
        self.gateway.is_none() && !self.is_read_only() && survey::plant(talk)
    }

    fn canary(&self, talk: &Talk<'_, Self>) -> Result<Option<String>, Trouble> {
        if self.gateway.is_some() { Ok(None) } else { survey::canary(talk) }
    }
}

impl Exporting<Http> for Http {
    fn exports(&self, kept: &Kept<'_, Self>) -> Exports {
        if self.gateway.is_some() { export::of_gateway(kept) } else { export::exports(self, kept) }
    }
}
