//! The list of a collection: where its items are, and whether it is complete.

use serde_json::Value;

use super::Error;
use super::document::Document;
use super::fields::{Shape, plain};
use super::operation::{Outline, parameter_schema};
use crate::plan::{Cursor, List, PageNumber, Pages};

/// Names of arrays of items, the most usual first.
const ARRAYS: [&str; 12] = [
    "items", "data", "results", "content", "records", "value", "values", "entries", "objects", "list",
    "docs", "rows",
];
/// Names of parameters that bound the number of items, in lower case without separators.
const LIMITS: [&str; 9] =
    ["limit", "pagesize", "perpage", "size", "count", "maxresults", "top", "first", "maxitems"];
/// Names of parameters that choose a page.
const PAGES: [&str; 12] = [
    "page",
    "offset",
    "skip",
    "cursor",
    "after",
    "before",
    "start",
    "token",
    "pagetoken",
    "nexttoken",
    "continue",
    "pagenumber",
];
/// Number of items that is asked for where the document states no maximum.
const ENOUGH: u64 = 1000;

/// Reads the list of a collection. The inner error is the reason why it cannot be tested.
pub(super) fn list(
    document: &Document,
    outline: &Outline<'_>,
    id: Option<&str>,
    item_at: &str,
    noun: &str,
    assumed: &mut Vec<String>,
) -> Result<Result<List, String>, Error> {
    let operation = &outline.operation;
    let mut list = List {
        schemas: operation.schemas.clone(),
        query: operation.query.clone(),
        headers: operation.headers.clone(),
        ..List::default()
    };
    let name = outline.endpoint.name();
    match &outline.success {
        None => assumed
            .push(format!("{name} returns an array of items: the document has no schema of its answer.")),
        Some(root) => match items_of(root, id, item_at, noun) {
            Found::Array { items, each } => (list.items, list.each) = (items, each),
            Found::Anything => {
                assumed.push(format!(
                    "{name} returns an array of items: the schema of its answer allows anything."
                ));
            }
            Found::Nothing => return Ok(Err("its answer contains no array of items".to_owned())),
        },
    }
    pages(document, outline, &mut list, assumed)?;
    Ok(Ok(list))
}

enum Found {
    Array { items: String, each: String },
    Anything,
    Nothing,
}

/// Looks for the array of items in an answer.
fn items_of(root: &Value, id: Option<&str>, item_at: &str, noun: &str) -> Found {
    let Some(whole) = Shape::at(root, "") else { return Found::Nothing };
    if whole.plain.is_empty() || whole.plain.keys().all(|key| key == "$defs" || key == "examples") {
        return Found::Anything;
    }
    if let Some(each) = element(root, &Value::Object(whole.plain.clone()), id, item_at) {
        return Found::Array { items: String::new(), each };
    }
    let mut found: Vec<(usize, String, String)> = Vec::new();
    for (name, property) in whole.properties().filter(|(name, _)| !name.contains(['/', '~'])) {
        if let Some(each) = element(root, property, id, item_at) {
            let rank = ARRAYS.iter().position(|usual| name.eq_ignore_ascii_case(usual));
            let rank = if name.eq_ignore_ascii_case(noun) {
                0
            } else {
                rank.map_or(ARRAYS.len() + 1, |rank| rank + 1)
            };
            found.push((rank, format!("/{name}"), each));
        }
    }
    match found.into_iter().min() {
        Some((_, items, each)) => Found::Array { items, each },
        None => Found::Nothing,
    }
}

