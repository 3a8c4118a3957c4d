//! HTTP/1.1 as the driver needs it: what can be asked, and how it looks on the wire.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::lang::{Level, Rule};
use confute::trace::Event;
use confute_drive::{
    Asks, Dialogue, Evidence, Exchange, Exporting, Exports, Kept, Past, Protocol, Refusal, Setup, Side, Talk,
    Trouble,
};
use serde::{Deserialize, Serialize};

use crate::decode::HttpReader;
use crate::encode::{self, Target};
use crate::message::{IfRange, Method, Msg, Odd, Request, Response, Span, Tag, Tags};
use crate::model::Origin;
use crate::{alone, branch, export, notice, rules, settled, smaller, stray, survey};

/// HTTP/1.1 with an origin server.
#[derive(Clone, Debug, Default)]
pub struct Http {
    /// The server, and what every request to it has.
    pub target: Target,
    /// What every path begins with. A case adds its name and each resource its own, without a slash between them, so
    /// that no collections are needed.
    pub prefix: String,
    /// What is there already, by its whole path, and is only read. If there is anything, nothing is written at all.
    pub resources: Vec<Arc<str>>,
    /// Whether it is promised that the server is a store: it takes GET, HEAD, PUT and DELETE, and a request that it refuses is
    /// a violation of level store. Otherwise that is found out first, a server that takes no PUT is not tested, and a refusal
    /// is a warning.
    pub is_store: bool,
    /// What a correct server does.
    pub model: Origin,
    /// Whether the clock of the server's storage is known not to be ahead of that of its responses. A store is taken to have
    /// but one.
    pub clocks_agree: Arc<AtomicBool>,
}

/// A tag in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskTag {
    /// The one in the reply to this step.
    Seen(usize),
    /// The same, but marked as weak.
    Weak(usize),
    /// The same, but not marked as weak.
    Strong(usize),
    /// A guess.
    Guess(Tag),
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskTags {
    /// `*`
    Any,
    /// These, line by line.
    Lines(Vec<Vec<AskTag>>),
}

/// A date in a request: that in the reply to a step, and so many seconds more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskDate(pub usize, pub i64);

/// The value of `If-Range`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskIfRange {
    /// A tag.
    Tag(AskTag),
    /// A date.
    Date(AskDate),
}

/// What can be asked: a [`Request`] that may refer to earlier replies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ask {
    /// What is asked for.
    pub method: Method,
    /// The name of the resource in this case.
    pub name: Arc<str>,
    /// Only if one of these is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_match: Option<AskTags>,
    /// Only if none of these is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_none_match: Option<AskTags>,
    /// Only if changed after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_modified_since: Option<AskDate>,
    /// Only if not changed after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_unmodified_since: Option<AskDate>,
    /// Only these parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub range: Vec<Span>,
    /// The parts only if this is current, or else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_range: Option<AskIfRange>,
    /// The content, as [text](crate::text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// Whether the content is sent in chunks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub chunked: bool,
    /// `Expect: 100-continue`, with the content held back for so many milliseconds (by a cut of the same step).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<u32>,
    /// `Connection: close`
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub close: bool,
    /// `Connection: close`, and the same request once more right behind it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub close_twice: bool,
    /// What is wrong on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,
}

/// What the replies to a step told, the last first.
fn told<T>(past: &Past<Http>, step: usize, look: impl Fn(&Response) -> Option<T>) -> Option<T> {
    let at = past.exchanges.partition_point(|exchange| exchange.step < step);
    let exchange = past.exchanges.get(at).filter(|exchange| exchange.step == step)?;
    exchange.replies.iter().rev().find_map(|reply| match reply {
        Msg::Response(response) => look(response),
        Msg::Request(_) => None,
    })
}

impl AskTag {
    fn resolve(&self, past: &Past<Http>) -> Option<Tag> {
        let seen = |step: usize| told(past, step, |response| response.etag.clone());
        match self {
            AskTag::Seen(step) => seen(*step),
            AskTag::Weak(step) => Some(Tag { weak: true, ..seen(*step)? }),
            AskTag::Strong(step) => Some(Tag { weak: false, ..seen(*step)? }),
            AskTag::Guess(tag) => Some(tag.clone()),
        }
    }
}

impl AskTags {
    /// One tag.
    pub fn one(tag: AskTag) -> Self {
        AskTags::Lines(vec![vec![tag]])
    }

    fn resolve(&self, past: &Past<Http>) -> Option<Tags> {
        match self {
            AskTags::Any => Some(Tags::Any),
            AskTags::Lines(lines) => {
                let line = |line: &Vec<AskTag>| line.iter().map(|tag| tag.resolve(past)).collect();
                Some(Tags::Lines(lines.iter().map(line).collect::<Option<_>>()?))
            }
        }
    }
}

