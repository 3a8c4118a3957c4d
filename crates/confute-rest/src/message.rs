//! The messages of a REST service as the model sees them: the parts of a request that decide on its effect, and the parts of an
//! answer that can contradict others.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::json::Fields;

/// A message, in either direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A request to the service.
    Request(Arc<Request>),
    /// Its answer.
    Response(Arc<Response>),
}

impl Message {
    /// Returns the request, if the message is one.
    pub fn request(&self) -> Option<&Request> {
        if let Message::Request(request) = self { Some(request) } else { None }
    }

    /// Returns the response, if the message is one.
    pub fn response(&self) -> Option<&Response> {
        if let Message::Response(response) = self { Some(response) } else { None }
    }
}

/// The operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Creates an item.
    Create,
    /// Returns an item.
    Read,
    /// Replaces an item.
    Replace,
    /// Changes some fields of an item.
    Patch,
    /// Removes an item.
    Delete,
    /// Returns all items of a collection.
    List,
}

impl Op {
    /// All operations.
    pub const ALL: [Op; 6] = [Op::Create, Op::Read, Op::Replace, Op::Patch, Op::Delete, Op::List];

    /// Returns the name of the operation in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Op::Create => "create",
            Op::Read => "read",
            Op::Replace => "replace",
            Op::Patch => "patch",
            Op::Delete => "delete",
            Op::List => "list",
        }
    }

    /// Returns `true` if the operation changes nothing.
    pub fn is_safe(self) -> bool {
        matches!(self, Op::Read | Op::List)
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Moment at which it was sent, in microseconds since the case began.
    #[serde(default)]
    pub at: i64,
    /// Name of the resource.
    pub resource: Arc<str>,
    /// The operation.
    pub op: Op,
    /// The method.
    pub method: Arc<str>,
    /// Path of the collection or of the item, without the base of the service and without a query.
    pub path: Arc<str>,
    /// Path of the item that the request is about, if the client knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Arc<str>>,
    /// Fields of the representation in the body that the client owns: what the item will contain.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub fields: Fields,
    /// The body, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// The media type of the body, if it is not that of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Arc<str>>,
    /// The value of the validator that the write depends on: that of If-Match with its quotes, or of the version field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_match: Option<Arc<str>>,
    /// The value of If-None-Match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_none_match: Option<Arc<str>>,
    /// The query in place of that in the plan, without its question mark: that of a page, or a filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Arc<str>>,
    /// The field by which a list is filtered, and the value that it has to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<(Arc<str>, Arc<str>)>,
    /// The beginning of every mark of this case.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub mark: Arc<str>,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// Moment at which it was received, in microseconds since the case began.
    pub at: i64,
    /// The status; 0 if the response was no HTTP.
    pub status: u16,
    /// Path of the item that it tells of: the created one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Arc<str>>,
    /// The fields of the representation that the client owns; `None` if the response has no representation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Fields>,
    /// The validator of the representation: the strong entity tag with its quotes, or the value of the version field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<Arc<str>>,
    /// `true` if the representation belongs to this case, `false` if to another one; `None` if nothing tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_ours: Option<bool>,
    /// The items of a list that belong to this case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Listed>>,
    /// The list may lack items.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// The list has elements that stand for no item.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks: bool,
    /// The query of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Arc<str>>,
    /// The first and the last element of a page, if the service counts the items before a page: one if they are the same, none if
    /// the page is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<Vec<Arc<str>>>,
    /// Number of creates of this case that may have made an item whose id was not told.
    #[serde(skip_serializing_if = "is_zero")]
    pub untold: u32,
    /// Items that were written while the list was made. No standard asks for lists that are made at one moment, so these items may be
    /// listed or not, in any state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moving: Vec<Arc<str>>,
    /// The defects of the response itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// The content, cut where it is long, for reports.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub shown: Arc<str>,
    /// Seconds in Retry-After.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The server ends the connection after this response.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_last: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Listed {
    /// Path of the item.
    pub item: Arc<str>,
    /// Its fields that the client owns, as far as the list shows them.
    pub fields: Fields,
    /// It certainly belongs to this case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ours: bool,
}

/// A defect of a response by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// It is not what its fields announce: no HTTP, no JSON.
    Unreadable(Arc<str>),
    /// It does not fit the schema.
    Schema(Arc<str>),
}

impl Response {
    /// Returns `true` if the request was performed.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && self.status != 202
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Message::Request(Arc::new(request))
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Message::Response(Arc::new(response))
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(request) => request.fmt(f),
            Message::Response(response) => response.fmt(f),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if f.alternate() {
            return Ok(());
        }
        if let Some(tag) = &self.if_match {
            let name = if tag.starts_with('"') { "If-Match" } else { "version" };
            write!(f, ", {name}: {tag}")?;
        }
        if let Some(tag) = &self.if_none_match {
            write!(f, ", If-None-Match: {tag}")?;
        }
        match &self.body {
            Some(body) => write!(f, " {body}"),
            None => Ok(()),
        }
    }
}

impl Display for Response {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.status {
            0 => f.write_str("an invalid response")?,
            status => write!(f, "{status}")?,
        }
        if f.alternate() {
            return Ok(());
        }
        if let Some(tag) = self.tag.as_ref().filter(|tag| tag.starts_with('"')) {
            write!(f, ", ETag: {tag}")?;
        }
        if let Some(items) = &self.items {
            let of = if self.is_partial { "a part of the list" } else { "items of this case" };
            write!(f, ", {of}: [")?;
            for (place, listed) in items.iter().enumerate() {
                write!(f, "{}{} {}", if place > 0 { ", " } else { "" }, listed.item, Shown(&listed.fields))?;
            }
            f.write_str("]")?;
        } else if !self.shown.is_empty() {
            write!(f, " {}", self.shown)?;
        }
        for flaw in &self.flaws {
            match flaw {
                Flaw::Unreadable(why) => write!(f, ", unreadable: {why}")?,
                Flaw::Schema(why) => write!(f, ", against the schema: {why}")?,
            }
        }
        Ok(())
    }
}

/// Fields for people.
pub(crate) struct Shown<'a>(pub(crate) &'a Fields);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (place, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}: {value}", if place > 0 { ", " } else { "" })?;
        }
        f.write_str("}")
    }
}
