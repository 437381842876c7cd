use mitmcraft_engine::filter::SplitMix64;

/// Numbers that look random and are the same for the same seed: content, not secrets.
#[derive(Debug, Clone)]
pub(super) struct Random(SplitMix64);

impl Random {
    /// Creates numbers for one purpose, independent of those for others.
    pub(super) fn named(seed: u64, purpose: &str) -> Self {
        let mixed =
            purpose.bytes().fold(seed, |seed, byte| SplitMix64::mix(seed ^ u64::from(byte)));
        Self(SplitMix64::new(mixed))
    }

    /// Returns a number below `bound`; 0 if the bound is 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        // The high half of a product of two 32-bit numbers has 32 bits.
        (((self.0.next_u64() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_within_their_bounds() {
        let numbers = |seed| {
            let mut random = Random::named(seed, "test");
            (0..1000).map(|_| random.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert!((0..7).all(|number| numbers(1).contains(&number)));
        assert!(numbers(1).iter().all(|number| *number < 7));
    }
}
