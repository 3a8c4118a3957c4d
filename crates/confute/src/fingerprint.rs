//! 128-bit fingerprints of values and configurations.
//!
//! The search remembers configurations by fingerprint, so two different ones must never share one: a collision could
//! end in a false refutation. Two independent folded-multiply lanes of 64 bits each give 128 bits whose collisions are
//! out of reach for any run. Fingerprints depend on nothing but the value: not on addresses, not on the run.

use std::hash::{Hash, Hasher};

/// A 128-bit fingerprint. Equal values have equal fingerprints; different ones differ for every practical purpose.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u128);

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:032x}", self.0)
    }
}

impl Fingerprint {
    /// Returns the fingerprint of a value.
    pub fn of<T: Hash + ?Sized>(value: &T) -> Self {
        let mut hasher = FingerprintHasher::default();
        value.hash(&mut hasher);
        hasher.fingerprint()
    }

    /// Combines two fingerprints in a way that does not depend on their order: for sets and maps.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// Reverts an addition by [`Fingerprint::plus`].
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

const SEEDS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];
const KEYS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];

/// The hasher behind [`Fingerprint::of`].
#[derive(Clone)]
pub struct FingerprintHasher {
    lanes: [u64; 2],
}

impl Default for FingerprintHasher {
    fn default() -> Self {
        Self { lanes: SEEDS }
    }
}

impl FingerprintHasher {
    /// Returns the fingerprint of everything hashed so far.
    pub fn fingerprint(&self) -> Fingerprint {
        let high = fold(self.lanes[0] ^ KEYS[1], SEEDS[1] ^ self.lanes[1].rotate_left(17));
        let low = fold(self.lanes[1] ^ KEYS[0], SEEDS[0] ^ self.lanes[0].rotate_left(29));
        Fingerprint((u128::from(high) << 64) | u128::from(low))
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a).wrapping_mul(u128::from(b));
    (wide as u64) ^ ((wide >> 64) as u64)
}

impl Hasher for FingerprintHasher {
    fn finish(&self) -> u64 {
        self.fingerprint().0 as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        // The lanes mix the word with different keys, so that a collision in one lane does not help the other.
        self.lanes[0] = fold(self.lanes[0] ^ value, KEYS[0]).wrapping_add(value.rotate_left(32));
        self.lanes[1] = fold(self.lanes[1].wrapping_add(value), KEYS[1]) ^ value;
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
        self.write_u64((value >> 64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn near_values_get_far_fingerprints() {
        let seen: BTreeSet<Fingerprint> = (0u32..100_000).map(|n| Fingerprint::of(&(n, n + 1))).collect();
        assert_eq!(seen.len(), 100_000);
        let halves: BTreeSet<u64> = seen.iter().map(|f| f.0 as u64).collect();
        assert_eq!(halves.len(), 100_000, "each half alone tells them apart");
    }

    #[test]
    fn lengths_count() {
        assert_ne!(Fingerprint::of(&[0u8; 7][..]), Fingerprint::of(&[0u8; 8][..]));
        assert_ne!(Fingerprint::of(&("a", "bc")), Fingerprint::of(&("ab", "c")));
    }
}
