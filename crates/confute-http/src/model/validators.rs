//! What is stored under a path, and its validators: all of it a secret until it is seen.

use std::rc::Rc;
use std::sync::Arc;

use confute::knowledge::{Knowledge, Literal, Term, Value, Var};
use confute::lang::{Flag, Formula, Fresh, HasVars, Io, Mismatch, Number, Rule, Stop, Sym, Token};

use super::late::Late;
use super::origin::{Origin, TagStyle};
use crate::mark;
use crate::message::Tag;

/// Later than anything that happens.
pub(super) const NEVER: i64 = i64::MAX / 4;

/// What the next response begins with.
pub(super) const NEXT: &str = "HTTP/1.1 ";

/// No entity tag has a quote in it.
const NO_TAG: &str = "\"";

/// A tag that the server chose.
///
/// It may be weak at first and become strong later, once, with the same text: at a moment that is a secret like the
/// text. A tag seen weak in the answer to a request sent at `s` was not strong at `s`; one seen strong in an answer
/// received at `r` was strong at `r`. So nothing has to happen between two requests, and reads stay reads.
///
/// Only strong tags promise that the content is the same, so the text of the strong tag, if there ever is one, has a name
/// of its own: that two contents differ says something about these names, and nothing about weak tags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Validator {
    pub(super) opaque: Sym<Token>,
    pub(super) strong: Sym<Token>,
    strong_from: Sym<Number>,
}
confute::secrets!(Validator { opaque, strong, strong_from });

impl Validator {
    /// A new one, for content that was put by a request sent at `sent`.
    pub(super) fn fresh(io: &mut Io<'_, Origin>, style: TagStyle, sent: i64) -> Result<Self, Stop> {
        let opaque = io.fresh()?;
        Ok(match style {
            TagStyle::Any => Self { opaque, strong: io.fresh()?, strong_from: io.fresh()? },
            TagStyle::WeakFor(time) => Self {
                strong: opaque.clone(),
                opaque,
                strong_from: Sym::known(&sent.saturating_add(time).min(NEVER)),
            },
        })
    }

    /// That of nothing.
    fn none() -> Self {
        let none: Arc<str> = NO_TAG.into();
        Self { opaque: Sym::known(&none), strong: Sym::known(&none), strong_from: Sym::known(&NEVER) }
    }

    /// Learns from seeing it in an answer received at `received` to a request sent at `sent`.
    pub(super) fn unify(
        &self,
        seen: &Tag,
        (sent, received): (i64, i64),
        facts: &mut Knowledge,
    ) -> Result<(), Mismatch> {
        self.opaque.unify(&seen.opaque, facts)?;
        if seen.weak { self.was_weak(sent, facts) } else { self.was_strong(received, facts) }
    }

    /// It was strong then.
    pub(super) fn was_strong(&self, at: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
        facts.assert(&Literal::Eq(self.opaque.term().clone(), self.strong.term().clone()))?;
        at_most(&self.strong_from, at, facts)
    }

    /// It is a strong tag, now or later.
    pub(super) fn has_strong_text(&self) -> Formula {
        self.opaque.equals(&self.strong)
    }

    /// It was weak then.
    pub(super) fn was_weak(&self, at: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
        more_than(&self.strong_from, at, facts)
    }

    /// It is strong since before then.
    pub(super) fn is_strong(&self, at: i64) -> Formula {
        self.strong_from.at_most(&Sym::known(&at), 0)
    }

    /// The moment it becomes strong.
    pub(super) fn strong_from(&self) -> &Sym<Number> {
        &self.strong_from
    }

    /// What the server makes sure of when the content changes.
    pub(super) fn differs_from(&self, old: &Self) -> Formula {
        self.strong.equals(&old.strong).negate()
    }

    /// As it is shown at that time, if that can be told.
    pub(super) fn show(&self, at: i64, value: &mut dyn FnMut(Var) -> Value) -> (Arc<str>, bool, Option<Tag>) {
        let (opaque, strong) = (self.opaque.instantiate(value), self.strong.instantiate(value));
        let weak = self.strong_from.instantiate(value) > at;
        // A strong tag has the text of a strong tag; without that it is as good as weak, and not shown.
        let is_odd = !weak && opaque != strong;
        let tag = (!is_odd).then(|| Tag { weak, opaque: opaque.clone() });
        (opaque, weak || is_odd, tag)
    }
}

/// `number ≤ bound`
pub(super) fn at_most(number: &Sym<Number>, bound: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
    let right = Term::Const(Value::Int(bound));
    Ok(facts.assert(&Literal::AtMost { left: number.term().clone(), right, by: 0 })?)
}

/// `number > bound`
pub(super) fn more_than(number: &Sym<Number>, bound: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
    let left = Term::Const(Value::Int(bound));
    Ok(facts.assert(&Literal::AtMost { left, right: number.term().clone(), by: -1 })?)
}

