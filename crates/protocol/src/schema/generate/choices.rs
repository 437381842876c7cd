/// The bytes that decide a generation; after the last one, all are 0.
pub(super) struct Choices<'c> {
    bytes: &'c [u8],
    next: usize,
}

impl<'c> Choices<'c> {
    pub(super) fn new(bytes: &'c [u8]) -> Self {
        Self { bytes, next: 0 }
    }

    pub(super) fn are_used_up(&self) -> bool {
        self.next >= self.bytes.len()
    }

    pub(super) fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        byte
    }

    /// Returns a number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        match limit {
            0..=256 => usize::from(self.byte()) % limit,
            _ => (usize::from(self.byte()) << 8 | usize::from(self.byte())) % limit,
        }
    }

    /// Returns `true` in `of_256` of 256 cases.
    pub(super) fn chance(&mut self, of_256: u8) -> bool {
        self.byte() > 255 - of_256
    }

    /// Returns a number of up to `bits` bits; small numbers and the limits are more frequent.
    pub(super) fn int(&mut self, bits: u32) -> i64 {
        let all = (0..8).map(|_| self.byte()).fold(0i64, |all, byte| all << 8 | i64::from(byte));
        match self.byte() {
            0..128 => all & 0x3f,
            128..150 => -1,
            150..170 => i64::MIN >> (63 - bits.min(63)),
            170..190 => i64::MAX >> (63 - bits.min(63)),
            _ => all >> (63 - bits.min(63)),
        }
    }
}
