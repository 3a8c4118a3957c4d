//! Traffic through a gateway: the requests of clients and the responses of the origin.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

use confute_drive::{Generator, Peer, Step, Until, View};

use super::Pick;
use super::moves::{choose, draw, repeated};
use crate::ask::{Ask, AskRequest, AskResponse};
use crate::message::{Field, Frame, Message, Method, Request};
use crate::protocol::Http;

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestMove {
    Get,
    /// GET with a query.
    Query,
    Head,
    Put,
    /// PUT with its content in chunks.
    ChunkedPut,
    Post,
    /// POST with its content in chunks.
    ChunkedPost,
    Delete,
    Options,
    /// OPTIONS with `Max-Forwards: 0`, which a proxy answers itself (RFC 9110, 7.6.2).
    OptionsToFirst,
    /// OPTIONS with a `Max-Forwards` that a proxy decrements.
    OptionsCounted,
    /// PUT with `If-Match`.
    PutIfMatch,
    /// PUT with `If-None-Match: *`.
    PutIfNoneMatch,
    /// GET with `If-None-Match` and `Range`.
    ConditionalPart,
    /// GET or DELETE with fields that `Connection` lists, which are not forwarded (RFC 9110, 7.6.1).
    HopFields,
    /// GET with `Keep-Alive` and `Proxy-Connection`, which intermediaries should not forward (RFC 9110, 7.6.1).
    KeepAlive,
    /// PATCH with repeated field names, and with a `Via`.
    RepeatedFields,
    /// GET with `TE: trailers`, and with a `Via`.
    WantsTrailers,
    /// PUT with trailer fields.
    TrailedPut,
    /// POST with trailer fields.
    TrailedPost,
}

/// Requests of clients, with the number of times that each comes before any comes more often.
const REQUEST_MOVES: [(RequestMove, u64); 20] = [
    (RequestMove::Get, 4),
    (RequestMove::Query, 1),
    (RequestMove::Head, 1),
    (RequestMove::Put, 2),
    (RequestMove::ChunkedPut, 1),
    (RequestMove::Post, 2),
    (RequestMove::ChunkedPost, 1),
    (RequestMove::Delete, 2),
    (RequestMove::Options, 1),
    (RequestMove::OptionsToFirst, 1),
    (RequestMove::OptionsCounted, 1),
    (RequestMove::PutIfMatch, 1),
    (RequestMove::PutIfNoneMatch, 1),
    (RequestMove::ConditionalPart, 1),
    (RequestMove::HopFields, 1),
    (RequestMove::KeepAlive, 1),
    (RequestMove::RepeatedFields, 1),
    (RequestMove::WantsTrailers, 1),
    (RequestMove::TrailedPut, 1),
    (RequestMove::TrailedPost, 1),
];

/// Requests of a pipeline, as GET or HEAD.
const PIPELINED: [RequestMove; 5] =
    [RequestMove::Get, RequestMove::Query, RequestMove::Head, RequestMove::Options, RequestMove::HopFields];

impl RequestMove {
    /// `true` if the request tests what is only recommended: a gateway that does otherwise gets a warning, and the case
    /// is over.
    fn is_about_recommendation(self) -> bool {
        matches!(self, RequestMove::KeepAlive | RequestMove::WantsTrailers)
    }
}

/// A response of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseMove {
    /// 200 with content.
    Plain,
    /// 200 with `ETag` and `Content-Type`.
    Tagged,
    /// 200 with `ETag` and with its content in chunks.
    TaggedChunks,
    /// 200 with its content in chunks.
    Chunks,
    /// 200 with content that ends where the connection ends.
    UntilClose,
    NoContent,
    /// 304 if the request allows it, or else 201.
    NotModifiedOrCreated,
    NotFound,
    PreconditionFailed,
    ServerError,
    /// 200 with a field that `Connection` lists, and with repeated field names.
    HopFields,
    /// 200 with `Connection: close`.
    Close,
    /// 200 in three pieces, with pauses between them.
    Slow,
    /// 200 that breaks off anywhere in its head or content.
    BrokenOff,
    /// No response: the connection ends.
    Failure,
    /// Interim responses (102, 103) before a 200.
    Interim,
    /// 200 in chunks with trailer fields.
    Trailed,
    /// 200 in chunks with trailer fields and without content.
    TrailedEmpty,
    /// 200 that breaks off in its chunks.
    BrokenOffInChunks,
}

