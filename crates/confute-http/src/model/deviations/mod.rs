//! Deviations of an origin server: what a server that breaks a rule does in each phase.
//!
//! | phase | file |
//! |---|---|
//! | admission, content, sending | this file |
//! | selection of a representation by GET and HEAD | `read` |
//! | evaluation of preconditions | `conditions` |
//! | PUT and DELETE | `write` |
//! | response: repaired, then judged like a correct one | `response` |
//!
//! The table in [`rules`](crate::rules) lists every deviation with its weight. A deviation that may count more than
//! once is requested by [`breaks`].

mod conditions;
mod defects;
mod read;
mod response;
mod write;

use std::rc::Rc;
use std::sync::Arc;

use confute::lang::{Rule, Stop, Sym, Token, Turn};

use super::condition::{Conditions, Decision, RangeApplies, Truth};
use super::entry::{Entry, Validator};
use super::expected::{ExpectedResponse, Kind, Validators};
use super::late::{self, LateWrite};
use super::spec::{self, Server};
use super::transaction::{End, Io, Performed, Phase, TagStyle, Transaction};
use crate::message::{Method, Odd, Request, Tags};
use crate::rules::{self, Bite, RuleSet};
pub(super) use defects::Defects;
pub(super) use response::{Deviance, Instead, PutValidators, concerns};
pub(crate) use write::ROUNDED;
use write::Scene;

/// An origin server that may break rules.
pub(super) struct Deviating<'a> {
    transaction: Transaction<'a>,
    /// Deviation of the response.
    deviance: Deviance,
    /// Rules broken by the last evaluation of preconditions.
    faults: RuleSet,
    /// Rules about the stored state that this PUT breaks.
    broken: Vec<&'static Rule>,
    /// State that a write found.
    scene: Scene,
}

/// Returns `true` if a rule is broken here, and counts it as often as the table prescribes. Counting it less often
/// would be the same behaviour at a lower price, so such a turn is dead.
fn breaks(io: &mut Io<'_>, rule: &'static Rule, bite: Bite) -> Result<bool, Stop> {
    if !io.deviates(rule)? {
        return Ok(false);
    }
    for _ in 1..rules::times(rule, bite) {
        if !io.deviates(rule)? {
            return Err(Stop::Dead);
        }
    }
    Ok(true)
}

impl<'a> Deviating<'a> {
    pub(super) fn new(transaction: Transaction<'a>) -> Self {
        let deviance = Deviance::default();
        Self {
            transaction,
            deviance,
            faults: RuleSet::default(),
            broken: Vec::new(),
            scene: Scene::default(),
        }
    }

    /// Tolerates violations of a rule in the response, if the rule is broken.
    fn tolerate(&mut self, rule: &'static Rule) -> Turn {
        if self.io().deviates(rule)? {
            self.deviance.tolerated.add(RuleSet::of(rule));
        }
        Ok(())
    }

    /// Refuses a request without a reason.
    fn refuse<T>(&mut self) -> Phase<T> {
        let method = &self.request().method;
        let (is_write, may_be_missing) = (!method.is_safe(), *method == Method::Put);
        self.instead(Instead::Refused { is_write, may_be_missing })
    }

    /// Sends a response that no correct server sends.
    fn instead<T>(&mut self, instead: Instead) -> Phase<T> {
        self.deviance.instead = Some(instead);
        self.respond(Kind::Never)
    }

    /// Creates a new tag.
    fn other_tag(&mut self) -> Result<Validator, Stop> {
        Validator::fresh(self.io(), TagStyle::Any, 0)
    }

    /// Creates the tag after a spontaneous change: it differs from `former`, the strong tag of the content before,
    /// unless the server reuses tags.
    fn changed_tag(&mut self, former: &Sym<Token>, reuses: bool) -> Result<Validator, Stop> {
        let tag = self.other_tag()?;
        if !reuses {
            self.io().assume(tag.strong.equals(former).negate())?;
        }
        Ok(tag)
    }

