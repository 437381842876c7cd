use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use etherparse::defrag::IpDefragBuf;
use etherparse::{IpFragOffset, IpNumber};

use mitmcraft_protocol::packet::Timestamp;

/// Incomplete fragmented IP packets: at most [`MAX_PACKETS`], none older than [`TIMEOUT`].
#[derive(Debug, Default)]
pub(super) struct Fragments {
    packets: HashMap<Key, (Timestamp, IpDefragBuf)>,
}

/// Identifies the packet that a fragment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    pub(super) identification: u32,
    pub(super) protocol: u8,
}

impl Fragments {
    /// Adds `bytes` of a packet's payload, given their offset and `true` if more of it follows them. Returns
    /// the payload if it is complete now.
    pub(super) fn add(
        &mut self,
        at: Timestamp,
        key: Key,
        (offset, more): (IpFragOffset, bool),
        bytes: &[u8],
    ) -> Option<Bytes> {
        self.make_room(at, &key);
        let new = || (at, IpDefragBuf::new(IpNumber(key.protocol), Vec::new(), Vec::new()));
        let (begun, packet) = self.packets.entry(key).or_insert_with(new);
        // Identifications are reused: an old incomplete packet is not the one of this fragment.
        if at.since(*begun) > TIMEOUT {
            (*begun, *packet) = new();
        }
        if packet.add(offset, more, bytes).is_err() {
            self.packets.remove(&key);
            return None;
        }
        if !packet.is_complete() {
            return None;
        }
        let (_, packet) = self.packets.remove(&key)?;
        Some(packet.take_bufs().0.into())
    }

    fn make_room(&mut self, at: Timestamp, key: &Key) {
        if self.packets.len() < MAX_PACKETS || self.packets.contains_key(key) {
            return;
        }
        self.packets.retain(|_, (begun, _)| at.since(*begun) <= TIMEOUT);
        if self.packets.len() < MAX_PACKETS {
            return;
        }
        let oldest = self.packets.iter().min_by_key(|(_, (begun, _))| *begun).map(|(key, _)| *key);
        oldest.and_then(|key| self.packets.remove(&key));
    }
}

/// Incomplete packets held at most, each of up to 64 KiB.
const MAX_PACKETS: usize = 256;

/// Time after which fragments of an incomplete packet are dropped (RFC 791 recommends 15 s, RFC 8200
/// 60 s).
const TIMEOUT: Duration = Duration::from_secs(60);
