//! Performing requests (RFC 9110, 9.3), each at one moment under one lock.

use std::sync::{Arc, Mutex};

use super::condition::{self, IfRange, Outcome};
use super::habits::Habits;
use super::outcome::Queue;
use super::range::{self, Part};
use super::store::{Shelf, Store, Version};
use super::table::Oddity;
use super::validators::{Current, former_tag, gzip};
use crate::embedded::date;
use crate::embedded::message::Request;
use crate::embedded::switches::Stop;

/// The supported methods, as the value of Allow.
const ALLOW: &str = "GET, HEAD, PUT, DELETE, OPTIONS";

/// A read gets an unknown status once in this many.
const SELDOM: u64 = 48;

/// A response before serialization. Its content is that of the response to GET, whatever the method.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) fields: Vec<(String, Vec<u8>)>,
    pub(super) content: Vec<u8>,
    /// Content-Length if no content is sent.
    pub(super) told: Option<usize>,
}

impl Reply {
    pub(super) fn new(status: u16) -> Self {
        Self { status, fields: Vec::new(), content: Vec::new(), told: None }
    }

    /// Creates a response whose content is the reason as plain text.
    pub(super) fn explained(status: u16, why: &str) -> Self {
        Self::new(status).field("Content-Type", "text/plain").with(format!("{status} {why}\n").into_bytes())
    }

    pub(super) fn field(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn with(self, content: Vec<u8>) -> Self {
        Self { told: Some(content.len()), content, ..self }
    }
}

/// The origin server: HTTP semantics over a [`Store`].
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) habits: Habits,
    pub(super) store: Store,
    pub(super) stop: Arc<Stop>,
    /// Writes that are performed later.
    pub(super) later: Queue,
    /// Writes that are performed once more after the next write of their resource.
    pub(super) repeated: Mutex<Vec<Request>>,
    /// Paths of writes under way.
    pub(super) busy: Mutex<Vec<String>>,
}

impl Origin {
    pub(super) fn new(habits: Habits, stop: Arc<Stop>) -> Self {
        Self {
            habits,
            store: Store::default(),
            stop,
            later: Queue::default(),
            repeated: Mutex::default(),
            busy: Mutex::default(),
        }
    }

    /// Performs a request. This is its linearization point.
    pub(super) fn perform(&self, request: &Request) -> Reply {
        if !ALLOW.split(", ").any(|method| method == request.method) {
            return self.unknown();
        }
        let Some(path) = request.path() else { return Reply::explained(400, "a bad target") };
        let mut shelf = self.store.lock();
        match &request.method[..] {
            "OPTIONS" => self.options(request),
            "PUT" => self.put(&mut shelf, &path, request),
            "DELETE" => self.delete(&mut shelf, &path, request),
            _ => self.get(&mut shelf, &path, request),
        }
    }

    fn unknown(&self) -> Reply {
        match () {
            () if self.habits.breaks(Oddity::NotImplemented) => Reply::explained(405, "not here"),
            () if self.habits.has(Oddity::NotImplemented) => Reply::explained(501, "not known"),
            () => Reply::explained(405, "not here").field("Allow", ALLOW),
        }
    }

    fn options(&self, request: &Request) -> Reply {
        if self.habits.breaks(Oddity::LongOptions) && request.fields.has("if-none-match") {
            return Reply::explained(412, "a condition is false");
        }
        let status = if self.habits.has(Oddity::LongOptions) { 200 } else { 204 };
        let reply = Reply::new(status).field("Allow", ALLOW);
        if status == 200 { reply.with(b"methods: see Allow\n".to_vec()) } else { reply }
    }

    fn missing(&self, shelf: &Shelf, path: &str) -> Reply {
        if self.habits.has(Oddity::Gone) && shelf.removed.contains_key(path) {
            return Reply::explained(410, "gone");
        }
        Reply::explained(404, "nothing here")
    }

    fn get(&self, shelf: &mut Shelf, path: &str, request: &Request) -> Reply {
        let habits = &self.habits;
        let Some(version) = shelf.versions.get(path).cloned() else { return self.missing(shelf, path) };
        if habits.breaks(Oddity::Gone) && shelf.revived.contains(path) && habits.below(2) == 0 {
            return Reply::explained(410, "gone");
        }
        if habits.keeps(Oddity::NewStatus) && habits.strikes(Oddity::NewStatus, SELDOM) {
            return Reply::explained(299, "something else");
        }
        let is_dated =
            ["if-modified-since", "if-unmodified-since"].iter().any(|name| request.fields.has(name));
        if habits.breaks(Oddity::EpochDate) && is_dated {
            return Reply::explained(404, "nothing here");
        }
        let current = Current::of(&version, habits);
        match condition::evaluate(request, Some(&current), habits) {
            Outcome::Failed => Reply::explained(412, "a condition is false"),
            Outcome::NotModified => self.not_modified(&version, &current),
            Outcome::Perform => self.content(&version, &current, request),
        }
    }

    fn not_modified(&self, version: &Version, current: &Current) -> Reply {
        let habits = &self.habits;
        let mut reply = Reply::new(304);
        if habits.has(Oddity::LongNotModified) {
            let length = if current.coded { gzip(&version.content).len() } else { version.content.len() };
            reply = Self::dated(reply, current);
            reply.told = Some(length + usize::from(habits.breaks(Oddity::LongNotModified)));
        }
        Self::tagged(reply, current)
    }