/// Responses of the origin, with the number of times that each comes before any comes more often.
const RESPONSE_MOVES: [(ResponseMove, u64); 19] = [
    (ResponseMove::Plain, 4),
    (ResponseMove::Tagged, 1),
    (ResponseMove::TaggedChunks, 1),
    (ResponseMove::Chunks, 1),
    (ResponseMove::UntilClose, 1),
    (ResponseMove::NoContent, 1),
    (ResponseMove::NotModifiedOrCreated, 1),
    (ResponseMove::NotFound, 1),
    (ResponseMove::PreconditionFailed, 1),
    (ResponseMove::ServerError, 1),
    (ResponseMove::HopFields, 1),
    (ResponseMove::Close, 1),
    (ResponseMove::Slow, 1),
    (ResponseMove::BrokenOff, 1),
    (ResponseMove::Failure, 1),
    (ResponseMove::Interim, 1),
    (ResponseMove::Trailed, 1),
    (ResponseMove::TrailedEmpty, 1),
    (ResponseMove::BrokenOffInChunks, 1),
];

impl ResponseMove {
    /// `true` if a request can have this response.
    fn suits(self, request: &Request) -> bool {
        // A client of HTTP/1.0 knows neither chunks nor interim responses (RFC 9110, 15.2).
        let is_current = request.forwarded.minor > 0;
        match self {
            ResponseMove::UntilClose | ResponseMove::BrokenOff => request.method != Method::Head,
            ResponseMove::TaggedChunks
            | ResponseMove::Chunks
            | ResponseMove::Trailed
            | ResponseMove::TrailedEmpty
            | ResponseMove::BrokenOffInChunks => is_current && request.method != Method::Head,
            ResponseMove::Interim => is_current,
            _ => true,
        }
    }
}

/// Marks in the content of a message: none, very many, many or a few.
const CONTENT_MARKS: [usize; 16] = [0, 3_000, 40, 40, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Number of requests in a case. The time to find the broken rule grows with its square.
const REQUESTS: usize = 30;
/// Most requests that are outstanding: every way in which they can overtake each other is a hypothesis.
const MOST_OUTSTANDING: usize = 4;
/// Cases at the beginning of a campaign with one request at a time and an opening.
const CALM_CASES: u64 = 2;

/// Traffic of one case, on both sides of the gateway.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Number of requests that are left.
    requests_left: usize,
    /// Most requests that may be outstanding.
    most_outstanding: usize,
    /// Number of requests and responses made so far: each is marked with its number.
    marks: u64,
    /// Requests that come before any comes again.
    request_deck: Vec<RequestMove>,
    /// Responses that come before any comes again.
    response_deck: Vec<ResponseMove>,
    queue: VecDeque<Step<Ask>>,
    /// `true` if the origin sends interim responses now and then.
    has_interim: bool,
    /// `true` if moves that may end the case come last: requests about recommendations, and interim responses.
    is_cautious: bool,
    /// `true` if the origin ended a connection with its latest response.
    has_closed: bool,
    opening: Opening,
}

/// The state of the opening, in which the first request and its response both have content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// The request is next.
    Request,
    /// The response is next.
    Response,
    Over,
}

