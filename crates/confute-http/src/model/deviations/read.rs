//! Deviations of reads, which do not see the current state.

use confute::lang::{Number, Stop, Sym, Turn};

use super::defects::{Aftermath, Defects, Substitution};
use super::{Deviating, Instead, breaks};
use crate::message::Method;
use crate::model::entry::Entry;
use crate::model::expected::{Kind, Validators};
use crate::model::spec::Server as _;
use crate::model::transaction::Phase;
use crate::rules::{self, Bite, RuleSet};

impl Deviating<'_> {
    /// Serves a read, or refuses it without a reason.
    pub(super) fn serve_read(&mut self, stored: &Entry) -> Phase {
        if self.io().forgives(&rules::SERVES) && stored.late.is_none() {
            // A read changes no state, so the response can decide whether it was refused. If writes are open, a read
            // that is served bounds their moments and one that is refused does not, so this must be decided first.
            self.tolerate(&rules::ALLOW)?;
            self.deviance.tolerated.add(RuleSet::SERVES);
        } else if self.io().deviates(&rules::SERVES)? {
            self.tolerate(&rules::ALLOW)?;
            return self.refuse();
        }
        Ok(())
    }

    pub(super) fn select_or_deviate(&mut self, mut entry: Entry) -> Phase<(Entry, Validators)> {
        self.faults = RuleSet::default();
        let request = self.request();
        while let Some(Aftermath::Stale { before }) = entry.defects.after.clone().as_deref()
            && self.io().choose(2)? == 1
        {
            entry = before.clone();
        }
        let mut compared = None;
        let sent = Sym::known(&request.at);
        match entry.defects.after.take().as_deref() {
            Some(Aftermath::Torn { changed, of }) if self.io().choose(2)? == 1 => {
                self.io().assume(changed.at_most(&sent, 0).negate())?;
                let head = request.method == Method::Head;
                return self.instead(Instead::Torn {
                    head,
                    body: entry.body,
                    tag: entry.tag,
                    of: of.clone(),
                });
            }
            Some(Aftermath::Growing(body)) if self.io().choose(2)? == 1 => {
                return self.instead(Instead::Stage { body: body.clone() });
            }
            Some(Aftermath::Race { changed, before })
                if request.is_conditional() && self.io().choose(2)? == 1 =>
            {
                self.io().assume(changed.at_most(&sent, 0).negate())?;
                self.io().assume(before.present.holds())?;
                compared = Some(Validators::from(before));
            }
            Some(Aftermath::Unsteady { tag, date }) if self.io().choose(2)? == 1 => {
                if let Some(former) = tag {
                    entry.tag = self.changed_tag(former, entry.defects.reuses_tag)?;
                }
                if *date {
                    entry.modified = self.other_date(&entry.modified)?;
                }
            }
            _ => {}
        }
        // Each read sent before the response to the PUT counts once more: see `Fault`.
        if let Some(fault) = entry.defects.fault.take().filter(|fault| request.at < fault.until) {
            for rule in fault.rules {
                if !self.io().deviates(rule)? {
                    return Err(Stop::Dead.into());
                }
            }
        }
        self.change(&mut entry)?;
        // The content before a foreign representation is unknown, so its tag may already be a reused one.
        entry.defects.reuses_tag |= entry.is_foreign && self.io().deviates(&rules::TAG_DIFFERS)?;
        let compared = compared.unwrap_or_else(|| Validators::from(&entry));
        Ok((entry, compared))
    }

    /// Changes the tag, date or content without a request, before a read. For content that the tester has put, an
    /// unsteady tag is decided by the PUT: only the PUT knows which tag is excluded, because the previous content had
    /// it.
    fn change(&mut self, entry: &mut Entry) -> Turn {
        let bite = if entry.is_foreign { Bite::Selection } else { Bite::SelectionOfPut };
        let other_tag = entry.is_foreign && self.io().deviates(&rules::STEADY_TAG)?;
        if other_tag {
            entry.tag = self.other_tag()?;
        }
        if (other_tag && self.io().choose(2)? == 1) || breaks(self.io(), &rules::STEADY_DATE, bite)? {
            entry.modified = self.other_date(&entry.modified)?;
        }
        if breaks(self.io(), &rules::STEADY_CONTENT, Bite::Selection)? {
            let tag = self.other_tag()?;
            let defects = Defects { substitution: Some(Substitution::Spontaneous), ..Defects::default() };
            *entry = Entry { tag, defects, ..Entry::any(self.io())? };
            self.io().assume(entry.present.holds())?;
        }
        Ok(())
    }

    /// Returns the date that a read sees in place of the stored one: any that is not later by more than [`ROUNDED`].
    fn other_date(&mut self, stored: &Sym<Number>) -> Result<Sym<Number>, Stop> {
        let seen = self.io().fresh()?;
        self.limit_rounding(&seen, stored)?;
        Ok(seen)
    }

    /// Tolerates the violations that a response of this kind may have.
    pub(super) fn tolerate_in(&mut self, kind: &Kind) -> Turn {
        match kind {
            Kind::Read(read) => {
                self.tolerate_in_read()?;
                self.deviance.tolerated.add(self.faults);
                self.deviance.substitution.clone_from(&read.entry.defects.substitution);
                self.deviance.reuses_tag = read.entry.defects.reuses_tag;
                Ok(())
            }
            Kind::Kept { current, .. } => {
                self.deviance.substitution.clone_from(&current.defects.substitution);
                Ok(())
            }
            Kind::Failed => self.tolerate(&rules::IF_NONE_MATCH_412),
            Kind::Other { .. } => self.tolerate(&rules::ALLOW),
            Kind::Options => {
                self.tolerate(&rules::ALLOW)?;
                if !self.request().is_conditional() {
                    return Ok(());
                }
                self.tolerate(&rules::OPTIONS_UNCONDITIONAL)
            }
            _ => Ok(()),
        }
    }

    fn tolerate_in_read(&mut self) -> Turn {
        let request = self.request();
        self.tolerate(&rules::STAYS)?;
        self.tolerate(&rules::HEAD_LENGTH)?;
        self.tolerate(&rules::NOT_MODIFIED_TAG)?;
        if request.method == Method::Get {
            self.tolerate(&rules::CONTENT_SENT)?;
            let is_any = breaks(self.io(), &rules::TAG_DIFFERS, Bite::AnyContent)?;
            self.deviance.tolerated.add_if(is_any, RuleSet::TAG_DIFFERS);
        }
        if request.is_conditional() {
            self.tolerate(&rules::ON_MISSING)?;
        }
        if request.if_modified_since.is_some() && request.if_none_match.is_none() {
            self.tolerate(&rules::IF_MODIFIED_SINCE)?;
        }
        if !request.range.is_empty() {
            self.tolerate(&rules::CONTENT_RANGE)?;
            self.tolerate(&rules::PART)?;
            self.tolerate(&rules::RANGE_ASKED)?;
            self.tolerate(&rules::UNSATISFIABLE)?;
            if request.method == Method::Head {
                self.tolerate(&rules::RANGE_ONLY_GET)?;
            }
        }
        Ok(())
    }
}
