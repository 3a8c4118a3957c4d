//! Preconditions (RFC 9110, 13), in the order of 13.2.2.

use super::habits::Habits;
use super::table::Oddity;
use super::validators::Current;
use crate::embedded::date;
use crate::embedded::message::{Fields, Request};
use crate::embedded::tag::{Tag, Tags};

/// What the conditions allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Perform the method.
    Perform,
    /// 304
    NotModified,
    /// 412
    Failed,
}

/// Evaluates the conditions of a request against what is there now.
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

/// 13.1.1
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

/// 13.1.2: whether the condition is false.
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

/// 13.1.5: what Range is to be made of, as far as If-Range is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfRange {
    /// Range is respected.
    True,
    /// Range is ignored.
    False,
    /// No client may send this.
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