impl Passage {
    /// Creates the traffic of the case with this number in a campaign. The first cases send one request after the
    /// other, because violations found like that are the easiest to explain.
    pub fn of_case(case: u64) -> Self {
        if case < CALM_CASES {
            return Self::new(REQUESTS, 1).hinting(case).opening();
        }
        Self::new(REQUESTS, 1 + case as usize % MOST_OUTSTANDING).hinting(case)
    }

    /// Makes the first request and its response plain ones with content. Moves that may end the case come last.
    #[must_use]
    pub(crate) fn opening(self) -> Self {
        Self { opening: Opening::Request, is_cautious: true, ..self }
    }

    /// Returns `true` until the first request of the opening.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening == Opening::Request
    }

    /// Creates traffic of this many requests, of which at most `most` are outstanding at once.
    pub fn new(requests: usize, most: usize) -> Self {
        Self {
            requests_left: requests,
            most_outstanding: most.max(1),
            marks: 0,
            request_deck: Vec::new(),
            response_deck: Vec::new(),
            queue: VecDeque::new(),
            has_interim: true,
            is_cautious: false,
            has_closed: false,
            opening: Opening::Over,
        }
    }

    /// Leaves interim responses out of three cases in four: a gateway that stops responding after one would not be
    /// tested any further in any case.
    #[must_use]
    pub fn hinting(mut self, case: u64) -> Self {
        self.has_interim = case % 4 == 1;
        self
    }

    /// Returns a number that no other message of the case has.
    pub(crate) fn mark(&mut self) -> u64 {
        self.marks += 1;
        self.marks
    }

    /// Returns content of random length that no other message has.
    fn body(mark: u64, pick: &mut Pick<'_>) -> Arc<str> {
        Self::content(mark, choose(&CONTENT_MARKS, pick))
    }

    fn content(mark: u64, times: usize) -> Arc<str> {
        format!("<{mark:06}>").repeat(times).into()
    }

    pub(super) fn request(&mut self, chosen: RequestMove, pick: &mut Pick<'_>) -> AskRequest {
        let mark = self.mark();
        let name = format!("r{}", pick(4));
        let plain = |method: &str| AskRequest {
            method: method.into(),
            name: name.as_str().into(),
            mark: Some(mark),
            ..AskRequest::default()
        };
        let with = |method: &str, fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, value)| Field::new(name, value)).collect();
            AskRequest { fields, ..plain(method) }
        };
        let filled = |request: AskRequest, pick: &mut Pick<'_>| AskRequest {
            body: Some(Self::body(mark, pick)),
            fields: request
                .fields
                .iter()
                .cloned()
                .chain([Field::new("Content-Type", "text/x-confute")])
                .collect(),
            ..request
        };
        let hop = format!("hop-{mark}");
        match chosen {
            RequestMove::Get => plain("GET"),
            RequestMove::Query => {
                AskRequest { name: format!("{name}?query={mark}&more").into(), ..plain("GET") }
            }
            RequestMove::Head => plain("HEAD"),
            RequestMove::Put => filled(plain("PUT"), pick),
            RequestMove::ChunkedPut => AskRequest { chunked: true, ..filled(plain("PUT"), pick) },
            RequestMove::Post => filled(plain("POST"), pick),
            RequestMove::ChunkedPost => AskRequest { chunked: true, ..filled(plain("POST"), pick) },
            RequestMove::Delete => plain("DELETE"),
            RequestMove::Options => plain("OPTIONS"),
            RequestMove::OptionsToFirst => with("OPTIONS", &[("Max-Forwards", "0")]),
            RequestMove::OptionsCounted => with("OPTIONS", &[("Max-Forwards", "7")]),
            RequestMove::PutIfMatch => filled(with("PUT", &[("If-Match", "\"a\", W/\"b\"")]), pick),
            RequestMove::PutIfNoneMatch => filled(with("PUT", &[("If-None-Match", "*")]), pick),
            RequestMove::ConditionalPart => {
                with("GET", &[("If-None-Match", "\"a\""), ("Range", "bytes=0-9")])
            }
            RequestMove::HopFields => with(
                if pick(2) == 0 { "GET" } else { "DELETE" },
                &[
                    ("Connection", "X-Hop-One, x-hop-two"),
                    ("X-Hop-One", &hop),
                    ("X-Hop-Two", &hop),
                    ("X-End", "stays"),
                ],
            ),
            RequestMove::KeepAlive => with(
                "GET",
                &[("Keep-Alive", "timeout=7777"), ("Proxy-Connection", "confute"), ("X-End", &hop)],
            ),
            RequestMove::RepeatedFields => filled(
                with("PATCH", &[("X-End-Two", "one"), ("X-End-Two", "two, three"), ("Via", "1.0 fred")]),
                pick,
            ),
            RequestMove::WantsTrailers => {
                with("GET", &[("Connection", "TE"), ("TE", "trailers"), ("Via", "1.1 ethel")])
            }
            RequestMove::TrailedPut | RequestMove::TrailedPost => {
                let method = if chosen == RequestMove::TrailedPut { "PUT" } else { "POST" };
                AskRequest {
                    chunked: true,
                    trailers: vec![Field::new("X-End-Trailer", &hop)],
                    ..filled(with(method, &[("Trailer", "X-End-Trailer")]), pick)
                }
            }
        }
    }

    fn draw_request(&mut self, pick: &mut Pick<'_>) -> Option<RequestMove> {
        if self.request_deck.is_empty() {
            self.request_deck.extend(repeated(&REQUEST_MOVES));
        }
        let is_for_later = |chosen: &RequestMove| self.is_cautious && chosen.is_about_recommendation();
        let (later, mut now): (Vec<_>, Vec<_>) = self.request_deck.iter().copied().partition(is_for_later);
        if now.is_empty() {
            return draw(&mut self.request_deck, iter::empty(), pick);
        }
        let drawn = draw(&mut now, iter::empty(), pick);
        self.request_deck = now.into_iter().chain(later).collect();
        drawn
    }

    /// Draws a response that this request can have. The others stay in the deck for the requests that follow.
    fn draw_response(&mut self, request: &Request, pick: &mut Pick<'_>) -> Option<ResponseMove> {
        let (mut fit, rest): (Vec<_>, Vec<_>) =
            self.response_deck.iter().copied().partition(|chosen| chosen.suits(request));
        let all = repeated(&RESPONSE_MOVES).filter(|chosen| chosen.suits(request));
        let drawn = draw(&mut fit, all, pick);
        self.response_deck = fit.into_iter().chain(rest).collect();
        drawn
    }

    /// Returns `true` if no request is left and the response may end the case.
    fn is_last(&self) -> bool {
        self.is_cautious && self.requests_left == 0
    }

    fn response(
        &mut self,
        chosen: ResponseMove,
        request: &Request,
        pick: &mut Pick<'_>,
    ) -> (AskResponse, Vec<(usize, u64)>) {
        let mark = self.mark();
        let plain = AskResponse { mark, body: Self::body(mark, pick), ..AskResponse::to(request) };
        let tagged = |response: AskResponse| AskResponse {
            fields: vec![
                Field::new("ETag", &format!("\"{mark}\"")),
                Field::new("Content-Type", "text/x-confute"),
            ],
            ..response
        };
        let empty = |status| AskResponse { status, body: "".into(), frame: Frame::Bare, ..plain.clone() };
        let response = match chosen {
            ResponseMove::Plain => plain,
            ResponseMove::Tagged => tagged(plain),
            _ if !chosen.suits(request) => plain,
            ResponseMove::TaggedChunks => AskResponse { frame: Frame::Chunked, ..tagged(plain) },
            ResponseMove::Chunks => AskResponse { frame: Frame::Chunked, ..plain },
            ResponseMove::UntilClose => AskResponse { frame: Frame::UntilClose, close: true, ..plain },
            ResponseMove::NoContent => empty(204),
            ResponseMove::NotModifiedOrCreated if request.allows_not_modified() => empty(304),
            ResponseMove::NotModifiedOrCreated => tagged(AskResponse { status: 201, ..plain }),
            ResponseMove::NotFound => AskResponse { status: 404, ..plain },
            ResponseMove::PreconditionFailed => AskResponse { status: 412, ..plain },
            ResponseMove::ServerError => AskResponse { status: 500, ..plain },
            ResponseMove::HopFields => {
                let hop = format!("hop-{mark}");
                let fields = [
                    ("Connection", "X-Hop-Three"),
                    ("X-Hop-Three", &hop),
                    ("X-End", "stays"),
                    ("X-End-Two", "one"),
                    ("X-End-Two", "two, three"),
                ];
                AskResponse {
                    fields: fields.iter().map(|(name, value)| Field::new(name, value)).collect(),
                    ..plain
                }
            }
            ResponseMove::Close => AskResponse { close: true, ..plain },
            ResponseMove::Slow => {
                return (plain, vec![(20 + pick(60) as usize, 1 + pick(8)), (120, 1 + pick(8))]);
            }
            // The head has well under 300 bytes, so it is sent whole or in part.
            ResponseMove::BrokenOff => {
                AskResponse { cut: Some(10 + pick(450) as usize), body: Self::content(mark, 40), ..plain }
            }
            // The head is sent whole, followed by a part of the chunks.
            ResponseMove::BrokenOffInChunks => {
                let cut = Some(300 + pick(160) as usize);
                AskResponse { cut, frame: Frame::Chunked, body: Self::content(mark, 40), ..plain }
            }
            ResponseMove::Failure => AskResponse { cut: Some(0), ..plain },
            ResponseMove::Interim if self.has_interim || self.is_last() => {
                let interim = if pick(2) == 0 { vec![103] } else { vec![102, 103] };
                AskResponse { interim, ..tagged(plain) }
            }
            ResponseMove::Trailed | ResponseMove::TrailedEmpty => {
                // Without content, the trailer section may reach the gateway before it has forwarded the head.
                let body = if chosen == ResponseMove::TrailedEmpty { "".into() } else { plain.body.clone() };
                AskResponse {
                    frame: Frame::Chunked,
                    trailers: vec![Field::new("X-End-Trailer", &format!("trailer-{mark}"))],
                    unasked: !request.wants_trailers(),
                    body,
                    ..tagged(plain)
                }
            }
            ResponseMove::Interim => plain,
        };
        (response, Vec::new())
    }

    /// Responds to one of the requests at the origin, or to all of them at once, because a gateway that confuses
    /// responses does so then.
    fn respond(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        let mut waiting: Vec<_> = view.asked.iter().collect();
        let count = if pick(2) == 0 { waiting.len() } else { 1 };
        for _ in 0..count {
            let (peer, message) = waiting.swap_remove(pick(waiting.len().max(1) as u64) as usize);
            let Message::Request(request) = message else { continue };
            let (response, cuts) = if std::mem::replace(&mut self.opening, Opening::Over) == Opening::Response
            {
                let mark = self.mark();
                (AskResponse { mark, body: Self::content(mark, 3), ..AskResponse::to(request) }, Vec::new())
            } else {
                // After the end of a connection the gateway opens a new one. To fail on a new connection is not the
                // same as to fail on one that had a response before.
                let fails = std::mem::take(&mut self.has_closed) && pick(3) == 0;
                let suits_trailers = request.wants_trailers() && ResponseMove::Trailed.suits(request);
                let chosen = match () {
                    () if self.is_last() => Some(ResponseMove::Interim),
                    () if fails => Some(ResponseMove::Failure),
                    // Few gateways send `TE: trailers`.
                    () if suits_trailers && pick(2) == 0 => Some(ResponseMove::Trailed),
                    () => self.draw_response(request, pick),
                };
                self.response(chosen.unwrap_or(ResponseMove::Plain), request, pick)
            };
            self.has_closed = response.close || response.cut.is_some();
            self.queue.push_back(Step::Ask { on: *peer, ask: Ask::Answer(response), cuts });
        }
        self.queue.pop_front()
    }

    /// Returns the next queued step or, if there is none, a response to a request that waits at the origin.
    pub(super) fn next_response(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        if self.queue.is_empty() && !view.asked.is_empty() {
            return self.respond(view, pick);
        }
        self.queue.pop_front()
    }

    /// Sends a GET on every connection.
    fn read_on_all(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        for on in 0..(self.most_outstanding as u32).min(view.connections) {
            self.requests_left = self.requests_left.saturating_sub(1);
            let request = self.request(RequestMove::Get, pick);
            self.queue.push_back(Step::Ask {
                on: Peer::Opened(on),
                ask: Ask::Send(request),
                cuts: Vec::new(),
            });
        }
    }

    /// Returns a connection without outstanding responses.
    fn idle_connection(view: &View<'_, Http>, pick: &mut Pick<'_>) -> Option<u32> {
        let idle: Vec<u32> = (0..view.connections)
            .filter(|on| view.outstanding.get(*on as usize).is_none_or(|count| *count == 0))
            .collect();
        idle.get(pick(idle.len().max(1) as u64) as usize).copied()
    }
}

