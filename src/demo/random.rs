/// Numbers that look random and are the same for the same seed (SplitMix64): content, not secrets.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// Numbers for one purpose, which others do not shift.
    pub(super) fn named(seed: u64, purpose: &str) -> Self {
        Self(purpose.bytes().fold(seed, |seed, byte| mix(seed ^ u64::from(byte))))
    }

    /// Numbers that belong to a place.
    pub(super) fn at(seed: u64, x: i32, z: i32) -> Self {
        let place = u64::from(x.cast_unsigned()) << 32 | u64::from(z.cast_unsigned());
        let mut random = Self(seed ^ mix(place));
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// 0 <= number < bound; 0 when the bound is 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        // The high half of a product of two 32-bit numbers has 32 bits.
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// -bound <= number <= bound
    pub(super) fn around(&mut self, bound: u16) -> i32 {
        let bound = u32::from(bound);
        self.below(2 * bound + 1).cast_signed() - bound.cast_signed()
    }

    /// One of them.
    ///
    /// # Panics
    /// When there is none.
    pub(super) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(u32::try_from(choices.len()).unwrap_or(u32::MAX)) as usize]
    }

    /// That many bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        std::iter::repeat_with(|| (self.next() >> 56) as u8).take(count).collect()
    }
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

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
