//! When a condition is true (RFC 9110, section 13).

use confute::lang::{Io, Rule, Stop, Sym};

use super::origin::Origin;
use super::validators::{Entry, Validator};
use crate::message::{IfRange, Method, Request, Tag, Tags};
use crate::rules;

/// Whether a condition by strong comparison is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Truth {
    Yes,
    No,
    /// If the tag is strong when it is evaluated.
    IfStrong,
}

/// The conditions of a request, as far as they do not depend on time. They are evaluated in the order of 13.2.2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Conditions {
    pub(super) if_match: Option<Truth>,
    /// If-Unmodified-Since, unless it is ignored.
    pub(super) unmodified: Option<i64>,
    /// There is nothing whose date could be compared, and the server takes that for false. A date that is not available is
    /// to be ignored (13.1.4), but whether nothing has such a date, the standard does not say.
    pub(super) undated: bool,
    /// Whether If-None-Match is false.
    pub(super) matched: Option<bool>,
    /// That it is true is so only if the tag is weak.
    pub(super) needs_weak: bool,
    /// If-Modified-Since, unless it is ignored.
    pub(super) modified: Option<i64>,
    /// It counts though it should not: then it may also be compared for equality, as some do.
    pub(super) beside: bool,
    /// The server says 412 without cause.
    pub(super) refused: bool,
    /// The server says 304 without cause.
    pub(super) spared: bool,
}

/// Where in a list a tag was found: line and place.
type Place = (usize, usize);

struct Found {
    /// The first member with that text.
    any: Place,
    /// The first strong one.
    strong: Option<Place>,
}