impl AskDate {
    fn resolve(self, past: &Past<Http>) -> Option<i64> {
        // What cannot be written is not asked for: the model has to see the date that travels.
        let told = told(past, self.0, |response| response.last_modified)?;
        Some(told.saturating_add(self.1).clamp(0, encode::LAST_DATE))
    }
}

impl Http {
    /// Notes in a response what it shows together with earlier ones.
    pub(crate) fn note<P: Protocol>(
        &self,
        past: &Past<P>,
        place: usize,
        view: impl Fn(&confute_drive::Msg<P>) -> Option<&Msg> + Copy,
        response: &mut Response,
    ) {
        if !self.is_store {
            notice::date(past, place, view, &self.clocks_agree, response);
        }
        notice::note(past, place, view, response);
        notice::coding(past, place, view, response);
    }

    /// Whether nothing is written.
    pub(crate) fn is_read_only(&self) -> bool {
        !self.resources.is_empty()
    }

    /// Names below the prefix are new in each case. What is there already has a whole path.
    fn path(&self, name: &Arc<str>, case: &str) -> Arc<str> {
        match self.resources.first() {
            // The probe asks for anything.
            Some(first) if !name.starts_with('/') => first.clone(),
            Some(_) => name.clone(),
            None => format!("{}{case}-{name}", self.prefix).into(),
        }
    }
}

/// `None` only if there is something, and it refers to what was never seen.
fn resolved<A, R>(asked: Option<&A>, resolve: impl Fn(&A) -> Option<R>) -> Option<Option<R>> {
    match asked {
        None => Some(None),
        Some(asked) => resolve(asked).map(Some),
    }
}

impl Protocol for Http {
    type Model = Origin;
    type Ask = Ask;
    type Reader = HttpReader;

    fn model(&self) -> &Origin {
        &self.model
    }

    fn resolve(&self, ask: &Ask, case: &str, past: &Past<Self>) -> Option<Msg> {
        Some(Msg::Request(Request {
            method: ask.method.clone(),
            path: self.path(&ask.name, case),
            if_match: resolved(ask.if_match.as_ref(), |tags| tags.resolve(past))?,
            if_none_match: resolved(ask.if_none_match.as_ref(), |tags| tags.resolve(past))?,
            if_modified_since: resolved(ask.if_modified_since.as_ref(), |date| date.resolve(past))?,
            if_unmodified_since: resolved(ask.if_unmodified_since.as_ref(), |date| date.resolve(past))?,
            range: ask.range.clone(),
            if_range: resolved(ask.if_range.as_ref(), |value| match value {
                AskIfRange::Tag(tag) => tag.resolve(past).map(IfRange::Tag),
                AskIfRange::Date(date) => date.resolve(past).map(IfRange::Date),
            })?,
            body: ask.body.clone(),
            chunked: ask.chunked,
            expect: ask.expect,
            close: ask.close,
            close_twice: ask.close_twice,
            odd: ask.odd,
            unasked_after: 0,
            is_settled: false,
            is_lost: false,
            answered_at: None,
            is_seen_torn: false,
            sent_at: 0,
        }))
    }

    fn encode(&self, message: &Msg, bytes: &mut Vec<u8>) {
        if let Msg::Request(request) = message {
            bytes.extend(encode::request(request, &self.target));
        }
    }

