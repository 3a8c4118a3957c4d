//! Bounds of integers and of their differences, always closed: every implied bound is stored or can be read
//! off.
//!
//! The bounds form a graph whose edges `a − b ≤ c` connect the variables and zero; a bound of one variable is
//! an edge to or from zero. The graph is closed if no path is shorter than the edge between its ends. A
//! literal is then decided by a lookup, a negative cycle shows at the edge that would close it, and removing
//! a variable loses no bound among the others.
//!
//! An edge between two variables is stored only if it is shorter than the path through zero. Variables that
//! have bounds but no relation to each other therefore cost one entry each, and the form is still canonical.
//!
//! The arithmetic is exact: a sum has at most as many 64-bit bounds as there are variables, which fits into
//! 128 bits.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::fingerprint::Fingerprint;

use super::contradiction::{Contradiction, Reason};
use super::factset::{Fact, FactSet};
use super::term::Var;

/// Length of a missing edge: no bound.
pub(super) const NONE: i128 = i128::MAX / 4;

/// Node of the graph: a variable, or zero.
pub(super) type Node = Option<Var>;

/// The node zero, which connects variables with constants.
pub(super) const ZERO: Node = None;

/// A closed set of bounds.
#[derive(Clone, Default)]
pub(super) struct Differences {
    ranges: FactSet<Range, 2>,
    pairs: FactSet<Pair, 2>,
}

/// Bounds of one variable: `low ≤ var ≤ high`.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) var: Var,
    pub(super) low: i128,
    pub(super) high: i128,
    /// Number of choices, from zero up, that the sort of `var` implies without any fact; `None` if it is
    /// unlimited.
    choices: Option<u32>,
}

/// An edge between two variables, `left − right ≤ by`, that is shorter than the path through zero.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) left: Var,
    pub(super) right: Var,
    pub(super) by: i128,
}

impl Range {
    fn of_sort(var: Var, choices: Option<u32>) -> Self {
        match choices {
            None => Self { var, low: -NONE, high: NONE, choices },
            Some(count) => Self { var, low: 0, high: i128::from(count) - 1, choices },
        }
    }

    /// Returns the only possible value, if there is only one and it fits into an `i64`.
    pub(super) fn fixed(&self) -> Option<i64> {
        if self.low == self.high { i64::try_from(self.low).ok() } else { None }
    }
}

impl Fact for Range {
    fn order(&self, other: &Self) -> Ordering {
        self.var.cmp(&other.var)
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        let plain = Range::of_sort(self.var, self.choices);
        ((self.low, self.high) != (plain.low, plain.high))
            .then(|| Fingerprint::of(&(b'r', self.var, self.low, self.high)))
    }
}

impl Fact for Pair {
    fn order(&self, other: &Self) -> Ordering {
        (self.left, self.right).cmp(&(other.left, other.right))
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        Some(Fingerprint::of(&(b'd', self.left, self.right, self.by)))
    }
}

impl Differences {
    pub(super) fn len(&self) -> usize {
        self.ranges.telling() + self.pairs.telling()
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.ranges.fingerprint().plus(self.pairs.fingerprint())
    }

    pub(super) fn ranges(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter()
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter()
    }

    /// Returns the bounds of a variable, unlimited if none are known.
    pub(super) fn range(&self, var: Var) -> Range {
        self.ranges.get(|range| range.var.cmp(&var)).copied().unwrap_or(Range::of_sort(var, None))
    }

    /// Introduces a variable with this number of choices.
    pub(super) fn declare_choice(&mut self, var: Var, choices: u32) {
        self.ranges.put(Range::of_sort(var, Some(choices)));
    }

    /// Returns the smallest `c` with `a − b ≤ c`, or [`NONE`].
    pub(super) fn distance(&self, a: Node, b: Node) -> i128 {
        match (a, b) {
            (None, None) => 0,
            (Some(a), None) => self.range(a).high,
            (None, Some(b)) => -self.range(b).low,
            (Some(a), Some(b)) if a == b => 0,
            (Some(a), Some(b)) => {
                let through_zero = sum(self.range(a).high, -self.range(b).low);
                self.pair(a, b).min(through_zero)
            }
        }
    }

