use serde_json::Value as Json;

use crate::analysis::{Sort, Stats};
use crate::capture::{Entry, Sink as _};
use crate::store::Matches;

/// Statistics of a list that are being counted.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    stats: Stats,
    from: u64,
}

impl Statistics {
    /// Counts some more packets. Returns the report once all are counted.
    pub(super) fn advance(&mut self, list: &Matches) -> Option<Json> {
        let stats = &mut self.stats;
        let next = list.records(self.from, SLICE, |_, record| {
            // Counting does not fail.
            let _ = stats.write(&Entry::Packet(record));
        });
        match next {
            Some(next) => {
                self.from = next;
                None
            }
            None => {
                let mut report = self.stats.report(Sort::Bytes).json();
                report["timeline"]["names"] = self.stats.timeline().names_json();
                Some(report)
            }
        }
    }
}

/// Packets counted before anything else gets its turn.
const SLICE: usize = 1 << 15;
