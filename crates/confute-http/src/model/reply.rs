//! What an answer tells, or that it is wrong.

use std::iter;
use std::sync::Arc;

use confute::knowledge::{Knowledge, Literal, Term, Value};
use confute::lang::{Mismatch, Number, Sym};

use super::expected::{Expected, Kind, Put, Read, Validators};
use super::lax::Lax;
use super::precondition::{Applies, Truth};
use super::validators::{Entry, Meant, NEXT, at_most, more_than};
use crate::message::{Flaw, Response, Span, Told};
use crate::text;

type Learnt = Result<(), Mismatch>;

fn require(holds: bool) -> Learnt {
    if holds { Ok(()) } else { Err(Mismatch) }
}

/// Whether a request is refused without reason by this status, and a write not performed.
fn is_refused(status: u16, is_write: bool, missing: bool) -> bool {
    match status {
        404 | 410 => missing,
        304 | 412 | 416 => false,
        202 => !is_write,
        501 | 505 => true,
        500.. => !is_write,
        300.. => true,
        _ => false,
    }
}

/// The moment is over when the answer is received.
fn over(moment: Option<&Sym<Number>>, seen: &Response, facts: &mut Knowledge) -> Learnt {
    moment.map_or(Ok(()), |moment| at_most(moment, seen.received_at, facts))
}

impl Expected {
    /// Learns from an answer, or says that it is wrong.
    pub(super) fn learn(&self, seen: &Response, facts: &mut Knowledge) -> Learnt {
        if self.lax.is_foreign(seen) {
            return Ok(());
        }
        require(seen.flaws.iter().all(|flaw| self.lax.forgives(*flaw)))?;
        if seen.flaws.contains(&Flaw::Stalled) {
            // What was begun may have the wrong length.
            let instead = if seen.content_length.is_some() { Lax::LENGTH } else { Lax::CHUNKS };
            return require(self.lax.has(Lax::ANSWERED) || (seen.status != 0 && self.lax.has(instead)));
        }
        if seen.status == 0 {
            // What broke off before its status tells nothing; what cannot be read is forgiven already.
            return require(!matches!(*self.kind, Kind::Never));
        }
        if self.lax.has(Lax::REFUSED) && is_refused(seen.status, false, false) && self.allow(seen).is_ok() {
            // Nothing is known of what it would have found.
            return Ok(());
        }
        over(self.by.as_ref(), seen, facts)?;
        self.was_continued(seen)?;
        match &*self.kind {
            Kind::Read(read) => self.read(read, seen, facts),
            Kind::Torn { head, body, tag, of } => match seen.status {
                200 if !head && !seen.coded && !seen.incomplete => {
                    // What begins with a status line is the next response: a matter of framing.
                    require(!seen.body.starts_with(NEXT))?;
                    let is_new = body.value(facts).is_some_and(|body| body == seen.body);
                    // The head of one version and the content of another. That a strong tag is among them is one more
                    // fault, and the same one: it lasts as long as the replacement does.
                    if let (true, Some(told)) = (is_new, &seen.etag) {
                        let told = Term::Const(Value::Opaque(told.opaque.clone()));
                        return Ok(facts.assert(&Literal::Ne(tag.opaque.term().clone(), told))?);
                    }
                    let parts: Option<Vec<_>> =
                        iter::once(body).chain(of).map(|body| body.value(facts)).collect();
                    require(parts.is_none_or(|parts| is_mixture(&seen.body, &parts)))?;
                    let seen = Term::Const(Value::Opaque(seen.body.clone()));
                    Ok(facts.assert(&Literal::Ne(body.term().clone(), seen))?)
                }
                status => require(matches!(status, 200 | 206 | 304 | 412 | 416)),
            },
            Kind::Put(put) => self.put(put, seen, facts),
            Kind::Kept { current, body } => {
                let Some(body) = body.as_ref().filter(|_| (200..300).contains(&seen.status)) else {
                    return require(seen.status >= 400);
                };
                // What was asked for may be the case already.
                current.present.unify(&true, facts)?;
                require(current.meant.as_ref().is_none_or(|meant| meant.allows(body)))?;
                current.body.unify(body, facts)?;
                self.validators(current, seen, facts)
            }
            Kind::Failed => require(seen.status == 412 || (seen.status == 304 && self.lax.has(Lax::IS_304))),
            Kind::Removed { strong_by, changed } => {
                over(strong_by.as_ref(), seen, facts)?;
                over(changed.as_ref(), seen, facts)?;
                require((200..300).contains(&seen.status))
            }
            Kind::Missing { may_fail } => require(match seen.status {
                200..300 | 404 | 410 => true,
                412 => *may_fail,
                _ => false,
            }),
            Kind::Bad => require(seen.status == 400),
            Kind::Rejected => require(seen.status >= 400),
            Kind::Status(statuses) => require(statuses.contains(&seen.status)),
            Kind::Refused { is_write, missing } => {
                self.allow(seen)?;
                require(is_refused(seen.status, *is_write, *missing))
            }
            Kind::Open { failed } => require(match seen.status {
                202 => true,
                501 | 505 => false,
                500.. => *failed,
                _ => false,
            }),
            Kind::Untold => Ok(()),
            Kind::Stage { body } => match seen.status {
                200 if !seen.body.is_empty() => {
                    require(seen.coded || Meant::Changed(body.clone()).allows(&seen.body))
                }
                status => require(matches!(status, 200 | 206 | 304 | 404 | 412 | 416)),
            },
            Kind::Options => {
                self.allow(seen)?;
                require(self.lax.has(Lax::OPTIONS) || !matches!(seen.status, 304 | 412))
            }
            Kind::Other { changes } => {
                self.allow(seen)?;
                require(*changes != matches!(seen.status, 400..=499 | 501))
            }
            Kind::Never => Err(Mismatch),
        }
    }

