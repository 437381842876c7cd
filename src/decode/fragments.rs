use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use etherparse::defrag::IpDefragBuf;
use etherparse::{IpFragOffset, IpNumber};

use crate::packet::Timestamp;

/// IP packets of which some fragments are still to come: at most [`MAX_PACKETS`], none older than
/// [`PATIENCE`].
#[derive(Debug, Default)]
pub(super) struct Fragments {
    packets: HashMap<Key, (Timestamp, IpDefragBuf)>,
}

/// What the fragments of a packet have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    pub(super) identification: u32,
    pub(super) protocol: u8,
}

impl Fragments {
    /// Takes a fragment; gives what the packet carries when it was the last one.
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
        // The numbers come round again; an old packet that was never whole is another one.
        if at.since(*begun) > PATIENCE {
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
        self.packets.retain(|_, (begun, _)| at.since(*begun) <= PATIENCE);
        if self.packets.len() < MAX_PACKETS {
            return;
        }
        let oldest = self.packets.iter().min_by_key(|(_, (begun, _))| *begun).map(|(key, _)| *key);
        oldest.and_then(|key| self.packets.remove(&key));
    }
}

/// Each has 64 KiB at most.
const MAX_PACKETS: usize = 256;

/// How long a fragment waits for the others (RFC 791 says 15 s, RFC 8200 60 s).
const PATIENCE: Duration = Duration::from_secs(60);
