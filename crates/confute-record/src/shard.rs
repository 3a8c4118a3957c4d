//! Shards: the parts of a campaign that different machines run without talking to each other.
//!
//! Shard `I` of `N` takes every case whose number leaves the remainder `I` when divided by `N`. The seed of a case
//! follows from the seed of the campaign and the number of the case, so a case is the same however the campaign is
//! split. Remainders rather than blocks, because a campaign may have no last case, and because an exhaustive run orders
//! its scripts by size: with blocks the last shard would have all the long ones.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Largest number of shards of a campaign.
pub const MOST_SHARDS: u64 = 1_000_000;

/// One part of a campaign that is split into several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shard {
    /// Number of the shard, counted from zero.
    pub index: u64,
    /// Number of all shards.
    pub of: u64,
}

impl Shard {
    /// The only shard of a campaign that is not split.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Creates shard `index` of `of`. Fails if there is no such shard.
    pub fn new(index: u64, of: u64) -> Result<Self, String> {
        if of == 0 || of > MOST_SHARDS {
            return Err(format!("{of} shards: from 1 to {MOST_SHARDS} are possible"));
        }
        if index >= of {
            return Err(format!("there is no shard {index} of {of}: they are counted from 0 to {}", of - 1));
        }
        Ok(Self { index, of })
    }

    /// Returns `true` if the case of this number belongs to the shard.
    pub fn takes(self, number: u64) -> bool {
        number % self.of == self.index
    }

    /// Returns the number of the case at this place in the shard, counted from zero. `None` if it exceeds all numbers.
    pub fn number(self, place: u64) -> Option<u64> {
        place.checked_mul(self.of)?.checked_add(self.index)
    }

    /// Returns the number of cases of the shard if the campaign has this many.
    pub fn share(self, cases: u64) -> u64 {
        cases / self.of + u64::from(self.index < cases % self.of)
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} of {}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Parses `I/N`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected I/N, for example 0/16 for the first of 16 shards, and not `{text}`");
        let (index, of) = text.split_once('/').ok_or_else(expected)?;
        Self::new(index.parse().map_err(|_| expected())?, of.parse().map_err(|_| expected())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number belongs to exactly one shard, at the place that the arithmetic names. The last number of cases is
    /// that of the exhaustive run of three requests.
    #[test]
    fn every_case_is_in_exactly_one_shard() {
        for of in [1, 2, 3, 7, 8, 16, 1000] {
            for cases in [0, 1, 5, 16, 17, 1400, 159_800] {
                let mut times = vec![0_u8; cases as usize];
                let mut sum = 0;
                for index in 0..of {
                    let shard = Shard::new(index, of).unwrap();
                    let share = shard.share(cases);
                    sum += share;
                    for place in 0..share {
                        let number = shard.number(place).unwrap();
                        assert!(shard.takes(number));
                        times[number as usize] += 1;
                    }
                    assert!(shard.number(share).unwrap() >= cases);
                }
                assert_eq!(sum, cases);
                assert!(times.iter().all(|times| *times == 1), "{cases} cases in {of} shards");
            }
        }
    }

    #[test]
    fn notation() {
        assert_eq!("3/16".parse(), Shard::new(3, 16));
        assert_eq!(Shard { index: 3, of: 16 }.to_string(), "shard 3 of 16");
        for wrong in ["", "3", "16/16", "1/0", "-1/2", "a/b", "0/1000001"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert_eq!(Shard { index: 1, of: 2 }.number(u64::MAX), None);
    }
}
