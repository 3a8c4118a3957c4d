//! JSON over HTTP/1.1: bytes of requests, and the meaning of responses by the plan.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use confute_drive::Reader;
use confute_http1::{Body, Outgoing, RawResponse, Read, ResponseReader, Tag};
use serde_json::Value;

use crate::cookies::{self, Jar};
use crate::json::{self, Fields};
use crate::message::{Flaw, Listed, Message, Op, Request, Response};
use crate::outline::{Outline, Ready};
use crate::plan::{List, Validator};
use crate::{pages, path};

/// Number of characters of content that reports show.
const SHOWN: usize = 200;

/// `Host`, the base of all paths, and the additional fields of every request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The value of `Host`.
    pub host: String,
    /// The path before every path of the plan, without a slash at its end.
    pub base: String,
    /// Fields of every request, which may be secret.
    pub fields: Vec<(String, String)>,
}

impl Access {
    /// Overwrites the values of the [fields](Self::fields) and of cookies wherever they occur in these bytes.
    pub(crate) fn conceal(&self, bytes: &mut [u8]) {
        cookies::conceal(bytes);
        for (name, value) in &self.fields {
            let line = format!("\r\n{name}: {value}\r\n").into_bytes();
            let mut from = 0;
            while let Some(at) = bytes[from..].windows(line.len()).position(|part| part == line) {
                let end = from + at + line.len() - 2;
                bytes[end - value.len()..end].fill(b'*');
                from = end;
            }
        }
    }
}

/// Returns the target of a request: its path below the base, and its query.
pub(crate) fn target(request: &Request, ready: &Ready, base: &str) -> String {
    if let Some(query) = &request.query {
        return format!("{base}{}?{query}", request.path);
    }
    let query = match request.op {
        Op::List => ready.list().map(|list| &list.query),
        op => ready.operation(op).map(|operation| &operation.query),
    };
    let mut target = format!("{base}{}", request.path);
    for (name, value) in query.into_iter().flatten() {
        let mark = if target.contains('?') { '&' } else { '?' };
        let _ = write!(target, "{mark}{}={}", path::encoded(name), path::encoded(value));
    }
    target
}

/// Returns the fields of a request, without those of the access.
pub(crate) fn fields(request: &Request, ready: &Ready) -> Vec<(String, String)> {
    let mut fields = vec![("Accept".to_owned(), "application/json".to_owned())];
    let planned = match request.op {
        Op::List => ready.list().map(|list| &list.headers),
        op => ready.operation(op).map(|operation| &operation.headers),
    };
    let planned = planned.into_iter().flatten();
    fields.extend(planned.map(|(name, value)| (name.clone(), value.clone())));
    if let (Some(tag), None) = (&request.if_match, ready.version_field()) {
        fields.push(("If-Match".to_owned(), tag.to_string()));
    }
    if let Some(tag) = &request.if_none_match {
        fields.push(("If-None-Match".to_owned(), tag.to_string()));
    }
    if request.body.is_some() {
        let planned = || ready.body(request.op).map_or(crate::plan::JSON, |body| &body.media);
        let media = request.media.as_deref().unwrap_or_else(planned);
        fields.push(("Content-Type".to_owned(), media.to_owned()));
    }
    fields
}

/// Appends the bytes of a request. A request that cannot be expressed becomes no bytes at all.
pub(crate) fn encode(request: &Request, outline: &Outline, access: &Access, bytes: &mut Vec<u8>) {
    let Some(ready) = outline.named(&request.resource) else { return };
    let target = target(request, ready, &access.base);
    let mut out = Outgoing::request(request.method.as_bytes(), target, &access.host);
    for (name, value) in &access.fields {
        out = out.field(name, value);
    }
    let is_given = |name: &str| access.fields.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    if !is_given("Accept-Encoding") {
        out = out.field("Accept-Encoding", "identity");
    }
    for (name, value) in fields(request, ready).into_iter().filter(|(name, _)| !is_given(name)) {
        out = out.field(name, value);
    }
    if let Some(body) = &request.body {
        out = out.body(Body::Sized(body.as_bytes().to_vec()));
    }
    if let Ok(encoded) = out.encode() {
        bytes.extend(encoded.bytes());
    }
}

/// The reader of a connection.
pub struct RestReader {
    outline: Outline,
    reader: ResponseReader,
    /// Requests without a response, the oldest first.
    asked: VecDeque<Arc<Request>>,
    jar: Jar,
}

impl RestReader {
    pub(crate) fn new(outline: Outline) -> Self {
        Self { outline, reader: ResponseReader::default(), asked: VecDeque::new(), jar: Jar::default() }
    }

