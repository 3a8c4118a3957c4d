//! Deviations in responses: an incorrect response is repaired into the corresponding correct one, and then judged
//! like that.
//!
//! Content from which nothing may be concluded is marked as coded, because coded content is not compared.

use std::iter;
use std::rc::Rc;
use std::sync::Arc;

use confute::knowledge::{Knowledge, Literal, Term, Value, Var};
use confute::lang::{HasVars, Mismatch, Number, Rule, Sym, Token};

use super::defects::{NEXT, Substitution};
use crate::message::{Flaw, Message, RangeSent, Response, Span};
use crate::model::condition::Truth;
use crate::model::content::{self, known};
use crate::model::entry::Validator;
use crate::model::expected::{ExpectedResponse, Kind, Learnt, Read, has_allow, over, require};
use crate::rules::{self, RuleSet};
use confute_http1::text;

/// Rules that any response may break, besides those with a [`ResponseCheck`](rules::ResponseCheck).
const ON_THE_WIRE: [&Rule; 7] = [
    &rules::ANSWERED,
    &rules::SURPLUS,
    &rules::CHUNKS,
    &rules::GRAMMAR,
    &rules::FRAMING_FIELDS,
    &rules::LAST,
    &rules::LENGTH,
];

/// Returns the rules that any response may break.
pub(super) fn on_the_wire() -> impl Iterator<Item = &'static Rule> {
    rules::response::RULES.iter().chain(ON_THE_WIRE)
}

/// Rules that a response to another request breaks: the first if several requests are outstanding on the connection,
/// otherwise the second.
pub(super) const FOREIGN: [&Rule; 2] = [&rules::ORDER, &rules::OWN_ANSWER];

/// Deviation of a response from the correct ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::model) struct Deviance {
    /// Rules that the response may break.
    pub(in crate::model) tolerated: RuleSet,
    /// Subset of `tolerated` that applies only if the response looks like one to another request.
    pub(super) only_stray: RuleSet,
    /// Response sent instead of a correct one.
    pub(in crate::model) instead: Option<Instead>,
    /// Relation of the validators in a response to PUT to the stored state.
    pub(in crate::model) validators: PutValidators,
    /// Moment at which the write took effect; in the past when the response is received.
    pub(super) changed: Option<Sym<Number>>,
    /// Substitution of the content of the representation.
    pub(super) substitution: Option<Substitution>,
    /// `true` if the tag of the representation may be that of other content.
    pub(super) reuses_tag: bool,
}

/// A response that no correct server sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::model) enum Instead {
    /// A mixture of `body` and the earlier contents `of`, or `body` with another tag, or a response without complete
    /// content.
    Torn { head: bool, body: Sym<Token>, tag: Validator, of: Vec<Sym<Token>> },
    /// Some stage of this content, which was never stored completely.
    Stage { body: Arc<str> },
    /// A refusal without a reason; the request is not performed. The absence of a representation may be given as the
    /// reason for a method that needs none (`may_be_missing`). After most server errors the outcome of a write is
    /// open: see `Kind::Open`.
    Refused { is_write: bool, may_be_missing: bool },
}

/// Relation of the validators in a response to PUT to the stored representation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::model) enum PutValidators {
    /// Validators, if any, are those of the stored representation.
    #[default]
    Right,
    /// Validators are present, and are those of the stored representation.
    Present,
    /// Validators are present, and are not those of the stored representation.
    Wrong,
    /// No validators are present.
    Absent,
    /// Validators are ignored.
    Ignored,
}

impl HasVars for Deviance {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        HasVars::vars(&self.changed, visit);
        if let Some(Instead::Torn { body, tag, of, .. }) = &self.instead {
            HasVars::vars(body, visit);
            of.iter().for_each(|body| HasVars::vars(body, visit));
            HasVars::vars(tag, visit);
        }
    }
}

/// Returns `true` if a violation of this rule can show in this message. Violations on the wire are recorded as flaws.
pub(in crate::model) fn concerns(rule: &Rule, message: &Message) -> bool {
    if rule.name == rules::ORDER.name {
        return matches!(message, Message::Response(seen) if seen.pipelined);
    }
    // A wrong length need not be recorded as a flaw of the response that has it.
    if rule.name == rules::LENGTH.name || !on_the_wire().any(|wire| wire.name == rule.name) {
        return true;
    }
    let deviance = Deviance { tolerated: RuleSet::of(rule), ..Deviance::default() };
    matches!(message, Message::Response(seen) if seen.flaws.iter().any(|flaw| deviance.forgives(*flaw, true)))
}

