use std::net::IpAddr;

use bytes::Bytes;

use crate::packet::Timestamp;

/// What an IP packet carries, put together again if it came in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Datagram {
    /// When the last part of it was seen.
    pub(super) at: Timestamp,
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    pub(super) protocol: u8,
    pub(super) bytes: Bytes,
    /// How many bytes behind these were not recorded.
    pub(super) missing: usize,
}
