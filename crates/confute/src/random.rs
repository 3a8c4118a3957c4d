//! Reproducible random numbers.
//!
//! A seed in a report must denote the same run next year, so the generator is our own (xoshiro256++ seeded by
//! splitmix64) and so is the mapping from its bits to a number below a bound. Neither changes between versions: a
//! test pins both. Not for secrets.

/// A stream of random numbers, determined by its seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Returns the stream of this seed.
    pub fn new(seed: u64) -> Self {
        let mut mix = seed;
        let state = [(); 4].map(|()| {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = mix;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        });
        Self { state }
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high word of a product is as good as a remainder, and its bias (bound / 2⁶⁴) is negligible.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns `true` with probability `numerator` / `denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_never_changes() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..8).map(|_| random.below(1_000_000)).collect();
        assert_eq!(drawn, [811_612, 747_104, 100_150, 746_216, 184_678, 590_478, 986_874, 523_416]);
    }

    #[test]
    fn draws_are_spread_evenly() {
        let mut random = Random::new(7);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert!(!random.chance(0, 10));
    }
}
