//! The stored state of a resource: its representation and validators, which are secret values until a response shows
//! them.

use std::sync::Arc;

use confute::knowledge::{Knowledge, Literal, Term, Value, Var};
use confute::lang::{Flag, Formula, Fresh, Mismatch, Number, Stop, Sym, Token};

use super::deviations::Defects;
use super::late::Late;
use super::transaction::{Io, TagStyle};
use crate::message::{Response, Tag};

/// A moment later than every event.
pub(super) const NEVER: i64 = i64::MAX / 4;

/// Text that is no entity tag: an opaque tag cannot contain a quote.
const NO_TAG: &str = "\"";

/// An entity tag chosen by the server.
///
/// A tag may be weak at first and become strong later, once, with the same text. The moment is a secret value like
/// the text. A tag that is weak in the response to a request sent at `s` was not strong at `s`; one that is strong in
/// a response received at `r` was strong at `r`. The model therefore takes no step between two requests, and a read
/// changes no state.
///
/// Only equal strong tags imply equal content. The text of the strong tag, if the tag ever becomes strong, is
/// therefore a variable of its own: different contents imply a constraint on these variables, and none on weak tags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Validator {
    pub(super) opaque: Sym<Token>,
    pub(super) strong: Sym<Token>,
    strong_from: Sym<Number>,
}
confute::secrets!(Validator { opaque, strong, strong_from });

impl Validator {
    /// Creates a tag for content that was put by a request sent at `sent`.
    pub(super) fn fresh(io: &mut Io<'_>, style: TagStyle, sent: i64) -> Result<Self, Stop> {
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

    /// Returns the tag of a resource without a representation, which equals no real tag.
    pub(super) fn none() -> Self {
        let none: Arc<str> = NO_TAG.into();
        Self { opaque: Sym::known(&none), strong: Sym::known(&none), strong_from: Sym::known(&NEVER) }
    }

    /// Learns that a response received at `received`, to a request sent at `sent`, has this tag.
    pub(super) fn unify(
        &self,
        seen: &Tag,
        (sent, received): (i64, i64),
        facts: &mut Knowledge,
    ) -> Result<(), Mismatch> {
        self.opaque.unify(&seen.opaque, facts)?;
        if seen.weak { self.was_weak(sent, facts) } else { self.was_strong(received, facts) }
    }

    /// Learns that the tag was strong at this moment.
    pub(super) fn was_strong(&self, at: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
        facts.assert(&Literal::Eq(self.opaque.term().clone(), self.strong.term().clone()))?;
        at_most(&self.strong_from, at, facts)
    }

    /// Holds if the tag is strong at some moment.
    pub(super) fn has_strong_text(&self) -> Formula {
        self.opaque.equals(&self.strong)
    }

    /// Learns that the tag was weak at this moment.
    pub(super) fn was_weak(&self, at: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
        more_than(&self.strong_from, at, facts)
    }

    /// Holds if the tag is strong at this moment.
    pub(super) fn is_strong(&self, at: i64) -> Formula {
        self.strong_from.at_most(&Sym::known(&at), 0)
    }

    /// Returns the moment at which the tag becomes strong.
    pub(super) fn strong_from(&self) -> &Sym<Number> {
        &self.strong_from
    }

    /// Holds if the strong tags differ, which a server guarantees if the contents differ.
    pub(super) fn differs_from(&self, old: &Self) -> Formula {
        self.strong.equals(&old.strong).negate()
    }

    /// Returns the text of the tag, `true` if it counts as weak at `at`, and the tag to send, if any.
    pub(super) fn show(&self, at: i64, value: &mut dyn FnMut(Var) -> Value) -> (Arc<str>, bool, Option<Tag>) {
        let (opaque, strong) = (self.opaque.instantiate(value), self.strong.instantiate(value));
        let weak = self.strong_from.instantiate(value) > at;
        // `opaque` and `strong` are equal in a strong tag. If their values differ, the tag counts as weak and is not
        // sent.
        let is_odd = !weak && opaque != strong;
        let tag = (!is_odd).then(|| Tag { weak, opaque: opaque.clone() });
        (opaque, weak || is_odd, tag)
    }
}

/// Asserts `number ≤ bound`.
pub(super) fn at_most(number: &Sym<Number>, bound: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
    let right = Term::Const(Value::Int(bound));
    Ok(facts.assert(&Literal::AtMost { left: number.term().clone(), right, by: 0 })?)
}

/// Asserts `number > bound`.
pub(super) fn more_than(number: &Sym<Number>, bound: i64, facts: &mut Knowledge) -> Result<(), Mismatch> {
    let left = Term::Const(Value::Int(bound));
    Ok(facts.assert(&Literal::AtMost { left, right: number.term().clone(), by: -1 })?)
}

/// The state of a resource: its current representation, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) present: Sym<Flag>,
    pub(super) body: Sym<Token>,
    pub(super) tag: Validator,
    /// Modification date in seconds since 1970; negative if the server has none.
    pub(super) modified: Sym<Number>,
    /// `true` if no PUT of the tester stored it: it existed before the test, or a method unknown to the model created
    /// it.
    pub(super) is_foreign: bool,
    /// Writes with an open outcome, each of which may still be performed.
    pub(super) late: Late,
    /// Traces of broken rules in the stored state; empty for a correct server.
    pub(super) defects: Defects,
}
confute::secrets!(Entry { present, body, tag, modified, late, defects });

