//! Requests of a script: items are named by the step that created them, tags by the step that told them.

use std::sync::Arc;

use confute_drive::Exchange;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Op};

/// The exchanges of a case.
pub(crate) type Exchanges = [Exchange<Ask, Message>];

/// Text in the fields of a body that becomes the mark of the case.
pub(crate) const MARK: &str = "{case}";

/// A request of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Number of the resource in the plan.
    pub resource: usize,
    /// The operation.
    pub op: Op,
    /// The item, or the parent of the collection if the operation is on a collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Ref>,
    /// The parent of the collection, for an item that the client names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Ref>,
    /// The body. [`MARK`] in a text stands for the mark of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The body of a PATCH is sent as JSON Patch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json_patch: bool,
    /// The precondition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// The most items that a list shall have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The step whose response is the page before the wanted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<usize>,
    /// The field by which a list is filtered, and its value. [`MARK`] in a text stands for the mark of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<(String, Value)>,
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ref {
    /// The item that the request of this step created.
    Step(usize),
    /// An item whose id the client makes, by its number in the case.
    Own(u32),
    /// An item that nobody created.
    MadeUp(u32),
}

/// A precondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The item has the validator in the response to this step.
    Match(usize),
    /// The item has a validator that no item has.
    MatchMadeUp,
    /// The item does not have the validator in the response to this step.
    NoneMatch(usize),
    /// There is no such item.
    Absent,
}

impl Ask {
    /// Returns a request for an operation, without anything that it may do without.
    pub fn new(resource: usize, op: Op) -> Self {
        Self {
            resource,
            op,
            item: None,
            parent: None,
            body: None,
            json_patch: false,
            condition: None,
            size: None,
            after: None,
            filter: None,
        }
    }

    /// Returns the request about this item.
    #[must_use]
    pub fn on(self, item: Ref) -> Self {
        Self { item: Some(item), ..self }
    }

    /// Returns the request with this body.
    #[must_use]
    pub fn with(self, body: impl Into<Option<Value>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Returns the request with a precondition.
    #[must_use]
    pub fn when(self, condition: impl Into<Option<Condition>>) -> Self {
        Self { condition: condition.into(), ..self }
    }

    /// Returns the request with other step numbers.
    pub(crate) fn renumbered(&self, now: &dyn Fn(usize) -> usize) -> Self {
        let item = |item: Ref| match item {
            Ref::Step(step) => Ref::Step(now(step)),
            other => other,
        };
        let condition = |condition: Condition| match condition {
            Condition::Match(step) => Condition::Match(now(step)),
            Condition::NoneMatch(step) => Condition::NoneMatch(now(step)),
            other => other,
        };
        Self {
            item: self.item.map(item),
            parent: self.parent.map(item),
            condition: self.condition.map(condition),
            after: self.after.map(now),
            ..self.clone()
        }
    }
}

/// Returns the exchange of a step.
pub(crate) fn of_step(past: &Exchanges, step: usize) -> Option<&Exchange<Ask, Message>> {
    past.binary_search_by_key(&step, |exchange| exchange.step).ok().map(|at| &past[at])
}

/// Returns the path of the item that the request of a step created.
pub(crate) fn created(past: &Exchanges, step: usize) -> Option<Arc<str>> {
    let exchange = of_step(past, step)?;
    let response = exchange.replies.iter().find_map(Message::response)?;
    response.item.clone().filter(|_| exchange.ask.op == Op::Create && response.is_success())
}

/// Returns the validator in the response to a step.
pub(crate) fn told_tag(past: &Exchanges, step: usize) -> Option<Arc<str>> {
    of_step(past, step)?.replies.iter().find_map(Message::response)?.tag.clone()
}

/// Replaces the placeholder in all texts of a body.
pub(crate) fn marked(body: &Value, mark: &str) -> Value {
    match body {
        Value::String(text) => text.replace(MARK, mark).into(),
        Value::Array(items) => items.iter().map(|item| marked(item, mark)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), marked(value, mark))).collect()
        }
        other => other.clone(),
    }
}
