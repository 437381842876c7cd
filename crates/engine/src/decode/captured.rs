use bytes::Bytes;

use mitmcraft_protocol::packet::Timestamp;

/// A packet of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedPacket {
    /// The time at which the packet was recorded.
    pub at: Timestamp,
    /// The kind of header that `bytes` begin with.
    pub link: LinkType,
    /// The recorded bytes.
    pub bytes: Bytes,
    /// Number of bytes at the end of the packet that were not recorded.
    pub missing: usize,
}

/// The kind of header that a packet of a recording begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Ip,
    /// The header of Linux's `any` device, version 1 (LINUX_SLL).
    Cooked,
    /// The header of Linux's `any` device, version 2 (LINUX_SLL2).
    Cooked2,
    /// BSD loopback: an address family in 4 bytes of either byte order.
    Loopback,
    /// An unsupported header, by its number in the link-type registry of tcpdump.org.
    Other(u32),
}

impl LinkType {
    /// Returns the link type with that number in the registry of tcpdump.org.
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            // RAW as files have it, as OpenBSD and others have it, IPv4, IPv6.
            101 | 12 | 14 | 228 | 229 => Self::Ip,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            // NULL, LOOP.
            0 | 108 => Self::Loopback,
            other => Self::Other(other),
        }
    }
}
