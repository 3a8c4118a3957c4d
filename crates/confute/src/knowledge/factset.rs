//! Sorted sets of facts that maintain the sum of their fingerprints.
//!
//! They are vectors, not trees or hash tables: a hypothesis has a handful of live variables, and copying a
//! few words is faster than following pointers. Every change goes through this type, so the sum always agrees
//! with the content.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::fingerprint::Fingerprint;

/// An element of a [`FactSet`].
pub(super) trait Fact {
    /// Compares two facts for sorting. A fact replaces the one it compares equal to.
    fn order(&self, other: &Self) -> Ordering;

    /// Returns the contribution to the fingerprint; `None` if the sort of the variable already implies the
    /// fact.
    fn fingerprint(&self) -> Option<Fingerprint>;
}

/// Sorted set with room for `N` facts before it allocates.
#[derive(Clone)]
pub(super) struct FactSet<T, const N: usize> {
    items: SmallVec<[T; N]>,
    sum: Fingerprint,
    telling: usize,
}

impl<T, const N: usize> Default for FactSet<T, N> {
    fn default() -> Self {
        Self { items: SmallVec::new(), sum: Fingerprint::default(), telling: 0 }
    }
}

impl<T: Fact, const N: usize> FactSet<T, N> {
    /// Returns the number of facts that contribute to the fingerprint.
    pub(super) fn telling(&self) -> usize {
        self.telling
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.sum
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Returns the fact for which `order` (comparing the fact with the sought one) is equal.
    pub(super) fn get(&self, order: impl FnMut(&T) -> Ordering) -> Option<&T> {
        self.items.binary_search_by(order).ok().map(|at| &self.items[at])
    }

    /// Adds a fact, replacing the one it compares equal to.
    pub(super) fn put(&mut self, fact: T) {
        self.count(&fact);
        match self.items.binary_search_by(|item| item.order(&fact)) {
            Ok(at) => {
                let old = std::mem::replace(&mut self.items[at], fact);
                self.discount(&old);
            }
            Err(at) => self.items.insert(at, fact),
        }
    }

    /// Changes the facts selected by `which`, without changing their order.
    pub(super) fn update(&mut self, which: impl Fn(&T) -> bool, change: impl Fn(&mut T)) {
        for item in &mut self.items {
            if !which(item) {
                continue;
            }
            if let Some(before) = item.fingerprint() {
                self.sum = self.sum.minus(before);
                self.telling -= 1;
            }
            change(item);
            if let Some(after) = item.fingerprint() {
                self.sum = self.sum.plus(after);
                self.telling += 1;
            }
        }
    }

    /// Removes every fact selected by `which`, and passes it to `each`.
    pub(super) fn extract(&mut self, mut which: impl FnMut(&T) -> bool, mut each: impl FnMut(T)) {
        let mut at = 0;
        while at < self.items.len() {
            if which(&self.items[at]) {
                let fact = self.items.remove(at);
                self.discount(&fact);
                each(fact);
            } else {
                at += 1;
            }
        }
    }

    /// Removes every fact selected by `which`.
    pub(super) fn drop_if(&mut self, which: impl FnMut(&T) -> bool) {
        self.extract(which, drop);
    }

    fn count(&mut self, fact: &T) {
        if let Some(fingerprint) = fact.fingerprint() {
            self.sum = self.sum.plus(fingerprint);
            self.telling += 1;
        }
    }

    fn discount(&mut self, fact: &T) {
        if let Some(fingerprint) = fact.fingerprint() {
            self.sum = self.sum.minus(fingerprint);
            self.telling -= 1;
        }
    }
}
