use std::collections::BTreeMap;

use crate::capture::Record;
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::Diagnostic;
use mitmcraft_protocol::schema::Direction;

/// Counts the packets for which a peer would disconnect, by the rule that they break.
#[derive(Debug, Default)]
pub struct DiagnosticCounts {
    counts: BTreeMap<(Diagnostic, Direction), (u64, Example)>,
}

/// The session and the number of the first such packet.
type Example = (u64, u64);

impl DiagnosticCounts {
    /// Counts what is wrong with a packet.
    pub fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        for diagnostic in diagnose(packet).iter() {
            let example = (packet.context().session, packet.seq());
            let key = (diagnostic, packet.direction());
            self.counts.entry(key).or_insert((0, example)).0 += 1;
        }
    }

    /// Adds the counts of packets that follow.
    pub(super) fn add(&mut self, other: &Self) {
        for (key, (count, first)) in &other.counts {
            self.counts.entry(*key).or_insert((0, *first)).0 += count;
        }
    }

    /// Returns each diagnostic with the direction of its packets, their count, and the session and
    /// number of the first, the most frequent first.
    #[must_use]
    pub fn rows(&self) -> Vec<(Diagnostic, Direction, u64, (u64, u64))> {
        let counts = self.counts.iter();
        let rows =
            counts.map(|((diagnostic, way), (count, first))| (*diagnostic, *way, *count, *first));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(_, _, count, _)| std::cmp::Reverse(*count));
        rows
    }
}
