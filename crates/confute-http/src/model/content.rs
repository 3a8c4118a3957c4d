//! Content of responses to GET and HEAD: the whole of it, a part, or only its length.

use std::sync::Arc;

use confute::knowledge::Knowledge;

use super::entry::Entry;
use super::expected::{Learnt, Read, require};
use crate::message::{RangeSent, Response, Span};
use confute_http1::text;

/// Returns the content of the representation, if it is known.
pub(super) fn known(entry: &Entry, facts: &Knowledge) -> Option<Arc<str>> {
    entry.body.value(facts)
}

/// Checks Content-Length in a response without content: it is the length of the representation (RFC 9110, 8.6).
pub(super) fn length(entry: &Entry, seen: &Response, facts: &Knowledge) -> Learnt {
    let (Some(told), Some(body)) = (seen.content_length, known(entry, facts)) else {
        return Ok(());
    };
    require(seen.coded || seen.notes.may_be_coded || told == text::length(&body) as u64)
}

/// Checks Content-Length in a response to HEAD. It may also be the length of a requested part, because the response
/// to the corresponding GET could have been 206.
pub(super) fn length_of_head(read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
    let whole = known(&read.entry, facts).map(|body| text::length(&body) as u64);
    let is_told = |(first, last): (u64, u64)| seen.content_length == Some(last - first + 1);
    if whole.is_some_and(|whole| read.range.iter().filter_map(|span| span.within(whole)).any(is_told)) {
        return Ok(());
    }
    length(&read.entry, seen, facts)
}

/// Checks that the content is that of the representation, or a prefix of it if the response is truncated.
pub(super) fn whole(read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
    let entry = &read.entry;
    if seen.coded {
        return Ok(());
    }
    if !seen.incomplete {
        return entry.body.unify(&seen.body, facts);
    }
    let (body, came) = (known(entry, facts), text::bytes(&seen.body));
    require(body.is_none_or(|body| text::bytes(&body).starts_with(&came)))
}

/// Checks the content of a 206 (RFC 9110, 15.3.7.1 and 14.4): it is the part of the representation given by
/// Content-Range, and lies within a requested range.
pub(super) fn part(read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
    if !is_one_part(read, seen) {
        return Ok(());
    }
    let Some(RangeSent::Part(first, last, complete)) = seen.content_range else {
        // A suffix range of an empty representation is satisfiable (14.1.2), but no Content-Range can express it.
        let is_end = |span: &Span| matches!(span, Span::Last(1..));
        let is_untold = !matches!(seen.content_range, Some(RangeSent::Invalid));
        require(read.range.iter().any(is_end) && is_untold && seen.body.is_empty())?;
        return read.entry.body.unify(&seen.body, facts);
    };
    let body = known(&read.entry, facts);
    require(is_complete(complete, body.as_deref()) && is_exact((first, last), body.as_deref(), seen))?;
    let Some(length) = body.map(|body| text::length(&body) as u64).or(complete) else { return Ok(()) };
    let holds = |(low, high): (u64, u64)| low <= first && last <= high;
    require(read.range.iter().any(|span| span.within(length).is_some_and(holds)))
}

/// Returns `true` if the content is a single part, and not coded, so that it can be compared.
pub(super) fn is_one_part(read: &Read, seen: &Response) -> bool {
    !(seen.coded || (seen.multipart && read.range.len() > 1))
}

/// Returns `true` if the complete length in Content-Range is that of the representation.
pub(super) fn is_complete(told: Option<u64>, body: Option<&str>) -> bool {
    told.zip(body).is_none_or(|(told, body)| told == text::length(body) as u64)
}

/// Returns `true` if the received content has the length of the part, and equals that part of the representation.
pub(super) fn is_exact((first, last): (u64, u64), body: Option<&str>, seen: &Response) -> bool {
    let came = text::bytes(&seen.body);
    let is_there = |body: &str| {
        let (body, from) = (text::bytes(body), usize::try_from(first).unwrap_or(usize::MAX));
        body.get(from..).is_some_and(|rest| rest.starts_with(&came))
    };
    (seen.incomplete || came.len() as u64 == (last - first).saturating_add(1)) && body.is_none_or(is_there)
}

/// Checks a 416 (RFC 9110, 15.5.17): no requested range is satisfiable, and Content-Range, if any, has the complete
/// length.
pub(super) fn unsatisfiable(read: &Read, seen: &Response, facts: &Knowledge) -> Learnt {
    let Some(body) = known(&read.entry, facts) else { return Ok(()) };
    let length = text::length(&body) as u64;
    let is_told = match seen.content_range {
        None => true,
        Some(RangeSent::Nothing(told)) => told == length,
        Some(RangeSent::Part(..) | RangeSent::Invalid) => false,
    };
    require((is_told || seen.coded) && read.range.iter().all(|span| span.within(length).is_none()))
}
