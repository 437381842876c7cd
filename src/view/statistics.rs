use super::List;
use mitmcraft_engine::analysis::Stats;
use mitmcraft_engine::capture::{Entry, Sink as _};

/// The statistics of the packets of a [`List`], counted in slices once it is known which packets these are.
///
/// Packets that come later are counted too. They belong to one list: create others when it has changed. Packets that are
/// no longer stored stay counted.
#[derive(Debug, Default)]
pub struct Statistics {
    stats: Stats,
    from: u64,
    complete: bool,
}

impl Statistics {
    /// Counts about `packets` more packets. Returns `true` once all are counted that there are now.
    pub fn advance(&mut self, list: &List, packets: usize) -> bool {
        if !list.is_complete() {
            return false;
        }
        let stats = &mut self.stats;
        let next = list.matches().records(self.from, packets, |_, record| {
            // Counting does not fail.
            let _ = stats.write(&Entry::Packet(record));
        });
        self.from = next.unwrap_or_else(|| list.snapshot().end());
        self.complete |= next.is_none();
        next.is_none()
    }

    /// Returns `true` once all packets were counted that there were at first.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the row up to which packets were counted.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.from
    }

    /// The statistics of the packets counted so far.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Packets counted before anything else gets its turn.
    pub const SLICE: usize = 1 << 15;
}
