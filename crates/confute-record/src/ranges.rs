//! Sets of numbers that mostly follow each other: the cases of a campaign that are done.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A set of numbers, stored as ranges. Cases end almost in order, so there are few ranges however many cases there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranges {
    /// The first number of each range, and the last one. No two ranges touch.
    ranges: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Returns `true` if the number is in the set.
    pub fn contains(&self, number: u64) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, last)| *last >= number)
    }

    /// Adds a number.
    pub fn insert(&mut self, number: u64) {
        if self.contains(number) {
            return;
        }
        let before = self.ranges.range(..number).next_back().filter(|(_, last)| **last + 1 == number);
        let first = before.map_or(number, |(first, _)| *first);
        let after = number.checked_add(1).and_then(|next| self.ranges.remove(&next));
        self.ranges.insert(first, after.unwrap_or(number));
    }

    /// Returns the count of numbers in the set.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }
}

impl FromIterator<u64> for Ranges {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut ranges = Self::default();
        numbers.into_iter().for_each(|number| ranges.insert(number));
        ranges
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_a_plain_set(numbers in proptest::collection::vec(0_u64..40, 0..60)) {
            let ranges: Ranges = numbers.iter().copied().collect();
            let plain: std::collections::BTreeSet<u64> = numbers.into_iter().collect();
            prop_assert_eq!(ranges.count(), plain.len() as u64);
            for number in 0..42 {
                prop_assert_eq!(ranges.contains(number), plain.contains(&number));
            }
            let touching = ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).any(|(one, next)| one.1 + 1 >= *next.0);
            prop_assert!(!touching);
        }
    }

    #[test]
    fn the_largest_numbers() {
        let ranges: Ranges = [u64::MAX, u64::MAX - 1].into_iter().collect();
        assert!(ranges.contains(u64::MAX) && ranges.contains(u64::MAX - 1) && !ranges.contains(0));
    }
}