/// What is stored under a path, if anything is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) present: Sym<Flag>,
    pub(super) body: Sym<Token>,
    pub(super) tag: Validator,
    /// In seconds since 1970; below zero if the server has no date for it.
    pub(super) modified: Sym<Number>,
    /// The content that was to be stored, if a rule was broken and other content was.
    pub(super) meant: Option<Meant>,
    /// What the write that made it left behind, if it broke a rule.
    pub(super) after: Option<Rc<Aftermath>>,
    /// Whether it is none that was put: it was there before the tester came, or another method made it.
    pub(super) is_foreign: bool,
    /// Writes whose outcome is open: each may still be performed.
    pub(super) late: Late,
    /// Whether its strong tag may be that of other content, against a rule.
    pub(super) reuses: bool,
    /// The rules that the PUT that made it broke, if it could be seen before that was answered.
    pub(super) fault: Option<Fault>,
}

/// Rules about what a PUT stores that it broke, and the time of its response.
///
/// A read that was sent before the response need not see what the PUT stores for good: it may be torn, which `store/whole` is
/// about. So a rule that explains such a read counts once more for each, and is blamed only where `store/whole` does not explain
/// the trace. All of them are of level must: to count a weaker rule so often could hide that it explains a trace, and an
/// accusation would be told at too high a level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fault {
    pub(super) rules: Vec<&'static Rule>,
    pub(super) until: i64,
}

/// What was to be stored where other content was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Meant {
    /// This was to be stored, and the content is what became of it.
    Changed(Arc<str>),
    /// This was to be stored, and the content was meant for another resource.
    Elsewhere(Arc<str>),
    /// Nothing was to be stored: the server changed the content by itself.
    Nothing,
}

impl Meant {
    /// Whether this content can be what is there: what bears the mark of other content is that, and what begins with a
    /// status line is the next response, which a wrong length has taken for content.
    pub(super) fn allows(&self, seen: &str) -> bool {
        if seen.starts_with(NEXT) {
            return false;
        }
        let whose = mark::first(seen);
        match self {
            Self::Changed(meant) => whose.is_none() || whose == mark::first(meant),
            Self::Elsewhere(meant) => whose.is_some() && whose != mark::first(meant),
            Self::Nothing => whose.is_none(),
        }
    }
}

/// What a write leaves behind that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Aftermath {
    /// Requests that were sent before `changed` may evaluate their conditions as if it had not happened.
    Race { changed: Sym<Number>, before: Entry },
    /// Until `changed`, reads may see some of it, and some of these, which were there before.
    Torn { changed: Sym<Number>, of: Vec<Sym<Token>> },
    /// Of this content, which was never put as a whole, reads and conditions may see another stage each time.
    Growing(Arc<str>),
    /// Reads may not see it at all.
    Stale { before: Entry },
    /// Reads may see another tag, but not that of other content, or another date.
    Unsteady { tag: Option<Sym<Token>>, date: bool },
}

impl HasVars for Entry {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        HasVars::vars(&self.present, visit);
        HasVars::vars(&self.body, visit);
        HasVars::vars(&self.tag, visit);
        HasVars::vars(&self.modified, visit);
        HasVars::vars(&self.late, visit);
        match self.after.as_deref() {
            None => {}
            Some(Aftermath::Race { changed, before }) => {
                HasVars::vars(changed, visit);
                before.vars(visit);
            }
            Some(Aftermath::Torn { changed, of }) => {
                HasVars::vars(changed, visit);
                of.iter().for_each(|body| HasVars::vars(body, visit));
            }
            Some(Aftermath::Growing(_)) => {}
            Some(Aftermath::Stale { before }) => before.vars(visit),
            Some(Aftermath::Unsteady { tag, .. }) => HasVars::vars(tag, visit),
        }
    }
}

impl Entry {
    /// What nobody has looked at yet.
    pub(super) fn unknown(fresh: &mut Fresh<'_>) -> Self {
        Self {
            present: fresh.fresh(),
            body: fresh.fresh(),
            tag: Validator { opaque: fresh.fresh(), strong: fresh.fresh(), strong_from: fresh.fresh() },
            modified: fresh.fresh(),
            meant: None,
            after: None,
            is_foreign: true,
            late: Late::None,
            reuses: false,
            fault: None,
        }
    }

    /// Anything.
    pub(super) fn any(io: &mut Io<'_, Origin>) -> Result<Self, Stop> {
        Ok(Self {
            present: io.fresh()?,
            body: io.fresh()?,
            tag: Validator::fresh(io, TagStyle::Any, 0)?,
            modified: io.fresh()?,
            meant: None,
            after: None,
            is_foreign: false,
            late: Late::None,
            reuses: false,
            fault: None,
        })
    }

    /// What is left when this vanishes by itself: nothing, but its strong tag must still not become that of other content
    /// (RFC 9110, 8.8.1: unique over time), and a torn read may still show some of it.
    pub(super) fn vanished(self) -> Self {
        Self { present: Sym::known(&false), meant: None, after: None, is_foreign: false, ..self }
    }

    /// It is there, as `present` says, or was until it vanished.
    pub(super) fn is_remembered(&self, present: bool) -> bool {
        present || (!self.is_foreign && self.tag != Validator::none())
    }

    /// Nothing.
    pub(super) fn gone() -> Self {
        Self {
            present: Sym::known(&false),
            body: Sym::known(&Arc::from("")),
            tag: Validator::none(),
            modified: Sym::known(&-1),
            meant: None,
            after: None,
            is_foreign: false,
            late: Late::None,
            reuses: false,
            fault: None,
        }
    }
}
