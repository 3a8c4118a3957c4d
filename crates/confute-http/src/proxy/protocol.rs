//! A gateway as the driver needs it: what can be asked and answered, and how it looks on the wire.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use confute_drive::{
    Asks, Caller, Dialogue, Evidence, Exporting, Exports, Kept, Limits, Past, Peer, Protocol, Refusal, Setup,
    Side, Talk, Target as Place, Trouble, Upstream,
};
use serde::{Deserialize, Serialize};

use super::decode::ProxyReader;
use super::encode;
use super::message::{Field, Fields, Frame, MARK, Message, Request, Response};
use super::model::{Gateway, Mapping};
use super::smaller;
use crate::encode::Target;
use crate::export;

/// What all answers of the origin say, so that neither storing nor transforming excuses a change.
pub(super) const FORBIDDEN: &str = "no-store, no-transform";

/// How long the tester may take before a gateway may lose its patience, in microseconds.
const PATIENCE: i64 = 1_000_000;

/// HTTP/1.1 through a gateway.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// The server, and what every request to it has.
    pub target: Target,
    /// What every path begins with.
    pub prefix: String,
    /// Where the tester listens as origin.
    pub origin: SocketAddr,
    /// What a correct gateway does.
    pub model: Gateway,
    surveyed: Option<Result<String, Trouble>>,
}

impl Proxy {
    /// A gateway that forwards what is below this prefix to this origin, below another prefix.
    pub fn new(target: Target, prefix: &str, origin: SocketAddr, to: &str) -> Self {
        let mapping = Mapping {
            from: prefix.to_owned(),
            to: to.to_owned(),
            host: target.host.clone(),
            origin: origin.to_string(),
        };
        let model = Gateway { mapping: Arc::new(mapping) };
        Self { target, prefix: prefix.to_owned(), origin, model, surveyed: None }
    }

    /// A proxy that clients choose, and that forwards everything: requests name the origin in full (RFC 9112, 3.2.2).
    pub fn forward(target: Target, origin: SocketAddr) -> Self {
        let target = Target { host: origin.to_string(), ..target };
        Self::new(target, &format!("http://{origin}/"), origin, "/")
    }

    /// The same, after a first request has shown where it arrives at the origin. What came of it is told by
    /// [`Protocol::survey`].
    #[must_use]
    pub fn discovered(mut self, place: Place, limits: &Limits) -> Self {
        let place = Place { listen: Some(self.origin), ..place };
        let found = self.discover(&Talk::new(&self, Caller::new(place, limits)));
        let said = found.map(|(to, host)| {
            let host = host.map_or_else(|| "without Host".to_owned(), |host| format!("with Host: {host}"));
            let said = format!("what is below {} arrives at the origin below {to}, {host}", self.prefix);
            self.model.mapping = Arc::new(Mapping { to, ..(*self.model.mapping).clone() });
            said
        });
        self.surveyed = Some(said);
        self
    }

    /// What targets begin with at the origin, and its Host.
    fn discover(&self, talk: &Talk<'_, Self>) -> Result<(String, Option<String>), Trouble> {
        let case = format!("survey-{:x}", std::process::id());
        let question = Question { method: "GET".into(), name: "a".into(), ..Question::default() };
        let message = self.resolve(&Ask::Send(question), &case, &Past::default());
        let Some(message) = message else { return Err(Trouble::Unprepared("nothing to ask".to_owned())) };
        let passed = talk.through(&message)?;
        let arrived = passed.asked.iter().find_map(|message| match message {
            Message::Request(request) => {
                let at = request.target.find(&case)?;
                Some((request.target[..at].to_owned(), request.fields.all("Host").next().map(str::to_owned)))
            }
            _ => None,
        });
        let status = passed.replies.iter().find_map(|reply| match reply {
            Message::Response(response) => Some(response.status),
            _ => None,
        });
        let answer = status.map_or_else(
            || "no answer came back either".to_owned(),
            |status| format!("it was answered {status}"),
        );
        arrived.ok_or_else(|| {
            let (prefix, origin) = (&self.prefix, self.origin);
            Trouble::Unprepared(format!(
                "GET {prefix}{case}-a did not arrive at {origin}, where the tester listens as origin; \
                 {answer}. Does the server forward what is below {prefix} to http://{origin}?"
            ))
        })
    }
}

/// A request of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// The method.
    pub method: Arc<str>,
    /// What the target ends with.
    pub name: Arc<str>,
    /// Fields besides those that every request has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// The content, as [text](crate::text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// Whether the content is sent in chunks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub chunked: bool,
    /// Fields after the chunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<Field>,
    /// No other request has it.
    pub mark: u64,
}