/// Returns `true` if this status refuses a request without a reason, so that a write is not performed.
fn is_refusal(status: u16, is_write: bool, may_be_missing: bool) -> bool {
    match status {
        404 | 410 => may_be_missing,
        304 | 412 | 416 => false,
        // A status of 2xx that says nothing of the content: 205, 207, or one that is not registered yet (15).
        201 | 202 | 205 | 207..300 => !is_write,
        501 | 505 => true,
        500.. => !is_write,
        300.. => true,
        _ => false,
    }
}

impl ExpectedResponse {
    /// Returns the expectation that no response follows.
    pub(super) fn never(&self) -> Self {
        let (kind, mut deviance) = (Box::new(Kind::Never), self.deviance.clone());
        if let Some(deviance) = deviance.as_mut().map(Rc::make_mut) {
            (deviance.instead, deviance.changed) = (None, None);
        }
        ExpectedResponse { kind, deviance, ..self.clone() }
    }
}

impl Deviance {
    pub(in crate::model) fn tolerates(&self, rules: RuleSet) -> bool {
        self.tolerated.has(rules)
    }

    /// Stops tolerating that the response is one to another request.
    pub(super) fn be_own(&mut self) {
        FOREIGN.iter().for_each(|rule| self.tolerated.remove(RuleSet::of(rule)));
        self.only_stray = RuleSet::default();
    }

    /// Returns `true` if the response is accepted as one to another request.
    fn is_foreign(&self, seen: &Response) -> bool {
        let rule = if seen.pipelined { RuleSet::ORDER } else { RuleSet::OWN_ANSWER };
        self.tolerates(rule) && (seen.notes.stray || !self.only_stray.has(rule))
    }

    /// Returns `true` if this flaw of a response is tolerated. `by_length`: Content-Length may decide where the response
    /// ends. It does not decide that for a response without content, so a wrong length is no excuse for content there.
    fn forgives(&self, flaw: Flaw, by_length: bool) -> bool {
        let any = |sets: &[RuleSet]| sets.iter().any(|set| self.tolerates(*set));
        match flaw {
            Flaw::Surplus => any(&[RuleSet::SURPLUS]) || (by_length && any(&[RuleSet::LENGTH])),
            Flaw::Overlong => by_length && any(&[RuleSet::LENGTH]),
            Flaw::Chunks => any(&[RuleSet::CHUNKS]),
            Flaw::Grammar | Flaw::Tag => any(&[RuleSet::GRAMMAR]),
            Flaw::Framing => any(&[RuleSet::FRAMING_FIELDS]),
            Flaw::AfterClose => any(&[RuleSet::LAST]),
            Flaw::Breaks(rule) => any(&[RuleSet::named(rule.name())]),
            Flaw::Stalled => any(&[RuleSet::ANSWERED, RuleSet::LENGTH, RuleSet::CHUNKS]),
        }
    }