    fn reader(&self, _: Side) -> HttpReader {
        HttpReader::default()
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

impl Dialogue<Http> for Http {
    /// What `store/serves` is about: any status that says neither what was asked for nor that a condition is false.
    fn refusal(&self, request: &Msg, reply: &Msg) -> Option<Refusal> {
        let (Msg::Request(request), Msg::Response(response)) = (request, reply) else { return None };
        let is_put = request.method == Method::Put;
        let is_plain = is_put || matches!(request.method, Method::Get | Method::Head | Method::Delete);
        let is_refused = match response.status {
            // A server need not take content without a length, nor know an expectation.
            304 | 411 | 412 | 416 | 417 => false,
            404 | 410 => is_put,
            status => status >= 300,
        };
        (is_plain && request.odd.is_none() && is_refused).then(|| Refusal {
            status: response.status,
            retry_after: response.retry_after.map(Duration::from_secs),
        })
    }

    fn stamp(&self, message: &mut Msg, micros: u64) {
        let micros = i64::try_from(micros).unwrap_or(i64::MAX);
        match message {
            Msg::Request(request) => request.sent_at = micros,
            Msg::Response(response) => response.received_at = micros,
        }
    }

    fn notice(&self, past: &Past<Self>, place: usize, message: &mut Msg) {
        if let Msg::Response(response) = message {
            self.note(past, place, |message| Some(message), response);
        }
    }

    /// None that could be counted on where a server may wait for more.
    fn answers(&self, message: &Msg) -> u32 {
        match message {
            Msg::Request(request) => u32::from(!matches!(request.odd, Some(Odd::HugeChunk | Odd::VastChunk))),
            Msg::Response(_) => 0,
        }
    }

    fn announces_end(&self, reply: &Msg) -> bool {
        matches!(reply, Msg::Response(response) if response.close)
    }
}

impl Asks<Http> for Http {
    /// Whatever a server thinks of it, it can say so.
    fn probe(&self) -> Option<Ask> {
        Some(Ask { method: Method::Get, name: "probe".into(), ..Ask::default() })
    }

    fn renumber(&self, ask: &Ask, now: &dyn Fn(usize) -> usize) -> Ask {
        smaller::renumber(ask, now)
    }

    fn simpler(&self, ask: &Ask) -> Vec<Ask> {
        smaller::simpler(ask)
    }

    fn plainer(&self, asks: &[&Ask]) -> Vec<Vec<Ask>> {
        // What is there already has the name it has.
        if self.is_read_only() { Vec::new() } else { smaller::plainer(asks) }
    }

    fn is_plain(&self, ask: &Ask) -> bool {
        smaller::is_plain(ask)
    }
}

impl Evidence<Http> for Http {
    /// A server that is known to be a store was promised to serve requests.
    fn level(&self, rule: &Rule) -> Level {
        let is_promised = self.is_store && rule.name == rules::SERVES.name;
        if is_promised { rule.level.max(Level::Store) } else { rule.level }
    }

    fn subject(&self, request: &Msg) -> Option<String> {
        match request {
            Msg::Request(request) => Some(request.path.to_string()),
            Msg::Response(_) => None,
        }
    }

    /// What is safe changes nothing. What was refused should not either, but that a server did it all the same may be just
    /// what it is to be blamed for. What another response is judged together with is evidence.
    fn is_idle(&self, request: &Msg, reply: Option<&Msg>) -> bool {
        let is_cited = matches!(reply, Some(Msg::Response(response)) if response.notes.is_cited);
        !is_cited
            && matches!(request, Msg::Request(request) if !request.close_twice && request.method.is_safe())
    }

    fn annotate(&self, trace: &mut [Event<Msg>]) {
        notice::cite(trace, |message| Some(message), |message| Some(message));
        stray::note(trace, |message| Some(message), |message| Some(message));
        settled::note(trace, |message| Some(message), |message| Some(message));
    }

    fn alone(&self, trace: &[Event<Msg>]) -> Option<Vec<Event<Msg>>> {
        alone::alone(trace)
    }

    fn branches(&self) -> Vec<String> {
        branch::names(self.is_read_only())
    }

    fn reached(&self, exchange: &Exchange<Ask, Msg>) -> Option<usize> {
        match (&exchange.request, exchange.replies.last()?) {
            (Msg::Request(request), Msg::Response(response)) => {
                branch::reached(request, response, self.is_read_only())
            }
            _ => None,
        }
    }
}

impl Setup<Http> for Http {
    fn survey(&self, talk: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        survey::survey(self, talk)
    }

    fn plant(&self, talk: &Talk<'_, Self>) -> bool {
        survey::plant(self, talk)
    }

    fn canary(&self, talk: &Talk<'_, Self>) -> Result<Option<String>, Trouble> {
        survey::canary(talk)
    }
}

impl Exporting<Http> for Http {
    fn exports(&self, kept: &Kept<'_, Self>) -> Exports {
        export::exports(self, kept)
    }
}

#[cfg(test)]
mod tests {
    use confute_drive::Peer;

    use super::*;

    #[test]
    fn what_was_seen_is_referred_to() {
        let http = Http { prefix: "/t/".to_owned(), ..Http::default() };
        let reply = Response { etag: Some(Tag::weak("x")), last_modified: Some(50), ..Response::default() };
        let exchange = Exchange {
            step: 3,
            on: Peer::Opened(0),
            ask: Ask::default(),
            request: Msg::Request(Request::default()),
            replies: vec![Msg::Response(reply)],
        };
        let past = Past { exchanges: vec![exchange], ..Past::default() };
        let tags = AskTags::Lines(vec![
            vec![AskTag::Seen(3), AskTag::Guess(Tag::strong("y"))],
            vec![AskTag::Strong(3)],
        ]);
        let ask = Ask {
            name: "a".into(),
            if_match: Some(tags),
            if_modified_since: Some(AskDate(3, -1)),
            ..Ask::default()
        };
        let Some(Msg::Request(request)) = http.resolve(&ask, "c1", &past) else { panic!("it was seen") };
        assert_eq!(&*request.path, "/t/c1-a");
        let expected = vec![vec![Tag::weak("x"), Tag::strong("y")], vec![Tag::strong("x")]];
        assert_eq!((request.if_match, request.if_modified_since), (Some(Tags::Lines(expected)), Some(49)));
        let unseen = Ask { if_none_match: Some(AskTags::one(AskTag::Seen(2))), ..Ask::default() };
        assert_eq!(http.resolve(&unseen, "c1", &past), None);
        let json = serde_json::to_string(&ask).unwrap();
        assert_eq!(serde_json::from_str::<Ask>(&json).unwrap(), ask);
    }
}
