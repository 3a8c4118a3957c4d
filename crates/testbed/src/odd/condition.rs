//! Evaluation of preconditions (RFC 9110, 13), in the order of 13.2.2.

use super::habits::Habits;
use super::table::Oddity;
use super::validators::Current;
use crate::embedded::date;
use crate::embedded::message::{Fields, Request};
use crate::embedded::tag::{Tag, Tags};

/// Result of evaluating the preconditions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All conditions hold: the method is performed.
    Perform,
    /// The response is 304.
    NotModified,
    /// The response is 412.
    Failed,
}

/// Evaluates the conditions of a request against the current representation.
pub(super) fn evaluate(request: &Request, current: Option<&Current>, habits: &Habits) -> Outcome {
    let fields = &request.fields;
    let reads = matches!(&request.method[..], "GET" | "HEAD");
    if fields.has("if-match") {
        if !if_match(fields, current, habits) {
            return Outcome::Failed;
        }
    } else if let Some(since) = date_in(fields, "if-unmodified-since")
        && let Some(modified) = current.and_then(|current| current.date)
    {
        if reads && habits.breaks(Oddity::NoClock) {
            return if modified > since { Outcome::Perform } else { Outcome::NotModified };
        }
        if modified > since {
            return Outcome::Failed;
        }
    }
    if fields.has("if-none-match") && matches_one(fields, current, habits) {
        return if reads { Outcome::NotModified } else { Outcome::Failed };
    }
    let is_beside = fields.has("if-none-match") && !habits.breaks(Oddity::SinceIgnored);
    if reads
        && !is_beside
        && !habits.keeps(Oddity::SinceIgnored)
        && let Some(since) = date_in(fields, "if-modified-since")
        && let Some(modified) = current.and_then(|current| current.date)
        && modified <= since
    {
        return if habits.breaks(Oddity::CoarseDate) { Outcome::Failed } else { Outcome::NotModified };
    }
    Outcome::Perform
}

fn date_in(fields: &Fields, name: &str) -> Option<u64> {
    fields.only(name).and_then(date::parse)
}

/// Returns `true` if If-Match holds (13.1.1).
fn if_match(fields: &Fields, current: Option<&Current>, habits: &Habits) -> bool {
    let Some(current) = current else { return false };
    let Some(tag) = &current.tag else {
        return habits.breaks(Oddity::NoTag) || Tags::parse(fields.all("if-match")) == Tags::Any;
    };
    match tags(fields, "if-match", habits) {
        Tags::Any => true,
        Tags::List(list) if habits.breaks(Oddity::WeakTag) => list.iter().any(|one| one.matches_weakly(tag)),
        Tags::List(list) => list.iter().any(|one| one.matches_strongly(tag)),
    }
}

/// Returns `true` if a member of If-None-Match matches, that is if the condition is false (13.1.2).
fn matches_one(fields: &Fields, current: Option<&Current>, habits: &Habits) -> bool {
    let Some(current) = current else { return false };
    match tags(fields, "if-none-match", habits) {
        Tags::Any => true,
        Tags::List(list) => {
            current.tag.as_ref().is_some_and(|tag| list.iter().any(|one| one.matches_weakly(tag)))
        }
    }
}

fn tags(fields: &Fields, name: &str, habits: &Habits) -> Tags {
    let tags = Tags::parse(fields.all(name));
    match tags {
        Tags::List(list) if habits.breaks(Oddity::StrangeTag) => {
            Tags::List(list.into_iter().filter(|tag| !tag.opaque.contains(&b',')).collect())
        }
        tags => tags,
    }
}

/// Effect of If-Range on Range (13.1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfRange {
    /// Range is respected.
    True,
    /// Range is ignored.
    False,
    /// The request is refused: no client may send this If-Range.
    Refused,
}

pub(super) fn if_range(fields: &Fields, current: &Current, habits: &Habits) -> IfRange {
    if !fields.has("if-range") || habits.breaks(Oddity::IfRangeFalse) {
        return IfRange::True;
    }
    let Some(value) = fields.all("if-range").next() else { return IfRange::False };
    let holds = match Tag::parse(value) {
        Some(tag) if tag.weak && habits.keeps(Oddity::WeakIfRange) => return IfRange::Refused,
        Some(tag) => current.tag.as_ref().is_some_and(|now| {
            tag.matches_strongly(now) || habits.breaks(Oddity::WeakIfRange) && tag.matches_weakly(now)
        }),
        None => current.is_strong_date && date_in(fields, "if-range") == current.date,
    };
    if holds && !habits.has(Oddity::IfRangeFalse) { IfRange::True } else { IfRange::False }
}
