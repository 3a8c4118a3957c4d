//! What PUT, DELETE and unknown methods do.

use std::rc::Rc;
use std::sync::Arc;

use confute::lang::{Io, Number, Stop, Sym, Turn};

use super::expected::{Kind, Put, Validators};
use super::late::Late;
use super::lax::Lax;
use super::origin::{Exchange, Origin, TagStyle, often};
use super::precondition::{Conditions, Decision};
use super::validators::{Aftermath, Entry, Fault, Meant, Validator};
use crate::message::{Method, Odd};
use crate::rules;

/// So many contents may be mixed in what is read meanwhile, the latest two aside.
const MIXED: usize = 3;

/// A write that is performed.
struct Done {
    /// What was there.
    old: Entry,
    /// What its conditions were evaluated against.
    before: Entry,
    /// Whether that was something else already.
    raced: bool,
    /// What the write before left behind.
    after: Option<Rc<Aftermath>>,
    /// `old` exists.
    present: bool,
    /// `before` existed.
    existed: bool,
    /// In the past when the answer is received.
    strong_by: Option<Sym<Number>>,
}

impl Exchange<'_> {
    pub(super) fn write(mut self, io: &mut Io<'_, Origin>) -> Turn {
        let mut old = self.stored(io)?;
        if let Some(kind) = self.prejudge(io)? {
            return self.refuse(io, &old, kind);
        }
        let Some(body) = self.content(io, &old)? else { return Ok(()) };
        if old.late.is_untold() {
            return self.send(io, Kind::Untold);
        }
        if let Method::Other(_) = self.request.method {
            return self.other(io, old);
        }
        // A simulated server knows what it does. That a write without a response was left open is no case of its own: it may as
        // well be handled only when it is performed.
        if self.model.tags == TagStyle::Any && !self.request.is_settled && io.choose(2)? == 1 {
            let failed = io.forgives(&rules::SERVES) || io.deviates(&rules::SERVES)?;
            let entry = self.leave_open(io, &old)?;
            self.store(io, entry)?;
            // An answer that is somebody else's says nothing, so it does not say that this is open either.
            self.lax = self.lax.own();
            return self.send(io, Kind::Open { failed });
        }
        if io.deviates(&rules::SERVES)? {
            self.lax.also(io, &rules::ALLOW, Lax::ALLOW)?;
            return self.refuse(io, &old, self.refused());
        }
        old = self.catch_up(io, old)?;
        let mut present = io.branch(old.present.holds())?;
        if present && io.deviates(&rules::STAYS)? {
            (old, present) = (old.vanished(), false);
            self.store(io, old.clone())?;
        }
        let after = old.after.clone();
        let earlier = after.clone().filter(|after| matches!(**after, Aftermath::Stale { .. }));
        let base = self.base(io, &mut old, present)?;
        let decision = if self.request.is_conditional() {
            let (judged, is_there) =
                base.as_ref().map_or((&old, present), |(before, is_there)| (before, *is_there));
            let conditions = Conditions::of(io, self.request, &judged.tag, !is_there)?;
            conditions.decide(io, judged, self.request.sent_at)?
        } else if io.deviates(&rules::FAILED_CAUSE)? {
            Decision::Fail
        } else {
            Decision::Perform(None)
        };
        let is_put = self.request.method == Method::Put;
        if !is_put && !present {
            let request = self.request;
            let may_fail = request.if_match.is_some()
                || request.if_unmodified_since.is_some()
                || matches!(decision, Decision::Fail);
            return self.send(io, Kind::Missing { may_fail });
        }
        match decision {
            Decision::Keep => {
                self.perform_despite(io, &old, false)?;
                let kind = Kind::Kept { current: old, body: is_put.then_some(body) };
                self.send(io, kind)
            }
            Decision::Fail => {
                self.perform_despite(io, &old, true)?;
                self.lax.also(io, &rules::IF_NONE_MATCH_412, Lax::IS_304)?;
                self.send(io, Kind::Failed)
            }
            Decision::Perform(strong_by) => {
                let raced = base.is_some();
                let (before, mut existed) = base.unwrap_or_else(|| (old.clone(), present));
                // It may have looked again before it answered.
                if existed != present && io.choose(2)? == 0 {
                    existed = present;
                }
                let old = Entry { after: earlier, ..old };
                let done = Done { old, before, raced, after, present, existed, strong_by };
                if is_put { self.put(io, done, &body) } else { self.delete(io, done) }
            }
        }
    }

    /// Performs a write at some moment though a condition is false, if the rule that forbids it is broken. The answer says that it
    /// was not performed.
    fn perform_despite(&self, io: &mut Io<'_, Origin>, old: &Entry, none_match: bool) -> Turn {
        let is_delete = self.request.method == Method::Delete;
        let rule = match () {
            () if none_match && self.request.if_none_match.is_none() => return Ok(()),
            () if none_match && is_delete => &rules::IF_NONE_MATCH_DELETE,
            () if none_match => &rules::IF_NONE_MATCH,
            () if self.request.if_match.is_none() => &rules::IF_UNMODIFIED_SINCE,
            () if is_delete => &rules::IF_MATCH_DELETE,
            () => &rules::IF_MATCH,
        };
        if io.deviates(rule)? {
            let entry = self.leave_open_despite(io, old)?;
            self.store(io, entry)?;
        }
        Ok(())
    }

    /// Refuses a write. If that rule is broken, it is performed all the same, at some moment.
    fn refuse(&self, io: &mut Io<'_, Origin>, old: &Entry, kind: Kind) -> Turn {
        let is_known = matches!(self.request.method, Method::Put | Method::Delete);
        if is_known && io.deviates(&rules::REFUSED)? {
            let entry = self.leave_for_later(io, old)?;
            self.store(io, entry)?;
        }
        self.send(io, kind)
    }

    /// The content as the server is to understand it. `None` if the request was answered here.
    fn content(&mut self, io: &mut Io<'_, Origin>, old: &Entry) -> Result<Option<Arc<str>>, Stop> {
        let body = self.request.content();
        match self.request.odd {
            Some(Odd::LengthBesideChunks) => {
                if io.deviates(&rules::LENGTH_BESIDE_CHUNKS)? {
                    return Ok(Some(crate::encode::framed(&body)));
                }
                if io.choose(2)? == 1 {
                    return Ok(Some(body));
                }
            }
            Some(Odd::HugeChunk | Odd::VastChunk) => {
                if io.deviates(&rules::LARGE_CHUNK)? {
                    self.broken.push(&rules::LARGE_CHUNK);
                    return Ok(Some(body));
                }
                // What came of it is there all the same.
                if self.request.method == Method::Put && io.deviates(&rules::WHOLE)? {
                    let after = Some(Rc::new(Aftermath::Growing(body.clone())));
                    let meant = Some(Meant::Changed(body));
                    let part = Entry { meant, after, late: old.late.clone(), ..Entry::any(io)? };
                    self.store(io, part)?;
                }
            }
            _ => return Ok(Some(body)),
        }
        self.send(io, Kind::Rejected)?;
        Ok(None)
    }

    /// Another method may do anything, if it says so. Where it leaves open whether and when, nothing is known from then on.
    fn other(mut self, io: &mut Io<'_, Origin>, old: Entry) -> Turn {
        self.lax.also(io, &rules::ALLOW, Lax::ALLOW)?;
        let (entry, kind) = match io.choose(3)? {
            0 => return self.send(io, Kind::Other { changes: false }),
            1 => {
                let entry = Entry { is_foreign: true, late: old.late, ..Entry::any(io)? };
                (entry, Kind::Other { changes: true })
            }
            _ => (Entry { late: Late::Untold, ..old }, Kind::Open { failed: true }),
        };
        self.store(io, entry)?;
        self.send(io, kind)
    }

    /// What conditions are evaluated against, if that is not what is there, and whether that is anything. A tag or date
    /// that changes without cause does so here.
    fn base(
        &self,
        io: &mut Io<'_, Origin>,
        old: &mut Entry,
        present: bool,
    ) -> Result<Option<(Entry, bool)>, Stop> {
        let request = self.request;
        let after = old.after.take();
        if let Some(Aftermath::Race { changed, before }) = after.as_deref()
            && io.choose(2)? == 1
        {
            io.assume(changed.at_most(&Sym::known(&request.sent_at), 0).negate())?;
            let is_there = io.branch(before.present.holds())?;
            return Ok(Some((before.clone(), is_there)));
        }
        // Conditions may see another stage than anybody else.
        if let Some(Aftermath::Growing(_)) = after.as_deref()
            && request.is_conditional()
            && io.choose(2)? == 1
        {
            let stage = Entry { tag: Self::other_tag(io)?, modified: io.fresh()?, ..old.clone() };
            return Ok(Some((stage, present)));
        }
        let compares = request.if_match.is_some() || request.if_none_match.is_some();
        match after.as_deref() {
            _ if !present || !compares => {}
            // What was put has another tag now and then, but never that of what was there before.
            Some(Aftermath::Unsteady { tag: Some(former), .. }) if io.choose(2)? == 1 => {
                old.tag = Self::changed_tag(io, former, old.reuses)?;
            }
            _ if old.is_foreign && io.deviates(&rules::STEADY_TAG)? => {
                old.tag = Self::other_tag(io)?;
                self.store(io, old.clone())?;
            }
            _ => {}
        }
        if present && request.if_unmodified_since.is_some() && io.deviates(&rules::STEADY_DATE)? {
            old.modified = io.fresh()?;
            self.store(io, old.clone())?;
        }
        Ok(None)
    }

    /// What this write leaves behind, and when it will have been done.
    fn aftermath(
        &self,
        io: &mut Io<'_, Origin>,
        done: &Done,
    ) -> Result<(Option<Rc<Aftermath>>, Option<Sym<Number>>), Stop> {
        // Where reads are late once, they may be so for good, whatever is written meanwhile: it is one breach.
        let is_late = done.old.after.is_some() && io.choose(2)? == 1;
        if is_late || io.deviates(&rules::READ_CURRENT)? {
            return Ok((Some(Rc::new(Aftermath::Stale { before: done.old.clone() })), None));
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
            return Ok((Some(Rc::new(Aftermath::Torn { changed: changed.clone(), of })), Some(changed)));
        }
        // What changes a tag without cause may change the date with it. Nothing has neither.
        let is_put = self.request.method == Method::Put;
        let tag = is_put && io.deviates(&rules::STEADY_TAG)?;
        let date = (tag && io.choose(2)? == 1) || (is_put && io.deviates(&rules::STEADY_DATE)?);
        if tag || date {
            let tag = tag.then(|| done.old.tag.strong.clone());
            return Ok((Some(Rc::new(Aftermath::Unsteady { tag, date })), None));
        }
        let looked = match done.after.as_deref() {
            Some(race @ Aftermath::Race { .. }) => {
                // Whoever looked before that may still be at it, whatever is written meanwhile: it is one breach. Or this one
                // looked before it, and others since.
                if done.raced && io.choose(2)? == 1 {
                    &done.old
                } else if io.deviates(&rules::ONE_WINNER)? {
                    &done.before
                } else {
                    return Ok((Some(Rc::new(race.clone())), None));
                }
            }
            _ if io.deviates(&rules::ONE_WINNER)? => &done.before,
            _ => return Ok((None, None)),
        };
        let (changed, before) = (io.fresh::<Number>()?, Entry { after: None, ..looked.clone() });
        Ok((Some(Rc::new(Aftermath::Race { changed: changed.clone(), before })), Some(changed)))
    }

    fn put(&mut self, io: &mut Io<'_, Origin>, done: Done, body: &Arc<str>) -> Turn {
        let rule = if done.existed { &rules::REPLACED } else { &rules::CREATED };
        self.lax.also(io, rule, Lax::CREATED)?;
        let (after, changed) = self.aftermath(io, &done)?;
        let Done { old, present, existed, strong_by, .. } = done;
        let tag = Validator::fresh(io, self.model.tags, self.request.sent_at)?;
        let differs = old.is_remembered(present) && !io.branch(old.body.is(body))?;
        // Whoever gives a tag twice may give one that is older than the last.
        let reuses = io.deviates(&rules::TAG_DIFFERS)?;
        if reuses {
            self.broken.push(&rules::TAG_DIFFERS);
        } else if differs {
            io.assume(tag.differs_from(&old.tag))?;
        }
        let mut entry = Entry {
            present: Sym::known(&true),
            body: Sym::known(body),
            tag,
            modified: io.fresh()?,
            meant: None,
            after,
            is_foreign: false,
            late: old.late.clone(),
            reuses,
            fault: None,
        };
        let mut validators = Validators::True;
        // Content that nobody put, seen while the PUT is at work, is a torn read first.
        if often(io, &rules::PUT_EXACT, 1 + u32::from(self.request.is_seen_torn))? {
            entry.body = io.fresh()?;
            entry.meant = Some(Meant::Changed(body.clone()));
            io.assume(entry.body.equals(&old.body).negate())?;
            validators = Validators::Absent;
        } else if often(io, &rules::PUT_OWN, 3)? {
            // What comes of an answer to somebody else may come of this too: it counts as much.
            entry.body = io.fresh()?;
            entry.meant = Some(Meant::Elsewhere(body.clone()));
            io.assume(entry.body.equals(&old.body).negate())?;
            // With them the standard is broken too.
            validators = Validators::Absent;
        } else if io.deviates(&rules::PUT_VALIDATORS)? {
            self.broken.push(&rules::PUT_VALIDATORS);
            validators = match io.choose(3)? {
                0 => {
                    entry.body = io.fresh()?;
                    entry.meant = Some(Meant::Changed(body.clone()));
                    Validators::Told
                }
                1 => {
                    entry.body = old.body.clone();
                    entry.meant.clone_from(&old.meant);
                    Validators::Told
                }
                _ => Validators::Wrong,
            };
        }
        if io.deviates(&rules::PUT_LASTS)? {
            validators = Validators::Idle;
        } else {
            let rules = std::mem::take(&mut self.broken);
            let until = self.request.answered_at.filter(|_| !rules.is_empty());
            entry.fault = until.map(|until| Fault { rules, until });
            if self.request.is_lost {
                entry.late = self.once(io, entry.late)?;
            }
            self.store(io, entry.clone())?;
        }
        self.send(io, Kind::Put(Put { created: !existed, entry, validators, strong_by, changed }))
    }

    fn delete(&self, io: &mut Io<'_, Origin>, done: Done) -> Turn {
        let (after, changed) = self.aftermath(io, &done)?;
        if !io.deviates(&rules::DELETE_LASTS)? {
            let late = done.old.late;
            let late = if self.request.is_lost { self.once(io, late)? } else { late };
            self.store(io, Entry { after, late, ..Entry::gone() })?;
        }
        self.send(io, Kind::Removed { strong_by: done.strong_by, changed })
    }
}