impl Entry {
    /// Returns the unknown state of a resource that no request has accessed yet.
    pub(super) fn unknown(fresh: &mut Fresh<'_>) -> Self {
        Self {
            present: fresh.fresh(),
            body: fresh.fresh(),
            tag: Validator { opaque: fresh.fresh(), strong: fresh.fresh(), strong_from: fresh.fresh() },
            modified: fresh.fresh(),
            is_foreign: true,
            late: Late::None,
            defects: Defects::default(),
        }
    }

    /// Returns an arbitrary state, as a write with an unknown effect leaves it.
    pub(super) fn any(io: &mut Io<'_>) -> Result<Self, Stop> {
        Ok(Self {
            present: io.fresh()?,
            body: io.fresh()?,
            tag: Validator::fresh(io, TagStyle::Any, 0)?,
            modified: io.fresh()?,
            is_foreign: false,
            late: Late::None,
            defects: Defects::default(),
        })
    }

    /// Returns the state of a resource without a current representation.
    pub(super) fn gone() -> Self {
        Self {
            present: Sym::known(&false),
            body: Sym::known(&Arc::from("")),
            tag: Validator::none(),
            modified: Sym::known(&-1),
            is_foreign: false,
            late: Late::None,
            defects: Defects::default(),
        }
    }

    /// Returns the state after a PUT of this content, with these validators.
    pub(super) fn put(body: &Arc<str>, tag: Validator, modified: Sym<Number>, late: Late) -> Self {
        Self {
            present: Sym::known(&true),
            body: Sym::known(body),
            tag,
            modified,
            is_foreign: false,
            late,
            defects: Defects::default(),
        }
    }

    /// Learns that the validators in a response to a request sent at `sent` are those of this representation.
    pub(super) fn learn_validators(
        &self,
        sent: i64,
        seen: &Response,
        facts: &mut Knowledge,
    ) -> Result<(), Mismatch> {
        if let Some(tag) = &seen.etag {
            self.tag.unify(tag, (sent, seen.at), facts)?;
        }
        self.learn_date(seen, facts)
    }

    /// Learns from Last-Modified in a response.
    fn learn_date(&self, seen: &Response, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match seen.last_modified {
            // Last-Modified is replaced by Date if it would be in the future (RFC 9110, 8.8.2.1). Content that the
            // tester has put is dated when it was put, if the clocks of the server are known to agree.
            Some(date) if seen.dated.is_now && (self.is_foreign || seen.dated.may_be_ahead) => {
                more_than(&self.modified, date - 1, facts)
            }
            Some(date) => self.modified.unify(&date, facts),
            None => Ok(()),
        }
    }

    /// Returns `true` if the modification date may be in the future, so that the server may have sent and compared
    /// the Date of the response instead.
    pub(super) fn may_be_ahead(&self, seen: &Response, facts: &Knowledge) -> bool {
        let is_told = seen.last_modified.is_some() && !seen.dated.is_now;
        (self.is_foreign || seen.dated.may_be_ahead) && !is_told && self.modified.value(facts).is_none()
    }
}
