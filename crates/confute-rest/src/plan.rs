//! The plan of a service: the resources that it offers, in a file that people can read and edit.
//!
//! A plan is plain data. It is made from an OpenAPI document (`openapi`), written by hand, or built in Rust
//! ([`Plan::new`], [`Resource::new`]); `--save-model` writes it, and a saved plan can be given in place of the document.
//! The model, the traffic and the wire are made from the plan alone.
//!
//! A *representation* is the JSON object that stands for an item. [`Operation::answer`] and [`BodyPlan::at`] tell where it is
//! in the content of a message, for services that wrap it (`{"data": {…}}`). Fields of a representation are named by their
//! top-level name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::build::{bool, integer, text};
pub use crate::message::Op;

/// The version of the format that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// A REST service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the format. Its name tells a plan from an OpenAPI document.
    #[serde(rename = "confute-rest")]
    pub format: u32,
    /// Title of the service.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The path that precedes every template, without a slash at its end: `/api/v1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// The resources.
    pub resources: Vec<Resource>,
    /// Assumptions, in sentences: facts that the document leaves open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Parts of the document that are not tested, in sentences with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A resource: a collection of items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Name of the resource, unique in the plan.
    pub name: String,
    /// Template of the path of the collection: `/users/{user}/todos`. Its parameters belong to the parents.
    pub collection: String,
    /// Template of the path of an item: `/users/{user}/todos/{todo}`. The last parameter is the id.
    pub item: String,
    /// Name of the resource that the collection belongs to, whose item path is the beginning of `collection`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The id of an item.
    #[serde(default)]
    pub id: Id,
    /// The fields of a representation, by who decides on them. A field that is not listed is [`Owner::Unknown`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Owner>,
    /// A field of text that the client owns, and whose value can be any short text. The tester marks its own items with it, so
    /// that items of others in a list can be told from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The validator of an item, if the service offers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validator: Option<Validator>,
    /// Creates an item: POST to the collection, or PUT to an item if clients make the ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<Operation>,
    /// Returns an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Operation>,
    /// Replaces an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<Operation>,
    /// Changes some fields of an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Operation>,
    /// Removes an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<Operation>,
    /// Lists the items of the collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<List>,
}

/// The id of an item: the last parameter of its path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Id {
    /// The side that chooses it.
    pub made_by: Maker,
    /// The field of a representation that holds it. Without one, items in a list cannot be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// `true` if the answer to a create has it in `Location`, as the last segment of the path.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub location: bool,
    /// `true` if the server gives the ids of removed items again. Then the tester writes to no item that may be removed: it could be
    /// the item of somebody else by then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// JSON Schema of an id that the client makes, or that was never given. Without one, any short word serves, or a number
    /// for `type: integer`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub schema: Value,
}

/// The side that makes the ids of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Maker {
    /// The server, in the answer to a create.
    #[default]
    Server,
    /// The client, in the path of a create.
    Client,
}

/// The side that decides on the value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// The client: the field is returned as it was sent.
    Client,
    /// The server, which may change it whenever it likes.
    Server,
    /// Nobody knows: it is sent where it is required, and never compared.
    Unknown,
}

/// A value that changes when an item changes, and the way in which a client makes a write depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Validator {
    /// The field `ETag`, with `If-Match` in writes.
    Etag {
        /// `true` if writes without If-Match are refused (428).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        required: bool,
        /// `true` if answers to writes carry the tag of the new representation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        on_write: bool,
    },
    /// A field of the representation, which a replacement repeats. An outdated one is refused with 409 or 412.
    Version {
        /// Name of the field.
        field: String,
    },
}

/// An operation on an item or a collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Operation {
    /// The method.
    pub method: String,
    /// The statuses of success in the document; every 2xx is taken for success.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub success: Vec<u16>,
    /// The body of a request, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyPlan>,
    /// JSON pointer to the representation in a successful answer: empty for the whole. `None` if the answer has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// JSON Schemas of the answers, by status (`200`, `4XX`, `default`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<String, Value>,
    /// Query parameters of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Header fields of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyPlan {
    /// Media type. That of a PATCH tells its meaning: `application/merge-patch+json` and `application/json` merge;
    /// `application/json-patch+json` is a list of changes. The schema is that of a merge in both cases.
    #[serde(default = "json_media", skip_serializing_if = "is_json_media")]
    pub media: String,
    /// JSON Schema (2020-12, without references out of itself) of the whole body.
    pub schema: Value,
    /// JSON pointer to the representation in the body: empty for the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// `true` if a PATCH may be sent as JSON Patch too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json_patch: bool,
}

/// The list of a collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// JSON Schemas of the answers, by status (`200`, `4XX`, `default`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<String, Value>,
    /// Query parameters of every request: a page that is large enough for all items, for instance.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Header fields of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// JSON pointer to the array of items in the answer: empty for the whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub items: String,
    /// JSON pointer to the representation in an element of the array: empty for the whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub each: String,
    /// `true` if a list may be incomplete (pages, limits): then an item that is missing is no violation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The parameters that choose a page, if there are any. Links to the next page (`Link`, `Next-Page`, a field `next`) need none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// Fields that the client owns and by whose value a list can be filtered, with a query parameter of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
}

/// The query parameters that choose a page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pages {
    /// The parameter for the number of items on a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The parameter for the number of items before the page. With it, pages together show whether an item is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// The parameter for the number of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<PageNumber>,
    /// The parameter that repeats a mark from the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// A query parameter for the number of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageNumber {
    /// Name of the parameter.
    pub name: String,
    /// Number of the first page.
    pub first: u64,
}

/// A query parameter that repeats a mark from the answer, to get the next page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// Name of the parameter.
    pub parameter: String,
    /// JSON pointer to the mark in the answer.
    pub at: String,
}

/// The usual media type.
pub const JSON: &str = "application/json";
/// The media type of JSON Patch (RFC 6902).
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";

fn json_media() -> String {
    JSON.to_owned()
}

fn is_json_media(media: &str) -> bool {
    media == JSON
}
