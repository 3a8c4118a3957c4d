//! Pages of a list: the query of the next one, and whether several together are the whole list.
//!
//! A service may bound the number of items in a response. Which items a page leaves out is known only if the service counts them:
//! `offset` names the number of items before the page. The tester lets each page begin with the last item of the one before. If that
//! item is there unchanged, no item was pushed over the border between the two: whatever stood behind it still does. The walk ends
//! with a page that has this one item only. So an item that was not written during the walk is on one of its pages, even if others
//! create and remove items meanwhile. Pages that are chosen in another way (numbers, cursors, links) prove nothing about items that are
//! missing; the items that they show are judged.

use std::sync::Arc;

use confute_http1::RawResponse;
use serde_json::Value;

use crate::ask::{self, Ask, Exchanges};
use crate::json;
use crate::message::{Listed, Message, Op, Response};
use crate::path::{decoded, encoded};
use crate::plan::List;

/// A query: names and values, not encoded.
pub(crate) type Query = Vec<(String, String)>;

/// Returns the text of a query, without its question mark.
pub(crate) fn text(query: &Query) -> String {
    let parts: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    parts.join("&")
}

/// Reads a query.
fn parse(text: &str) -> Query {
    let parts = text.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
    };
    parts.map(pair).collect()
}

/// Sets a parameter.
fn set(query: &mut Query, name: &str, value: String) {
    match query.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = value,
        None => query.push((name.to_owned(), value)),
    }
}

/// Returns the query of a list: that of the plan, with a bound for the number of items and a filter, if there are any.
pub(crate) fn first(list: &List, size: Option<u64>, filter: Option<(&str, &Value)>) -> Query {
    let mut query: Query = list.query.clone().into_iter().collect();
    if let (Some(size), Some(limit)) = (size, list.pages.as_ref().and_then(|pages| pages.limit.as_ref())) {
        set(&mut query, limit, size.to_string());
    }
    if let Some((name, value)) = filter {
        let value = value.as_str().map_or_else(|| json::text(value).to_string(), ToOwned::to_owned);
        set(&mut query, name, value);
    }
    query
}

/// Returns the query of the page after a response: the one that the service names, or the one that follows by counting.
pub(crate) fn next(
    list: &List,
    (asked, path): (&str, &str),
    raw: &RawResponse,
    value: &Value,
    count: u64,
) -> Option<Arc<str>> {
    let named = linked(raw).or_else(|| value.get("next")?.as_str().map(ToOwned::to_owned));
    if let Some(named) = named {
        return query_of(&named, path).map(Into::into);
    }
    let pages = list.pages.as_ref()?;
    let mut query = parse(asked);
    if let Some(cursor) = &pages.cursor {
        let mark =
            value.pointer(&cursor.at).filter(|mark| !mark.is_null() && *mark != "" && *mark != false)?;
        set(&mut query, &cursor.parameter, mark.as_str().map_or_else(|| mark.to_string(), ToOwned::to_owned));
        return Some(text(&query).into());
    }
    let number =
        |name: &str| query.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.parse().ok());
    if let Some(offset) = &pages.offset {
        let before: u64 = number(offset).unwrap_or(0);
        if count < 2 {
            return None;
        }
        set(&mut query, offset, (before + count - 1).to_string());
    } else {
        let parameter = pages.number.as_ref()?;
        let at: u64 = number(&parameter.name).unwrap_or(parameter.first);
        if count == 0 {
            return None;
        }
        set(&mut query, &parameter.name, (at + 1).to_string());
    }
    Some(text(&query).into())
}

/// Returns the address of the next page in a field of the response.
fn linked(raw: &RawResponse) -> Option<String> {
    let all = |name: &str| -> Vec<String> {
        raw.fields().all(name).map(|value| String::from_utf8_lossy(&value).into_owned()).collect()
    };
    let links = all("Link").join(",");
    let next = links.split('<').skip(1).find_map(|link| {
        let (target, rest) = link.split_once('>')?;
        let rest = rest.to_ascii_lowercase().replace('"', "");
        rest.split([';', ',']).any(|part| part.trim() == "rel=next").then(|| target.to_owned())
    });
    next.or_else(|| all("Next-Page").pop())
}

/// Returns the query of an address, if its path is that of the collection.
fn query_of(address: &str, path: &str) -> Option<String> {
    let (target, query) = address.split('#').next()?.split_once('?')?;
    let is_same = target.is_empty() || target.trim_end_matches('/').ends_with(path.trim_end_matches('/'));
    is_same.then(|| query.to_owned())
}

/// Returns the places of the pages before one in a walk, the first page first; `None` if a page of the walk is not there.
fn walk(past: &Exchanges, place: usize) -> Option<Vec<usize>> {
    let mut places = vec![place];
    let mut at = past.get(place)?;
    while let Some(step) = at.ask.after {
        let before = past.binary_search_by_key(&step, |exchange| exchange.step).ok()?;
        places.insert(0, before);
        at = &past[before];
    }
    Some(places)
}