    /// Whoever held content back got a sign before it was sent.
    fn was_continued(&self, seen: &Response) -> Learnt {
        let Some(held) = self.held else { return Ok(()) };
        let waited = seen.received_at - self.sent >= i64::from(held) * 1000;
        require(!waited || seen.interim.contains(&100) || seen.incomplete || self.lax.has(Lax::CONTINUE))
    }

    fn allow(&self, seen: &Response) -> Learnt {
        require(seen.status != 405 || seen.allow || seen.incomplete || self.lax.has(Lax::ALLOW))
    }

    fn validators(&self, entry: &Entry, seen: &Response, facts: &mut Knowledge) -> Learnt {
        self.tag(entry, seen, facts)?;
        Self::date(entry, seen, facts)
    }

    fn tag(&self, entry: &Entry, seen: &Response, facts: &mut Knowledge) -> Learnt {
        let tag = seen.etag.as_ref();
        tag.map_or(Ok(()), |tag| entry.tag.unify(tag, (self.sent, seen.received_at), facts))
    }

    fn date(entry: &Entry, seen: &Response, facts: &mut Knowledge) -> Learnt {
        match seen.last_modified {
            // A file of tomorrow is told to be of today (RFC 9110, 8.8.2.1). What was put has the date of when it was, where the
            // clocks of the server are known to agree.
            Some(date) if seen.dated.is_now && (entry.is_foreign || seen.dated.may_be_ahead) => {
                more_than(&entry.modified, date - 1, facts)
            }
            Some(date) => entry.modified.unify(&date, facts),
            None => Ok(()),
        }
    }

    /// Whether the date may be one that has yet to come, and that of now be told and compared instead.
    fn is_ahead(entry: &Entry, seen: &Response, facts: &Knowledge) -> bool {
        let is_told = seen.last_modified.is_some() && !seen.dated.is_now;
        (entry.is_foreign || seen.dated.may_be_ahead) && !is_told && entry.modified.value(facts).is_none()
    }

