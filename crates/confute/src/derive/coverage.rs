//! Which rules of a model were put to the test.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use crate::lang::Rule;

/// How many places of rules are remembered.
const PLACES: usize = 256;

/// The rules that were asked about.
pub(crate) struct Coverage {
    /// Where rules lie that were noted of late: this is asked for all the time, and their names would be slow to look up.
    recent: [Cell<usize>; PLACES],
    names: RefCell<BTreeSet<&'static str>>,
}

impl Default for Coverage {
    fn default() -> Self {
        Self { recent: [const { Cell::new(0) }; PLACES], names: RefCell::default() }
    }
}

impl Coverage {
    /// Notes that a rule was asked about.
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
