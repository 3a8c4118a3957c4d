//! Plans in Rust: a resource from its item path, its fields and its validator.
//!
//! ```
//! use confute_rest::plan::{Plan, Resource, bool, text};
//!
//! let todos = Resource::new("todos", "/todos/{id}")
//!     .server_id("id")
//!     .field("title", text())
//!     .optional("done", bool())
//!     .mark("title")
//!     .etag();
//! let plan = Plan::new("Todos").resource(todos);
//! assert_eq!(plan.resources[0].collection, "/todos");
//! ```

use serde_json::{Value, json};

use crate::message::Op;
use crate::plan::{BodyPlan, FORMAT, Id, JSON, List, Maker, Operation, Owner, Plan, Resource, Validator};

/// Returns the schema of a text.
pub fn text() -> Value {
    json!({ "type": "string" })
}

/// Returns the schema of an integer.
pub fn integer() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": 1_000_000 })
}

/// Returns the schema of a truth value.
pub fn bool() -> Value {
    json!({ "type": "boolean" })
}

impl Plan {
    /// Returns the plan of a service without resources.
    pub fn new(title: &str) -> Self {
        Self { format: FORMAT, title: title.to_owned(), ..Self::default() }
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }
}

fn operation(method: &str, with_body: bool, has_answer: bool) -> Operation {
    let schema = json!({ "type": "object", "properties": {} });
    let media = if method == "PATCH" { "application/merge-patch+json" } else { JSON };
    let body =
        with_body.then(|| BodyPlan { media: media.to_owned(), schema, at: String::new(), json_patch: false });
    Operation {
        method: method.to_owned(),
        body,
        answer: has_answer.then(String::new),
        ..Operation::default()
    }
}

impl Resource {
    /// Returns a resource whose items have this path. The collection is the path without its last segment, and all operations are
    /// offered: POST to it creates an item, GET lists all; GET, PUT, PATCH (merge) and DELETE are for an item.
    pub fn new(name: &str, item: &str) -> Self {
        Self {
            name: name.to_owned(),
            collection: item.rsplit_once('/').map_or("", |(before, _)| before).to_owned(),
            item: item.to_owned(),
            create: Some(operation("POST", true, true)),
            read: Some(operation("GET", false, true)),
            replace: Some(operation("PUT", true, true)),
            patch: Some(operation("PATCH", true, true)),
            delete: Some(operation("DELETE", false, false)),
            list: Some(List::default()),
            ..Self::default()
        }
    }

    /// Sets that the server makes the ids, and tells them in this field of a representation.
    #[must_use]
    pub fn server_id(mut self, field: &str) -> Self {
        self.id = Id { field: Some(field.to_owned()), location: true, ..Id::default() };
        self
    }

    /// Sets that the client makes the ids: PUT creates an item. Items of a list tell their id in this field.
    #[must_use]
    pub fn client_id(mut self, field: &str) -> Self {
        self.id = Id { made_by: Maker::Client, field: Some(field.to_owned()), ..Id::default() };
        self.create = self.replace.clone();
        self
    }

    /// Sets the resource that the collection belongs to.
    #[must_use]
    pub fn below(mut self, parent: &str) -> Self {
        self.parent = Some(parent.to_owned());
        self
    }

    /// Adds a field that the client has to send, and that comes back as it was sent.
    #[must_use]
    pub fn field(self, name: &str, schema: Value) -> Self {
        self.with_field(name, schema, true)
    }

    /// Adds a field that the client may send, and that comes back as it was sent.
    #[must_use]
    pub fn optional(self, name: &str, schema: Value) -> Self {
        self.with_field(name, schema, false)
    }

    fn with_field(mut self, name: &str, schema: Value, is_required: bool) -> Self {
        for (operation, all) in
            [(&mut self.create, true), (&mut self.replace, true), (&mut self.patch, false)]
        {
            let Some(body) = operation.as_mut().and_then(|operation| operation.body.as_mut()) else {
                continue;
            };
            body.schema["properties"][name] = schema.clone();
            if all && is_required {
                match &mut body.schema["required"] {
                    Value::Array(names) => names.push(name.into()),
                    none => *none = json!([name]),
                }
            }
            if !all {
                body.schema["minProperties"] = 1.into();
            }
        }
        self.fields.insert(name.to_owned(), Owner::Client);
        self
    }

    /// Sets the field of text with which the tester marks its items.
    #[must_use]
    pub fn mark(mut self, field: &str) -> Self {
        self.mark = Some(field.to_owned());
        self
    }

    /// Sets that responses with a representation have an entity tag, and that writes obey If-Match.
    #[must_use]
    pub fn etag(mut self) -> Self {
        self.validator = Some(Validator::Etag { required: false, on_write: true });
        self
    }

    /// Sets that a representation has its version in this field, and that PUT is refused with an outdated one.
    #[must_use]
    pub fn version(mut self, field: &str) -> Self {
        self.validator = Some(Validator::Version { field: field.to_owned() });
        self
    }

    /// Takes an operation away.
    #[must_use]
    pub fn without(mut self, op: Op) -> Self {
        match op {
            Op::Create => self.create = None,
            Op::Read => self.read = None,
            Op::Replace => self.replace = None,
            Op::Patch => self.patch = None,
            Op::Delete => self.delete = None,
            Op::List => self.list = None,
        }
        self
    }
}