/// An answer of the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Fields besides those that every answer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// The content, as [text](crate::text).
    #[serde(skip_serializing_if = "str::is_empty")]
    pub body: Arc<str>,
    /// What delimits it.
    pub frame: Frame,
    /// Whether it is the last on its connection.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub close: bool,
    /// Fields after its chunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<Field>,
    /// Whether the request did not ask for them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unasked: bool,
    /// Interim responses before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interim: Vec<u16>,
    /// After how many bytes it breaks off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<usize>,
    /// No other answer has it.
    pub mark: u64,
}

/// What can be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// By a client.
    Send(Question),
    /// By the origin.
    Answer(Answer),
}

impl Answer {
    fn message(&self, mark: &str) -> Message {
        let mut fields = vec![Field::new("Cache-Control", FORBIDDEN), Field::new(MARK, mark)];
        fields.extend(self.fields.iter().cloned());
        Message::Response(Arc::new(Response {
            status: self.status,
            fields: Fields(fields),
            body: self.body.clone(),
            frame: self.frame,
            close: self.close || self.cut.is_some() || self.frame == Frame::UntilClose,
            cut: self.cut,
            trailers: Fields(self.trailers.clone()),
            unasked: self.unasked && !self.trailers.is_empty(),
            interim: self.interim.clone(),
            ..Response::default()
        }))
    }

    /// The plain answer to a request: what the version and the method allow.
    pub(super) fn to(request: &Request) -> Self {
        let options = request.fields.connection();
        let has = |option: &str| options.iter().any(|each| each == option);
        let close = has("close") || (request.minor == 0 && !has("keep-alive"));
        let frame = if request.is_head() { Frame::Bare } else { Frame::Sized };
        Answer { status: 200, frame, close, ..Answer::default() }
    }
}