/// Completes the last page of a walk by the items of the others, if the walk proves to be whole. Returns the place of its first page.
pub(crate) fn complete(past: &Exchanges, place: usize, last: &mut Response) -> Option<usize> {
    let places = walk(past, place)?;
    let (_, before) = places.split_last()?;
    let pages: Option<Vec<&Response>> =
        before.iter().map(|at| past[*at].replies.iter().find_map(Message::response)).collect();
    let pages = pages?;
    let end = last.edges.as_ref()?;
    // The end is a page that has only the last item of the page before.
    let is_end = if pages.is_empty() { end.is_empty() } else { end.len() == 1 };
    let mut edge: Option<&Arc<str>> = None;
    for page in pages.iter().copied().chain([&*last]) {
        let edges = page.edges.as_ref()?;
        if edge.is_some() && edge != edges.first() {
            return None;
        }
        edge = edges.last();
    }
    if !is_end || last.lacks {
        return None;
    }
    let mut all: Vec<Listed> = last.items.clone()?;
    for page in pages {
        for listed in page.items.as_ref().filter(|_| !page.lacks)? {
            if !all.contains(listed) {
                all.push(listed.clone());
            }
        }
    }
    last.items = Some(all);
    last.is_partial = false;
    places.first().copied()
}

/// Returns the step of the latest list of a resource, if its response has a page after it.
pub(crate) fn unfinished(past: &Exchanges, resource: usize) -> Option<usize> {
    let is_list = |ask: &Ask| ask.op == Op::List && ask.resource == resource;
    let latest = past.iter().rev().find(|exchange| is_list(&exchange.ask))?;
    next_of(past, latest.step).map(|_| latest.step)
}

/// Returns the query of the page after that in the response to a step.
pub(crate) fn next_of(past: &Exchanges, step: usize) -> Option<Arc<str>> {
    ask::of_step(past, step)?.replies.iter().find_map(Message::response)?.next.clone()
}

/// Returns the filter of a request for a list: that of the first page of its walk.
pub(crate) fn filter<'a>(ask: &'a Ask, past: &'a Exchanges) -> Option<(&'a str, &'a Value)> {
    let mut first = ask;
    while let Some(before) = first.after.and_then(|step| ask::of_step(past, step)) {
        first = &before.ask;
    }
    first.filter.as_ref().map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use confute_drive::{Exchange, Peer};

    use super::*;
    use crate::message::Request;

    /// Returns the exchange of a page with these elements.
    fn page(step: usize, shown: &[&str]) -> Exchange<Ask, Message> {
        let ask = Ask { after: step.checked_sub(1), ..Ask::new(0, Op::List) };
        let (first, last) = (shown.first(), shown.last().filter(|_| shown.len() > 1));
        let response = Response {
            status: 200,
            items: Some(
                shown
                    .iter()
                    .map(|one| Listed { item: (*one).into(), fields: json::Fields::new(), is_ours: true })
                    .collect(),
            ),
            edges: Some(first.into_iter().chain(last).map(|one| (*one).into()).collect()),
            is_partial: true,
            ..Response::default()
        };
        let request = Request {
            at: 0,
            resource: "todos".into(),
            op: Op::List,
            method: "GET".into(),
            path: "/todos".into(),
            item: None,
            fields: json::Fields::new(),
            body: None,
            media: None,
            if_match: None,
            if_none_match: None,
            query: None,
            filter: None,
            mark: "m".into(),
        };
        Exchange { step, on: Peer::Opened(0), ask, request: request.into(), replies: vec![response.into()] }
    }

    /// Returns the items of a walk, if it proves to be whole.
    fn walked(pages: &[&[&str]]) -> Option<usize> {
        let past: Vec<_> = pages.iter().enumerate().map(|(step, shown)| page(step, shown)).collect();
        let mut last = past.last()?.replies[0].response()?.clone();
        complete(&past, past.len() - 1, &mut last).map(|first| {
            assert!(first == 0 && !last.is_partial);
            last.items.unwrap().len()
        })
    }

    #[test]
    fn a_walk_is_whole_if_each_page_begins_with_the_end_of_the_one_before() {
        assert_eq!(walked(&[&["a", "b", "c"], &["c", "d"], &["d"]]), Some(4));
        assert_eq!(walked(&[&[]]), Some(0));
        // Somebody removed an item before the border.
        assert_eq!(walked(&[&["a", "b", "c"], &["d", "e"], &["e"]]), None);
        // There may be more.
        assert_eq!(walked(&[&["a", "b", "c"], &["c", "d"]]), None);
        assert_eq!(walked(&[&["a"]]), None);
    }

    #[test]
    fn queries() {
        let query = parse("a=b%20c&limit=3&d");
        assert_eq!(text(&query), "a=b%20c&limit=3&d=");
        assert_eq!(query_of("http://h/v1/todos?page=2#x", "/v1/todos").unwrap(), "page=2");
        assert_eq!(query_of("?page=2", "/v1/todos").unwrap(), "page=2");
        assert!(query_of("http://h/others?page=2", "/v1/todos").is_none());
    }
}
