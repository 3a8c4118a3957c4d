//! Sets of rules, as small and quick as sets of numbers are.

use confute::lang::Rule;

/// A set of rules: of an origin server, of a gateway, or of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RuleSet(u128);

confute::plain!(RuleSet);

impl RuleSet {
    /// The set that holds the rule in this place of the table alone.
    pub(crate) const fn nth(place: usize) -> Self {
        Self(1 << place)
    }

    /// The set that holds this rule alone. Its name is looked up: where that is asked all the time, there are constants.
    pub(crate) fn of(rule: &Rule) -> Self {
        Self::named(rule.name)
    }

    /// The set that holds the rule of this name alone.
    pub(crate) fn named(name: &str) -> Self {
        let place = super::all().position(|other| other.name == name);
        place.map_or(Self::default(), Self::nth)
    }

    /// Adds the rules of another set.
    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Adds the rules of another set if they are broken.
    pub(crate) fn add_if(&mut self, is_broken: bool, other: Self) {
        if is_broken {
            self.add(other);
        }
    }

    /// Removes the rules of another set.
    pub(crate) fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }

    /// All rules of another set are in this one.
    pub(crate) fn has(self, other: Self) -> bool {
        other.within(self)
    }

    /// All rules of this set are in another.
    pub(crate) fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}