/// Returns the pointer to the representation in an element, if a schema is that of an array of items.
fn element(root: &Value, array: &Value, id: Option<&str>, item_at: &str) -> Option<String> {
    let array = plain(root, array)?;
    let is_array = array.get("type").is_some_and(|one| {
        one == "array" || one.as_array().is_some_and(|all| all.iter().any(|one| one == "array"))
    });
    if !is_array {
        return None;
    }
    let Some(items) = array.get("items") else { return Some(String::new()) };
    let items = plain(root, items)?;
    let has = |schema: &serde_json::Map<String, Value>, name: &str| {
        schema.get("properties").and_then(|all| all.get(name)).is_some()
    };
    let Some(id) = id else { return Some(String::new()) };
    let is_open = items.get("properties").is_none()
        && super::super::schema::types(&items).first().is_none_or(|one| one == "object");
    if has(&items, id) || is_open {
        return Some(String::new());
    }
    let inner = item_at.strip_prefix('/').and_then(|name| items.get("properties")?.get(name));
    let inner = plain(root, inner?)?;
    has(&inner, id).then(|| item_at.to_owned())
}

/// Looks for parameters of pages, and asks for as many items as possible.
fn pages(
    document: &Document,
    outline: &Outline<'_>,
    list: &mut List,
    assumed: &mut Vec<String>,
) -> Result<(), Error> {
    let simple =
        |name: &str| name.trim_start_matches('_').replace(['_', '-', '[', ']', '$'], "").to_lowercase();
    let mut is_paged = false;
    let mut pages = Pages::default();
    for (name, parameter) in outline.query() {
        let schema = parameter_schema(document, parameter)?.unwrap_or_default();
        let schema = plain(&schema, &schema).unwrap_or_default();
        let is_limit = LIMITS.contains(&simple(name).as_str());
        match simple(name).as_str() {
            _ if is_limit => pages.limit = Some(name.to_owned()),
            "offset" | "skip" => pages.offset = Some(name.to_owned()),
            "page" | "pagenumber" => {
                let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
                let first = bound("default").or_else(|| bound("minimum")).unwrap_or(1);
                pages.number = Some(PageNumber { name: name.to_owned(), first });
            }
            "cursor" | "after" | "token" | "pagetoken" | "nexttoken" | "continue" => {
                let at = mark_at(outline);
                pages.cursor = at.map(|at| Cursor { parameter: name.to_owned(), at });
            }
            other if !PAGES.contains(&other) && is_plain(&schema) => list.filters.push(name.to_owned()),
            _ => {}
        }
        if is_limit {
            let most = schema.get("maximum").and_then(Value::as_u64);
            list.query.insert(name.to_owned(), most.unwrap_or(ENOUGH).min(ENOUGH).to_string());
        }
        is_paged |= is_limit || PAGES.contains(&simple(name).as_str());
    }
    let linked = [
        "next",
        "next_page",
        "nextPage",
        "next_cursor",
        "nextCursor",
        "cursor",
        "total",
        "count",
        "has_more",
        "hasMore",
    ];
    if let Some(shape) = outline.success.as_ref().and_then(|root| Shape::at(root, "")) {
        is_paged |= linked.iter().any(|name| shape.property(name).is_some());
    }
    is_paged |= outline.headers.iter().any(|name| name == "link" || name.starts_with("next-"));
    if is_paged {
        list.partial = true;
        let name = outline.endpoint.name();
        assumed.push(format!("{name} returns pages: an item that is missing from a page may be on another."));
        list.pages = Some(pages).filter(|pages| *pages != Pages::default());
    }
    Ok(())
}

/// Returns `true` if a parameter is a text, a number or a truth value.
fn is_plain(schema: &serde_json::Map<String, Value>) -> bool {
    let types = super::super::schema::types(schema);
    !types.is_empty()
        && types.iter().all(|one| ["string", "integer", "boolean", "null"].contains(&one.as_str()))
}

/// Returns the pointer to the mark of the next page in an answer.
fn mark_at(outline: &Outline<'_>) -> Option<String> {
    const MARKS: [&str; 8] = [
        "next_cursor",
        "nextCursor",
        "next_page_token",
        "nextPageToken",
        "next_token",
        "nextToken",
        "cursor",
        "continue",
    ];
    let shape = Shape::at(outline.success.as_ref()?, "")?;
    MARKS.iter().find(|name| shape.property(name).is_some()).map(|name| format!("/{name}"))
}