    /// Adds `a − b ≤ by`. Returns `true` if any bound changed.
    pub(super) fn tighten(&mut self, a: Node, b: Node, by: i128) -> Result<bool, Contradiction> {
        if self.distance(a, b) <= by {
            return Ok(false);
        }
        if sum(by, self.distance(b, a)) < 0 {
            return Err(Reason::Order.into());
        }
        // Every path that becomes shorter runs along u → a → b → v. Paths that reach `a` or leave `b` through
        // zero need not be examined: they only shorten paths from or to zero, and those are the new ranges.
        let before_a = self.around(a, |pair| (pair.right, pair.left));
        let after_b = self.around(b, |pair| (pair.left, pair.right));
        let (to_a, from_b) = (self.distance(ZERO, a), self.distance(b, ZERO));
        for &(u, way) in &before_a {
            let mut range = self.range(u);
            let high = sum(way + by, from_b);
            if high < range.high {
                range.high = high;
                self.ranges.put(range);
            }
        }
        for &(v, way) in &after_b {
            let mut range = self.range(v);
            let low = -sum(to_a, by + way);
            if low > range.low {
                range.low = low;
                self.ranges.put(range);
            }
        }
        for &(u, start) in &before_a {
            for &(v, end) in &after_b {
                let by = start + by + end;
                if u != v && by < self.distance(Some(u), Some(v)) {
                    self.pairs.put(Pair { left: u, right: v, by });
                }
            }
        }
        let ranges = &self.ranges;
        self.pairs.drop_if(|pair| {
            let end = |var: Var| ranges.get(|range| range.var.cmp(&var));
            match (end(pair.left), end(pair.right)) {
                (Some(left), Some(right)) => sum(left.high, -right.low) <= pair.by,
                _ => false,
            }
        });
        Ok(true)
    }

    /// Removes a variable. The bounds it implied among the others are stored already, and stay.
    pub(super) fn remove(&mut self, var: Var) {
        self.ranges.drop_if(|range| range.var == var);
        self.pairs.drop_if(|pair| pair.left == var || pair.right == var);
    }

    /// Renames a variable to `new`, whose sort has this number of choices.
    pub(super) fn rename(&mut self, old: Var, new: Var, choices: Option<u32>) {
        let range = Range { var: new, choices, ..self.range(old) };
        let mut moved = SmallVec::<[Pair; 4]>::new();
        self.pairs.extract(|pair| pair.left == old || pair.right == old, |pair| moved.push(pair));
        self.remove(old);
        self.remove(new);
        let name = |var| if var == old { new } else { var };
        for Pair { left, right, by } in moved {
            self.pairs.put(Pair { left: name(left), right: name(right), by });
        }
        if choices.is_some() || range.low > -NONE || range.high < NONE {
            self.ranges.put(range);
        }
    }

    /// Adds the bounds of `other`. The two must have no variable in common.
    pub(super) fn absorb(&mut self, other: &Self) {
        for range in other.ranges() {
            self.ranges.put(*range);
        }
        for pair in other.pairs() {
            self.pairs.put(*pair);
        }
    }

    fn pair(&self, left: Var, right: Var) -> i128 {
        self.pairs.get(|pair| (pair.left, pair.right).cmp(&(left, right))).map_or(NONE, |pair| pair.by)
    }

    /// Returns the node itself and its neighbours along stored edges, each with its distance; empty for zero.
    fn around(&self, node: Node, ends: impl Fn(&Pair) -> (Var, Var)) -> SmallVec<[(Var, i128); 4]> {
        let Some(node) = node else { return SmallVec::new() };
        let mut found = SmallVec::from_slice(&[(node, 0)]);
        for pair in self.pairs() {
            let (here, there) = ends(pair);
            if here == node {
                found.push((there, pair.by));
            }
        }
        found
    }
}

/// Returns the length of two consecutive edges.
fn sum(a: i128, b: i128) -> i128 {
    if a >= NONE || b >= NONE { NONE } else { a + b }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Var = Var(1);
    const Y: Var = Var(2);
    const Z: Var = Var(3);

    #[test]
    fn chains_are_closed() {
        let mut bounds = Differences::default();
        assert!(bounds.tighten(Some(X), Some(Y), -1).unwrap());
        assert!(bounds.tighten(Some(Y), Some(Z), -1).unwrap());
        assert_eq!(bounds.distance(Some(X), Some(Z)), -2);
        assert!(bounds.tighten(Some(Z), Some(X), 1).is_err());
    }

    #[test]
    fn bounds_travel_along_differences() {
        let mut bounds = Differences::default();
        bounds.tighten(Some(X), Some(Y), -5).unwrap();
        bounds.tighten(Some(Y), ZERO, 10).unwrap();
        bounds.tighten(ZERO, Some(X), -5).unwrap();
        assert_eq!(bounds.range(X).fixed(), Some(5));
        assert_eq!(bounds.range(Y).fixed(), Some(10));
        assert_eq!(bounds.pairs().count(), 0, "implied through zero");
    }

    #[test]
    fn extreme_bounds_do_not_overflow() {
        let mut bounds = Differences::default();
        for (a, b) in [(1, 2), (2, 3), (3, 4)] {
            bounds.tighten(Some(Var(a)), Some(Var(b)), i64::MIN.into()).unwrap();
        }
        assert_eq!(bounds.distance(Some(Var(1)), Some(Var(4))), 3 * i128::from(i64::MIN));
        bounds.tighten(Some(Var(4)), ZERO, i64::MAX.into()).unwrap();
        bounds.tighten(ZERO, Some(Var(4)), (-i64::MAX).into()).unwrap();
        assert_eq!(bounds.range(Var(1)).fixed(), None);
    }
}
