//! Deviations of PUT and DELETE.

use std::rc::Rc;
use std::sync::Arc;

use confute::lang::{Number, Stop, Sym, Turn};

use super::defects::{Aftermath, Defects, Fault, Substitution};
use super::{Deviating, PutValidators, breaks};
use crate::message::Method;
use crate::model::condition::Decision;
use crate::model::entry::{Entry, Validator};
use crate::model::expected::{Kind, Put};
use crate::model::late::{self, Late, LateWrite};
use crate::model::spec::Server as _;
use crate::model::transaction::{Performed, Phase};
use crate::rules::{self, Bite};

/// Maximum number of contents that a torn read may mix, besides the latest two.
const MIXED: usize = 3;

/// Maximum number of seconds by which the date that one request sees is later than the date that another one sees, if
/// nothing was written in between.
///
/// A server may round its dates, to seconds, minutes or a day. Without a limit, no trace would prove that a write ignores
/// If-Unmodified-Since: no response to a write shows the date that was compared, which may lie before the one that a
/// read showed. There is no limit in a trace whose responses show dates of the resource that lie further apart
/// ([`RequestNotes::dates_leap`](crate::message::RequestNotes::dates_leap)).
pub(crate) const ROUNDED: i64 = 86_400;

/// State that a write found.
#[derive(Default)]
pub(super) struct Scene {
    /// Aftermath of the previous write.
    after: Option<Rc<Aftermath>>,
    /// State that its preconditions were evaluated against, if that is not the current one; `true` if it was a
    /// representation.
    base: Option<(Entry, bool)>,
}

/// A write that is performed, possibly in violation of a rule.
struct Done {
    /// State of the resource before the write.
    old: Entry,
    /// State that its preconditions were evaluated against.
    before: Entry,
    /// `true` if `before` was no longer the current state.
    raced: bool,
    /// Aftermath of the previous write.
    after: Option<Rc<Aftermath>>,
    /// `true` if `old` is a representation.
    present: bool,
    /// `true` if a representation existed according to the server's response.
    existed: bool,
}

