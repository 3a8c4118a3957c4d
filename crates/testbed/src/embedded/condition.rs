//! Evaluation of preconditions (RFC 9110, 13), in the order of 13.2.2.
//!
//! The caller decides if preconditions are evaluated at all (13.2.1).

use super::bug::Bug;
use super::date;
use super::message::{Fields, Request};
use super::switches::Switches;
use super::tag::{Tag, Tags};

/// The current validators of a representation.
#[derive(Debug, Clone)]
pub(crate) struct Validators {
    pub(crate) tag: Tag,
    pub(crate) modified: u64,
    /// `true` if no other change was made in the second `modified`, so that the date identifies the content.
    pub(crate) alone: bool,
}

/// Result of evaluating the preconditions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All conditions hold: the method is performed.
    Perform,
    /// The response is 304.
    NotModified,
    /// The response is 412.
    Failed,
}

/// Returns `true` if the request has conditions.
pub(crate) fn is_conditional(request: &Request) -> bool {
    ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"]
        .iter()
        .any(|name| request.fields.has(name))
}

/// Evaluates the conditions of a request against the current representation.
pub(crate) fn evaluate(request: &Request, current: Option<&Validators>, bugs: &Switches) -> Outcome {
    let fields = &request.fields;
    let reads = matches!(&request.method[..], "GET" | "HEAD");
    let put = request.method == "PUT";
    let delete = request.method == "DELETE";

    let ignored = put && bugs.has(Bug::IfMatchIgnoredOnPut)
        || delete && bugs.has(Bug::IfMatchIgnoredOnDelete)
        || reads && bugs.has(Bug::IfMatchIgnoredOnGet);
    if fields.has("if-match") && !ignored && !if_match(fields, put, current, bugs) {
        return Outcome::Failed;
    }
    if !fields.has("if-match") || bugs.has(Bug::IfUnmodifiedSinceBesideIfMatch) {
        let ignored = put && bugs.has(Bug::IfUnmodifiedSinceIgnored);
        let since = fields.only("if-unmodified-since").and_then(date::parse);
        if let (Some(since), Some(current), false) = (since, current, ignored)
            && current.modified > since
        {
            return Outcome::Failed;
        }
    }
    let ignored = put && bugs.has(Bug::IfNoneMatchIgnoredOnPut)
        || delete && bugs.has(Bug::IfNoneMatchIgnoredOnDelete)
        || reads && bugs.has(Bug::IfNoneMatchIgnoredOnGet);
    if fields.has("if-none-match") && !ignored {
        let matched = matches_one(fields, reads, put, current, bugs);
        if matched {
            let quiet = reads || bugs.has(Bug::NotModifiedForPut);
            return if quiet { Outcome::NotModified } else { Outcome::Failed };
        }
    }
    if reads && (!fields.has("if-none-match") || bugs.has(Bug::IfModifiedSinceBesideIfNoneMatch)) {
        let since = fields.only("if-modified-since").and_then(date::parse);
        if let (Some(since), Some(current)) = (since, current)
            && !bugs.has(Bug::IfModifiedSinceIgnored)
            && current.modified <= since
        {
            return Outcome::NotModified;
        }
    }
    Outcome::Perform
}

/// Returns `true` if If-Match holds (13.1.1).
fn if_match(fields: &Fields, put: bool, current: Option<&Validators>, bugs: &Switches) -> bool {
    match (tags(fields, "if-match", bugs), current) {
        (Tags::Any, None) => put && bugs.has(Bug::IfMatchStarOnMissing),
        (Tags::Any, Some(_)) => true,
        (Tags::List(_), None) => false,
        (Tags::List(list), Some(current)) => {
            let mut list = &list[..];
            if bugs.has(Bug::IfMatchStopsAtWeak) {
                list = &list[..list.iter().position(|tag| tag.weak).unwrap_or(list.len())];
            }
            let weakly = bugs.has(Bug::IfMatchWeak);
            list.iter()
                .any(|tag| tag.matches_strongly(&current.tag) || weakly && tag.matches_weakly(&current.tag))
        }
    }
}

/// Returns `true` if a member of If-None-Match matches, that is if the condition is false (13.1.2).
fn matches_one(
    fields: &Fields,
    reads: bool,
    put: bool,
    current: Option<&Validators>,
    bugs: &Switches,
) -> bool {
    let strongly = bugs.has(if reads { Bug::IfNoneMatchStrongOnGet } else { Bug::IfNoneMatchStrongOnPut });
    match (tags(fields, "if-none-match", bugs), current) {
        (Tags::Any, None) => put && bugs.has(Bug::IfNoneMatchStarOnMissing),
        (Tags::Any, Some(_)) => true,
        (Tags::List(_), None) => false,
        (Tags::List(list), Some(current)) => list.iter().any(|tag| {
            if strongly { tag.matches_strongly(&current.tag) } else { tag.matches_weakly(&current.tag) }
        }),
    }
}

fn tags(fields: &Fields, name: &str, bugs: &Switches) -> Tags {
    let lines = if bugs.has(Bug::FirstLineOnly) { 1 } else { usize::MAX };
    match Tags::parse(fields.all(name).take(lines)) {
        Tags::List(mut list) if bugs.has(Bug::FirstTagOnly) => {
            list.truncate(1);
            Tags::List(list)
        }
        other => other,
    }
}

/// Returns `true` if If-Range, where present, lets Range apply (13.1.5).
pub(crate) fn if_range(fields: &Fields, current: &Validators, bugs: &Switches) -> bool {
    if !fields.has("if-range") || bugs.has(Bug::IfRangeIgnored) {
        return true;
    }
    let Some(value) = fields.only("if-range") else { return false };
    match Tag::parse(value.as_bytes()) {
        Some(tag) if bugs.has(Bug::IfRangeWeak) => tag.matches_weakly(&current.tag),
        Some(tag) => tag.matches_strongly(&current.tag),
        // A date that may stand for several contents is not a strong validator (8.8.2.2).
        None => {
            current.alone && date::now() > current.modified && date::parse(value) == Some(current.modified)
        }
    }
}
