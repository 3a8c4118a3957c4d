//! Writes whose outcome the server left open.
//!
//! 202 promises nothing (RFC 9110, 15.3.3), and after most 5xx a backend may still be at work: the write is performed at
//! most once, at any moment from then on, its conditions evaluated at that moment, or never. The moment is a secret of the
//! resource, like the one at which a weak tag becomes strong. So nothing has to happen between two requests, reads stay
//! reads, and two readers cannot disagree: who received an answer that shows the write puts the moment before that, and who
//! saw the resource without it puts the moment after the sending of its request.

use std::rc::Rc;

use confute::knowledge::Var;
use confute::lang::{HasVars, Io, Number, Stop, Sym};

use super::origin::{Exchange, Origin, TagStyle};
use super::precondition::{Conditions, Decision};
use super::validators::{Aftermath, Entry, Meant, Validator};
use crate::message::{Method, Request};
use crate::rules;

/// How many open writes a resource may have. With more of them every order of every subset would have to be tried at each
/// read, so above it anything is accepted of the resource: that only excuses more.
const MOST: usize = 3;

/// The open writes of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Late {
    /// None.
    #[default]
    None,
    /// These, in the order in which the server took them.
    Writes(Rc<Vec<Rc<LateWrite>>>),
    /// Too many: nothing is known of the resource any more.
    Untold,
}

/// A write that may still be performed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LateWrite {
    request: Request,
    /// When it is performed.
    at: Sym<Number>,
    /// The validators of what it puts.
    tag: Validator,
    modified: Sym<Number>,
    /// Not all of its content is put.
    is_torn: bool,
}

impl HasVars for Late {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        for write in self.writes() {
            HasVars::vars(&write.at, visit);
            HasVars::vars(&write.tag, visit);
            HasVars::vars(&write.modified, visit);
        }
    }
}

impl Late {
    fn writes(&self) -> &[Rc<LateWrite>] {
        match self {
            Late::Writes(writes) => writes,
            Late::None | Late::Untold => &[],
        }
    }

    /// Whether no write is open.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Late::None)
    }

    /// Whether anything may be there.
    pub(super) fn is_untold(&self) -> bool {
        matches!(self, Late::Untold)
    }

    /// The same without the write at this place.
    fn without(&self, place: usize) -> Self {
        let mut rest = self.writes().to_vec();
        rest.remove(place);
        if rest.is_empty() { Late::None } else { Late::Writes(Rc::new(rest)) }
    }

    /// The same with one more.
    fn with(&self, write: LateWrite) -> Self {
        if self.is_untold() || self.writes().len() == MOST {
            return Late::Untold;
        }
        let mut all = self.writes().to_vec();
        all.push(Rc::new(write));
        Late::Writes(Rc::new(all))
    }
}

impl Exchange<'_> {
    /// Leaves this write open on what is there.
    pub(super) fn leave_open(&self, io: &mut Io<'_, Origin>, old: &Entry) -> Result<Entry, Stop> {
        let is_torn = self.request.method == Method::Put && io.deviates(&rules::WHOLE)?;
        let late = old.late.with(LateWrite { is_torn, ..self.late_write(io)? });
        Ok(Entry { late: self.once(io, late)?, ..old.clone() })
    }

    /// The open writes after this one was performed or left open: it is performed once more only against a rule.
    pub(super) fn once(&self, io: &mut Io<'_, Origin>, late: Late) -> Result<Late, Stop> {
        Ok(if io.deviates(&rules::ONCE)? { late.with(self.late_write(io)?) } else { late })
    }

    /// Leaves this write, which was refused, to be performed at some moment all the same.
    pub(super) fn leave_for_later(&self, io: &mut Io<'_, Origin>, old: &Entry) -> Result<Entry, Stop> {
        Ok(Entry { late: old.late.with(self.late_write(io)?), ..old.clone() })
    }

    /// Leaves this write open though its conditions are false.
    pub(super) fn leave_open_despite(&self, io: &mut Io<'_, Origin>, old: &Entry) -> Result<Entry, Stop> {
        let mut write = self.late_write(io)?;
        write.request = Request {
            if_match: None,
            if_none_match: None,
            if_modified_since: None,
            if_unmodified_since: None,
            ..write.request
        };
        Ok(Entry { late: old.late.with(write), ..old.clone() })
    }

    fn late_write(&self, io: &mut Io<'_, Origin>) -> Result<LateWrite, Stop> {
        Ok(LateWrite {
            request: self.request.clone(),
            at: io.fresh()?,
            tag: Validator::fresh(io, TagStyle::Any, self.request.sent_at)?,
            modified: io.fresh()?,
            is_torn: false,
        })
    }

    /// What is there after some of the open writes, in some order, were performed: the last of them before the answer to this
    /// request is received, and the others after it was sent.
    pub(super) fn catch_up(&mut self, io: &mut Io<'_, Origin>, mut entry: Entry) -> Result<Entry, Stop> {
        loop {
            let writes = entry.late.writes().to_vec();
            let pick = if writes.is_empty() { 0 } else { io.choose(writes.len() + 1)? };
            let Some(place) = pick.checked_sub(1) else {
                let sent = Sym::known(&self.request.sent_at);
                return writes
                    .iter()
                    .try_for_each(|write| io.assume(write.at.at_most(&sent, 0).negate()))
                    .map(|()| entry);
            };
            let write = &writes[place];
            if let Some(before) = &self.by {
                // Not at the same moment, or each of two could be the later one.
                io.assume(before.at_most(&write.at, -1))?;
            }
            self.by = Some(write.at.clone());
            entry.late = entry.late.without(place);
            entry = write.perform(io, entry)?;
        }
    }
}

impl LateWrite {
    /// What is there after it, if its conditions are true of what was there.
    fn perform(&self, io: &mut Io<'_, Origin>, old: Entry) -> Result<Entry, Stop> {
        let present = io.branch(old.present.holds())?;
        if self.request.is_conditional() {
            let conditions = Conditions::of(io, &self.request, &old.tag, !present)?;
            match conditions.decide(io, &old, self.request.sent_at)? {
                Decision::Perform(None) => {}
                Decision::Perform(Some(strong_by)) => io.assume(strong_by.at_most(&self.at, 0))?,
                Decision::Keep | Decision::Fail => return Ok(old),
            }
        }
        if self.request.method != Method::Put {
            return Ok(Entry { late: old.late, ..Entry::gone() });
        }
        let body = self.request.content();
        if self.is_torn {
            let (meant, after) = (Meant::Changed(body.clone()), Aftermath::Growing(body));
            return Ok(Entry {
                meant: Some(meant),
                after: Some(Rc::new(after)),
                late: old.late,
                ..Entry::any(io)?
            });
        }
        let differs = present && !io.branch(old.body.is(&body))?;
        let reuses = differs && io.deviates(&rules::TAG_DIFFERS)?;
        if differs && !reuses {
            io.assume(self.tag.differs_from(&old.tag))?;
        }
        let unsteady = Aftermath::Unsteady { tag: Some(old.tag.strong), date: true };
        let after = io.deviates(&rules::STEADY_TAG)?.then(|| Rc::new(unsteady));
        Ok(Entry {
            present: Sym::known(&true),
            body: Sym::known(&body),
            tag: self.tag.clone(),
            modified: self.modified.clone(),
            after,
            late: old.late,
            reuses,
            ..Entry::gone()
        })
    }
}
