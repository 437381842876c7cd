use std::fmt::Write as _;
use std::sync::Arc;

use super::PacketCounts;
use super::report::arrow;
use crate::capture::Record;
use crate::text::{ByteSize, Escaped, packet_name};
use mitmcraft_protocol::packet::{Packet, TypeCounts};
use mitmcraft_protocol::schema::{Direction, Name, PacketType, Protocol, State};

/// Packet counts by kind of packet.
#[derive(Debug, Clone, Default)]
pub struct CountsByPacket {
    rows: Vec<CountedPacket>,
    /// The protocol of the packet counted last, and the place in `rows` of each of its types; `NONE` if
    /// none was counted.
    places: Option<(Arc<Protocol>, Box<[u16]>)>,
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
        let mut rows = self.rows.clone();
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
        PacketCounts::sum(self.rows.iter().map(|row| &row.counts))
    }

    /// Sums up a direction.
    pub(super) fn direction(&self, direction: Direction) -> PacketCounts {
        let own = self.rows.iter().filter(|row| row.direction == direction);
        PacketCounts::sum(own.map(|row| &row.counts))
    }

    /// Appends a table of the first `top` kinds, most bytes first, the sum of the others, and the sum of
    /// all.
    pub fn write_table(&self, out: &mut String, top: usize) {
        let head = ["packets", "bytes", "on the wire"];
        let _ = writeln!(out, "{:>9}  {:>11}  {:>11}  packet", head[0], head[1], head[2]);
        let rows = self.rows();
        for row in rows.iter().take(top) {
            let name = format!("{} {} {}", arrow(row.direction), row.state, Escaped(&row.name));
            write_row(out, &row.counts, &name);
        }
        if let Some(others) = rows.get(top..).filter(|others| !others.is_empty()) {
            let counts = PacketCounts::sum(others.iter().map(|row| &row.counts));
            write_row(out, &counts, &format!("({} others)", others.len()));
        }
        write_row(out, &self.total(), "total");
    }

    /// Adds the counts of packets of one type that were forwarded unchanged.
    pub fn add_passed(&mut self, packet: &PacketType, passed: &TypeCounts) {
        let TypeCounts { packets, bytes, wire, smallest, largest } = *passed;
        let passed =
            PacketCounts { packets, bytes, wire, smallest, largest, ..PacketCounts::default() };
        let place = self.place(packet.direction(), packet.state(), packet.name());
        self.rows[place].counts.add(&passed);
    }

    pub(super) fn count(&mut self, record: &Record) {
        let place = self.place_of(&record.packet);
        self.rows[place].counts.count(record);
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        for row in &other.rows {
            let place = self.place(row.direction, row.state, &row.name);
            self.rows[place].counts.add(&row.counts);
        }
    }

    /// Returns the place of a packet's row.
    fn place_of(&mut self, packet: &Packet) -> usize {
        let (protocol, kind) = (&packet.context().protocol, packet.kind());
        let Some(kind) = kind else {
            return self.place(packet.direction(), packet.state(), &packet_name(packet).into());
        };
        let of_type = usize::from(protocol.place(kind));
        let known = self.places.as_ref().filter(|(known, _)| Arc::ptr_eq(known, protocol));
        match known.map(|(_, places)| places[of_type]) {
            Some(place) if place != NONE => return place.into(),
            Some(_) => {}
            None => {
                let places = vec![NONE; protocol.packets().len()];
                self.places = Some((Arc::clone(protocol), places.into()));
            }
        }
        let place = self.place(packet.direction(), packet.state(), kind.name());
        if let (Some((_, places)), Ok(place)) = (&mut self.places, place.try_into()) {
            places[of_type] = place;
        }
        place
    }

    /// Returns the place of a kind's row.
    fn place(&mut self, direction: Direction, state: State, name: &Name) -> usize {
        let same = |row: &CountedPacket| {
            (row.direction, row.state) == (direction, state) && row.name == *name
        };
        self.rows.iter().position(same).unwrap_or_else(|| {
            let (name, counts) = (Name::clone(name), PacketCounts::default());
            self.rows.push(CountedPacket { direction, state, name, counts });
            self.rows.len() - 1
        })
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

/// The place of a row that there is not.
const NONE: u16 = u16::MAX;