    /// It was not modified after this date. Where the date of now may have been compared instead, that teaches nothing; but now
    /// is not before any date that was told.
    fn not_after(read: &Read, date: i64, seen: &Response, facts: &mut Knowledge) -> Learnt {
        if Self::is_ahead(&read.entry, seen, facts) {
            return at_most(&read.judged.modified, date, &mut facts.clone());
        }
        at_most(&read.judged.modified, date, facts)
    }

    fn put(&self, put: &Put, seen: &Response, facts: &mut Knowledge) -> Learnt {
        let told_created = match seen.status {
            201 => true,
            200 | 204 => false,
            _ => return Err(Mismatch),
        };
        require(told_created == (put.created != self.lax.has(Lax::CREATED)))?;
        over(put.strong_by.as_ref(), seen, facts)?;
        over(put.changed.as_ref(), seen, facts)?;
        let are_told = seen.etag.is_some() || seen.last_modified.is_some();
        match put.validators {
            Validators::True => self.validators(&put.entry, seen, facts),
            Validators::Told => {
                require(are_told)?;
                self.validators(&put.entry, seen, facts)
            }
            Validators::Wrong => require(are_told),
            Validators::Absent => require(!are_told),
            Validators::Idle => Ok(()),
        }
    }

    fn read(&self, read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
        let entry = &read.entry;
        require(!seen.notes.reused || entry.reuses || self.lax.has(Lax::GARBLED))?;
        require(!seen.notes.untold || self.lax.has(Lax::NOT_MODIFIED_TAG))?;
        match seen.status {
            200 | 203 | 204 => {
                self.performed(read, seen, facts)?;
                self.validators(entry, seen, facts)?;
                match read.head {
                    false if seen.status == 204 && self.lax.has(Lax::EMPTY) => Ok(()),
                    false => self.content(entry, seen, facts),
                    // The same request with GET might have been told the length of a part.
                    true if Self::is_length_of_part(read, seen, facts) => Ok(()),
                    true => self.length(entry, seen, facts),
                }
            }
            206 => {
                require(!read.head || self.lax.has(Lax::ONLY_GET))?;
                require(!read.range.is_empty())?;
                self.performed(read, seen, facts)?;
                self.applied(read, seen, facts)?;
                self.validators(entry, seen, facts)?;
                if read.head || seen.coded || (seen.multipart && read.range.len() > 1) {
                    return Ok(());
                }
                self.part(read, seen, facts)
            }
            304 => self.not_modified(read, seen, facts),
            404 | 410 => entry.present.unify(&self.lax.has(Lax::STAYS), facts),
            416 if !read.range.is_empty() => {
                require(!read.head || self.lax.has(Lax::ONLY_GET))?;
                self.performed(read, seen, facts)?;
                self.applied(read, seen, facts)?;
                self.unsatisfiable(read, seen, facts)
            }
            400.. => {
                let conditions = &read.conditions;
                if self.lax.has(Lax::ON_MISSING) {
                    // Of nothing, If-Match is false whatever it lists.
                    require(conditions.if_match.is_some() || conditions.unmodified.is_some())?;
                    return entry.present.unify(&false, facts);
                }
                entry.present.unify(&true, facts)?;
                match (conditions.if_match, conditions.unmodified) {
                    _ if conditions.refused && seen.status == 412 => Ok(()),
                    (Some(Truth::No), _) => Ok(()),
                    (Some(Truth::IfStrong), None) => read.judged.tag.was_weak(self.sent, facts),
                    (_, Some(date)) => more_than(&read.judged.modified, date, facts),
                    _ => Err(Mismatch),
                }
            }
            _ => Err(Mismatch),
        }
    }

    /// If-Match and If-Unmodified-Since were true.
    fn permitted(&self, read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
        match read.conditions.if_match {
            Some(Truth::No) => return Err(Mismatch),
            // The tag told is the one at the end; it does not become weak before that.
            Some(Truth::IfStrong)
                if seen.etag.as_ref().is_some_and(|tag| tag.weak) && read.judged.tag == read.entry.tag =>
            {
                return Err(Mismatch);
            }
            Some(Truth::IfStrong) => read.judged.tag.was_strong(seen.received_at, facts)?,
            Some(Truth::Yes) | None => {}
        }
        match read.conditions.unmodified {
            Some(date) => Self::not_after(read, date, seen, facts),
            None => Ok(()),
        }
    }

