use crate::capture::{Outcome, Record};

/// Counts of packets and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCounts {
    /// Number of packets received from a peer.
    pub packets: u64,
    /// Bytes of their bodies (id and fields, inflated).
    pub bytes: u64,
    /// Bytes that they had on the wire.
    pub wire: u64,
    /// Size of the smallest body in bytes.
    pub smallest: u64,
    /// Size of the largest body in bytes.
    pub largest: u64,
    /// Number of them that were dropped.
    pub dropped: u64,
    /// Number of them that were rewritten.
    pub rewritten: u64,
    /// Number of packets made by the proxy, which no other count includes.
    pub made: u64,
}

impl PacketCounts {
    /// Counts a packet.
    pub(super) fn count(&mut self, record: &Record) {
        self.add(&Self::of(record));
    }

    /// Adds other counts.
    pub(super) fn add(&mut self, other: &Self) {
        if other.packets > 0 {
            self.smallest = match self.packets {
                0 => other.smallest,
                _ => self.smallest.min(other.smallest),
            };
        }
        self.largest = self.largest.max(other.largest);
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.wire += other.wire;
        self.dropped += other.dropped;
        self.rewritten += other.rewritten;
        self.made += other.made;
    }

    /// Sums up counts.
    pub(super) fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        all.into_iter().fold(Self::default(), |mut sum, counts| {
            sum.add(counts);
            sum
        })
    }

    /// Describes what the proxy did to the packets; empty if it forwarded all unchanged.
    pub(super) fn interventions(&self) -> String {
        let done = [(self.dropped, "dropped"), (self.rewritten, "rewritten"), (self.made, "made")];
        let done = done.iter().filter(|(count, _)| *count > 0);
        let done: Vec<String> = done.map(|(count, what)| format!("{count} {what}")).collect();
        done.join(", ")
    }

    fn of(record: &Record) -> Self {
        if record.outcome == Outcome::Send {
            // A replacement has been counted as the packet that it replaces.
            return Self { made: u64::from(record.of.is_none()), ..Self::default() };
        }
        Self {
            packets: 1,
            bytes: record.packet.size() as u64,
            wire: record.packet.wire_size() as u64,
            smallest: record.packet.size() as u64,
            largest: record.packet.size() as u64,
            dropped: u64::from(record.outcome == Outcome::Drop),
            rewritten: u64::from(record.outcome == Outcome::Rewrite),
            made: 0,
        }
    }
}
