//! Coverage: the rules of a model that some hypothesis consulted.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use crate::lang::Rule;

/// Number of slots for addresses of recently noted rules.
const PLACES: usize = 256;

/// The rules that were consulted.
pub(crate) struct Coverage {
    /// Addresses of recently noted rules: `note` is called all the time, and a lookup by name would be slow.
    recent: [Cell<usize>; PLACES],
    names: RefCell<BTreeSet<&'static str>>,
}

impl Default for Coverage {
    fn default() -> Self {
        Self { recent: [const { Cell::new(0) }; PLACES], names: RefCell::default() }
    }
}

impl Coverage {
    /// Notes that a rule was consulted.
    #[inline]
    pub(crate) fn note(&self, rule: &'static Rule) {
        let place = std::ptr::from_ref(rule).addr();
        let recent = &self.recent[place / align_of::<Rule>() % PLACES];
        if recent.replace(place) != place {
            self.names.borrow_mut().insert(rule.name);
        }
    }

    pub(crate) fn names(&self) -> BTreeSet<&'static str> {
        self.names.borrow().clone()
    }
}