    /// Tolerates the violations that any response may have: on the wire, or because it is the response to another
    /// request.
    fn tolerate_on_the_wire(&mut self) -> Turn {
        for rule in response::on_the_wire() {
            self.tolerate(rule)?;
        }
        // A response to another request counts once if it looks like one, and as often as the table prescribes if not.
        for rule in response::FOREIGN {
            if self.io().deviates(rule)? {
                let is_any = self.io().deviates(rule)?;
                for _ in 2..if is_any { rules::times(rule, Bite::AnyResponse) } else { 0 } {
                    if !self.io().deviates(rule)? {
                        // Fewer deviations permit no more than one does.
                        return Err(Stop::Dead);
                    }
                }
                self.deviance.tolerated.add(RuleSet::of(rule));
                self.deviance.only_stray.add_if(!is_any, RuleSet::of(rule));
            }
        }
        Ok(())
    }

    /// Returns the expected responses after the one to this request.
    fn behind(&mut self, expected: &ExpectedResponse) -> Result<Vec<ExpectedResponse>, Stop> {
        let request = self.request();
        let mut more = Vec::new();
        if request.close_twice {
            let is_answered = self.io().deviates(&rules::CLOSE)?;
            more.push(if is_answered { expected.clone() } else { expected.never() });
        }
        let has_content = request.body.is_some();
        for _ in 0..request.notes.unasked_after {
            let place = if has_content { Bite::BehindContent } else { Bite::Behind };
            let kind = match () {
                () if has_content && self.io().deviates(&rules::BODY_READ)? => Kind::Rejected,
                () if breaks(self.io(), &rules::SURPLUS, place)? => Kind::Untold,
                () => Kind::Never,
            };
            let deviance = Deviance { tolerated: RuleSet::SURPLUS, ..Deviance::default() };
            let (kind, deviance) = (Box::new(kind), Some(Rc::new(deviance)));
            more.push(ExpectedResponse { kind, deviance, ..expected.clone() });
        }
        Ok(more)
    }
}