    fn drain(&mut self, messages: &mut Vec<Message>) {
        while let Read::Message(raw) = self.reader.read() {
            if raw.is_blank() || raw.is_interim() {
                continue;
            }
            for field in raw.fields().all("Set-Cookie") {
                self.jar.set(&String::from_utf8_lossy(&field));
            }
            let asked = self.asked.pop_front();
            // The end of the connection in the middle of a response tells nothing that its beginning would be needed for.
            if !raw.is_complete() && matches!(raw.ending(), confute_http1::Ending::Truncated(_)) {
                continue;
            }
            messages.push(meaning(&self.outline, asked.as_deref(), &raw).into());
        }
    }
}

impl Reader<Message> for RestReader {
    fn sent(&mut self, message: &Message) {
        if let Message::Request(request) = message {
            self.reader.expect(request.method.as_bytes());
            self.asked.push_back(Arc::clone(request));
        }
    }

    fn amend(&self, bytes: &mut Vec<u8>, from: usize) {
        self.jar.add_to(bytes, from);
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        self.reader.feed(bytes);
        self.drain(messages);
    }

    fn end(&mut self, orderly: bool, messages: &mut Vec<Message>) {
        if orderly {
            self.reader.eof();
        } else {
            self.reader.broken();
        }
        self.drain(messages);
    }

    fn stalled(&mut self, _: Duration, _: &mut Vec<Message>) {}

    fn has_head(&self) -> bool {
        self.reader.is_in_content()
    }

    fn held(&self) -> usize {
        self.reader.unread().len()
    }
}

/// Returns the value of a field, if it is text.
fn field(raw: &RawResponse, name: &str) -> Option<String> {
    let value = raw.fields().all(name).next()?;
    Some(String::from_utf8_lossy(&value).into_owned())
}

/// Returns what a response says.
fn meaning(outline: &Outline, request: Option<&Request>, raw: &RawResponse) -> Response {
    let status = raw.status().unwrap_or(0);
    let mut response = Response { status, is_last: !raw.persists(), ..Response::default() };
    let content = raw.content();
    response.shown = shown(&content);
    if status == 0 || !raw.is_complete() {
        let anomaly = raw.anomalies().first();
        let why = anomaly.map_or_else(|| "it is no HTTP response".to_owned(), ToString::to_string);
        response.flaws.push(Flaw::Unreadable(why.into()));
        return response;
    }
    response.retry_after = field(raw, "Retry-After").and_then(|seconds| seconds.trim().parse().ok());
    let Some((request, ready)) =
        request.and_then(|request| Some((request, outline.named(&request.resource)?)))
    else {
        return response;
    };
    let mut value = None;
    if !content.is_empty() {
        let media = field(raw, "Content-Type").unwrap_or_default();
        match serde_json::from_slice::<Value>(&content) {
            Ok(parsed) => value = Some(parsed),
            Err(why) if response.is_success() && media.contains("json") => {
                response.flaws.push(Flaw::Unreadable(format!("the content is no JSON: {why}").into()));
            }
            Err(_) => {}
        }
    }
    if let Some(why) = value.as_ref().and_then(|value| ready.flaw(request.op, status, value)) {
        response.flaws.push(Flaw::Schema(why.into()));
    }
    if response.is_success() {
        Meaning { request, ready, raw, value: value.as_ref() }.add_to(&mut response);
    } else if status == 304 {
        response.tag = etag(raw);
    }
    response
}

/// A successful response, as far as it was parsed.
struct Meaning<'a> {
    request: &'a Request,
    ready: &'a Ready,
    raw: &'a RawResponse,
    value: Option<&'a Value>,
}

