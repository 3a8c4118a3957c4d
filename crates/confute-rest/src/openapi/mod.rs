//! OpenAPI documents, 3.0 and 3.1, in JSON or YAML: from the description of a service to the plan of its tester.
//!
//! | module | contents |
//! |---|---|
//! | `text` | text to one value, with the line of each part |
//! | `document` | the document: references, operations, security |
//! | `convert` | schemas of OpenAPI to self-contained schemas of draft 2020-12 |
//! | `paths` | templates of paths, and which of them form a resource |
//! | `operation` | one operation: body, answers, parameters |
//! | `resource` | one resource: its id, its fields, its validator, its list |
//!
//! Everything that the document leaves open is decided here, once, and written down as an assumption of the plan. Every
//! operation that ends in no resource is written down with the reason.

mod convert;
mod document;
mod fields;
mod list;
mod operation;
mod paths;
mod resource;
mod text;

use serde_json::Value;

use crate::plan::{FORMAT, Plan};
use document::Document;
use text::Text;

/// The reason why a document is of no use, with its place and the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text contains nothing.
    #[error("the document is empty\nnext: name the file of an OpenAPI document, 3.0 or 3.1, in JSON or YAML")]
    Empty,
    /// The text is neither JSON nor YAML.
    #[error("{reason}\nat: line {line}, column {column}\nnext: correct the {format} of the document")]
    Syntax {
        /// `JSON` or `YAML`.
        format: &'static str,
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
        /// The fault.
        reason: String,
    },
    /// The text is no OpenAPI document.
    #[error("this is no OpenAPI document: {reason}\nat: {place}\nnext: {next}")]
    NotOpenApi {
        /// The sign that is missing or different.
        reason: String,
        /// Place in the document.
        place: String,
        /// Advice for this case.
        next: &'static str,
    },
    /// A part of the document does not have the form that OpenAPI requires.
    #[error("{reason}\nat: {place}\nnext: correct the document")]
    Form {
        /// The fault.
        reason: String,
        /// Place in the document.
        place: String,
    },
    /// A reference leads nowhere.
    #[error("the reference `{reference}` does not resolve: {reason}\nat: {place}\nnext: {next}")]
    Reference {
        /// The reference, as it is written.
        reference: String,
        /// The fault.
        reason: &'static str,
        /// Place in the document.
        place: String,
        /// Advice for this case.
        next: &'static str,
    },
    /// No valid body can be made for a request.
    #[error(
        "no valid body for {operation} can be made: the schema {reason}\nat: {place}\n\
         next: correct the schema, or give it an `example` that it allows"
    )]
    Body {
        /// Method and path.
        operation: String,
        /// The fault.
        reason: String,
        /// Place in the document.
        place: String,
    },
    /// No path of the document fits a resource.
    #[error(
        "no path of the document fits a resource, an item path like /todos/{{id}} with a way to create an item and one to \
         read it\n{}\nnext: describe the resource in a plan by hand, see GUIDE.md",
        list_of(.reasons)
    )]
    NoResource {
        /// What was seen, and why it does not fit.
        reasons: Vec<String>,
    },
}

fn list_of(reasons: &[String]) -> String {
    let lines: Vec<String> = reasons.iter().map(|reason| format!("seen: {reason}")).collect();
    lines.join("\n")
}

/// Makes the plan of the service that a document describes.
pub fn plan(text: &str) -> Result<Plan, Error> {
    let document = Document::new(Text::read(text)?)?;
    let mut assumed = Vec::new();
    let mut left_out = Vec::new();
    let base = document.base(&mut assumed);
    document.security(&mut assumed);
    let resources = resource::all(&document, &mut assumed, &mut left_out)?;
    if resources.is_empty() {
        return Err(Error::NoResource { reasons: left_out });
    }
    Ok(Plan { format: FORMAT, title: document.title(), base, resources, assumed, left_out })
}

/// Reads any text of JSON or YAML.
pub fn read_yaml_or_json(text: &str) -> Result<Value, Error> {
    Text::read(text).map(|text| text.value)
}

#[cfg(test)]
mod tests;