impl<'a> Server<'a> for Deviating<'a> {
    fn transaction(&mut self) -> &mut Transaction<'a> {
        &mut self.transaction
    }

    fn request(&self) -> &'a Request {
        self.transaction.request
    }

    fn admit(&mut self, stored: Option<&Entry>) -> Phase {
        self.tolerate_on_the_wire()?;
        let request = self.request();
        if request.expect.is_some() {
            self.tolerate(&rules::CONTINUE)?;
        }
        let refusal = match malformed(request.odd) {
            Some(rule) if self.io().deviates(rule)? => None,
            // A server that refuses every request does not examine whether it is malformed.
            Some(_) if self.io().deviates(&rules::SERVES)? => {
                self.deviance.instead = Some(Instead::Refused { is_write: false, may_be_missing: false });
                Some(Kind::Never)
            }
            None if request.odd.is_none() && has_lines(request) && self.refuses_lines()? => Some(Kind::Bad),
            _ => spec::refusal(self)?,
        };
        if let Some(kind) = refusal {
            self.perform_refused(stored)?;
            return self.respond(kind);
        }
        match (&request.method, stored) {
            (Method::Get | Method::Head, Some(stored)) => self.serve_read(stored),
            _ => Ok(()),
        }
    }

    fn content(&mut self, stored: &Entry) -> Phase<Arc<str>> {
        let request = self.request();
        let body = request.content();
        match request.odd {
            Some(Odd::LengthBesideChunks) if self.io().deviates(&rules::LENGTH_BESIDE_CHUNKS)? => {
                return Ok(crate::encode::framed(&body));
            }
            Some(Odd::HugeChunk | Odd::VastChunk) => {
                if self.io().deviates(&rules::LARGE_CHUNK)? {
                    self.broken.push(&rules::LARGE_CHUNK);
                    return Ok(body);
                }
                // The part that was received is stored although the request is refused.
                if request.method == Method::Put && self.io().deviates(&rules::WHOLE)? {
                    let part = Entry { late: stored.late.clone(), ..Entry::any(self.io())?.growing(&body) };
                    self.transaction.store(part)?;
                }
            }
            _ => {}
        }
        spec::content(self)
    }

    fn leave_open(&mut self, stored: Entry) -> Phase {
        self.leave_open_or_fail(stored)
    }

    fn catch_up(&mut self, stored: Entry) -> Phase<Entry> {
        if self.request().method.is_safe() {
            return late::catch_up(self, stored);
        }
        if self.io().deviates(&rules::SERVES)? {
            self.tolerate(&rules::ALLOW)?;
            self.perform_refused(Some(&stored))?;
            return self.refuse();
        }
        let old = late::catch_up(self, stored)?;
        if self.io().branch(old.present.holds())? && self.io().deviates(&rules::STAYS)? {
            let old = old.vanished();
            self.transaction.store(old.clone())?;
            return Ok(old);
        }
        Ok(old)
    }

    fn perform_late(&mut self, write: &LateWrite, old: Entry, present: bool) -> Phase<Option<Entry>> {
        self.perform_late_or_deviate(write, old, present)
    }

    fn select(&mut self, current: Entry) -> Phase<(Entry, Validators)> {
        self.select_or_deviate(current)
    }

    fn decide(&mut self, old: &mut Entry, present: bool) -> Phase<Decision> {
        self.decide_or_deviate(old, present)
    }

    fn evaluate(&mut self, request: &Request, entry: &Entry, present: bool) -> Phase<Decision> {
        self.evaluate_or_deviate(request, entry, present)
    }

    fn if_match(
        &mut self,
        request: &Request,
        tags: &Tags,
        current: Option<&Validator>,
    ) -> Result<Truth, Stop> {
        conditions::if_match(self, request, tags, current)
    }

    fn unmodified_since(&mut self, request: &Request, exists: bool, found: &mut Conditions) -> Turn {
        conditions::unmodified_since(self.io(), request, exists, found)
    }

    fn if_none_match(
        &mut self,
        request: &Request,
        tags: &Tags,
        current: Option<&Validator>,
    ) -> Result<bool, Stop> {
        self.if_none_match_or_deviate(request, tags, current)
    }

    fn modified_since(&mut self, request: &Request, found: &mut Conditions) -> Turn {
        self.modified_since_or_deviate(request, found)
    }

    fn if_range(&mut self, current: &Validator) -> Result<RangeApplies, Stop> {
        conditions::if_range(self, current)
    }

    fn put(&mut self, write: Performed, body: &Arc<str>) -> Phase {
        self.put_or_deviate(write, body)
    }

    fn distinguish(&mut self, tag: &Validator, old: (&Entry, bool), body: &Arc<str>) -> Turn {
        self.distinguish_or_deviate(tag, old, body)
    }

    fn delete(&mut self, write: Performed) -> Phase {
        self.delete_or_deviate(write)
    }

    fn respond<T>(&mut self, kind: Kind) -> Phase<T> {
        self.tolerate_in(&kind)?;
        let deviance = std::mem::take(&mut self.deviance);
        let deviance = (deviance != Deviance::default()).then(|| Rc::new(deviance));
        let expected = ExpectedResponse { deviance, ..self.transaction.expected(kind) };
        let more = self.behind(&expected)?;
        let Transaction { io, conn, .. } = &mut self.transaction;
        io.send(*conn, expected)?;
        more.into_iter().try_for_each(|one| io.send(*conn, one))?;
        Err(End::Responded)
    }
}

/// Returns the rule that requires the refusal of a malformed request.
fn malformed(odd: Option<Odd>) -> Option<&'static Rule> {
    match odd? {
        Odd::NoHost => Some(&rules::NO_HOST),
        Odd::TwoHosts => Some(&rules::TWO_HOSTS),
        Odd::SpaceBeforeColon => Some(&rules::SPACE_BEFORE_COLON),
        Odd::ConflictingLengths => Some(&rules::CONFLICTING_LENGTHS),
        Odd::LengthBesideChunks | Odd::HugeChunk | Odd::VastChunk | Odd::EqualLengths | Odd::Folded => None,
    }
}

/// Returns `true` if a list of tags is split into several field lines.
fn has_lines(request: &Request) -> bool {
    let several = |tags: &Option<Tags>| matches!(tags, Some(Tags::Lines(lines)) if lines.len() > 1);
    several(&request.if_match) || several(&request.if_none_match)
}
