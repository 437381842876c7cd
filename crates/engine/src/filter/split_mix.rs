/// A small generator of pseudorandom numbers (SplitMix64): reproducible, and not for secrets.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator that yields the same numbers for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        Self::mix(self.0)
    }

    /// Scrambles the bits of a number.
    #[must_use]
    pub fn mix(mut number: u64) -> u64 {
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// The increment of the state: 2^64 divided by the golden ratio.
    pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
}
