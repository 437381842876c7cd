/// The limits of a [`Store`](super::Store). Beyond them, the oldest packets are forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOptions {
    /// Most rows kept in memory, of 32 bytes each.
    pub rows: u64,
    /// Most bytes of bodies kept in the spool file.
    pub spool: u64,
    /// Most contexts of sessions kept in memory, of about 500 bytes each: a session has one for each thing
    /// that becomes known of it.
    pub contexts: usize,
}

impl StoreOptions {
    /// Returns the limits for a capture that may take `memory` bytes, and as much of the disk as a live run.
    #[must_use]
    pub fn within(memory: usize) -> Self {
        // Half for rows, and half for contexts.
        Self { rows: memory as u64 / 64, contexts: memory / 1000, ..Self::default() }
    }

    /// Returns the limits for a capture, which is held as a whole.
    #[must_use]
    pub fn whole() -> Self {
        Self { rows: u64::MAX, spool: u64::MAX, contexts: usize::MAX }
    }
}

impl Default for StoreOptions {
    /// The window of a live run: 2 million rows (64 MB), 2 GiB of bodies, and 100,000 contexts (50 MB).
    fn default() -> Self {
        Self { rows: 2_000_000, spool: 2 << 30, contexts: 100_000 }
    }
}
