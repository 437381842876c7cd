use std::sync::Arc;

use crate::schema::{PacketType, Protocol};

/// Counts packets by type between two looks at it, for sessions whose packets nobody records.
///
/// Counting takes one access to an array. Its memory is that of the types that were met.
#[derive(Debug, Default)]
pub struct Tally {
    /// The protocol of all counted packets; `None` before the first.
    protocol: Option<Arc<Protocol>>,
    /// The places in the protocol of the types that were met, with their counts.
    rows: Vec<(u16, TypeCounts)>,
    /// The place in `rows` of each type, by its place in the protocol; `NONE` if it was not met.
    places: Vec<u16>,
}

/// The counts of one type of packet in a [`Tally`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeCounts {
    /// Number of packets; at least 1.
    pub packets: u64,
    /// Bytes of their bodies (id and fields, inflated).
    pub bytes: u64,
    /// Bytes that they had on the wire.
    pub wire: u64,
    /// Size of the smallest body in bytes.
    pub smallest: u64,
    /// Size of the largest body in bytes.
    pub largest: u64,
}

impl Tally {
    /// Returns the counts of packets of a protocol; `None` if packets of another one are still to be
    /// [drained](Self::drain).
    #[inline]
    pub fn of(&mut self, protocol: &Arc<Protocol>) -> Option<ProtocolTally<'_>> {
        if !self.protocol.as_ref().is_some_and(|known| Arc::ptr_eq(known, protocol)) {
            if !self.rows.is_empty() {
                return None;
            }
            self.places = vec![NONE; protocol.packets().len()];
            self.protocol = Some(Arc::clone(protocol));
        }
        Some(ProtocolTally { rows: &mut self.rows, places: &mut self.places })
    }

    /// Returns whether nothing has been counted since the last [`drain`](Self::drain).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Passes the counts of each type to `take`, and starts again from 0.
    pub fn drain(&mut self, mut take: impl FnMut(&PacketType, &TypeCounts)) {
        let Some(protocol) = &self.protocol else { return };
        for (place, counts) in self.rows.drain(..) {
            self.places[usize::from(place)] = NONE;
            take(&protocol.packets()[usize::from(place)], &counts);
        }
    }
}

/// Counts packets of one protocol in a [`Tally`].
#[derive(Debug)]
pub struct ProtocolTally<'t> {
    rows: &'t mut Vec<(u16, TypeCounts)>,
    /// One for each packet of the protocol.
    places: &'t mut [u16],
}

impl ProtocolTally<'_> {
    /// Counts a packet of a type of the protocol, with a body of `size` bytes that took `wire` bytes.
    #[inline]
    pub fn count(&mut self, packet: &PacketType, size: usize, wire: usize) {
        let (size, wire) = (size as u64, wire as u64);
        let row = &mut self.places[usize::from(packet.place)];
        if let Some((_, counts)) = self.rows.get_mut(usize::from(*row)) {
            counts.packets += 1;
            counts.bytes += size;
            counts.wire += wire;
            counts.smallest = counts.smallest.min(size);
            counts.largest = counts.largest.max(size);
            return;
        }
        // There are fewer rows than places, whose number is a `u16`.
        *row = self.rows.len() as u16;
        let counts = TypeCounts { packets: 1, bytes: size, wire, smallest: size, largest: size };
        self.rows.push((packet.place, counts));
    }
}

/// A row that cannot exist.
const NONE: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Catalog, Direction, State};

    #[test]
    fn counts_by_type_until_drained_and_keeps_protocols_apart() {
        let [old, new] =
            [47, 767].map(|version| Catalog::embedded().find(version).unwrap().protocol);
        let named = |name| old.named(State::Play, Direction::Clientbound, name).unwrap();
        let mut tally = Tally::default();
        for size in [7, 3, 12] {
            tally.of(&old).unwrap().count(named("chat"), size, size + 1);
        }
        tally.of(&old).unwrap().count(named("keep_alive"), 2, 3);
        let other = new.named(State::Play, Direction::Clientbound, "keep_alive").unwrap();
        assert!(tally.of(&new).is_none());

        let mut rows = Vec::new();
        tally.drain(|packet, counts| rows.push((packet.name().to_string(), *counts)));
        let chat = TypeCounts { packets: 3, bytes: 22, wire: 25, smallest: 3, largest: 12 };
        let alive = TypeCounts { packets: 1, bytes: 2, wire: 3, smallest: 2, largest: 2 };
        assert_eq!(rows, [("chat".to_owned(), chat), ("keep_alive".to_owned(), alive)]);
        assert!(tally.is_empty());
        tally.of(&new).unwrap().count(other, 9, 10);
        tally.drain(|packet, counts| assert_eq!((packet.id(), counts.packets), (other.id(), 1)));
    }
}