impl Deviating<'_> {
    /// Returns `true` if the server responds 400 to a list in several field lines.
    pub(super) fn refuses_lines(&mut self) -> Result<bool, Stop> {
        Ok(self.io().deviates(&rules::SEVERAL_LINES)? && self.io().choose(2)? == 1)
    }

    /// Performs a write at some later moment although it is refused.
    pub(super) fn perform_refused(&mut self, stored: Option<&Entry>) -> Turn {
        let request = self.request();
        let is_known = matches!(request.method, Method::Put | Method::Delete);
        if let (true, Some(stored)) = (is_known, stored)
            && self.io().deviates(&rules::REFUSED)?
        {
            let late = stored.late.with(LateWrite::of(self.io(), request)?);
            self.transaction.store(Entry { late, ..stored.clone() })?;
        }
        Ok(())
    }

    /// Leaves the outcome of a write open, by 202 or a server error.
    pub(super) fn leave_open_or_fail(&mut self, stored: Entry) -> Phase {
        let request = self.request();
        let failed = self.io().forgives(&rules::SERVES) || self.io().deviates(&rules::SERVES)?;
        let is_torn = request.method == Method::Put && self.io().deviates(&rules::WHOLE)?;
        let late = stored.late.with(LateWrite { is_torn, ..LateWrite::of(self.io(), request)? });
        let late = self.once_more(late)?;
        self.transaction.store(Entry { late, ..stored })?;
        // A response to another request cannot leave the outcome of this one open.
        self.deviance.be_own();
        self.respond(Kind::Open { failed })
    }

    /// Returns the open writes after this one was performed or left open, with a second performance of it if that
    /// rule is broken.
    fn once_more(&mut self, late: Late) -> Result<Late, Stop> {
        let request = self.request();
        if self.io().deviates(&rules::ONCE)? {
            return Ok(late.with(LateWrite::of(self.io(), request)?));
        }
        Ok(late)
    }

    pub(super) fn perform_late_or_deviate(
        &mut self,
        write: &LateWrite,
        old: Entry,
        present: bool,
    ) -> Phase<Option<Entry>> {
        if !self.holds_or_did(write, &old, present)? {
            return Ok(None);
        }
        // An open write may race with others like any other write.
        let race = self.io().deviates(&rules::ONE_WINNER)?;
        let race = race
            .then(|| Rc::new(Aftermath::Race { changed: write.at.clone(), before: old.without_aftermath() }));
        let mut entry = match write.request.method {
            Method::Put => self.put_late(write, old, present)?,
            _ => Entry { late: old.late, ..Entry::gone() },
        };
        if race.is_some() {
            entry.defects.after = race;
        }
        Ok(Some(entry))
    }

    /// Returns `true` if the preconditions of an open write hold, or held before a write that it races with.
    fn holds_or_did(&mut self, write: &LateWrite, old: &Entry, present: bool) -> Phase<bool> {
        if let Some(Aftermath::Race { changed, before }) = old.defects.after.as_deref()
            && write.request.is_conditional()
            && self.io().choose(2)? == 1
        {
            self.io().assume(changed.at_most(&Sym::known(&write.request.at), 0).negate())?;
            let was_there = self.io().branch(before.present.holds())?;
            return late::holds(self, write, before, was_there);
        }
        late::holds(self, write, old, present)
    }

    /// Returns the state that an open PUT stores.
    fn put_late(&mut self, write: &LateWrite, old: Entry, present: bool) -> Phase<Entry> {
        let body = write.request.content();
        let io = self.io();
        if write.is_torn {
            return Ok(Entry { late: old.late, ..Entry::any(io)?.growing(&body) });
        }
        let differs = present && !io.branch(old.body.is(&body))?;
        let reuses_tag = differs && io.deviates(&rules::TAG_DIFFERS)?;
        if differs && !reuses_tag {
            io.assume(write.tag.differs_from(&old.tag))?;
        }
        let unsteady = Aftermath::Unsteady { tag: Some(old.tag.strong), date: true };
        let after = io.deviates(&rules::STEADY_TAG)?.then(|| Rc::new(unsteady));
        let defects = Defects { after, reuses_tag, ..Defects::default() };
        let entry = Entry::put(&body, write.tag.clone(), write.modified.clone(), old.late);
        Ok(Entry { defects, ..entry })
    }

    pub(super) fn decide_or_deviate(&mut self, old: &mut Entry, present: bool) -> Phase<Decision> {
        let request = self.request();
        let after = old.defects.after.clone();
        let base = self.base(old, present)?;
        let decision = if request.is_conditional() {
            let (judged, is_there) =
                base.as_ref().map_or((&*old, present), |(before, is_there)| (before, *is_there));
            self.evaluate(request, judged, is_there)?
        } else if self.io().deviates(&rules::FAILED_CAUSE)? {
            Decision::Fail
        } else {
            Decision::Perform(None)
        };
        self.scene = Scene { after, base };
        match decision {
            Decision::Fail if request.method == Method::Delete && !present => {
                return self.respond(Kind::Missing { may_fail: true });
            }
            Decision::Keep if request.method == Method::Delete && !present => {}
            Decision::Keep => self.perform_despite(old, false)?,
            Decision::Fail => self.perform_despite(old, true)?,
            Decision::Perform(_) => {}
        }
        Ok(decision)
    }

    /// Performs a write at some later moment although a precondition is false, if the rule that forbids it is broken.
    /// The response still claims that the write was not performed.
    fn perform_despite(&mut self, old: &Entry, none_match: bool) -> Turn {
        let request = self.request();
        let is_delete = request.method == Method::Delete;
        let rule = match () {
            () if none_match && request.if_none_match.is_none() => return Ok(()),
            () if none_match && is_delete => &rules::IF_NONE_MATCH_DELETE,
            () if none_match => &rules::IF_NONE_MATCH,
            () if request.if_match.is_none() => &rules::IF_UNMODIFIED_SINCE,
            () if is_delete => &rules::IF_MATCH_DELETE,
            () => &rules::IF_MATCH,
        };
        if self.io().deviates(rule)? {
            let late = old.late.with(LateWrite::of(self.io(), request)?.unconditional());
            self.transaction.store(Entry { late, ..old.clone() })?;
        }
        Ok(())
    }

    /// Returns the state that preconditions are evaluated against, if it is not the current one, and `true` if it is
    /// a representation. Also changes the tag or date of the current state, if it changes without a cause.
    fn base(&mut self, old: &mut Entry, present: bool) -> Result<Option<(Entry, bool)>, Stop> {
        let request = self.request();
        let after = old.defects.after.take();
        if let Some(Aftermath::Race { changed, before }) = after.as_deref()
            && self.io().choose(2)? == 1
        {
            self.io().assume(changed.at_most(&Sym::known(&request.at), 0).negate())?;
            let is_there = self.io().branch(before.present.holds())?;
            return Ok(Some((before.clone(), is_there)));
        }
        // Preconditions may see a stage that no other request sees.
        if let Some(Aftermath::Growing(_)) = after.as_deref()
            && request.is_conditional()
            && self.io().choose(2)? == 1
        {
            let stage = Entry { tag: self.other_tag()?, modified: self.io().fresh()?, ..old.clone() };
            return Ok(Some((stage, present)));
        }
        let compares = request.if_match.is_some() || request.if_none_match.is_some();
        match after.as_deref() {
            _ if !present || !compares => {}
            // Content that was put may have another tag at times, but never that of the previous content.
            Some(Aftermath::Unsteady { tag: Some(former), .. }) if self.io().choose(2)? == 1 => {
                old.tag = self.changed_tag(former, old.defects.reuses_tag)?;
            }
            _ if old.is_foreign && self.io().deviates(&rules::STEADY_TAG)? => {
                old.tag = self.other_tag()?;
                self.transaction.store(old.clone())?;
            }
            _ => {}
        }
        if present && request.if_unmodified_since.is_some() && self.io().deviates(&rules::STEADY_DATE)? {
            let former = std::mem::replace(&mut old.modified, self.io().fresh()?);
            self.limit_rounding(&former, &old.modified)?;
            self.transaction.store(old.clone())?;
        }
        Ok(None)
    }

    /// Assumes that a date was not later than another date of the same content by more than [`ROUNDED`].
    pub(super) fn limit_rounding(&mut self, date: &Sym<Number>, other: &Sym<Number>) -> Turn {
        if self.request().notes.dates_leap {
            return Ok(());
        }
        self.io().assume(date.at_most(other, ROUNDED))
    }

    /// Collects the states that a performed write has found.
    fn done(&mut self, mut old: Entry, present: bool) -> Result<Done, Stop> {
        let Scene { after, base } = std::mem::take(&mut self.scene);
        let raced = base.is_some();
        let (before, mut existed) = base.unwrap_or_else(|| (old.clone(), present));
        // The server may have checked again before it responded.
        if existed != present && self.io().choose(2)? == 0 {
            existed = present;
        }
        old.defects.after = after.clone().filter(|after| matches!(**after, Aftermath::Stale { .. }));
        Ok(Done { old, before, raced, after, present, existed })
    }

    /// Returns the aftermath of this write. If the write takes effect only at some later moment, the response has to
    /// be after it.
    fn aftermath(&mut self, done: &Done) -> Result<Option<Rc<Aftermath>>, Stop> {
        let is_put = self.request().method == Method::Put;
        let io = self.io();
        // Stale reads may continue after further writes: that is still the same violation.
        let is_late = done.old.defects.after.is_some() && io.choose(2)? == 1;
        if is_late || io.deviates(&rules::READ_CURRENT)? {
            return Ok(Some(Rc::new(Aftermath::Stale { before: done.old.clone() })));
        }
        if io.deviates(&rules::WHOLE)? {
            let changed = io.fresh::<Number>()?;
            let mut of = Vec::new();
            if done.old.is_remembered(done.present) {
                of.push(done.old.body.clone());
            }
            if let Some(Aftermath::Torn { of: others, .. }) = done.after.as_deref() {
                of.extend(others.iter().take(MIXED).cloned());
            }
            self.deviance.changed = Some(changed.clone());
            return Ok(Some(Rc::new(Aftermath::Torn { changed, of })));
        }
        // A tag that changes without a cause may change the date with it. A deleted representation has neither.
        let tag = is_put && io.deviates(&rules::STEADY_TAG)?;
        let date = (tag && io.choose(2)? == 1) || (is_put && io.deviates(&rules::STEADY_DATE)?);
        if tag || date {
            let tag = tag.then(|| done.old.tag.strong.clone());
            return Ok(Some(Rc::new(Aftermath::Unsteady { tag, date })));
        }
        let looked = match &done.after {
            Some(race) if matches!(**race, Aftermath::Race { .. }) => {
                // A request that evaluated its preconditions before the previous write may still be in progress after
                // this one: that is the same violation. Or this request evaluated them before the previous write, and
                // others have evaluated theirs since.
                if done.raced && io.choose(2)? == 1 {
                    &done.old
                } else if io.deviates(&rules::ONE_WINNER)? {
                    &done.before
                } else {
                    return Ok(Some(Rc::clone(race)));
                }
            }
            _ if io.deviates(&rules::ONE_WINNER)? => &done.before,
            _ => return Ok(None),
        };
        let (changed, before) = (io.fresh::<Number>()?, looked.without_aftermath());
        self.deviance.changed = Some(changed.clone());
        Ok(Some(Rc::new(Aftermath::Race { changed, before })))
    }

    pub(super) fn distinguish_or_deviate(
        &mut self,
        tag: &Validator,
        (old, present): (&Entry, bool),
        body: &Arc<str>,
    ) -> Turn {
        let io = self.io();
        let differs = old.is_remembered(present) && !io.branch(old.body.is(body))?;
        // A server that reuses tags may reuse one older than the last.
        if io.deviates(&rules::TAG_DIFFERS)? {
            self.broken.push(&rules::TAG_DIFFERS);
        } else if differs {
            io.assume(tag.differs_from(&old.tag))?;
        }
        Ok(())
    }

    pub(super) fn put_or_deviate(&mut self, write: Performed, body: &Arc<str>) -> Phase {
        let Performed { old, present, strong_by } = write;
        let done = self.done(old, present)?;
        let existed = done.existed;
        self.tolerate(if existed { &rules::REPLACED } else { &rules::CREATED })?;
        let after = self.aftermath(&done)?;
        let write = Performed { old: done.old, present, strong_by };
        let mut entry = self.new_entry(&write, body)?;
        entry.defects.after = after;
        entry.defects.reuses_tag = self.broken.iter().any(|rule| rule.name == rules::TAG_DIFFERS.name);
        self.deviance.validators = self.substitute(&mut entry, &write.old, body)?;
        if self.io().deviates(&rules::PUT_LASTS)? {
            self.deviance.validators = PutValidators::Ignored;
        } else {
            let mut rules = std::mem::take(&mut self.broken);
            let notes = self.request().notes;
            // If the response to the PUT repeats the tag, a read with the same tag and content is not torn.
            rules.retain(|rule| !(notes.repeats_tag && rule.name == rules::TAG_DIFFERS.name));
            let until = notes.answered_at.filter(|_| !rules.is_empty());
            entry.defects.fault = until.map(|until| Fault { rules, until });
            if self.request().notes.is_lost {
                entry.late = self.once_more(entry.late)?;
            }
            self.transaction.store(entry.clone())?;
        }
        self.respond(Kind::Put(Put { created: !existed, entry, strong_by: write.strong_by }))
    }

    /// Stores content other than that of the PUT, and returns the relation of the validators in the response to it.
    fn substitute(&mut self, entry: &mut Entry, old: &Entry, body: &Arc<str>) -> Result<PutValidators, Stop> {
        let bite = if self.request().notes.is_seen_torn { Bite::PutSeenTorn } else { Bite::Put };
        let io = self.io();
        if breaks(io, &rules::PUT_EXACT, bite)? {
            entry.body = io.fresh()?;
            entry.defects.substitution = Some(Substitution::Altered(body.clone()));
            io.assume(entry.body.equals(&old.body).negate())?;
            return Ok(PutValidators::Absent);
        }
        if breaks(io, &rules::PUT_OWN, Bite::Put)? {
            entry.body = io.fresh()?;
            entry.defects.substitution = Some(Substitution::Misplaced(body.clone()));
            io.assume(entry.body.equals(&old.body).negate())?;
            // A response with validators would break `PUT_VALIDATORS` as well.
            return Ok(PutValidators::Absent);
        }
        if !io.deviates(&rules::PUT_VALIDATORS)? {
            return Ok(PutValidators::Right);
        }
        self.broken.push(&rules::PUT_VALIDATORS);
        Ok(match self.io().choose(3)? {
            0 => {
                entry.body = self.io().fresh()?;
                entry.defects.substitution = Some(Substitution::Altered(body.clone()));
                PutValidators::Present
            }
            1 => {
                entry.body = old.body.clone();
                entry.defects.substitution.clone_from(&old.defects.substitution);
                PutValidators::Present
            }
            _ => PutValidators::Wrong,
        })
    }

    pub(super) fn delete_or_deviate(&mut self, write: Performed) -> Phase {
        let done = self.done(write.old, write.present)?;
        let after = self.aftermath(&done)?;
        if !self.io().deviates(&rules::DELETE_LASTS)? {
            let late = done.old.late;
            let late = if self.request().notes.is_lost { self.once_more(late)? } else { late };
            let defects = Defects { after, ..Defects::default() };
            self.transaction.store(Entry { late, defects, ..Entry::gone() })?;
        }
        self.respond(Kind::Removed { strong_by: write.strong_by })
    }
}
