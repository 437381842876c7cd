use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::ip::{ACK, Endpoints, FIN, SYN, Segment};
use crate::schema::Direction;

/// A TCP connection as a capture shows it: every segment acknowledges all that the other side has
/// written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TcpFlow {
    pub(crate) ends: Endpoints,
    /// Sequence numbers of the bytes that come next.
    serverbound: u32,
    clientbound: u32,
}

impl TcpFlow {
    pub(crate) fn new(ends: Endpoints) -> Self {
        Self { ends, serverbound: 0, clientbound: 0 }
    }

    /// The segments that begin it.
    pub(crate) fn begin(&mut self) -> [Segment<'static>; 2] {
        let syn = self.segment(Direction::Serverbound, SYN, &[]);
        [syn, self.segment(Direction::Clientbound, SYN | ACK, &[])]
    }

    /// The segment that ends a direction.
    pub(crate) fn end(&mut self, direction: Direction) -> Segment<'static> {
        self.segment(direction, FIN | ACK, &[])
    }

    /// The next segment of that direction.
    pub(crate) fn segment<'a>(
        &mut self,
        direction: Direction,
        flags: u8,
        payload: &'a [u8],
    ) -> Segment<'a> {
        let (next, other) = match direction {
            Direction::Serverbound => (&mut self.serverbound, self.clientbound),
            Direction::Clientbound => (&mut self.clientbound, self.serverbound),
        };
        let seq = *next;
        let counted = payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        *next = seq.wrapping_add(counted);
        let ack = if flags & ACK == 0 { 0 } else { other };
        Segment { direction, seq, ack, flags, payload }
    }
}

/// The ends of all connections of a file so far, since Wireshark takes two with the same ends for
/// one. About 16 bytes a connection.
#[derive(Debug, Default)]
pub(crate) struct UsedEndpoints {
    hashes: HashSet<u64>,
    hasher: RandomState,
}

impl UsedEndpoints {
    /// The connection with these ends, or, when there was one, with the next free client port, and
    /// a comment that says so.
    pub(crate) fn take(&mut self, wanted: Endpoints) -> (Endpoints, Option<String>) {
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
            format!(
                "the client's port is {port}, as it was of an earlier session; {other} is shown"
            )
        });
        (ends, comment)
    }
}

/// The first port that systems give to clients (RFC 6335).
pub(crate) const FIRST_EPHEMERAL: u16 = 49_152;
