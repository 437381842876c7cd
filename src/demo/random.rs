use crate::packet::SplitMix64;

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

    /// Creates numbers that belong to a place.
    pub(super) fn at(seed: u64, x: i32, z: i32) -> Self {
        let place = u64::from(x.cast_unsigned()) << 32 | u64::from(z.cast_unsigned());
        let mut random = SplitMix64::new(seed ^ SplitMix64::mix(place));
        random.next();
        Self(random)
    }

    /// Returns a number below `bound`; 0 if the bound is 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        // The high half of a product of two 32-bit numbers has 32 bits.
        (((self.0.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// Returns a number from `-bound` to `bound`.
    pub(super) fn around(&mut self, bound: u16) -> i32 {
        let bound = u32::from(bound);
        self.below(2 * bound + 1).cast_signed() - bound.cast_signed()
    }

    /// Returns one of `choices`.
    ///
    /// # Panics
    /// If there are none.
    pub(super) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(u32::try_from(choices.len()).unwrap_or(u32::MAX)) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_within_their_bounds() {
        let numbers = |seed| {
            let mut random = Random::named(seed, "test");
            (0..1000).map(|_| (random.below(7), random.around(3))).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        for bound in 0..7 {
            assert!(
                numbers(1)
                    .iter()
                    .any(|(below, around)| { *below == bound && (-3..=3).contains(around) })
            );
        }
        assert!(numbers(1).iter().all(|(below, _)| *below < 7));
    }
}