    /// There is something, and all conditions were true.
    fn performed(&self, read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
        let conditions = &read.conditions;
        read.entry.present.unify(&true, facts)?;
        self.permitted(read, seen, facts)?;
        require(conditions.matched != Some(true) && !conditions.refused && !conditions.spared)?;
        if conditions.needs_weak {
            read.judged.tag.was_weak(self.sent, facts)?;
        }
        match conditions.modified {
            Some(date) if !self.lax.has(Lax::IF_MODIFIED_SINCE) && !conditions.beside => {
                more_than(&read.judged.modified, date, facts)
            }
            _ => Ok(()),
        }
    }

    fn not_modified(&self, read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
        let (entry, conditions) = (&read.entry, &read.conditions);
        if self.lax.has(Lax::ON_MISSING) {
            return entry.present.unify(&false, facts);
        }
        entry.present.unify(&true, facts)?;
        self.permitted(read, seen, facts)?;
        match (conditions.matched, conditions.modified) {
            (Some(true), _) => {}
            _ if conditions.spared => {}
            (_, Some(date)) => Self::not_after(read, date, seen, facts)?,
            _ => return Err(Mismatch),
        }
        if !self.lax.has(Lax::NOT_MODIFIED_TAG) {
            self.tag(entry, seen, facts)?;
        }
        Self::date(entry, seen, facts)?;
        self.length(entry, seen, facts)
    }

    /// The whole content, if it is known.
    fn known(entry: &Entry, facts: &Knowledge) -> Option<Arc<str>> {
        entry.body.value(facts)
    }

    /// What is told of the length of content that is not sent.
    fn length(&self, entry: &Entry, seen: &Response, facts: &Knowledge) -> Learnt {
        let (Some(told), Some(body)) = (seen.content_length, Self::known(entry, facts)) else {
            return Ok(());
        };
        let is_coded = seen.coded || seen.may_be_coded;
        require(is_coded || told == text::length(&body) as u64 || self.lax.has(Lax::HEAD_LENGTH))
    }

    fn content(&self, entry: &Entry, seen: &Response, facts: &mut Knowledge) -> Learnt {
        // What wrong chunks make of the content is their fault.
        if seen.coded || seen.flaws.contains(&Flaw::Chunks) {
            return Ok(());
        }
        if self.lax.has(Lax::GARBLED)
            && seen.etag.as_ref().is_some_and(|tag| !tag.weak)
            && let Some(body) = Self::known(entry, facts)
        {
            return require(Meant::Changed(body).allows(&seen.body));
        }
        let is_cut = seen.incomplete || self.lax.has(Lax::LENGTH);
        if !is_cut {
            require(entry.meant.as_ref().is_none_or(|meant| meant.allows(&seen.body)))?;
            return entry.body.unify(&seen.body, facts);
        }
        let (body, came) = (Self::known(entry, facts), text::bytes(&seen.body));
        let whole = body.as_deref().map(text::bytes);
        if seen.incomplete {
            return require(whole.is_none_or(|whole| whole.starts_with(&came)));
        }
        // The length is too small, and the rest is left over; or it is too large, and the next response makes up for it,
        // whether all of the content was sent or not.
        let next = NEXT.as_bytes();
        let is_left = seen.pipelined || seen.flaws.contains(&Flaw::Surplus);
        let is_short = is_left && !came.is_empty();
        let begun = came.windows(next.len()).position(|bytes| bytes == next);
        require(match whole {
            Some(whole) => {
                (is_short && whole.starts_with(&came))
                    || came.strip_prefix(&*whole).is_some_and(|rest| next.starts_with(rest) || is_blank(rest))
                    || begun.is_some_and(|begun| whole.starts_with(&came[..begun]))
            }
            // That the length is wrong has to show somehow, or any content would be explained by it.
            None => {
                is_left || begun.is_some() || (1..=next.len()).any(|length| came.ends_with(&next[..length]))
            }
        })
    }

