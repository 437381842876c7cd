use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::ip::{Endpoints, Segment, SegmentKind};
use mitmcraft_protocol::schema::{Direction, PerDirection};

/// A TCP connection as a capture shows it: every segment acknowledges everything that the other
/// side has written.
#[derive(Debug, Clone, Copy)]
pub(in crate::capture) struct TcpFlow {
    pub(in crate::capture) ends: Endpoints,
    /// Sequence number of the next byte.
    next: PerDirection<u32>,
}

impl TcpFlow {
    pub(in crate::capture) fn new(ends: Endpoints) -> Self {
        Self { ends, next: PerDirection::default() }
    }

    /// Returns the segments that open the connection.
    pub(in crate::capture) fn begin(&mut self) -> [Segment<'static>; 2] {
        let syn = self.segment(Direction::Serverbound, SegmentKind::Syn, &[]);
        [syn, self.segment(Direction::Clientbound, SegmentKind::SynAck, &[])]
    }

    /// Returns the segment that carries `payload`, of at most [`MAX_PAYLOAD`](super::MAX_PAYLOAD)
    /// bytes.
    pub(in crate::capture) fn data<'a>(
        &mut self,
        direction: Direction,
        payload: &'a [u8],
    ) -> Segment<'a> {
        self.segment(direction, SegmentKind::Data, payload)
    }

    /// Returns the segment that ends a direction.
    pub(in crate::capture) fn end(&mut self, direction: Direction) -> Segment<'static> {
        self.segment(direction, SegmentKind::Fin, &[])
    }

    fn segment<'a>(
        &mut self,
        direction: Direction,
        kind: SegmentKind,
        payload: &'a [u8],
    ) -> Segment<'a> {
        let seq = self.next[direction];
        // SYN and FIN count as a byte (RFC 9293, section 3.4).
        let counted = payload.len() as u32 + u32::from(kind != SegmentKind::Data);
        self.next[direction] = seq.wrapping_add(counted);
        let acknowledges = kind != SegmentKind::Syn;
        let ack = if acknowledges { self.next[direction.reverse()] } else { 0 };
        Segment { direction, seq, ack, kind, payload }
    }
}

/// The endpoints of all connections in a file: Wireshark takes two connections with the same
/// endpoints for one. Uses about 16 bytes per connection.
#[derive(Debug, Default)]
pub(in crate::capture) struct UsedEndpoints {
    hashes: HashSet<u64>,
    hasher: RandomState,
}

impl UsedEndpoints {
    /// Returns unused endpoints: `wanted`, or `wanted` with the next free client port and a comment
    /// that says so.
    pub(in crate::capture) fn take(&mut self, wanted: Endpoints) -> (Endpoints, Option<String>) {
        let mut ends = wanted;
        for _ in 0..=u16::MAX {
            if self.hashes.insert(self.hasher.hash_one(ends)) {
                break;
            }
            let port = ends.client().port();
            ends.set_client_port(if port == u16::MAX { FIRST_EPHEMERAL } else { port + 1 });
        }
        let comment = (ends != wanted).then(|| {
            let (port, other) = (wanted.client().port(), ends.client().port());
            format!("shown with client port {other}: an earlier session used the real one, {port}")
        });
        (ends, comment)
    }
}

/// The first of the ports that systems assign to clients (RFC 6335, section 6).
pub(super) const FIRST_EPHEMERAL: u16 = 49_152;
