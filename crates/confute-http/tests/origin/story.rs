//! Builder of traces, exchange by exchange, and assertions about them.

use confute::lang::{Level, Rule};
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, Verdict, blame, judge};
use confute_http::message::{Message, Method, Request, Response, Tag, Tags};
use confute_http::rules::RULES;
use confute_http::{Origin, TagStyle};

pub(crate) const ORIGIN: Origin = Origin { tags: TagStyle::Any };

/// A trace with a millisecond between two events.
#[derive(Clone, Default)]
pub(crate) struct Story {
    pub(crate) events: Vec<Event<Message>>,
    clock: i64,
}

impl Story {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Advances the clock.
    pub(crate) fn wait(mut self, millis: i64) -> Self {
        self.clock += millis * 1000;
        self
    }

    pub(crate) fn sent(mut self, conn: u32, request: Request) -> Self {
        self.clock += 1000;
        self.events.push(Event::Sent(WireConn(conn), Request { at: self.clock, ..request }.into()));
        self
    }

    pub(crate) fn got(mut self, conn: u32, response: Response) -> Self {
        self.clock += 1000;
        let response = Response { at: self.clock, ..response };
        self.events.push(Event::Received(WireConn(conn), response.into()));
        self
    }

    pub(crate) fn hung_up(mut self, conn: u32) -> Self {
        self.events.push(Event::HungUp(WireConn(conn)));
        self
    }

    /// Adds a request and its response.
    pub(crate) fn ask(self, request: Request, response: Response) -> Self {
        self.sent(0, request).got(0, response)
    }

    /// Adds a request and its response on another connection.
    pub(crate) fn ask_on(self, conn: u32, request: Request, response: Response) -> Self {
        self.sent(conn, request).got(conn, response)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        judge(&ORIGIN, &Tcp::default(), &self.events, &Options::default())
    }

    /// Returns the rules that explain the trace, each alone, with the fewest deviations.
    pub(crate) fn blamed(&self) -> Vec<&'static str> {
        assert!(self.verdict().is_refuted(), "{:?}", self.verdict());
        accuse(&self.events)
    }

    /// Returns the level of the violation.
    pub(crate) fn level(&self) -> Option<Level> {
        assert!(self.verdict().is_refuted(), "{:?}", self.verdict());
        blame(&ORIGIN, &Tcp::default(), &self.events, &Options::default()).level()
    }

    /// Checks that the trace is not refuted.
    #[track_caller]
    pub(crate) fn legal(self) {
        let verdict = self.verdict();
        assert!(verdict.is_unrefuted(), "{verdict:?}, blamed on {:?}", self.blamed());
    }

    /// Checks that the trace is blamed on this rule, and besides only on more general rules or rules of the store.
    #[track_caller]
    pub(crate) fn breaks(self, rule: &str) {
        self.breaks_or(rule, &[]);
    }

    /// Checks the blame like [`Story::breaks`], but allows these other rules too.
    #[track_caller]
    pub(crate) fn breaks_or(self, rule: &str, others: &[&str]) {
        let blamed = self.blamed();
        let is_store = |name: &str| name.starts_with("store/") && !rule.starts_with("store/");
        let fits = |name: &&str| GENERAL.contains(name) || others.contains(name) || is_store(name);
        assert!(blamed.contains(&rule), "blamed on {blamed:?}");
        assert!(blamed.iter().filter(|name| **name != rule).all(fits), "blamed on {blamed:?}");
        let is_first = blamed[0] == rule || others.contains(&blamed[0]);
        assert!(is_first, "blamed on {blamed:?}");
    }
}

/// Rules that have special cases.
const GENERAL: [&str; 11] = [
    "rfc9110-13.1.5/if-range",
    "rfc9110-13.1.1/every-member",
    "rfc9110-13.1.2/every-member",
    "rfc9110-13.1.1/if-match",
    "rfc9110-13.1.1/if-match-on-read",
    "rfc9110-13.1.1/if-match-on-delete",
    "rfc9110-13.1.2/if-none-match",
    "rfc9110-13.1.2/if-none-match-on-delete",
    "rfc9110-13.1.2/not-modified",
    "rfc9110-15.4.5/cause",
    "rfc9110-15.5.13/cause",
];

