//! Specification of a correct origin server, and of its correct responses. Clause numbers are those of RFC 9110.
//!
//! A turn handles one request in phases, the methods of [`Server`]. A server that breaks rules (`deviations`)
//! overrides phases, or repairs a response before it is judged here; this file does not depend on it.
//!
//! If the standard leaves a choice, the turn calls `choose`, and every alternative is correct. A turn does not choose
//! between 200, 304 and 404: it sends an [`ExpectedResponse`], and the received response determines which case applies.

use std::sync::Arc;

use confute::knowledge::Knowledge;
use confute::lang::{Mismatch, Stop, Turn};

use super::condition::{Conditions, Decision, RangeApplies, Truth, find, is_weak};
use super::content;
use super::entry::{Entry, Validator, more_than};
use super::expected::{ExpectedResponse, Kind, Learnt, Put, Read, Validators, has_allow, over, require};
use super::late::{self, Late, LateWrite};
use super::transaction::{End, Io, Performed, Phase, TagStyle, Transaction};
use crate::message::{IfRange, Method, Odd, Request, Response, Tag, Tags};

/// An origin server that handles one request.
pub(super) trait Server<'a>: Sized {
    fn transaction(&mut self) -> &mut Transaction<'a>;
    fn request(&self) -> &'a Request;

    fn io(&mut self) -> &mut Io<'a> {
        &mut self.transaction().io
    }

    fn serve(&mut self) -> Turn {
        End::of(match self.request().method {
            Method::Get | Method::Head => self.read(),
            Method::Put | Method::Delete | Method::Other(_) => self.write(),
            Method::Options => self.admit(None).and_then(|()| self.respond(Kind::Options)),
        })
    }

    /// Handles GET and HEAD (9.3.1, 9.3.2).
    fn read(&mut self) -> Phase {
        let request = self.request();
        let stored = self.transaction().stored()?;
        self.admit(Some(&stored))?;
        if stored.late.is_untold() {
            return self.respond(Kind::Untold);
        }
        let current = self.catch_up(stored)?;
        let (entry, compared) = self.select(current)?;
        let conditions = self.conditions(request, Some(&compared.tag))?;
        let applies = self.if_range(&entry.tag)?;
        let (head, range) = (request.method == Method::Head, request.range.clone());
        self.respond(Kind::Read(Read { head, entry, compared, conditions, range, applies }))
    }

    /// Handles PUT and DELETE (9.3.4, 9.3.5), and methods unknown to the model.
    fn write(&mut self) -> Phase {
        let request = self.request();
        let stored = self.transaction().stored()?;
        self.admit(Some(&stored))?;
        let body = self.content(&stored)?;
        if stored.late.is_untold() {
            return self.respond(Kind::Untold);
        }
        if let Method::Other(_) = request.method {
            return self.other(stored);
        }
        // 15.3.3: the outcome may be left open, except by a simulated server. If the write has no response, it is not
        // tried: such a write may as well be handled only when it is performed.
        let may_be_open = self.transaction().tags == TagStyle::Any && !request.notes.is_settled;
        if may_be_open && self.io().choose(2)? == 1 {
            return self.leave_open(stored);
        }
        let mut old = self.catch_up(stored)?;
        let present = self.io().branch(old.present.holds())?;
        let is_put = request.method == Method::Put;
        match self.decide(&mut old, present)? {
            _ if !is_put && !present => {
                // 13.2.1: preconditions apply if the response without them would be 2xx, which is allowed here.
                let may_fail = request.if_match.is_some() || request.if_unmodified_since.is_some();
                self.respond(Kind::Missing { may_fail })
            }
            Decision::Keep => self.respond(Kind::Kept { current: old, body: is_put.then_some(body) }),
            Decision::Fail => self.respond(Kind::Failed),
            Decision::Perform(strong_by) if is_put => self.put(Performed { old, present, strong_by }, &body),
            Decision::Perform(strong_by) => self.delete(Performed { old, present, strong_by }),
        }
    }

    /// Refuses a malformed request, and may refuse an unusual one.
    fn admit(&mut self, _stored: Option<&Entry>) -> Phase {
        match refusal(self)? {
            Some(kind) => self.respond(kind),
            None => Ok(()),
        }
    }

    /// Returns the content of the request, or responds if its framing is refused.
    fn content(&mut self, _stored: &Entry) -> Phase<Arc<str>> {
        content(self)
    }

    /// Performs another method, with any effect, or none after 4xx and 501. An open outcome leaves the state unknown.
    fn other(&mut self, stored: Entry) -> Phase {
        let (entry, kind) = match self.io().choose(3)? {
            0 => return self.respond(Kind::Other { changes: false }),
            1 => {
                let entry = Entry { is_foreign: true, late: stored.late, ..Entry::any(self.io())? };
                (entry, Kind::Other { changes: true })
            }
            _ => (Entry { late: Late::Untold, ..stored }, Kind::Open { failed: true }),
        };
        self.transaction().store(entry)?;
        self.respond(kind)
    }

    /// Leaves the outcome open: after 202 (15.3.3) the write is performed once at some later moment, or never.
    fn leave_open(&mut self, stored: Entry) -> Phase {
        let request = self.request();
        let late = stored.late.with(LateWrite::of(self.io(), request)?);
        self.transaction().store(Entry { late, ..stored })?;
        self.respond(Kind::Open { failed: false })
    }

    /// Returns the current state of the resource, after the open writes that have been performed by now.
    fn catch_up(&mut self, stored: Entry) -> Phase<Entry> {
        late::catch_up(self, stored)
    }

    /// Performs an open write. Returns the state after it, or nothing if its preconditions are false.
    fn perform_late(&mut self, write: &LateWrite, old: Entry, present: bool) -> Phase<Option<Entry>> {
        late::perform(self, write, old, present)
    }

    /// Selects the representation that a read sends, and the validators that its preconditions compare: the same
    /// (13.1).
    fn select(&mut self, current: Entry) -> Phase<(Entry, Validators)> {
        let validators = Validators::from(&current);
        Ok((current, validators))
    }

    /// Decides whether the requested write is performed.
    fn decide(&mut self, old: &mut Entry, present: bool) -> Phase<Decision> {
        let request = self.request();
        if request.is_conditional() {
            return self.evaluate(request, old, present);
        }
        Ok(Decision::Perform(None))
    }

    /// Decides whether a conditional write is performed on `entry`.
    fn evaluate(&mut self, request: &Request, entry: &Entry, present: bool) -> Phase<Decision> {
        let conditions = self.conditions(request, present.then_some(&entry.tag))?;
        Ok(conditions.decide(self.io(), entry, request.at)?)
    }

    /// Evaluates preconditions against the current tag, if any, in the order of 13.2.2, except for what depends on
    /// time.
    fn conditions(&mut self, request: &Request, current: Option<&Validator>) -> Result<Conditions, Stop> {
        let mut found = Conditions::default();
        if let Some(tags) = &request.if_match {
            found.if_match = Some(self.if_match(request, tags, current)?);
        }
        self.unmodified_since(request, current.is_some(), &mut found)?;
        if let Some(tags) = &request.if_none_match {
            found.matched = Some(self.if_none_match(request, tags, current)?);
        }
        if request.method.is_safe() {
            self.modified_since(request, &mut found)?;
        }
        Ok(found)
    }

    /// If-Match (13.1.1): true if a listed tag matches by strong comparison, or, for `*`, if a representation exists.
    fn if_match(&mut self, _: &Request, tags: &Tags, current: Option<&Validator>) -> Result<Truth, Stop> {
        Ok(match (tags, current) {
            (_, None) => Truth::No,
            (Tags::Any, Some(_)) => Truth::Yes,
            (Tags::Lines(lines), Some(current)) => match find(self.io(), lines, current)? {
                Some(found) if found.strong.is_some() => Truth::IfStrong,
                _ => Truth::No,
            },
        })
    }

    /// If-Unmodified-Since (13.1.4): ignored if the request has If-Match.
    fn unmodified_since(&mut self, request: &Request, exists: bool, found: &mut Conditions) -> Turn {
        match request.if_unmodified_since.filter(|_| request.if_match.is_none()) {
            Some(date) if exists => found.unmodified = Some(date),
            Some(_) => found.undated = self.io().choose(2)? == 1,
            None => {}
        }
        Ok(())
    }

    /// If-None-Match (13.1.2): `true` (not met) on a weak match with a listed tag, or, for `*`, if a representation
    /// exists.
    fn if_none_match(&mut self, _: &Request, tags: &Tags, current: Option<&Validator>) -> Result<bool, Stop> {
        Ok(match (tags, current) {
            (_, None) => false,
            (Tags::Any, Some(_)) => true,
            (Tags::Lines(lines), Some(current)) => find(self.io(), lines, current)?.is_some(),
        })
    }

    /// If-Modified-Since (13.1.3): for GET and HEAD only, and ignored if the request has If-None-Match.
    fn modified_since(&mut self, request: &Request, found: &mut Conditions) -> Turn {
        found.modified = request.if_modified_since.filter(|_| found.matched.is_none());
        Ok(())
    }

    /// If-Range (13.1.5): Range applies if the tag matches by strong comparison, or the date is exactly the current
    /// one.
    fn if_range(&mut self, current: &Validator) -> Result<RangeApplies, Stop> {
        Ok(match &self.request().if_range {
            None => RangeApplies::Tag(Truth::Yes),
            Some(IfRange::Date(date)) => RangeApplies::Date(*date),
            Some(IfRange::Tag(tag)) => {
                let is_same =
                    &*tag.opaque != Tag::MADE_UP && self.io().branch(current.opaque.is(&tag.opaque))?;
                RangeApplies::Tag(if is_same && !tag.weak { Truth::IfStrong } else { Truth::No })
            }
        })
    }

    /// Performs a PUT: stores the content unchanged, with new validators.
    fn put(&mut self, write: Performed, body: &Arc<str>) -> Phase {
        let entry = self.new_entry(&write, body)?;
        self.transaction().store(entry.clone())?;
        self.respond(Kind::Put(Put { created: !write.present, entry, strong_by: write.strong_by }))
    }

    /// Returns the state that a PUT stores.
    fn new_entry(&mut self, write: &Performed, body: &Arc<str>) -> Result<Entry, Stop> {
        let (style, sent) = (self.transaction().tags, self.request().at);
        let tag = Validator::fresh(self.io(), style, sent)?;
        self.distinguish(&tag, (&write.old, write.present), body)?;
        Ok(Entry::put(body, tag, self.io().fresh()?, write.old.late.clone()))
    }

    /// Requires that content different from the previous one gets a different strong tag (8.8.3).
    fn distinguish(&mut self, tag: &Validator, (old, present): (&Entry, bool), body: &Arc<str>) -> Turn {
        if present && !self.io().branch(old.body.is(body))? {
            self.io().assume(tag.differs_from(&old.tag))?;
        }
        Ok(())
    }

    /// Performs a DELETE: removes the current representation.
    fn delete(&mut self, write: Performed) -> Phase {
        self.transaction().store(Entry { late: write.old.late, ..Entry::gone() })?;
        self.respond(Kind::Removed { strong_by: write.strong_by })
    }

    /// Sends the only response: nothing follows it, or responds to a request after `close` (RFC 9112, 6.3 and 9.6).
    fn respond<T>(&mut self, kind: Kind) -> Phase<T> {
        let transaction = self.transaction();
        let more = u32::from(transaction.request.close_twice) + transaction.request.notes.unasked_after;
        transaction.send(kind)?;
        (0..more).try_for_each(|_| transaction.send(Kind::Never))?;
        Err(End::Responded)
    }
}