    fn content(&self, version: &Version, current: &Current, request: &Request) -> Reply {
        let habits = &self.habits;
        let content = &version.content;
        let is_head = request.method == "HEAD";
        let ranged = !is_head || habits.breaks(Oddity::Bare416);
        let value = request.fields.only("range").filter(|_| ranged && !current.coded);
        let part = match value.map(|_| condition::if_range(&request.fields, current, habits)) {
            Some(IfRange::Refused) => return Reply::explained(400, "a weak tag in If-Range"),
            Some(IfRange::False) => Part::Whole,
            Some(IfRange::True) | None => range::part(value, content.len(), habits),
        };
        let described = |reply| match () {
            () if is_head && habits.breaks(Oddity::HeadUntold) => {
                Self::tagged(reply, &Current { tag: former_tag(version), ..current.clone() })
            }
            () if is_head && habits.has(Oddity::HeadUntold) => reply,
            () => Self::dated(Self::tagged(reply, current), current),
        };
        match part {
            Part::Some(range, told) if !is_head => {
                let reply = described(Reply::new(206)).with(content[range].to_vec());
                // Content-Range comes last, so that a head that is cut off does not contain it.
                told.into_iter().fold(reply, |reply, told| reply.field("Content-Range", told))
            }
            Part::Nothing(told) => {
                let reply = Reply::explained(416, "no such part");
                told.into_iter().fold(reply, |reply, told| reply.field("Content-Range", told))
            }
            _ if !is_head
                && (content.is_empty() && habits.keeps(Oddity::Empty204) && !current.coded
                    || habits.breaks(Oddity::Empty204) && habits.below(8) == 0) =>
            {
                described(Reply::new(204))
            }
            _ => {
                let reply = described(Reply::new(200)).field("Content-Type", "application/octet-stream");
                if current.coded && habits.breaks(Oddity::BigCoded) {
                    return reply.with(gzip(content));
                }
                if current.coded {
                    return reply.field("Content-Encoding", "gzip").with(gzip(content));
                }
                reply.with(content.to_vec())
            }
        }
    }

    fn put(&self, shelf: &mut Shelf, path: &str, request: &Request) -> Reply {
        let habits = &self.habits;
        if request.fields.has("content-range") || request.fields.has("content-encoding") {
            return Reply::explained(400, "only whole content as it is");
        }
        let old = shelf.versions.get(path).cloned();
        let current = old.as_ref().map(|old| Current::of(old, habits));
        if condition::evaluate(request, current.as_ref(), habits) != Outcome::Perform {
            let is_so = old.is_some_and(|old| *old.content == request.content);
            // Only a false If-Match may be answered with success (13.1.1).
            let may = request.fields.has("if-match") && !request.fields.has("if-none-match");
            if habits.has(Oddity::AlreadySo) && may && (is_so || habits.breaks(Oddity::AlreadySo)) {
                return Reply::new(204);
            }
            return Reply::explained(412, "a condition is false");
        }
        let mut content = request.content.clone();
        if habits.breaks(Oddity::PutUntold) {
            content.push(b'\n');
        }
        let version = shelf.put(path, Arc::from(content));
        let mut reply = match old {
            _ if habits.breaks(Oddity::NewStatus) => Reply::new(299),
            _ if habits.breaks(Oddity::Deleted303) => Reply::new(303).field("Location", "/outcome"),
            Some(_) if habits.breaks(Oddity::Replaced200) => Reply::new(201),
            Some(_) if habits.has(Oddity::Replaced200) => Reply::explained(200, "replaced"),
            Some(_) => Reply::new(204),
            None if habits.breaks(Oddity::Created201) => Reply::explained(200, "created"),
            None if habits.has(Oddity::Created201) => {
                Reply::explained(201, "created").field("Location", path)
            }
            None => Reply::new(201),
        };
        if !habits.keeps(Oddity::PutUntold) {
            let current = Current::of(&version, habits);
            // The content coding of this response does not concern the representation.
            reply = Self::dated(Self::tagged(reply, &current), &current);
        }
        reply
    }

    fn delete(&self, shelf: &mut Shelf, path: &str, request: &Request) -> Reply {
        let habits = &self.habits;
        let Some(version) = shelf.versions.get(path).cloned() else {
            return if habits.keeps(Oddity::DeleteAgain) {
                Reply::new(204)
            } else {
                self.missing(shelf, path)
            };
        };
        if condition::evaluate(request, Some(&Current::of(&version, habits)), habits) != Outcome::Perform {
            return Reply::explained(412, "a condition is false");
        }
        if !(habits.breaks(Oddity::Deleted200) && habits.below(3) == 0) {
            shelf.delete(path);
        }
        match () {
            () if habits.breaks(Oddity::DeleteAgain) => Reply::explained(404, "nothing here"),
            () if habits.has(Oddity::Deleted200) => Reply::explained(200, "deleted"),
            () if habits.keeps(Oddity::Deleted303) => Reply::new(303).field("Location", "/outcome"),
            () => Reply::new(204),
        }
    }

    fn tagged(reply: Reply, current: &Current) -> Reply {
        let Some(tag) = &current.tag else { return reply };
        let weak: &[u8] = if tag.weak { b"W/\"" } else { b"\"" };
        reply.field("ETag", [weak, &tag.opaque, b"\""].concat())
    }

    fn dated(reply: Reply, current: &Current) -> Reply {
        match current.date {
            Some(date) => reply.field("Last-Modified", date::format(date)),
            None => reply,
        }
    }
}