/// Looks for the current tag in a list. What is not known of it is tried.
fn find(io: &mut Io<'_, Origin>, lines: &[Vec<Tag>], current: &Validator) -> Result<Option<Found>, Stop> {
    let members = || {
        let places = |(line, tags): (usize, &'_ Vec<Tag>)| (0..tags.len()).map(move |place| (line, place));
        lines.iter().enumerate().flat_map(places).map(|(line, place)| ((line, place), &lines[line][place]))
    };
    // No server has a tag that the tester made up.
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

impl Conditions {
    /// Those of a request for what has this tag, which for a write is there or `missing`.
    pub(super) fn of(
        io: &mut Io<'_, Origin>,
        request: &Request,
        current: &Validator,
        missing: bool,
    ) -> Result<Self, Stop> {
        let reads = request.method.is_safe();
        let mut conditions = Conditions::default();
        if let Some(tags) = &request.if_match {
            let ignored = match request.method {
                Method::Delete => &rules::IF_MATCH_DELETE,
                _ if reads => &rules::IF_MATCH_READ,
                _ => &rules::IF_MATCH,
            };
            conditions.if_match = Some(if_match(io, tags, current, missing, ignored)?);
        }
        let ignored = request.if_match.is_some()
            && !(request.if_unmodified_since.is_some() && io.deviates(&rules::IF_UNMODIFIED_SINCE_BESIDE)?);
        if !ignored && !missing {
            conditions.unmodified = request.if_unmodified_since;
        }
        if missing && !ignored && request.if_unmodified_since.is_some() {
            conditions.undated = io.choose(2)? == 1;
        }
        if let (Some(_), None) = (conditions.unmodified, &request.if_match)
            && io.deviates(&rules::IF_UNMODIFIED_SINCE)?
        {
            conditions.unmodified = None;
        }
        if let Some(tags) = &request.if_none_match {
            let ignored = match request.method {
                Method::Delete => &rules::IF_NONE_MATCH_DELETE,
                _ if reads => &rules::NOT_MODIFIED,
                _ => &rules::IF_NONE_MATCH,
            };
            let weak = if reads { &rules::IF_NONE_MATCH_WEAK_READ } else { &rules::IF_NONE_MATCH_WEAK };
            conditions.if_none_match(io, tags, current, missing, (ignored, weak))?;
        }
        if reads {
            conditions.read(io, request)?;
        } else if conditions.matched == Some(false) {
            conditions.refused = io.deviates(&rules::IF_NONE_MATCH_TRUE)?;
        }
        conditions.refused |= io.deviates(&rules::FAILED_CAUSE)?;
        Ok(conditions)
    }

    fn if_none_match(
        &mut self,
        io: &mut Io<'_, Origin>,
        tags: &Tags,
        current: &Validator,
        missing: bool,
        (ignored, weak): (&'static Rule, &'static Rule),
    ) -> Result<(), Stop> {
        let matched = match tags {
            _ if missing => false,
            Tags::Any => !io.deviates(ignored)?,
            Tags::Lines(lines) => match find(io, lines, current)? {
                None => false,
                Some(found) => !(io.deviates(ignored)? || self.overlooks(io, &found, weak)?),
            },
        };
        self.matched = Some(matched);
        Ok(())
    }

    /// Whether a tag that is there is not found in If-None-Match, for one of the ways to look for it.
    fn overlooks(
        &mut self,
        io: &mut Io<'_, Origin>,
        found: &Found,
        weak: &'static Rule,
    ) -> Result<bool, Stop> {
        let (line, place) = found.any;
        let is_first = line == 0 && place == 0;
        if (line > 0 && io.deviates(&rules::SEVERAL_LINES)?)
            || (!is_first && io.deviates(&rules::IF_NONE_MATCH_MEMBERS)?)
        {
            return Ok(true);
        }
        let is_strong = io.deviates(weak)?;
        self.needs_weak = is_strong && found.strong.is_some();
        Ok(is_strong)
    }

    /// What concerns GET and HEAD only.
    fn read(&mut self, io: &mut Io<'_, Origin>, request: &Request) -> Result<(), Stop> {
        if self.matched.is_none() {
            self.modified = request.if_modified_since;
        } else if request.if_modified_since.is_some() && io.deviates(&rules::IF_MODIFIED_SINCE_BESIDE)? {
            // Then the date decides, whatever the tags say.
            self.matched = Some(false);
            self.modified = request.if_modified_since;
            self.beside = true;
        }
        if self.matched != Some(true) {
            self.spared = io.deviates(&rules::NOT_MODIFIED_CAUSE)?;
        }
        Ok(())
    }
}

/// Whether If-Match is true.
fn if_match(
    io: &mut Io<'_, Origin>,
    tags: &Tags,
    current: &Validator,
    missing: bool,
    ignored: &'static Rule,
) -> Result<Truth, Stop> {
    let found = match tags {
        _ if missing => None,
        Tags::Any => return Ok(Truth::Yes),
        Tags::Lines(lines) => find(io, lines, current)?,
    };
    if io.deviates(ignored)? {
        return Ok(Truth::Yes);
    }
    let Some(found) = found else { return Ok(Truth::No) };
    if io.deviates(&rules::IF_MATCH_STRONG)? {
        return Ok(Truth::Yes);
    }
    let is_missed = match found.strong {
        None => true,
        Some((0, 0)) => false,
        Some((0, _)) => io.deviates(&rules::IF_MATCH_MEMBERS)?,
        Some(_) => io.deviates(&rules::SEVERAL_LINES)? || io.deviates(&rules::IF_MATCH_MEMBERS)?,
    };
    Ok(if is_missed { Truth::No } else { Truth::IfStrong })
}

/// Whether Range counts, as far as If-Range is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Applies {
    /// By strong comparison of tags, or because there is no If-Range.
    Tag(Truth),
    /// If this is the date.
    Date(i64),
}

impl Applies {
    pub(super) fn of(io: &mut Io<'_, Origin>, request: &Request, current: &Validator) -> Result<Self, Stop> {
        let yes = Ok(Applies::Tag(Truth::Yes));
        match &request.if_range {
            None => yes,
            Some(IfRange::Date(_)) if io.deviates(&rules::IF_RANGE)? => yes,
            Some(IfRange::Date(date)) => Ok(Applies::Date(*date)),
            Some(IfRange::Tag(_)) if io.deviates(&rules::IF_RANGE)? => yes,
            Some(IfRange::Tag(tag))
                if &*tag.opaque == Tag::MADE_UP || !io.branch(current.opaque.is(&tag.opaque))? =>
            {
                Ok(Applies::Tag(Truth::No))
            }
            Some(IfRange::Tag(_)) if io.deviates(&rules::IF_RANGE_STRONG)? => yes,
            Some(IfRange::Tag(tag)) => Ok(Applies::Tag(if tag.weak { Truth::No } else { Truth::IfStrong })),
        }
    }
}

/// What becomes of a write.
pub(super) enum Decision {
    /// It is performed. If there is a moment, it is in the past when the answer is received.
    Perform(Option<Sym<confute::lang::Number>>),
    /// It is not performed: If-Match or If-Unmodified-Since is false.
    Keep,
    /// It is not performed: If-None-Match is false.
    Fail,
}

impl Conditions {
    /// Whether a write sent then is performed on this entry.
    pub(super) fn decide(&self, io: &mut Io<'_, Origin>, entry: &Entry, sent: i64) -> Result<Decision, Stop> {
        let mut strong_by = None;
        if self.refused {
            return Ok(Decision::Fail);
        }
        match self.if_match {
            Some(Truth::No) => return Ok(Decision::Keep),
            Some(Truth::IfStrong) => {
                // If it was weak when this was sent, it may have become strong before it was evaluated.
                if !io.branch(entry.tag.is_strong(sent))? {
                    if io.choose(2)? == 0 {
                        return Ok(Decision::Keep);
                    }
                    strong_by = Some(entry.tag.strong_from().clone());
                }
                io.assume(entry.tag.has_strong_text())?;
            }
            _ => {}
        }
        if self.undated {
            return Ok(Decision::Keep);
        }
        if let Some(date) = self.unmodified
            && !io.branch(entry.modified.at_most(&Sym::known(&date), 0))?
        {
            return Ok(Decision::Keep);
        }
        if self.matched == Some(true) {
            return Ok(Decision::Fail);
        }
        if self.needs_weak {
            io.assume(entry.tag.is_strong(sent).negate())?;
        }
        Ok(Decision::Perform(strong_by))
    }
}