/// Returns the refusal of a request, if any. A malformed one MUST be refused with 400 (RFC 9112, 3.2, 5.1 and 6.3).
pub(super) fn refusal<'a>(server: &mut impl Server<'a>) -> Result<Option<Kind>, Stop> {
    let (request, io) = (server.request(), server.io());
    Ok(match request.odd {
        Some(Odd::NoHost | Odd::TwoHosts | Odd::SpaceBeforeColon | Odd::ConflictingLengths) => {
            Some(Kind::Bad)
        }
        // RFC 9112, 5.2 and 6.3: a server may accept or refuse it.
        Some(Odd::EqualLengths | Odd::Folded) => (io.choose(2)? == 1).then_some(Kind::Bad),
        // See `content`.
        Some(Odd::LengthBesideChunks | Odd::HugeChunk | Odd::VastChunk) => None,
        // RFC 9112, 6.1 and 6.3: a server may require Content-Length, or not implement the coding.
        None if request.chunked && io.choose(2)? == 1 => Some(Kind::Status([411, 501])),
        // 10.1.1: a server may not support the expectation.
        None if request.expect.is_some() && io.choose(2)? == 1 => Some(Kind::Status([417, 417])),
        // 13.1.5: a client must not send a weak tag in If-Range, so a server may refuse it.
        None if is_weak(request.if_range.as_ref()) && io.choose(2)? == 1 => Some(Kind::Bad),
        None => None,
    })
}

