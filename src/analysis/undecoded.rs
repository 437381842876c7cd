use std::collections::BTreeMap;

use super::packet_name;
use crate::capture::Record;
use crate::packet::Undecoded;
use crate::schema::{Direction, State};

/// Counts what does not decode, by packet and reason.
///
/// Memory is bounded: beyond 256 reasons the others are counted together.
#[derive(Debug, Default)]
pub struct UndecodedCounts {
    counts: BTreeMap<UndecodedPacket, (u64, Example)>,
}

/// What did not decode, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UndecodedPacket {
    /// Which way it travelled.
    pub direction: Direction,
    /// In which state.
    pub state: State,
    /// The packet's name; `(unknown)` or `(no packet)` for what has none.
    pub packet: String,
    /// Why it does not decode.
    pub reason: String,
}

/// Session and number of the first such packet.
type Example = (u64, u64);

impl UndecodedCounts {
    /// Counts a packet if it does not decode. Decodes all of it.
    pub fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        let Some(error) = packet.error() else { return };
        let mut fault = UndecodedPacket {
            direction: packet.direction,
            state: packet.state,
            packet: packet_name(packet).to_owned(),
            reason: match &error {
                // The reason itself, whichever element of a list it was in.
                Undecoded::Decode(error) => without_places(&error.to_string()),
                error => error.to_string(),
            },
        };
        if self.counts.len() >= MAX_KINDS && !self.counts.contains_key(&fault) {
            OTHERS.clone_into(&mut fault.reason);
            OTHER_PACKETS.clone_into(&mut fault.packet);
        }
        let example = (packet.context.session, packet.seq);
        self.counts.entry(fault).or_insert((0, example)).0 += 1;
    }

    /// How many packets did not decode.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().map(|(count, _)| count).sum()
    }

    /// What did not decode, how often, and the session and number of the first; the most frequent
    /// first.
    #[must_use]
    pub fn rows(&self) -> Vec<(&UndecodedPacket, u64, (u64, u64))> {
        let rows = self.counts.iter().map(|(fault, (count, example))| (fault, *count, *example));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        rows
    }
}

/// The text with `[*]` in the place of `[3]`.
fn without_places(text: &str) -> String {
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

const MAX_KINDS: usize = 256;

const OTHERS: &str = "other reasons";

const OTHER_PACKETS: &str = "(others)";