    /// Checks a response that may deviate as described here and is otherwise as expected, and learns from it.
    pub(in crate::model) fn judge(
        &self,
        expected: &ExpectedResponse,
        seen: &Response,
        facts: &mut Knowledge,
    ) -> Learnt {
        if self.is_foreign(seen) {
            return Ok(());
        }
        let is_head = matches!(&*expected.kind, Kind::Read(read) if read.head);
        let by_length = !is_head && !matches!(seen.status, 100..200 | 204 | 304);
        require(seen.flaws.iter().all(|flaw| self.forgives(*flaw, by_length)))?;
        if seen.flaws.contains(&Flaw::Stalled) {
            // A response that has begun may stall because its length or its chunks are wrong.
            let begun = if seen.content_length.is_some() { RuleSet::LENGTH } else { RuleSet::CHUNKS };
            return require(self.tolerates(RuleSet::ANSWERED) || (seen.status != 0 && self.tolerates(begun)));
        }
        let mut repaired = Response { flaws: Vec::new(), ..seen.clone() };
        repaired.allow |= self.tolerates(RuleSet::ALLOW);
        if self.tolerates(RuleSet::CONTINUE) {
            repaired.interim.push(100);
        }
        if seen.status != 0 && self.tolerates(RuleSet::SERVES) {
            // A refusal shows nothing of the state of the resource.
            if is_refusal(seen.status, false, false) && has_allow(&repaired) {
                return Ok(());
            }
        }
        match (&self.instead, &*expected.kind) {
            (Some(_), _) if seen.status == 0 => return Ok(()),
            (Some(instead), _) => {
                expected.is_timely(&repaired, facts)?;
                return instead.judge(&repaired, facts);
            }
            (None, _) if seen.status == 0 => {}
            (None, Kind::Read(read)) => return self.judge_read((expected, read), seen, repaired, facts),
            (None, Kind::Put(_)) => self.repair_put(&mut repaired, facts)?,
            (None, Kind::Removed { .. }) => over(self.changed.as_ref(), seen, facts)?,
            (None, Kind::Kept { body: Some(body), .. }) if (200..300).contains(&seen.status) => {
                require(self.substitution.as_ref().is_none_or(|substitution| substitution.allows(body)))?;
            }
            (None, Kind::Failed) if seen.status == 304 && self.tolerates(RuleSet::IF_NONE_MATCH_412) => {
                repaired.status = 412;
            }
            (None, Kind::Options) if self.tolerates(RuleSet::OPTIONS_UNCONDITIONAL) => {
                if matches!(seen.status, 304 | 412) {
                    repaired.status = 200;
                }
            }
            _ => {}
        }
        expected.judge(&repaired, facts)
    }

    /// Repairs a response to PUT that misreports whether a representation existed before, or the new validators.
    fn repair_put(&self, seen: &mut Response, facts: &mut Knowledge) -> Learnt {
        over(self.changed.as_ref(), seen, facts)?;
        if self.tolerates(RuleSet::CREATED) || self.tolerates(RuleSet::REPLACED) {
            seen.status = match seen.status {
                201 => 204,
                200 | 204 => 201,
                // Another 2xx is wrong in both cases.
                203 | 205..300 if self.tolerates(RuleSet::CREATED) => 201,
                203 | 205..300 => 204,
                other => other,
            };
        }
        let are_told = seen.etag.is_some() || seen.last_modified.is_some();
        match self.validators {
            PutValidators::Right | PutValidators::Ignored => {}
            PutValidators::Present | PutValidators::Wrong => require(are_told)?,
            PutValidators::Absent => require(!are_told)?,
        }
        if let PutValidators::Wrong | PutValidators::Ignored = self.validators {
            (seen.etag, seen.last_modified) = (None, None);
        }
        Ok(())
    }

    /// Checks a response to GET or HEAD. `seen` is the received response, and `repaired` the same without its
    /// tolerated flaws.
    fn judge_read(
        &self,
        (expected, read): (&ExpectedResponse, &Read),
        seen: &Response,
        mut repaired: Response,
        facts: &mut Knowledge,
    ) -> Learnt {
        expected.is_timely(&repaired, facts)?;
        repaired.notes.reused &= !self.reuses_tag && !self.tolerates(RuleSet::TAG_DIFFERS);
        repaired.notes.untold &= !self.tolerates(RuleSet::NOT_MODIFIED_TAG);
        require(!repaired.notes.reused && !repaired.notes.untold)?;
        if let Some(is_there) = self.is_there_despite(read, seen)? {
            return read.entry.present.unify(&is_there, facts);
        }
        let mut read = read.clone();
        let is_unsatisfiable = seen.status == 416 && !read.range.is_empty();
        if matches!(seen.status, 200 | 203 | 204 | 206) || is_unsatisfiable {
            self.repair_performed(expected.sent, &mut read, facts)?;
        }
        if self.tolerates(RuleSet::HEAD_LENGTH) {
            repaired.content_length = None;
        }
        match seen.status {
            200 | 203 | 204 if !read.head => self.repair_content(&read, seen, &mut repaired, facts)?,
            206 => self.repair_part(&mut read, &mut repaired, facts),
            304 => self.repair_not_modified(&mut read, &mut repaired)?,
            416 if is_unsatisfiable => {
                read.head &= !self.tolerates(RuleSet::RANGE_ONLY_GET);
                if self.tolerates(RuleSet::CONTENT_RANGE) {
                    repaired.content_range = None;
                }
                if self.tolerates(RuleSet::UNSATISFIABLE) {
                    read.range = vec![Span::From(u64::MAX)];
                }
            }
            _ => {}
        }
        ExpectedResponse { kind: Box::new(Kind::Read(read)), ..expected.clone() }.judge(&repaired, facts)
    }

