//! Sorted sets of facts that know the sum of their fingerprints.
//!
//! Vectors, not trees or tables: a hypothesis has a handful of live variables, and copying a few words beats chasing
//! pointers. Every change goes through here, so the sum always agrees with the content.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::fingerprint::Fingerprint;

/// Something that can be kept in a [`FactSet`].
pub(super) trait Fact {
    /// Where it goes among the others. Two facts that compare equal replace each other.
    fn order(&self, other: &Self) -> Ordering;

    /// What it adds to the fingerprint; `None` if it says nothing that its variable's sort does not say already.
    fn fingerprint(&self) -> Option<Fingerprint>;
}

/// A sorted set with room for `N` facts before it allocates.
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
    /// How many of them say something.
    pub(super) fn telling(&self) -> usize {
        self.telling
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.sum
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The fact for which `order` (the fact compared to what is sought) is equal.
    pub(super) fn get(&self, order: impl FnMut(&T) -> Ordering) -> Option<&T> {
        self.items.binary_search_by(order).ok().map(|at| &self.items[at])
    }

    /// Adds a fact, in place of the one it compares equal to.
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

    /// Changes facts without changing their place.
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

    /// Takes out every fact that `which` names, and gives them to `each`.
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

    /// Drops every fact that `which` names.
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
