use std::collections::HashMap;
use std::fmt::Write as _;

use super::PacketCounts;
use crate::capture::Record;
use crate::packet::Packet;
use crate::schema::{Direction, Name, State};
use crate::text::{ByteSize, Escaped};

/// Packet counts by kind of packet.
#[derive(Debug, Clone, Default)]
pub struct CountsByPacket {
    kinds: HashMap<(Direction, State), HashMap<Name, PacketCounts>>,
}

/// The counts of one kind of packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedPacket {
    /// The packet's direction.
    pub direction: Direction,
    /// The packet's state.
    pub state: State,
    /// The packet's name; `(unknown)` for an unknown id, `(no packet)` for raw bytes.
    pub name: Name,
    /// The counts.
    pub counts: PacketCounts,
}

impl CountsByPacket {
    /// Returns the counts of every kind, most bytes first.
    #[must_use]
    pub fn rows(&self) -> Vec<CountedPacket> {
        let mut rows: Vec<CountedPacket> = self
            .kinds
            .iter()
            .flat_map(|(&(direction, state), names)| {
                names.iter().map(move |(name, &counts)| {
                    let name = Name::clone(name);
                    CountedPacket { direction, state, name, counts }
                })
            })
            .collect();
        rows.sort_unstable_by(|a, b| {
            let order = (b.counts.bytes, b.counts.packets).cmp(&(a.counts.bytes, a.counts.packets));
            let place = |row: &CountedPacket| (row.direction, row.state, Name::clone(&row.name));
            order.then_with(|| place(a).cmp(&place(b)))
        });
        rows
    }

    /// Sums up all kinds.
    #[must_use]
    pub fn total(&self) -> PacketCounts {
        let mut total = PacketCounts::default();
        for counts in self.kinds.values().flat_map(HashMap::values) {
            total.add(counts);
        }
        total
    }

    /// Appends a table of all kinds, most bytes first, and their sum.
    pub fn write_table(&self, out: &mut String) {
        let head = ["packets", "bytes", "on the wire"];
        let _ = writeln!(out, "{:>9}  {:>11}  {:>11}  packet", head[0], head[1], head[2]);
        for row in self.rows() {
            let arrow = match row.direction {
                Direction::Serverbound => '→',
                Direction::Clientbound => '←',
            };
            let name = format!("{arrow} {} {}", row.state, Escaped(&row.name));
            write_row(out, &row.counts, &name);
        }
        write_row(out, &self.total(), "total");
    }

    /// Adds the counts of packets of one type that were forwarded unchanged.
    #[cfg(feature = "proxy")]
    pub(crate) fn add_passed(
        &mut self,
        packet: &crate::schema::PacketType,
        passed: &crate::packet::TypeCounts,
    ) {
        let names = self.kinds.entry((packet.direction(), packet.state())).or_default();
        let crate::packet::TypeCounts { packets, bytes, wire, smallest, largest } = *passed;
        let passed =
            PacketCounts { packets, bytes, wire, smallest, largest, ..PacketCounts::default() };
        match names.get_mut(packet.name()) {
            Some(counts) => counts.add(&passed),
            None => {
                names.insert(Name::clone(packet.name()), passed);
            }
        }
    }

    pub(super) fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        let name = packet.kind().map(|packet| packet.name());
        let key = packet_name(packet);
        let names = self.kinds.entry((packet.direction, packet.state)).or_default();
        let counts = match names.get_mut(key) {
            Some(counts) => counts,
            None => {
                let name = name.map_or_else(|| Name::from(key), Name::clone);
                names.entry(name).or_default()
            }
        };
        counts.count(record);
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        for (place, names) in &other.kinds {
            let mine = self.kinds.entry(*place).or_default();
            for (name, counts) in names {
                mine.entry(Name::clone(name)).or_default().add(counts);
            }
        }
    }
}

/// Returns the packet's name, or its replacement in tables.
pub(super) fn packet_name(packet: &Packet) -> &str {
    match (packet.kind(), packet.frame()) {
        (Some(packet), _) => packet.name(),
        (None, Some(_)) => UNKNOWN,
        (None, None) => NO_PACKET,
    }
}

fn write_row(out: &mut String, counts: &PacketCounts, name: &str) {
    let (bytes, wire) = (ByteSize(counts.bytes).to_string(), ByteSize(counts.wire).to_string());
    let _ = write!(out, "{:>9}  {bytes:>11}  {wire:>11}  {name}", counts.packets);
    let done = counts.interventions();
    if !done.is_empty() {
        let _ = write!(out, " ({done})");
    }
    out.push('\n');
}

const UNKNOWN: &str = "(unknown)";
const NO_PACKET: &str = "(no packet)";