/// Returns the content of a request. RFC 9112, 6.3: a length beside chunks is ignored, or the request refused. RFC
/// 9112, 7.1: a chunk size that is too large is not cut to fewer bits; as its chunk never ends, an error follows.
pub(super) fn content<'a>(server: &mut impl Server<'a>) -> Phase<Arc<str>> {
    let request = server.request();
    match request.odd {
        Some(Odd::LengthBesideChunks) if server.io().choose(2)? == 1 => Ok(request.content()),
        Some(Odd::LengthBesideChunks | Odd::HugeChunk | Odd::VastChunk) => server.respond(Kind::Rejected),
        _ => Ok(request.content()),
    }
}

impl ExpectedResponse {
    /// Checks that a response is correct, and learns from it.
    pub(super) fn judge(&self, seen: &Response, facts: &mut Knowledge) -> Learnt {
        require(seen.flaws.is_empty())?;
        if seen.status == 0 {
            // A response truncated before its status carries no information.
            return require(!matches!(*self.kind, Kind::Never));
        }
        self.is_timely(seen, facts)?;
        match &*self.kind {
            Kind::Read(read) => self.read(read, seen, facts),
            Kind::Put(put) => {
                // 9.3.4: 201 if it created a representation, else 200 or 204; validators only of the content as put.
                require(matches!((put.created, seen.status), (true, 201) | (false, 200 | 204)))?;
                over(put.strong_by.as_ref(), seen, facts)?;
                put.entry.learn_validators(self.sent, seen, facts)
            }
            Kind::Kept { current, body: Some(body) } if (200..300).contains(&seen.status) => {
                // 13.1.1: 2xx only if the requested state is already the current one.
                current.present.unify(&true, facts)?;
                current.body.unify(body, facts)?;
                current.learn_validators(self.sent, seen, facts)
            }
            Kind::Kept { .. } | Kind::Rejected => require(seen.status >= 400),
            Kind::Failed => require(seen.status == 412),
            Kind::Removed { strong_by } => {
                over(strong_by.as_ref(), seen, facts)?;
                // 9.3.5 only recommends 200, 202 or 204; 303 leads to a description of the outcome (15.4.4).
                require(matches!(seen.status, 200..300 | 303))
            }
            Kind::Missing { may_fail } => {
                require(matches!(seen.status, 200..300 | 404 | 410) || (*may_fail && seen.status == 412))
            }
            Kind::Bad => require(seen.status == 400),
            Kind::Status(statuses) => require(statuses.contains(&seen.status)),
            Kind::Open { failed } => require(match seen.status {
                202 => true,
                501 | 505 => false,
                500.. => *failed,
                _ => false,
            }),
            Kind::Untold => Ok(()),
            // 13.2.1: preconditions do not apply to OPTIONS.
            Kind::Options => require(has_allow(seen) && !matches!(seen.status, 304 | 412)),
            Kind::Other { changes } => {
                require(has_allow(seen) && *changes != matches!(seen.status, 400..=499 | 501))
            }
            Kind::Never => Err(Mismatch),
        }
    }

