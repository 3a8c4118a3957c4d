//! Asks, the messages of a script: requests that may refer to earlier responses, and responses of the tester as origin.

use std::sync::Arc;

use confute_drive::Past;
use serde::{Deserialize, Serialize};

use crate::encode::{FORBIDDEN, Target};
use crate::message::{
    Field, Fields, ForwardedRequest, ForwardedResponse, Frame, IfRange, MARK, Message, Method, Odd, Request,
    Response, Span, Tag, Tags, is_default,
};
use crate::protocol::Http;
use confute_http1::date;

/// The message of one step of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "Stored")]
pub enum Ask {
    /// A request of a client.
    Send(AskRequest),
    /// A response of the origin.
    Answer(AskResponse),
}

impl From<AskRequest> for Ask {
    fn from(request: AskRequest) -> Self {
        Ask::Send(request)
    }
}

impl Ask {
    /// Returns the request, if the server itself serves it.
    pub(crate) fn own_request(&self) -> Option<&AskRequest> {
        match self {
            Ask::Send(request) if !request.is_forwarded() => Some(request),
            _ => None,
        }
    }
}

/// Stored form of an ask. It also reads those of earlier revisions: a bare request for an origin server, and an ask in
/// a wrapper for a server that is origin and gateway.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Tagged(Tagged),
    Bare(AskRequest),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tagged {
    Send(AskRequest),
    Answer(AskResponse),
    Serve(AskRequest),
    Pass(Box<Tagged>),
}

impl From<Stored> for Ask {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Tagged(tagged) => tagged.into(),
            Stored::Bare(request) => Ask::Send(request),
        }
    }
}

impl From<Tagged> for Ask {
    fn from(tagged: Tagged) -> Self {
        match tagged {
            Tagged::Send(request) | Tagged::Serve(request) => Ask::Send(request),
            Tagged::Answer(response) => Ask::Answer(response),
            Tagged::Pass(tagged) => Self::from(*tagged),
        }
    }
}

/// An entity tag in a request of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskTag {
    /// The tag in the response to this step.
    Seen(usize),
    /// The tag in the response to this step, marked as weak.
    Weak(usize),
    /// The tag in the response to this step, not marked as weak.
    Strong(usize),
    /// A tag that is not taken from a response.
    Guess(Tag),
}

/// The value of `If-Match` or `If-None-Match` in a request.
pub type AskTags = Tags<AskTag>;

/// A date in a request: the `Last-Modified` in the response to a step, plus a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskDate(pub usize, pub i64);

/// The value of `If-Range` in a request.
pub type AskIfRange = IfRange<AskTag, AskDate>;

/// A request of a client: a [`Request`] that may refer to earlier responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskRequest {
    /// The method.
    pub method: Method,
    /// The name of the resource in this case.
    pub name: Arc<str>,
    /// `If-Match`: the request is performed only if one of these tags is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_match: Option<AskTags>,
    /// `If-None-Match`: the request is performed only if none of these tags is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_none_match: Option<AskTags>,
    /// The value of `If-Modified-Since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_modified_since: Option<AskDate>,
    /// The value of `If-Unmodified-Since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_unmodified_since: Option<AskDate>,
    /// `Range`: the requested byte ranges. Empty if the whole content is requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub range: Vec<Span>,
    /// `If-Range`: the ranges apply only if this validator is current; otherwise the whole content is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_range: Option<AskIfRange>,
    /// The content, as [text](confute_http1::text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// `true` if the content is sent in chunks.
    #[serde(skip_serializing_if = "is_default")]
    pub chunked: bool,
    /// `Expect: 100-continue`, with the number of milliseconds for which the content is held back (by a cut of the same
    /// step).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<u32>,
    /// `Connection: close`
    #[serde(skip_serializing_if = "is_default")]
    pub close: bool,
    /// `Connection: close`, with the same request once more right behind it.
    #[serde(skip_serializing_if = "is_default")]
    pub close_twice: bool,
    /// The deliberate defect, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,
    /// Fields in addition to those of every request, if a gateway forwards the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// Trailer fields, if a gateway forwards the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<Field>,
    /// Number that identifies the request, if a gateway forwards it. A request without one is served by the server
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<u64>,
}

