use super::List;
use mitmcraft_engine::analysis::Stats;
use mitmcraft_engine::capture::{Entry, Sink as _};

/// The statistics of the packets of a [`List`], counted in slices once it is known which packets these are.
///
/// Packets that come after they were counted are not part of them. They belong to the list as it was when the first
/// slice was counted: create others when it has changed.
#[derive(Debug, Default)]
pub struct Statistics {
    stats: Stats,
    from: u64,
    complete: bool,
}

impl Statistics {
    /// Counts about `packets` more packets. Returns `true` once all are counted.
    pub fn advance(&mut self, list: &List, packets: usize) -> bool {
        if self.complete || !list.is_complete() {
            return self.complete;
        }
        let stats = &mut self.stats;
        let next = list.matches().records(self.from, packets, |_, record| {
            // Counting does not fail.
            let _ = stats.write(&Entry::Packet(record));
        });
        match next {
            Some(next) => self.from = next,
            None => self.complete = true,
        }
        self.complete
    }

    /// Returns `true` once all packets were counted.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The statistics of the packets counted so far.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Packets counted before anything else gets its turn.
    pub const SLICE: usize = 1 << 15;
}