/// Returns the rules that explain a refuted trace, each alone, with the fewest deviations. The result is that of
/// `confute::blame`, but few deviations are tried before many, which is faster for long traces.
pub(crate) fn accuse(events: &[Event<Message>]) -> Vec<&'static str> {
    accuse_besides(events, &[])
}

/// Returns the rules that explain a refuted trace like [`accuse`], with some rules relaxed.
pub(crate) fn accuse_besides(events: &[Event<Message>], relaxed: &[&'static str]) -> Vec<&'static str> {
    for deviations in [1, 2, 3, 4, 5, 6, 8, 12, 24, 100] {
        if deviations > 6 && relaxed.is_empty() {
            break;
        }
        let explains = |rule: &&Rule| {
            let relaxed = relaxed.iter().copied().chain([rule.name]).collect();
            let options = Options { relaxed, deviations, turns: 100_000, ..Options::default() };
            judge(&ORIGIN, &Tcp::default(), events, &options).is_unrefuted()
        };
        let rules: Vec<_> = RULES.iter().filter(explains).map(|rule| rule.name).collect();
        if !rules.is_empty() {
            return rules;
        }
    }
    Vec::new()
}

#[test]
fn blame_says_the_same() {
    let story = with("v", "x").ask(put("w").if_none_match("~x"), status(204));
    let blame = blame(&ORIGIN, &Tcp::default(), &story.events, &Options::default());
    let names: Vec<_> = blame.diagnoses.iter().map(|diagnosis| diagnosis.rules[0]).collect();
    assert_eq!(names, accuse(&story.events));
}

pub(crate) fn get() -> Request {
    Request { path: "/a".into(), ..Request::default() }
}

pub(crate) fn head() -> Request {
    Request { method: Method::Head, ..get() }
}

pub(crate) fn put(body: &str) -> Request {
    Request { method: Method::Put, body: Some(body.into()), ..get() }
}

pub(crate) fn delete() -> Request {
    Request { method: Method::Delete, ..get() }
}

pub(crate) fn status(status: u16) -> Response {
    Response { status, ..Response::default() }
}

/// Returns a 200 with this content.
pub(crate) fn ok(body: &str) -> Response {
    Response { body: body.into(), content_length: Some(body.len() as u64), ..status(200) }
}

pub(crate) trait Asking: Sized {
    fn at(self, path: &str) -> Self;
    fn if_match(self, tags: &str) -> Self;
    fn if_none_match(self, tags: &str) -> Self;
}

/// Parses `*`, or tags like `a` and `~b` (weak), with `,` between members and `;` between field lines.
fn tags(text: &str) -> Tags {
    if text == "*" {
        return Tags::Any;
    }
    Tags::Lines(text.split(';').map(|line| line.split(',').map(tag).collect()).collect())
}

fn tag(text: &str) -> Tag {
    match text.strip_prefix('~') {
        Some(rest) => Tag::weak(rest),
        None => Tag::strong(text),
    }
}

impl Asking for Request {
    fn at(self, path: &str) -> Self {
        Request { path: path.into(), ..self }
    }
    fn if_match(self, text: &str) -> Self {
        Request { if_match: Some(tags(text)), ..self }
    }
    fn if_none_match(self, text: &str) -> Self {
        Request { if_none_match: Some(tags(text)), ..self }
    }
}

pub(crate) trait Telling: Sized {
    fn tag(self, tag: &str) -> Self;
    fn date(self, date: i64) -> Self;
}

impl Telling for Response {
    fn tag(self, text: &str) -> Self {
        Response { etag: Some(tag(text)), ..self }
    }
    fn date(self, date: i64) -> Self {
        Response { last_modified: Some(date), ..self }
    }
}

/// Returns a trace that creates a resource with this content and tag and the date 100.
pub(crate) fn with(body: &str, tag: &str) -> Story {
    Story::new().ask(put(body), status(201).tag(tag).date(100)).ask(get(), ok(body).tag(tag).date(100))
}

/// Returns a trace after which the resource does not exist.
pub(crate) fn missing() -> Story {
    Story::new().ask(put("gone"), status(201)).ask(delete(), status(204)).ask(get(), status(404))
}
