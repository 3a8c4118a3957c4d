//! Deviations in the evaluation of preconditions.

use confute::lang::{Stop, Turn};

use super::Deviating;
use crate::message::{IfRange, Method, Request, Tag, Tags};
use crate::model::condition::{Conditions, Decision, Found, RangeApplies, Truth, find};
use crate::model::entry::{Entry, Validator};
use crate::model::spec::Server as _;
use crate::model::transaction::{Io, Phase};
use crate::rules::{self, RuleSet};

impl Deviating<'_> {
    pub(super) fn evaluate_or_deviate(
        &mut self,
        request: &Request,
        entry: &Entry,
        present: bool,
    ) -> Phase<Decision> {
        self.faults = RuleSet::default();
        let conditions = self.conditions(request, present.then_some(&entry.tag))?;
        let mut fails =
            conditions.matched == Some(false) && self.io().deviates(&rules::IF_NONE_MATCH_TRUE)?;
        fails |= self.io().deviates(&rules::FAILED_CAUSE)?;
        if fails {
            return Ok(Decision::Fail);
        }
        let decision = conditions.decide(self.io(), entry, request.at)?;
        if let Decision::Perform(_) = decision
            && self.faults.has(RuleSet::IF_NONE_MATCH_WEAK)
        {
            self.io().assume(entry.tag.is_strong(request.at).negate())?;
        }
        Ok(decision)
    }

    pub(super) fn if_none_match_or_deviate(
        &mut self,
        request: &Request,
        tags: &Tags,
        current: Option<&Validator>,
    ) -> Result<bool, Stop> {
        let reads = request.method.is_safe();
        let ignored = match request.method {
            Method::Delete => &rules::IF_NONE_MATCH_DELETE,
            _ if reads => &rules::NOT_MODIFIED,
            _ => &rules::IF_NONE_MATCH,
        };
        Ok(match (tags, current) {
            (_, None) => false,
            (Tags::Any, Some(_)) => !self.io().deviates(ignored)?,
            (Tags::Lines(lines), Some(current)) => match find(self.io(), lines, current)? {
                None => false,
                Some(found) => !(self.io().deviates(ignored)? || self.overlooks(&found, reads)?),
            },
        })
    }

    /// Returns `true` if the server overlooks a matching tag in If-None-Match: it ignores later field lines, ignores
    /// later members, or uses strong comparison.
    fn overlooks(&mut self, found: &Found, reads: bool) -> Result<bool, Stop> {
        let (line, place) = found.any;
        let is_first = line == 0 && place == 0;
        if (line > 0 && self.io().deviates(&rules::SEVERAL_LINES)?)
            || (!is_first && self.io().deviates(&rules::IF_NONE_MATCH_MEMBERS)?)
        {
            return Ok(true);
        }
        let weak = if reads { &rules::IF_NONE_MATCH_WEAK_READ } else { &rules::IF_NONE_MATCH_WEAK };
        let is_strong = self.io().deviates(weak)?;
        // By strong comparison, a strong member is overlooked only while the current tag is weak.
        if is_strong && found.strong.is_some() {
            self.faults.add(RuleSet::of(weak));
        }
        Ok(is_strong)
    }

    /// Evaluates If-Modified-Since, and adds the other deviations in the preconditions of a read.
    pub(super) fn modified_since_or_deviate(&mut self, request: &Request, found: &mut Conditions) -> Turn {
        if found.matched.is_none() {
            found.modified = request.if_modified_since;
        } else if request.if_modified_since.is_some()
            && self.io().deviates(&rules::IF_MODIFIED_SINCE_BESIDE)?
        {
            // The date then decides, regardless of the tags. Some servers compare it for equality, which is allowed
            // here too.
            found.matched = Some(false);
            found.modified = request.if_modified_since;
            self.faults.add(RuleSet::IF_MODIFIED_SINCE_BESIDE);
        }
        let is_spared = found.matched != Some(true) && self.io().deviates(&rules::NOT_MODIFIED_CAUSE)?;
        self.faults.add_if(is_spared, RuleSet::NOT_MODIFIED_CAUSE);
        let fails = self.io().deviates(&rules::FAILED_CAUSE)?;
        self.faults.add_if(fails, RuleSet::FAILED_CAUSE);
        Ok(())
    }
}

pub(super) fn if_match(
    server: &mut Deviating<'_>,
    request: &Request,
    tags: &Tags,
    current: Option<&Validator>,
) -> Result<Truth, Stop> {
    let io = server.io();
    let ignored = match request.method {
        Method::Delete => &rules::IF_MATCH_DELETE,
        _ if request.method.is_safe() => &rules::IF_MATCH_READ,
        _ => &rules::IF_MATCH,
    };
    let found = match (tags, current) {
        (_, None) => None,
        (Tags::Any, Some(_)) => return Ok(Truth::Yes),
        (Tags::Lines(lines), Some(current)) => find(io, lines, current)?,
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

pub(super) fn unmodified_since(
    io: &mut Io<'_>,
    request: &Request,
    exists: bool,
    found: &mut Conditions,
) -> Turn {
    let Some(date) = request.if_unmodified_since else { return Ok(()) };
    let is_beside = request.if_match.is_some();
    if is_beside && !io.deviates(&rules::IF_UNMODIFIED_SINCE_BESIDE)? {
        return Ok(());
    }
    if !exists {
        found.undated = io.choose(2)? == 1;
    } else if is_beside || !io.deviates(&rules::IF_UNMODIFIED_SINCE)? {
        found.unmodified = Some(date);
    }
    Ok(())
}

pub(super) fn if_range(server: &mut Deviating<'_>, current: &Validator) -> Result<RangeApplies, Stop> {
    let request = server.request();
    let io = server.io();
    let yes = RangeApplies::Tag(Truth::Yes);
    Ok(match &request.if_range {
        None => yes,
        Some(_) if io.deviates(&rules::IF_RANGE)? => yes,
        Some(IfRange::Date(date)) => RangeApplies::Date(*date),
        Some(IfRange::Tag(tag))
            if &*tag.opaque == Tag::MADE_UP || !io.branch(current.opaque.is(&tag.opaque))? =>
        {
            RangeApplies::Tag(Truth::No)
        }
        Some(IfRange::Tag(_)) if io.deviates(&rules::IF_RANGE_STRONG)? => yes,
        Some(IfRange::Tag(tag)) => RangeApplies::Tag(if tag.weak { Truth::No } else { Truth::IfStrong }),
    })
}