    /// Whether what is told is the length of a part that was asked for.
    fn is_length_of_part(read: &Read, seen: &Response, facts: &Knowledge) -> bool {
        let body = Self::known(&read.entry, facts).map(|body| text::length(&body) as u64);
        let told = |length| seen.content_length.is_some_and(|told| told == length);
        body.is_some_and(|body| {
            read.range.iter().filter_map(|span| span.within(body)).any(|(first, last)| told(last - first + 1))
        })
    }

    /// If-Range was true.
    fn applied(&self, read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
        match read.applies {
            Applies::Tag(Truth::Yes) => Ok(()),
            Applies::Tag(Truth::No) => Err(Mismatch),
            Applies::Tag(Truth::IfStrong) => read.entry.tag.was_strong(seen.received_at, facts),
            Applies::Date(_) if Self::is_ahead(&read.entry, seen, facts) => Ok(()),
            Applies::Date(date) => read.entry.modified.unify(&date, facts),
        }
    }

    fn part(&self, read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
        let Some(Told::Part(first, last, complete)) = seen.content_range else {
            if self.lax.has(Lax::CONTENT_RANGE) {
                return Ok(());
            }
            // The end of nothing is satisfiable (RFC 9110, 14.1.2), and has no Content-Range that could be written.
            let is_end = |span: &Span| matches!(span, Span::Last(1..));
            let is_untold = !matches!(seen.content_range, Some(Told::Invalid));
            require(read.range.iter().any(is_end) && is_untold && seen.body.is_empty())?;
            return read.entry.body.unify(&seen.body, facts);
        };
        let sent = text::bytes(&seen.body);
        let mut is_part = seen.incomplete || sent.len() as u64 == (last - first).saturating_add(1);
        let mut length = complete.filter(|_| !self.lax.has(Lax::CONTENT_RANGE));
        if let Some(body) = Self::known(&read.entry, facts) {
            let body = text::bytes(&body);
            let there = body.len() as u64;
            require(complete.is_none_or(|told| told == there) || self.lax.has(Lax::CONTENT_RANGE))?;
            let from = usize::try_from(first).unwrap_or(usize::MAX);
            is_part &= body.get(from..).is_some_and(|rest| rest.starts_with(&sent));
            length = Some(there);
        }
        if !is_part {
            return require(self.lax.has(Lax::PART));
        }
        let Some(length) = length else { return Ok(()) };
        let holds = |(low, high): (u64, u64)| low <= first && last <= high;
        let asked = read.range.iter().any(|span| span.within(length).is_some_and(holds));
        require(asked || self.lax.has(Lax::ASKED))
    }

    fn unsatisfiable(&self, read: &Read, seen: &Response, facts: &Knowledge) -> Learnt {
        let Some(body) = Self::known(&read.entry, facts) else { return Ok(()) };
        let length = text::length(&body) as u64;
        let is_told = match seen.content_range {
            None => true,
            Some(Told::Nothing(told)) => told == length,
            Some(Told::Part(..) | Told::Invalid) => false,
        };
        require(is_told || seen.coded || self.lax.has(Lax::CONTENT_RANGE))?;
        let none = read.range.iter().all(|span| span.within(length).is_none());
        require(none || self.lax.has(Lax::UNSATISFIABLE))
    }
}

/// Whether there is nothing: what makes up for a length that is too large, if not the next response.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Whether each byte of a content stands where one of these has it. Behind the end of one there may be zeros, if the length is
/// that of another.
fn is_mixture(seen: &str, parts: &[Arc<str>]) -> bool {
    let parts: Vec<_> = parts.iter().map(|part| text::bytes(part)).collect();
    (0..)
        .zip(text::bytes(seen).iter())
        .all(|(at, byte)| parts.iter().any(|part| part.get(at).unwrap_or(&0) == byte))
}