    /// Returns whether a representation exists, if the response claims the opposite or has no cause; nothing else is
    /// learnt from such a response.
    fn is_there_despite(&self, read: &Read, seen: &Response) -> Result<Option<bool>, Mismatch> {
        let conditions = &read.conditions;
        Ok(match seen.status {
            404 | 410 => self.tolerates(RuleSet::STAYS).then_some(true),
            304 => self.tolerates(RuleSet::ON_MISSING).then_some(false),
            416 if !read.range.is_empty() => None,
            400.. if self.tolerates(RuleSet::ON_MISSING) => {
                // Without a representation, If-Match is false for every list.
                require(conditions.if_match.is_some() || conditions.unmodified.is_some())?;
                Some(false)
            }
            412 => self.tolerates(RuleSet::FAILED_CAUSE).then_some(true),
            _ => None,
        })
    }

    /// Repairs the preconditions of a read that was performed although one of them was false.
    fn repair_performed(&self, sent: i64, read: &mut Read, facts: &mut Knowledge) -> Learnt {
        require(!self.tolerates(RuleSet::FAILED_CAUSE) && !self.tolerates(RuleSet::NOT_MODIFIED_CAUSE))?;
        if self.tolerates(RuleSet::IF_NONE_MATCH_WEAK_READ) {
            read.compared.tag.was_weak(sent, facts)?;
        }
        if self.tolerates(RuleSet::IF_MODIFIED_SINCE) || self.tolerates(RuleSet::IF_MODIFIED_SINCE_BESIDE) {
            read.conditions.modified = None;
        }
        Ok(())
    }

    /// Repairs a 304 without a cause, or with another tag.
    fn repair_not_modified(&self, read: &mut Read, seen: &mut Response) -> Learnt {
        if self.tolerates(RuleSet::NOT_MODIFIED_CAUSE) {
            read.conditions.matched = Some(true);
        }
        if self.tolerates(RuleSet::NOT_MODIFIED_TAG) {
            // The wrong tag is dropped, but if it is weak it still contradicts an If-Match that needs a strong one.
            let needs_strong = read.conditions.if_match == Some(Truth::IfStrong);
            require(!(needs_strong && read.is_seen_weak(seen)))?;
            seen.etag = None;
        }
        Ok(())
    }

    /// Repairs content that differs from the representation.
    fn repair_content(
        &self,
        read: &Read,
        seen: &Response,
        repaired: &mut Response,
        facts: &Knowledge,
    ) -> Learnt {
        let body = known(&read.entry, facts);
        let is_strong = seen.etag.as_ref().is_some_and(|tag| !tag.weak);
        repaired.coded = match body {
            _ if seen.status == 204 && self.tolerates(RuleSet::CONTENT_SENT) => true,
            // Wrong chunks can corrupt the content, which is no further violation.
            _ if seen.coded || seen.flaws.contains(&Flaw::Chunks) => true,
            Some(body) if is_strong && self.tolerates(RuleSet::TAG_DIFFERS) => {
                require(Substitution::Altered(body).allows(&seen.body))?;
                true
            }
            _ if seen.incomplete => false,
            body if self.tolerates(RuleSet::LENGTH) => {
                require(is_mismeasured(body.as_deref(), seen))?;
                true
            }
            _ => {
                require(self.substitution.as_ref().is_none_or(|one| one.allows(&seen.body)))?;
                false
            }
        };
        Ok(())
    }