impl Generator<Http> for Passage {
    fn next(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if let Some(step) = self.queue.pop_front() {
            return Some(step);
        }
        let outstanding: usize = view.outstanding.iter().map(|count| *count as usize).sum();
        let may_send = self.requests_left > 0 && outstanding < self.most_outstanding;
        // Mostly several requests are sent before any gets a response.
        if !view.asked.is_empty() && (!may_send || pick(3) == 0) {
            return self.respond(view, pick);
        }
        if may_send && outstanding == 0 && self.most_outstanding > 1 && pick(5) == 0 {
            self.read_on_all(view, pick);
            return self.queue.pop_front();
        }
        if let (true, Some(on)) = (may_send, Self::idle_connection(view, pick)) {
            self.requests_left -= 1;
            let request = if self.opening == Opening::Request {
                self.opening = Opening::Response;
                let method = if pick(2) == 0 { "PUT" } else { "POST" };
                let request = self.request(RequestMove::Get, pick);
                let body = Some(Self::content(self.marks, 3));
                AskRequest { method: method.into(), body, ..request }
            } else {
                let chosen = self.draw_request(pick).unwrap_or(RequestMove::Get);
                self.request(chosen, pick)
            };
            let cuts = if pick(12) == 0 { vec![(1 + pick(90) as usize, pick(4))] } else { Vec::new() };
            if outstanding == 0 && self.most_outstanding > 1 && self.requests_left > 3 && pick(10) == 0 {
                self.pipeline(on, pick);
            }
            return Some(Step::Ask { on: Peer::Opened(on), ask: Ask::Send(request), cuts });
        }
        (outstanding > 0).then_some(Step::Wait(Until::Something))
    }
}

impl Passage {
    /// Sends a few safe requests on one connection without waiting.
    fn pipeline(&mut self, after: u32, pick: &mut Pick<'_>) {
        // Not on the same connection, where the request under way may be unsafe.
        let on = after + 1;
        for _ in 0..2 + pick(2) {
            self.requests_left = self.requests_left.saturating_sub(1);
            let chosen = choose(&PIPELINED, pick);
            let request = AskRequest {
                method: if chosen == RequestMove::Head { "HEAD" } else { "GET" }.into(),
                ..self.request(chosen, pick)
            };
            self.queue.push_back(Step::Ask {
                on: Peer::Opened(on),
                ask: Ask::Send(request),
                cuts: Vec::new(),
            });
        }
    }
}
