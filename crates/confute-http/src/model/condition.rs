//! Results of preconditions (RFC 9110, section 13) and their consequences. The evaluation itself is in `spec`.

use confute::knowledge::Knowledge;
use confute::lang::{Mismatch, Number, Stop, Sym};

use super::entry::{Entry, Validator, at_most, more_than};
use super::expected::{Learnt, Read, require};
use super::transaction::Io;
use crate::message::{IfRange, Response, Tag};

/// Result of a precondition that compares tags by strong comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Truth {
    Yes,
    No,
    /// True if the current tag is strong at the moment of the evaluation.
    IfStrong,
}

/// Results of the preconditions of a request, as far as they do not depend on time, in the order of 13.2.2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Conditions {
    pub(super) if_match: Option<Truth>,
    /// Date of If-Unmodified-Since, unless it is ignored.
    pub(super) unmodified: Option<i64>,
    /// `true` if no current representation exists whose date could be compared, and the server evaluates
    /// If-Unmodified-Since to false. It must be ignored if no modification date is available (13.1.4), but the
    /// standard does not specify whether that covers a resource without a current representation.
    pub(super) undated: bool,
    /// `Some(true)` if If-None-Match is false, because a tag matched.
    pub(super) matched: Option<bool>,
    /// Date of If-Modified-Since, unless it is ignored.
    pub(super) modified: Option<i64>,
}

/// Position of a tag in a list: field line, and place in that line.
pub(super) type Place = (usize, usize);

/// List members with the opaque text of the current tag.
pub(super) struct Found {
    /// Position of the first member with that text.
    pub(super) any: Place,
    /// Position of the first strong member with that text.
    pub(super) strong: Option<Place>,
}

/// Searches a list for the current tag. If its text is not known yet, each member is tried.
pub(super) fn find(io: &mut Io<'_>, lines: &[Vec<Tag>], current: &Validator) -> Result<Option<Found>, Stop> {
    let members = || {
        let places = |(line, tags): (usize, &'_ Vec<Tag>)| (0..tags.len()).map(move |place| (line, place));
        lines.iter().enumerate().flat_map(places).map(|(line, place)| ((line, place), &lines[line][place]))
    };
    // A tag that the tester made up is never the current one.
    for (place, tag) in members().filter(|(_, tag)| &*tag.opaque != Tag::MADE_UP) {
        let again =
            members().take_while(|(other, _)| *other < place).any(|(_, other)| other.opaque == tag.opaque);
        if !again && io.branch(current.opaque.is(&tag.opaque))? {
            let strong = members().find(|(_, other)| other.opaque == tag.opaque && !other.weak);
            return Ok(Some(Found { any: place, strong: strong.map(|(place, _)| place) }));
        }
    }
    Ok(None)
}

/// Result of If-Range, which decides whether Range applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RangeApplies {
    /// Result of a strong comparison of tags, or [`Truth::Yes`] without If-Range.
    Tag(Truth),
    /// Range applies if this is exactly the current modification date.
    Date(i64),
}

/// Decision about a write.
pub(super) enum Decision {
    /// The write is performed. The moment, if any, is in the past when the response is received.
    Perform(Option<Sym<Number>>),
    /// The write is not performed: If-Match or If-Unmodified-Since is false.
    Keep,
    /// The write is not performed: If-None-Match is false.
    Fail,
}

impl Conditions {
    /// Decides whether a write with these preconditions, sent at `sent`, is performed on `entry` (13.2.2).
    pub(super) fn decide(&self, io: &mut Io<'_>, entry: &Entry, sent: i64) -> Result<Decision, Stop> {
        let mut strong_by = None;
        match self.if_match {
            Some(Truth::No) => return Ok(Decision::Keep),
            Some(Truth::IfStrong) => {
                // A tag that was weak when the request was sent may have become strong before it was compared.
                if !io.branch(entry.tag.is_strong(sent))? {
                    if io.choose(2)? == 0 {
                        return Ok(Decision::Keep);
                    }
                    strong_by = Some(entry.tag.strong_from().clone());
                }
                io.assume(entry.tag.has_strong_text())?;
            }
            Some(Truth::Yes) | None => {}
        }
        if self.undated {
            return Ok(Decision::Keep);
        }
        if let Some(date) = self.unmodified
            && !io.branch(entry.modified.at_most(&Sym::known(&date), 0))?
        {
            return Ok(Decision::Keep);
        }
        Ok(if self.matched == Some(true) { Decision::Fail } else { Decision::Perform(strong_by) })
    }
}

/// Returns `true` if If-Range has a weak tag.
pub(super) fn is_weak(if_range: Option<&IfRange>) -> bool {
    matches!(if_range, Some(IfRange::Tag(tag)) if tag.weak)
}

/// Conclusions from a response about preconditions that were true.
impl Read {
    /// Learns that a current representation exists, and that all preconditions were true.
    pub(super) fn performed(&self, seen: &Response, facts: &mut Knowledge) -> Learnt {
        self.entry.present.unify(&true, facts)?;
        self.permitted(seen, facts)?;
        require(self.conditions.matched != Some(true))?;
        self.conditions.modified.map_or(Ok(()), |date| more_than(&self.compared.modified, date, facts))
    }

    /// Learns that If-Match and If-Unmodified-Since were true.
    pub(super) fn permitted(&self, seen: &Response, facts: &mut Knowledge) -> Learnt {
        match self.conditions.if_match {
            Some(Truth::No) => return Err(Mismatch),
            Some(Truth::IfStrong) => {
                require(!self.is_seen_weak(seen))?;
                self.compared.tag.was_strong(seen.at, facts)?;
            }
            Some(Truth::Yes) | None => {}
        }
        self.conditions.unmodified.map_or(Ok(()), |date| self.not_after(date, seen, facts))
    }

    /// Returns `true` if the response has the compared tag, as a weak one. It was then weak when If-Match was
    /// evaluated too, because a tag never becomes weak again.
    pub(super) fn is_seen_weak(&self, seen: &Response) -> bool {
        seen.etag.as_ref().is_some_and(|tag| tag.weak) && self.compared.tag == self.entry.tag
    }

    /// Learns that the representation was not modified after `date`. If the server may have compared the Date of the
    /// response instead of a modification date in the future, nothing is learnt, and it is only checked that the
    /// claim can be true: the Date of the response is not before any date that was sent.
    pub(super) fn not_after(&self, date: i64, seen: &Response, facts: &mut Knowledge) -> Learnt {
        if self.entry.may_be_ahead(seen, facts) {
            return at_most(&self.compared.modified, date, &mut facts.clone());
        }
        at_most(&self.compared.modified, date, facts)
    }

    /// Learns that If-Range was true.
    pub(super) fn in_range(&self, seen: &Response, facts: &mut Knowledge) -> Learnt {
        match self.applies {
            RangeApplies::Tag(Truth::Yes) => Ok(()),
            RangeApplies::Tag(Truth::No) => Err(Mismatch),
            RangeApplies::Tag(Truth::IfStrong) => self.entry.tag.was_strong(seen.at, facts),
            RangeApplies::Date(_) if self.entry.may_be_ahead(seen, facts) => Ok(()),
            RangeApplies::Date(date) => self.entry.modified.unify(&date, facts),
        }
    }
}