    /// Repairs the content of a 206 that is not the part given by Content-Range, or not a requested one.
    fn repair_part(&self, read: &mut Read, seen: &mut Response, facts: &Knowledge) {
        if read.head && self.tolerates(RuleSet::RANGE_ONLY_GET) {
            read.head = false;
            seen.coded = true;
        }
        if !content::is_one_part(read, seen) {
            return;
        }
        let is_any = self.tolerates(RuleSet::CONTENT_RANGE);
        let Some(RangeSent::Part(first, last, complete)) = seen.content_range else {
            seen.coded = is_any;
            return;
        };
        let (body, complete) = (known(&read.entry, facts), complete.filter(|_| !is_any));
        seen.content_range = Some(RangeSent::Part(first, last, complete));
        let is_exact = content::is_exact((first, last), body.as_deref(), seen);
        let rule = if is_exact { RuleSet::RANGE_ASKED } else { RuleSet::PART };
        seen.coded = self.tolerates(rule) && content::is_complete(complete, body.as_deref());
    }
}

impl Instead {
    fn judge(&self, seen: &Response, facts: &mut Knowledge) -> Learnt {
        match self {
            Instead::Torn { head, body, tag, of } => match seen.status {
                200 if !head && !seen.coded && !seen.incomplete => torn(seen, (body, tag), of, facts),
                status => require(matches!(status, 200 | 206 | 304 | 412 | 416)),
            },
            Instead::Stage { body } => match seen.status {
                200 if !seen.body.is_empty() => {
                    require(seen.coded || Substitution::Altered(body.clone()).allows(&seen.body))
                }
                status => require(matches!(status, 200 | 206 | 304 | 404 | 412 | 416)),
            },
            Instead::Refused { is_write, may_be_missing } => {
                require(has_allow(seen) && is_refusal(seen.status, *is_write, *may_be_missing))
            }
        }
    }
}

/// Checks a torn read, which saw some of this content and some of the earlier ones.
fn torn(
    seen: &Response,
    (body, tag): (&Sym<Token>, &Validator),
    of: &[Sym<Token>],
    facts: &mut Knowledge,
) -> Learnt {
    // Content that begins with a status line is the next response: a violation of framing rules.
    require(!seen.body.starts_with(NEXT))?;
    let is_new = body.value(facts).is_some_and(|body| body == seen.body);
    // The response combines the header section of one version with the content of another. If the tag is strong, that
    // is a second violation with the same cause: it lasts only as long as the replacement of the content.
    if let (true, Some(told)) = (is_new, &seen.etag) {
        let told = Term::Const(Value::Opaque(told.opaque.clone()));
        return Ok(facts.assert(&Literal::Ne(tag.opaque.term().clone(), told))?);
    }
    let parts: Option<Vec<_>> = iter::once(body).chain(of).map(|body| body.value(facts)).collect();
    require(parts.is_none_or(|parts| is_mixture(&seen.body, &parts)))?;
    let seen = Term::Const(Value::Opaque(seen.body.clone()));
    Ok(facts.assert(&Literal::Ne(body.term().clone(), seen))?)
}

/// Returns `true` if a wrong length explains the received content: the length is too small, and the rest is left
/// over; or it is too large, and the next response fills it up, whether or not all of the content was sent.
fn is_mismeasured(body: Option<&str>, seen: &Response) -> bool {
    let (came, next) = (text::bytes(&seen.body), NEXT.as_bytes());
    let is_left = seen.pipelined || seen.flaws.contains(&Flaw::Surplus);
    let begun = came.windows(next.len()).position(|bytes| bytes == next);
    // Zeros may fill up a length that is too large, instead of the next response.
    let is_blank = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    match body.map(text::bytes) {
        Some(whole) => {
            (is_left && !came.is_empty() && whole.starts_with(&came))
                || came.strip_prefix(&*whole).is_some_and(|rest| next.starts_with(rest) || is_blank(rest))
                || begun.is_some_and(|begun| whole.starts_with(&came[..begun]))
        }
        // There must be evidence of a wrong length, or it would explain any content.
        None => is_left || begun.is_some() || (1..=next.len()).any(|length| came.ends_with(&next[..length])),
    }
}

/// Returns `true` if each byte of the content equals the byte at the same offset of one of `parts`. Beyond the end of
/// a part zeros are accepted, because the length may be that of another part.
fn is_mixture(seen: &str, parts: &[Arc<str>]) -> bool {
    let parts: Vec<_> = parts.iter().map(|part| text::bytes(part)).collect();
    (0..)
        .zip(text::bytes(seen).iter())
        .all(|(at, byte)| parts.iter().any(|part| part.get(at).unwrap_or(&0) == byte))
}