impl Meaning<'_> {
    fn add_to(&self, response: &mut Response) {
        match (self.request.op, self.ready.list()) {
            (Op::List, Some(list)) => self.add_list(list, response),
            (Op::List, None) | (Op::Delete, _) => {}
            _ => self.add_item(response),
        }
    }

    fn add_item(&self, response: &mut Response) {
        let op = self.request.op;
        let pointer = self.ready.operation(op).and_then(|operation| operation.answer.as_deref());
        let shown =
            pointer.and_then(|pointer| self.value?.pointer(pointer)).filter(|shown| shown.is_object());
        if let Some(shown) = shown {
            response.fields = Some(own(self.ready, shown));
            response.is_ours = self.is_ours(shown, self.request.item.as_deref().unwrap_or_default());
        } else if op == Op::Read && pointer.is_some() && response.flaws.is_empty() {
            let why = "the content has no JSON object that stands for the item";
            response.flaws.push(Flaw::Unreadable(why.into()));
        }
        response.tag = match &self.ready.resource.validator {
            Some(Validator::Etag { on_write, .. }) if *on_write || op == Op::Read => etag(self.raw),
            Some(Validator::Version { field }) => shown.and_then(|shown| shown.get(field)).map(json::text),
            _ => None,
        };
        if op == Op::Create {
            response.item = self.created(shown);
        }
    }

    /// Returns the path of the created item.
    fn created(&self, shown: Option<&Value>) -> Option<Arc<str>> {
        if let Some(item) = &self.request.item {
            return Some(Arc::clone(item));
        }
        let id = &self.ready.resource.id;
        let shown = shown.and_then(|shown| shown.get(id.field.as_deref()?)).and_then(id_text);
        let told = shown.or_else(|| {
            let location = field(self.raw, "Location").filter(|_| id.location)?;
            let whole = location.split(['?', '#']).next()?.trim_end_matches('/');
            Some(path::decoded(whole.rsplit('/').next()?)).filter(|id| !id.is_empty())
        })?;
        self.ready.item(&self.request.path, &told)
    }

    fn add_list(&self, list: &List, response: &mut Response) {
        let Some(items) = self.value.and_then(|value| value.pointer(&list.items)?.as_array()) else {
            response.is_partial = true;
            return;
        };
        let usual;
        let asked = match &self.request.query {
            Some(query) => &**query,
            None => {
                usual = pages::text(&pages::first(list, None, None));
                &*usual
            }
        };
        let value = self.value.unwrap_or(&Value::Null);
        response.next = pages::next(list, (asked, &self.request.path), self.raw, value, items.len() as u64);
        if list.pages.as_ref().is_some_and(|pages| pages.offset.is_some()) {
            let (first, last) = (items.first(), items.last().filter(|_| items.len() > 1));
            response.edges = Some(first.into_iter().chain(last).map(json::text).collect());
        }
        response.is_partial = list.partial || response.next.is_some() || self.has_more(items.len());
        let field = self.ready.resource.id.field.as_deref();
        let mut listed = Vec::new();
        for item in items.iter().filter_map(|item| item.pointer(&list.each)) {
            let id = field.and_then(|field| id_text(item.get(field)?));
            let Some(path) = id.and_then(|id| self.ready.item(&self.request.path, &id)) else {
                (response.is_partial, response.lacks) = (true, true);
                continue;
            };
            match self.is_ours(item, &path) {
                // It belongs to somebody else.
                Some(false) => {}
                mark => {
                    let fields = own(self.ready, item);
                    listed.push(Listed { item: path, fields, is_ours: mark == Some(true) });
                }
            }
        }
        response.items = Some(listed);
    }

    /// Returns `true` if the list is only a page.
    fn has_more(&self, count: usize) -> bool {
        let has_link = self.raw.fields().all("Link").any(|link| {
            let link = String::from_utf8_lossy(&link).to_ascii_lowercase();
            link.contains("rel=\"next\"") || link.contains("rel=next")
        });
        let told = |name: &str| self.value.and_then(|value| value.get(name));
        let goes_on = ["next", "next_page", "nextPage", "nextPageToken", "next_page_token", "next_cursor"]
            .into_iter()
            .filter_map(told)
            .any(|next| !next.is_null() && next != "" && next != false);
        let total = ["total", "count", "total_count", "totalCount", "totalItems"].into_iter();
        let is_less = total.filter_map(told).filter_map(Value::as_u64).any(|total| total > count as u64);
        has_link || goes_on || is_less
    }

    /// Returns whether a representation belongs to this case, if its mark or its path tells.
    fn is_ours(&self, shown: &Value, path: &str) -> Option<bool> {
        if !self.ready.is_server_made() && self.ready.resource.id.schema["type"] != "integer" {
            return Some(path.contains(&*self.request.mark));
        }
        let mark = shown.get(self.ready.resource.mark.as_deref()?)?.as_str()?;
        Some(mark.contains(&*self.request.mark))
    }
}

/// Returns the text of an id.
fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(_) => Some(json::text(id).to_string()),
        _ => None,
    }
}

/// Returns the fields of a representation that the client owns.
pub(crate) fn own(ready: &Ready, shown: &Value) -> Fields {
    let fields =
        ready.own.iter().filter_map(|name| Some((Arc::clone(name), json::text(shown.get(&**name)?))));
    fields.collect()
}

/// Returns the entity tag of a response, if it is a strong one.
fn etag(raw: &RawResponse) -> Option<Arc<str>> {
    let tag = Tag::parse(raw.fields().all("ETag").next()?.as_ref())?;
    (!tag.weak).then(|| tag.to_string().into())
}

/// Returns the beginning of some content, in one line.
fn shown(content: &[u8]) -> Arc<str> {
    let text = String::from_utf8_lossy(content);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line[..end].escape_debug().to_string().replace("\\\"", "\"")).into(),
        None => line.escape_debug().to_string().replace("\\\"", "\"").into(),
    }
}
