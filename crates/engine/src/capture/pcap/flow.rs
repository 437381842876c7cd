use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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
/// endpoints for one. Uses about 16 bytes per connection, and the same time for each.
#[derive(Debug, Default)]
pub(in crate::capture) struct UsedEndpoints {
    hashes: HashSet<u64>,
    /// The next port for a client address and a server, by their hash; `None` if all were tried.
    ports: HashMap<u64, Option<u16>>,
    /// The number of endpoints that were taken from the block of substitute addresses.
    substitutes: u32,
    hasher: RandomState,
}

impl UsedEndpoints {
    /// Returns unused endpoints: `wanted`; or, with a comment that says so, `wanted` with another client
    /// port; or, if the ports of that address are used up, with an address of the substitute block.
    pub(in crate::capture) fn take(&mut self, wanted: Endpoints) -> (Endpoints, Option<String>) {
        let mut ends = wanted;
        while !self.hashes.insert(self.hasher.hash_one(ends)) {
            ends = self.other(wanted);
        }
        let (real, shown) = (wanted.client, ends.client);
        let comment = if real == shown {
            None
        } else if real.ip() == shown.ip() {
            let (port, other) = (real.port(), shown.port());
            Some(format!(
                "shown with client port {other}: an earlier session used the real one, {port}"
            ))
        } else {
            Some(format!("shown as client {shown}: the ports of the real one, {real}, are used up"))
        };
        (ends, comment)
    }

    /// Returns the next endpoints to try instead of `wanted`. Each is returned once in a file.
    fn other(&mut self, wanted: Endpoints) -> Endpoints {
        let key = self.hasher.hash_one((wanted.client.ip(), wanted.server));
        let port = self.ports.entry(key).or_insert(Some(FIRST_EPHEMERAL));
        let client = match *port {
            Some(free) => {
                *port = free.checked_add(1);
                SocketAddr::new(wanted.client.ip(), free)
            }
            None => {
                self.substitutes += 1;
                substitute(self.substitutes - 1, wanted.client.is_ipv4())
            }
        };
        Endpoints::new(client, wanted.server)
    }
}

/// Returns an address and port of the blocks set aside for tests between networks, which no player
/// has: 198.18.0.0/15 (RFC 2544, appendix C.2.2) or 2001:2::/48 (RFC 5180, section 8). There are 2^31
/// of them.
fn substitute(number: u32, v4: bool) -> SocketAddr {
    let host = number >> EPHEMERAL_BITS;
    let port = FIRST_EPHEMERAL | (number as u16 & !FIRST_EPHEMERAL);
    let ip: IpAddr = match v4 {
        true => Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 0, 0).to_bits() | host).into(),
        false => {
            let block = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0);
            Ipv6Addr::from_bits(block.to_bits() | u128::from(host)).into()
        }
    };
    SocketAddr::new(ip, port)
}

/// The first of the ports that systems assign to clients (RFC 6335, section 6).
pub(super) const FIRST_EPHEMERAL: u16 = 49_152;

/// The number of bits that such a port has below the ones of [`FIRST_EPHEMERAL`].
const EPHEMERAL_BITS: u32 = FIRST_EPHEMERAL.trailing_zeros();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_endpoints_are_used_twice_by_however_many_sessions() {
        for [client, server] in
            [["127.0.0.1:51234", "192.0.2.7:25565"], ["[::1]:51234", "[2001:db8::7]:25565"]]
        {
            let wanted = Endpoints::new(client.parse().unwrap(), server.parse().unwrap());
            let mut used = UsedEndpoints::default();
            let mut taken = HashSet::new();
            for _ in 0..200_000 {
                let (ends, comment) = used.take(wanted);
                assert_eq!(ends.server, wanted.server);
                assert_eq!(comment.is_none(), ends == wanted);
                assert!(taken.insert(ends), "{ends:?}");
            }
        }
    }

    #[test]
    fn an_address_without_free_ports_is_shown_as_a_substitute() {
        let ends = |client: &str| {
            Endpoints::new(client.parse().unwrap(), "192.0.2.7:25565".parse().unwrap())
        };
        let mut used = UsedEndpoints::default();
        for port in FIRST_EPHEMERAL..=u16::MAX {
            used.take(ends(&format!("10.0.0.1:{port}")));
        }
        let (shown, comment) = used.take(ends("10.0.0.1:50000"));
        assert_eq!(shown, ends("198.18.0.0:49152"));
        let expected = "shown as client 198.18.0.0:49152: the ports of the real one, \
                        10.0.0.1:50000, are used up";
        assert_eq!(comment.as_deref(), Some(expected));
        let (shown, _) = used.take(ends("198.18.0.0:49153"));
        assert_eq!(shown, ends("198.18.0.0:49153"));
        let (shown, _) = used.take(ends("10.0.0.1:50000"));
        assert_eq!(shown, ends("198.18.0.0:49154"), "not the one that a session really has");
        assert_eq!(substitute(u32::MAX >> 1, true), "198.19.255.255:65535".parse().unwrap());
    }
}
