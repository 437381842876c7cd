use std::sync::{Arc, Mutex, PoisonError};

use crate::proxy::Metrics;
use mitmcraft_engine::analysis::CountsByPacket;
use mitmcraft_protocol::packet::Tally;

/// The counts of packets that were forwarded unchanged and not recorded, of all sessions of a run.
/// Clones share them.
///
/// A run whose sinks do without such packets ([`Sink::wants_packets`](mitmcraft_engine::capture::Sink::wants_packets))
/// counts them here instead of making records.
#[derive(Debug, Clone, Default)]
pub struct PassedCounts(Arc<Mutex<CountsByPacket>>);

impl PassedCounts {
    /// Returns the counts so far.
    #[must_use]
    pub fn get(&self) -> CountsByPacket {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves the counts of a session here and into `metrics`.
    pub(super) fn take(&self, tally: &mut Tally, metrics: &Metrics) {
        if tally.is_empty() {
            return;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tally.drain(|packet, passed| {
            metrics.count_passed(packet, passed);
            counts.add_passed(packet, passed);
        });
    }
}
