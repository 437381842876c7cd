use std::net::IpAddr;

use bytes::Bytes;

use mitmcraft_protocol::packet::Timestamp;

/// The payload of an IP packet, reassembled if it was fragmented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Datagram {
    /// The time of the last fragment.
    pub(super) at: Timestamp,
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    pub(super) protocol: u8,
    pub(super) bytes: Bytes,
    /// Number of bytes at the end that were not recorded.
    pub(super) missing: usize,
}