/// Notes in an error of the gateway's own what the tester did before that may have caused it.
pub(crate) fn note_causes<'a>(
    reply: &mut Message,
    request: &Message,
    mut asked: impl Iterator<Item = (Peer, &'a Message)>,
    answers: impl Iterator<Item = (Peer, &'a Message)> + Clone,
    ended: Option<i64>,
) {
    let (Message::Response(reply), Message::Request(request)) = (reply, request) else { return };
    if reply.status < 500 || reply.fields.mark().is_some() {
        return;
    }
    let is_hard = |answer: &Message| {
        let Message::Response(answer) = answer else { return false };
        let is_whole = answer.cut.is_none() && !answer.half_closed;
        is_whole && !(answer.interim.is_empty() && answer.trailers.0.is_empty())
    };
    let is_same = |seen: &Message| match seen {
        Message::Request(seen) => seen.fields.mark().is_some() && seen.fields.mark() == request.fields.mark(),
        _ => false,
    };
    let provoked = asked.any(|(peer, seen)| {
        is_same(seen) && answers.clone().any(|(on, answer)| on == peer && is_hard(answer))
    });
    let reply = Arc::make_mut(reply);
    (reply.origin_ended_at, reply.provoked) = (ended, provoked);
}

impl Protocol for Proxy {
    type Model = Gateway;
    type Ask = Ask;
    type Reader = ProxyReader;

    fn model(&self) -> &Gateway {
        &self.model
    }

    fn resolve(&self, ask: &Ask, case: &str, _: &Past<Self>) -> Option<Message> {
        let question = match ask {
            Ask::Send(question) => question,
            Ask::Answer(answer) => return Some(answer.message(&format!("{case}.a{}", answer.mark))),
        };
        let mut fields = vec![
            Field::new("Host", &self.target.host),
            Field::new(MARK, &format!("{case}.{}", question.mark)),
            Field::new("Cache-Control", "no-transform"),
        ];
        fields.extend(question.fields.iter().cloned());
        Some(Message::Request(Arc::new(Request {
            method: question.method.clone(),
            target: format!("{}{case}-{}", self.prefix, question.name).into(),
            minor: 1,
            fields: Fields(fields),
            body: question.body.clone(),
            chunked: question.chunked,
            trailers: Fields(question.trailers.clone()),
            ..Request::default()
        })))
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        bytes.extend(encode::message(message, &self.target));
    }

    fn reader(&self, side: Side) -> ProxyReader {
        ProxyReader::new(side)
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

impl Dialogue<Proxy> for Proxy {
    /// What `gateway/forwarded` is about: an answer of the gateway itself. 502 and 504 tell what became of the origin.
    fn refusal(&self, request: &Message, reply: &Message) -> Option<Refusal> {
        let (Message::Request(request), Message::Response(response)) = (request, reply) else { return None };
        let is_plain = !matches!(&*request.method, "OPTIONS" | "TRACE");
        let is_own = response.fields.mark().is_none();
        let is_refused = response.status >= 300 && !matches!(response.status, 502 | 504);
        (is_plain && is_own && is_refused).then(|| Refusal {
            status: response.status,
            retry_after: response.retry_after.map(Duration::from_secs),
        })
    }

    fn stamp(&self, message: &mut Message, micros: u64) {
        let micros = i64::try_from(micros).unwrap_or(i64::MAX);
        match message {
            Message::Request(request) => Arc::make_mut(request).at = micros,
            Message::Response(response) => Arc::make_mut(response).at = micros,
            Message::Unanswered => {}
        }
    }

    fn answers(&self, message: &Message) -> u32 {
        u32::from(matches!(message, Message::Request(_)))
    }

    /// Errors of the gateway's own that come late: the tester may have been a slow origin.
    fn is_excused(&self, answer: &Message) -> bool {
        let Message::Response(answer) = answer else { return false };
        let is_late = answer.asked_at.is_some_and(|asked| answer.at - asked >= PATIENCE);
        is_late && answer.fields.mark().is_none() && (answer.status >= 500 || answer.status == 408)
    }

    fn is_last(&self, message: &Message) -> bool {
        matches!(message, Message::Response(answer) if answer.close)
    }
}

impl Asks<Proxy> for Proxy {
    fn simpler(&self, ask: &Ask) -> Vec<Ask> {
        smaller::simpler(ask)
    }

    fn probe(&self) -> Option<Ask> {
        let question =
            Question { method: "GET".into(), name: "probe".into(), mark: u64::MAX, ..Question::default() };
        Some(Ask::Send(question))
    }
}

impl Upstream<Proxy> for Proxy {
    fn belongs(&self, message: &Message, case: &str) -> bool {
        match message {
            Message::Request(request) => {
                let is_marked =
                    |mark: &str| mark.strip_prefix(case).is_some_and(|rest| rest.starts_with('.'));
                request.target.contains(&format!("{case}-")) || request.fields.mark().is_some_and(is_marked)
            }
            _ => false,
        }
    }

    fn has_single_exchanges(&self) -> bool {
        true
    }

    fn courtesy(&self, asked: &Message) -> Option<Message> {
        let Message::Request(request) = asked else { return None };
        let answer = Answer { body: "courtesy".into(), ..Answer::to(request) };
        Some(answer.message(&format!("courtesy-for-{}", request.fields.mark().unwrap_or("nobody"))))
    }

    /// What answers HEAD has no content, and only what is conditional may be answered 304.
    fn suits(&self, ask: &Ask, asked: &Message) -> bool {
        let (Ask::Answer(answer), Message::Request(request)) = (ask, asked) else { return true };
        let is_empty = matches!(answer.status, 204 | 304);
        let is_bare = answer.frame == Frame::Bare;
        let is_asked = answer.trailers.is_empty() || answer.unasked != request.wants_trailers();
        answer.cut == Some(0)
            || (is_empty || is_bare == request.is_head())
                && (answer.status != 304 || request.is_conditional())
                && is_asked
    }

    fn unanswered(&self) -> Option<Message> {
        Some(Message::Unanswered)
    }

    fn dropped(&self, question: &mut Message) {
        if let Message::Request(question) = question {
            Arc::make_mut(question).dropped = true;
        }
    }

    fn half_closed(&self, answer: &mut Message) {
        if let Message::Response(answer) = answer {
            Arc::make_mut(answer).half_closed = true;
        }
    }

    fn note_causes(&self, reply: &mut Message, request: &Message, past: &Past<Self>, ended: Option<i64>) {
        let asked = past.asked.iter().map(|(peer, message)| (*peer, message));
        let answers = past.exchanges.iter().map(|exchange| (exchange.on, &exchange.request));
        note_causes(reply, request, asked, answers, ended);
    }
}

impl Evidence<Proxy> for Proxy {
    /// Every request is a matter of its own, on both sides.
    fn subject(&self, request: &Message) -> Option<String> {
        match request {
            Message::Request(request) => request.fields.mark().map(str::to_owned),
            _ => None,
        }
    }
}

impl Setup<Proxy> for Proxy {
    fn survey(&self, _: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        self.surveyed.clone().into_iter().collect()
    }
}

impl Exporting<Proxy> for Proxy {
    fn exports(&self, kept: &Kept<'_, Self>) -> Exports {
        export::of_gateway(kept)
    }
}
