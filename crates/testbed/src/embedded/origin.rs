//! The methods of the origin server (RFC 9110, 9.3).

use std::sync::Arc;

use super::bug::Bug;
use super::condition::{self, Outcome, Validators};
use super::date;
use super::message::Request;
use super::range;
use super::response::Response;
use super::store::{Entry, Store, TagStyle};
use super::switches::{Stop, Switches};

/// The supported methods, as the value of Allow.
pub(crate) const ALLOW: &str = "GET, HEAD, PUT, DELETE, OPTIONS";

/// Registered methods that this server does not support: they get 405 instead of 501.
const KNOWN: [&str; 12] = [
    "POST",
    "PATCH",
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "SEARCH",
];

/// The origin server: HTTP semantics over a [`Store`].
#[derive(Debug)]
pub(crate) struct Origin {
    store: Store,
    switches: Arc<Switches>,
    stop: Arc<Stop>,
}

impl Origin {
    pub(crate) fn new(style: TagStyle, switches: Arc<Switches>, stop: Arc<Stop>) -> Self {
        Self { store: Store::new(style), switches, stop }
    }

    /// Returns `true` if this server supports the method.
    pub(crate) fn knows(method: &str) -> bool {
        ALLOW.split(", ").any(|it| it == method)
    }

    /// Performs a request that was received in full.
    pub(crate) fn answer(&self, request: Request) -> Response {
        if !Self::knows(&request.method) {
            return if KNOWN.contains(&&request.method[..]) {
                let response = Response::explained(405, "not here");
                if self.switches.has(Bug::AllowMissing) { response } else { response.field("Allow", ALLOW) }
            } else {
                Response::explained(501, "never heard of it")
            };
        }
        let Some(path) = request.path() else { return Response::explained(400, "a bad target") };
        match &request.method[..] {
            "OPTIONS" => self.options(&path, &request),
            "PUT" => self.put(&path, request),
            "DELETE" => self.delete(&path, &request),
            _ => self.get(&path, &request),
        }
    }

    fn options(&self, path: &str, request: &Request) -> Response {
        let current = self.store.lock().get(path).map(|entry| self.store.validators(&entry));
        if self.switches.has(Bug::OptionsConditional)
            && condition::evaluate(request, current.as_ref(), &self.switches) != Outcome::Perform
        {
            return failed();
        }
        Response::empty(204).field("Allow", ALLOW)
    }

    fn get(&self, path: &str, request: &Request) -> Response {
        let bugs = &self.switches;
        let entry = self.store.lock().read(path, bugs);
        let Some(entry) = entry else { return self.missing(request) };
        let current = self.store.validators(&entry);
        if !condition::is_conditional(request) && bugs.strikes(Bug::NotModifiedUnasked, 6) {
            return self.not_modified(&entry, current);
        }
        match condition::evaluate(request, Some(&current), bugs) {
            Outcome::Failed => failed(),
            Outcome::NotModified => self.not_modified(&entry, current),
            Outcome::Perform => {
                let ranged = request.method == "GET" || bugs.has(Bug::RangeOnHead);
                let mut response = if ranged && condition::if_range(&request.fields, &current, bugs) {
                    range::respond(&request.fields, &entry.content, bugs)
                } else {
                    Response::with(200, entry.content.clone())
                };
                if response.status == 416 && request.fields.has("if-range") && !bugs.has(Bug::IfRangeIgnored)
                {
                    // With If-Range, a range that is not satisfiable is ignored (13.2.2, step 5).
                    response = Response::with(200, entry.content.clone());
                }
                if response.status == 200 && !entry.content.is_empty() && bugs.strikes(Bug::ContentUnsent, 6)
                {
                    response = Response::empty(204);
                }
                if response.status != 416 {
                    response = described(response, &entry, &current);
                }
                response
            }
        }
    }

    fn put(&self, path: &str, request: Request) -> Response {
        if request.fields.has("content-range") {
            return Response::explained(400, "partial PUT is not supported");
        }
        if request.fields.tokens("content-encoding").iter().any(|it| it != "identity") {
            return Response::explained(415, "content codings are not supported");
        }
        let bugs = &self.switches;
        let (_alone, mut shelves) = self.store.lock_to_write(bugs);
        let entry = shelves.get(path);
        let current = entry.as_ref().map(|entry| self.store.validators(entry));
        if !condition::is_conditional(&request) && bugs.strikes(Bug::FailedUnasked, 6) {
            return failed();
        }
        match condition::evaluate(&request, current.as_ref(), bugs) {
            Outcome::Failed => return failed(),
            Outcome::NotModified => return Response::empty(304),
            Outcome::Perform => {}
        }
        if request.fields.has("if-match") && bugs.has(Bug::TwoWinners)
            || request.fields.has("if-none-match") && entry.is_none() && bugs.has(Bug::TwoCreators)
        {
            shelves = self.store.window(shelves, &self.stop);
        }
        let is_chunked = request.fields.has("transfer-encoding");
        let media_type = request.fields.only("content-type").map(str::to_owned);
        let written = self.store.put(shelves, path, request.content, media_type, (bugs, &self.stop));
        let created = written.replaced.is_none();
        let told = match (&written.replaced, bugs.has(Bug::PutTellsOldTag)) {
            (Some(replaced), true) => self.store.validators(replaced),
            _ => self.store.validators(&written.entry),
        };
        if is_chunked && bugs.has(Bug::RefusedButDone) {
            return Response::explained(411, "how long is it?");
        }
        let is_told = created && !bugs.has(Bug::CreationUntold) || bugs.has(Bug::ReplacementIs201);
        let status = if is_told { 201 } else { 204 };
        validated(Response::empty(status), &told)
    }

    fn delete(&self, path: &str, request: &Request) -> Response {
        let bugs = &self.switches;
        let (_alone, mut shelves) = self.store.lock_to_write(bugs);
        let Some(entry) = shelves.get(path) else { return self.missing(request) };
        match condition::evaluate(request, Some(&self.store.validators(&entry)), bugs) {
            Outcome::Failed => return failed(),
            Outcome::NotModified => return Response::empty(304),
            Outcome::Perform => {}
        }
        if request.fields.has("if-match") && bugs.has(Bug::PutAndDeleteWin) {
            shelves = self.store.window(shelves, &self.stop);
        }
        shelves.delete(path, bugs);
        Response::empty(204)
    }

    /// Responds 404. Conditions are not evaluated, since the response without them is 404 too (13.2.1).
    fn missing(&self, request: &Request) -> Response {
        let bugs = &self.switches;
        if bugs.has(Bug::ConditionOnMissing) && condition::evaluate(request, None, bugs) == Outcome::Failed {
            return failed();
        }
        Response::explained(404, "nothing here")
    }

    fn not_modified(&self, entry: &Entry, mut current: Validators) -> Response {
        if self.switches.has(Bug::NotModifiedTagAltered) {
            current.tag.weak = !current.tag.weak;
        }
        validated(Response::with(304, entry.content.clone()), &current)
    }
}

fn failed() -> Response {
    Response::explained(412, "the condition is false")
}

fn validated(response: Response, current: &Validators) -> Response {
    response.field("ETag", current.tag.to_string()).field("Last-Modified", date::format(current.modified))
}

fn described(response: Response, entry: &Entry, current: &Validators) -> Response {
    let media_type = entry.media_type.as_deref().unwrap_or("application/octet-stream");
    validated(response, current).field("Content-Type", media_type).field("Accept-Ranges", "bytes")
}
