//! Defects: traces of broken rules in the stored state of a resource.

use std::rc::Rc;
use std::sync::Arc;

use confute::knowledge::Var;
use confute::lang::{HasVars, Number, Rule, Sym, Token};

use crate::mark;
use crate::model::entry::{Entry, Validator};

/// Prefix of every response on the wire.
pub(super) const NEXT: &str = "HTTP/1.1 ";

/// The defects of a stored state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::model) struct Defects {
    /// Substitution of the content that should have been stored.
    pub(super) substitution: Option<Substitution>,
    /// Aftermath of the write that stored it.
    pub(super) after: Option<Rc<Aftermath>>,
    /// `true` if its strong tag may be that of other content.
    pub(super) reuses_tag: bool,
    /// Rules that the PUT broke, for reads sent before the response to the PUT was received.
    pub(super) fault: Option<Fault>,
}

impl HasVars for Defects {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        match self.after.as_deref() {
            None => {}
            Some(Aftermath::Race { changed, before }) => {
                HasVars::vars(changed, visit);
                HasVars::vars(before, visit);
            }
            Some(Aftermath::Torn { changed, of }) => {
                HasVars::vars(changed, visit);
                of.iter().for_each(|body| HasVars::vars(body, visit));
            }
            Some(Aftermath::Growing(_)) => {}
            Some(Aftermath::Stale { before }) => HasVars::vars(before, visit),
            Some(Aftermath::Unsteady { tag, .. }) => HasVars::vars(tag, visit),
        }
    }
}

/// Rules about the stored state that a PUT broke, and the time when its response was received.
///
/// A read sent before that time need not show the final state of the PUT: it may be torn, which `store/whole` covers.
/// A rule that explains such a read therefore counts once more for each such read, and is blamed only if
/// `store/whole` does not explain the trace. All of these rules are of level must: counting a weaker rule so often
/// could hide that it explains a trace, and the violation would be reported at too high a level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fault {
    pub(super) rules: Vec<&'static Rule>,
    pub(super) until: i64,
}

/// Substitution of stored content, with the content that should have been stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Substitution {
    /// An altered form of this content was stored.
    Altered(Arc<str>),
    /// Instead of this content, the content of another resource was stored.
    Misplaced(Arc<str>),
    /// The server changed the content without a request.
    Spontaneous,
}

impl Substitution {
    /// Returns `true` if this content can be the stored one. Content with the mark of another request is that
    /// request's, and content that begins with a status line is the next response, taken for content because of a
    /// wrong length.
    pub(super) fn allows(&self, seen: &str) -> bool {
        if seen.starts_with(NEXT) {
            return false;
        }
        let whose = mark::first(seen);
        match self {
            Self::Altered(meant) => whose.is_none() || whose == mark::first(meant),
            Self::Misplaced(meant) => whose.is_some() && whose != mark::first(meant),
            Self::Spontaneous => whose.is_none(),
        }
    }
}

/// Aftermath of a write that breaks a rule: how later requests see the state before or during the write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Aftermath {
    /// Requests sent before `changed` may evaluate their preconditions against the state before the write.
    Race { changed: Sym<Number>, before: Entry },
    /// Reads sent before `changed` may see a mixture of the new content and these earlier contents.
    Torn { changed: Sym<Number>, of: Vec<Sym<Token>> },
    /// Each read and precondition may see another stage of this content, which was never stored completely.
    Growing(Arc<str>),
    /// Reads may see the state before the write.
    Stale { before: Entry },
    /// Reads may see another tag, but not the previous content's, or another date.
    Unsteady { tag: Option<Sym<Token>>, date: bool },
}

impl Entry {
    /// Returns the state after the representation vanished without a request. Its strong tag must still not become
    /// that of other content (RFC 9110, 8.8.1: unique over time), and a torn read may still show parts of it.
    pub(super) fn vanished(self) -> Self {
        let defects = Defects { substitution: None, after: None, ..self.defects };
        Self { present: Sym::known(&false), is_foreign: false, defects, ..self }
    }

    /// Returns `true` if the representation exists (`present`), or existed until it vanished.
    pub(super) fn is_remembered(&self, present: bool) -> bool {
        present || (!self.is_foreign && self.tag != Validator::none())
    }

    /// Returns the state without its aftermath.
    pub(super) fn without_aftermath(&self) -> Self {
        let mut entry = self.clone();
        entry.defects.after = None;
        entry
    }

    /// Returns this state with a part of `body` as its content, which was never stored completely.
    pub(super) fn growing(self, body: &Arc<str>) -> Self {
        let defects = Defects {
            substitution: Some(Substitution::Altered(body.clone())),
            after: Some(Rc::new(Aftermath::Growing(body.clone()))),
            ..Defects::default()
        };
        Self { defects, ..self }
    }
}
