use std::collections::BTreeMap;

use crate::capture::Record;
use crate::text::packet_name;
use mitmcraft_protocol::packet::Undecoded;
use mitmcraft_protocol::schema::{Direction, State};

/// Counts packets that do not decode, by packet and reason.
///
/// Memory is bounded: after 256 combinations, further ones are counted together.
#[derive(Debug, Default)]
pub struct UndecodedCounts {
    counts: BTreeMap<UndecodedPacket, (u64, Example)>,
}

/// A kind of packet that does not decode, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UndecodedPacket {
    /// The packet's direction.
    pub direction: Direction,
    /// The packet's state.
    pub state: State,
    /// The packet's name; `(unknown)` for an unknown id, `(no packet)` for raw bytes.
    pub packet: String,
    /// The reason.
    pub reason: String,
}

/// The session and the number of the first such packet.
type Example = (u64, u64);

impl UndecodedCounts {
    /// Counts a packet if it does not decode. Decodes the whole packet.
    pub fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        let Some(error) = packet.error() else { return };
        let fault = UndecodedPacket {
            direction: packet.direction(),
            state: packet.state(),
            packet: packet_name(packet).to_owned(),
            reason: match &error {
                // The same reason in another element of a list is the same kind.
                Undecoded::Decode(error) => without_indices(&error.to_string()),
                error => error.to_string(),
            },
        };
        self.note(fault, 1, (packet.context().session, packet.seq()));
    }

    /// Adds the counts of packets that follow.
    pub(super) fn add(&mut self, other: Self) {
        for (fault, (count, first)) in other.counts {
            self.note(fault, count, first);
        }
    }

    fn note(&mut self, mut fault: UndecodedPacket, count: u64, first: Example) {
        if self.counts.len() >= MAX_KINDS && !self.counts.contains_key(&fault) {
            OTHERS.clone_into(&mut fault.reason);
            OTHER_PACKETS.clone_into(&mut fault.packet);
        }
        self.counts.entry(fault).or_insert((0, first)).0 += count;
    }

    /// Returns each kind with its count and the session and number of its first packet, the most
    /// frequent kind first.
    #[must_use]
    pub fn rows(&self) -> Vec<(&UndecodedPacket, u64, (u64, u64))> {
        let rows = self.counts.iter().map(|(fault, (count, example))| (fault, *count, *example));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        rows
    }
}

/// Replaces list indices such as `[3]` by `[*]`.
fn without_indices(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        match after[digits..].strip_prefix(']') {
            Some(tail) if digits > 0 => {
                out.push_str("[*]");
                rest = tail;
            }
            _ => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Kinds counted separately.
const MAX_KINDS: usize = 256;

const OTHERS: &str = "other reasons";

const OTHER_PACKETS: &str = "(others)";