/// A response of the tester as origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskResponse {
    /// The status code.
    pub status: u16,
    /// Fields in addition to those of every response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// The content, as [text](confute_http1::text).
    #[serde(skip_serializing_if = "str::is_empty")]
    pub body: Arc<str>,
    /// Framing of the content.
    pub frame: Frame,
    /// `true` if the response is the last on its connection.
    #[serde(skip_serializing_if = "is_default")]
    pub close: bool,
    /// Trailer fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<Field>,
    /// `true` if the request did not ask for trailer fields.
    #[serde(skip_serializing_if = "is_default")]
    pub unasked: bool,
    /// Status codes of the interim responses before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interim: Vec<u16>,
    /// Number of bytes after which the response is cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<usize>,
    /// Number that identifies the response.
    pub mark: u64,
}

/// Returns a value from the responses to a step: that of the last response which has one.
fn told<T>(past: &Past<Http>, step: usize, look: impl Fn(&Response) -> Option<T>) -> Option<T> {
    let at = past.exchanges.partition_point(|exchange| exchange.step < step);
    let exchange = past.exchanges.get(at).filter(|exchange| exchange.step == step)?;
    exchange.replies.iter().rev().find_map(|reply| look(reply.own_response()?))
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

impl AskDate {
    fn resolve(self, past: &Past<Http>) -> Option<i64> {
        // A date that cannot be written is clamped here, because the model must see the date that is sent.
        let told = told(past, self.0, |response| response.last_modified)?;
        Some(told.saturating_add(self.1).clamp(0, date::LAST))
    }
}

/// Resolves an optional part of a request. Returns `None` only if the part is present and refers to a response that was
/// never seen.
fn resolved<A, R>(asked: Option<&A>, resolve: impl Fn(&A) -> Option<R>) -> Option<Option<R>> {
    match asked {
        None => Some(None),
        Some(asked) => resolve(asked).map(Some),
    }
}

impl AskRequest {
    /// Returns `true` if a gateway forwards the request.
    pub(crate) fn is_forwarded(&self) -> bool {
        self.mark.is_some()
    }

    /// Returns the request to the server itself, for this path, or `None` if it refers to a response that was never
    /// seen.
    pub(crate) fn own(&self, path: Arc<str>, past: &Past<Http>) -> Option<Request> {
        Some(Request {
            method: self.method.clone(),
            path,
            if_match: resolved(self.if_match.as_ref(), |tags| tags.map(|tag| tag.resolve(past)))?,
            if_none_match: resolved(self.if_none_match.as_ref(), |tags| tags.map(|tag| tag.resolve(past)))?,
            if_modified_since: resolved(self.if_modified_since.as_ref(), |date| date.resolve(past))?,
            if_unmodified_since: resolved(self.if_unmodified_since.as_ref(), |date| date.resolve(past))?,
            range: self.range.clone(),
            if_range: resolved(self.if_range.as_ref(), |value| match value {
                AskIfRange::Tag(tag) => tag.resolve(past).map(IfRange::Tag),
                AskIfRange::Date(date) => date.resolve(past).map(IfRange::Date),
            })?,
            body: self.body.clone(),
            chunked: self.chunked,
            expect: self.expect,
            close: self.close,
            close_twice: self.close_twice,
            odd: self.odd,
            ..Request::default()
        })
    }

    /// Returns the request for a gateway to forward, with this path.
    pub(crate) fn forwarded(&self, path: Arc<str>, case: &str, target: &Target) -> Request {
        let mut fields = vec![
            Field::new("Host", &target.host),
            Field::new(MARK, &format!("{case}.{}", self.mark.unwrap_or_default())),
            Field::new("Cache-Control", "no-transform"),
        ];
        fields.extend(self.fields.iter().cloned());
        let (fields, trailers) = (Fields(fields), Fields(self.trailers.clone()));
        let forwarded = ForwardedRequest { minor: 1, fields, trailers, flaws: Vec::new(), dropped: false };
        Request {
            method: self.method.clone(),
            path,
            body: self.body.clone(),
            chunked: self.chunked,
            forwarded: forwarded.into(),
            ..Request::default()
        }
    }
}

impl AskResponse {
    /// Returns the response with this mark.
    pub(crate) fn marked(&self, mark: &str) -> Message {
        let mut fields = vec![Field::new("Cache-Control", FORBIDDEN), Field::new(MARK, mark)];
        fields.extend(self.fields.iter().cloned());
        let response = Response {
            status: self.status,
            body: self.body.clone(),
            close: self.close || self.cut.is_some() || self.frame == Frame::UntilClose,
            interim: self.interim.clone(),
            ..Response::default()
        };
        let change = |part: &mut ForwardedResponse| {
            part.fields = Fields(fields);
            part.frame = self.frame;
            part.trailers = Fields(self.trailers.clone());
            part.unasked = self.unasked && !self.trailers.is_empty();
            part.cut = self.cut;
        };
        response.forwarding(change).into()
    }

    /// Returns the plain response to a request, as its version and method allow.
    pub(crate) fn to(request: &Request) -> Self {
        let options = request.forwarded.fields.connection();
        let has = |option: &str| options.iter().any(|each| each == option);
        let close = has("close") || (request.forwarded.minor == 0 && !has("keep-alive"));
        let frame = if request.method == Method::Head { Frame::Bare } else { Frame::Sized };
        AskResponse { status: 200, frame, close, ..AskResponse::default() }
    }

    /// Returns `true` if a correct origin may send this response to the request: a response to HEAD has no content,
    /// only a conditional request may be answered with 304, and trailer fields are marked as unasked exactly if the
    /// request does not ask for them. A response that is cut off before its first byte suits every request.
    pub(crate) fn suits(&self, request: &Request) -> bool {
        let is_empty = matches!(self.status, 204 | 304);
        let is_bare = self.frame == Frame::Bare;
        let is_asked = self.trailers.is_empty() || self.unasked != request.wants_trailers();
        self.cut == Some(0)
            || (is_empty || is_bare == (request.method == Method::Head))
                && (self.status != 304 || request.allows_not_modified())
                && is_asked
    }
}

#[cfg(test)]
mod tests {
    use confute_drive::{Exchange, Peer, Protocol as _};

    use super::*;

    #[test]
    fn what_was_seen_is_referred_to() {
        let http = Http::origin(Target::default(), "/t/");
        let reply = Response { etag: Some(Tag::weak("x")), last_modified: Some(50), ..Response::default() };
        let exchange = Exchange {
            step: 3,
            on: Peer::Opened(0),
            ask: AskRequest::default().into(),
            request: Request::default().into(),
            replies: vec![reply.into()],
        };
        let past = Past { exchanges: vec![exchange], ..Past::default() };
        let tags = AskTags::Lines(vec![
            vec![AskTag::Seen(3), AskTag::Guess(Tag::strong("y"))],
            vec![AskTag::Strong(3)],
        ]);
        let ask = AskRequest {
            name: "a".into(),
            if_match: Some(tags),
            if_modified_since: Some(AskDate(3, -1)),
            ..AskRequest::default()
        };
        let Some(Message::Request(request)) = http.resolve(&ask.clone().into(), "c1", &past) else {
            panic!("it was seen")
        };
        assert_eq!(&*request.path, "/t/c1-a");
        let expected = vec![vec![Tag::weak("x"), Tag::strong("y")], vec![Tag::strong("x")]];
        assert_eq!((&request.if_match, request.if_modified_since), (&Some(Tags::Lines(expected)), Some(49)));
        let unseen =
            AskRequest { if_none_match: Some(AskTags::one(AskTag::Seen(2))), ..AskRequest::default() };
        assert_eq!(http.resolve(&unseen.into(), "c1", &past), None);
    }

    #[test]
    fn asks_of_earlier_revisions_are_read() {
        let read = |json: &str| serde_json::from_str::<Ask>(json).unwrap();
        let own = AskRequest { method: Method::Put, name: "a".into(), ..AskRequest::default() };
        let own = AskRequest { if_match: Some(AskTags::one(AskTag::Weak(3))), ..own };
        let json = r#"{"method":"put","name":"a","if_match":{"lines":[[{"weak":3}]]}}"#;
        assert_eq!(read(json), Ask::Send(own.clone()));
        assert_eq!(read(&format!(r#"{{"serve":{json}}}"#)), Ask::Send(own.clone()));
        let sent =
            AskRequest { method: Method::Get, name: "a".into(), mark: Some(7), ..AskRequest::default() };
        let json = r#"{"send":{"method":"GET","name":"a","mark":7}}"#;
        assert_eq!(read(json), Ask::Send(sent.clone()));
        assert_eq!(read(&format!(r#"{{"pass":{json}}}"#)), Ask::Send(sent.clone()));
        let answer = AskResponse { status: 204, frame: Frame::Bare, mark: 8, ..AskResponse::default() };
        let json = r#"{"pass":{"answer":{"status":204,"frame":"bare","mark":8}}}"#;
        assert_eq!(read(json), Ask::Answer(answer.clone()));
        // Asks of this revision are read as well.
        for ask in [Ask::Send(own), Ask::Send(sent), Ask::Answer(answer)] {
            assert_eq!(read(&serde_json::to_string(&ask).unwrap()), ask);
        }
    }
}
