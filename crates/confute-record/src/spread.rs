//! Distributions of numbers: exact for small numbers, by powers of two for large ones.

use serde::{Deserialize, Serialize};

/// Limit below which every number is counted separately.
const EXACT: usize = 256;

/// A distribution of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    counts: Vec<u64>,
    total: u64,
    largest: u64,
}

/// Quantiles of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Number of values.
    pub count: u64,
    /// 10th percentile.
    pub p10: u64,
    /// Median.
    pub median: u64,
    /// 90th percentile.
    pub p90: u64,
    /// Largest value.
    pub max: u64,
}

impl Spread {
    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        let place = place(value);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.total += 1;
        self.largest = self.largest.max(value);
    }

    /// Adds the values of another distribution.
    pub fn merge(&mut self, other: &Spread) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.largest = self.largest.max(other.largest);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the smallest number that this percentage of the values do not exceed; 0 if there are no
    /// values. Large numbers are rounded up to a power of two, less one.
    pub fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.total * percent).div_ceil(100).max(1);
        let mut sum = 0;
        for (place, count) in self.counts.iter().enumerate() {
            sum += count;
            if sum >= wanted {
                return value(place).min(self.largest);
            }
        }
        0
    }

    /// Returns the median.
    pub fn median(&self) -> u64 {
        self.percentile(50)
    }

    /// Returns the quantiles.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            count: self.total,
            p10: self.percentile(10),
            median: self.median(),
            p90: self.percentile(90),
            max: self.largest,
        }
    }
}

fn place(value: u64) -> usize {
    if value < EXACT as u64 {
        return value as usize;
    }
    EXACT + (value / EXACT as u64).ilog2() as usize
}

/// Returns the largest number that is counted in this place.
fn value(place: usize) -> u64 {
    if place < EXACT { place as u64 } else { ((EXACT as u64) << (place - EXACT + 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let mut spread = Spread::default();
        assert_eq!(spread.quantiles(), Quantiles::default());
        (1..=100).for_each(|number| spread.add(number));
        assert_eq!((spread.percentile(10), spread.median(), spread.percentile(90)), (10, 50, 90));
        let mut large = Spread::default();
        [300, 400, 100_000].into_iter().for_each(|number| large.add(number));
        assert_eq!((large.median(), large.percentile(100)), (511, 100_000));
        spread.merge(&large);
        assert_eq!((spread.count(), spread.quantiles().max), (103, 100_000));
    }
}