    /// Checks a response to GET or HEAD, and learns from it.
    fn read(&self, read: &Read, seen: &Response, facts: &mut Knowledge) -> Learnt {
        let (entry, conditions) = (&read.entry, &read.conditions);
        // 8.8.1 and 15.4.5, if only several responses together show the violation.
        require(!seen.notes.reused && !seen.notes.untold)?;
        match seen.status {
            200 | 203 | 204 => {
                read.performed(seen, facts)?;
                entry.learn_validators(self.sent, seen, facts)?;
                let judge = if read.head { content::length_of_head } else { content::whole };
                judge(read, seen, facts)
            }
            // 14.2: Range applies to GET only.
            206 => {
                require(!read.head && !read.range.is_empty())?;
                read.performed(seen, facts)?;
                read.in_range(seen, facts)?;
                entry.learn_validators(self.sent, seen, facts)?;
                content::part(read, seen, facts)
            }
            304 => {
                entry.present.unify(&true, facts)?;
                read.permitted(seen, facts)?;
                match (conditions.matched, conditions.modified) {
                    (Some(true), _) => {}
                    (_, Some(date)) => read.not_after(date, seen, facts)?,
                    _ => return Err(Mismatch),
                }
                entry.learn_validators(self.sent, seen, facts)?;
                content::length(entry, seen, facts)
            }
            404 | 410 => entry.present.unify(&false, facts),
            416 if !read.range.is_empty() => {
                require(!read.head)?;
                read.performed(seen, facts)?;
                read.in_range(seen, facts)?;
                content::unsatisfiable(read, seen, facts)
            }
            // 13.1.1 and 13.1.4: a server may respond to a false precondition with an error other than 412.
            400.. => {
                entry.present.unify(&true, facts)?;
                match (conditions.if_match, conditions.unmodified) {
                    (Some(Truth::No), _) => Ok(()),
                    (Some(Truth::IfStrong), None) => read.compared.tag.was_weak(self.sent, facts),
                    (_, Some(date)) => more_than(&read.compared.modified, date, facts),
                    _ => Err(Mismatch),
                }
            }
            _ => Err(Mismatch),
        }
    }
}
