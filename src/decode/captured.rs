use bytes::Bytes;

use crate::packet::Timestamp;

/// A packet as a recording has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When it was seen.
    pub at: Timestamp,
    /// What it begins with.
    pub link: LinkType,
    /// What was kept of it.
    pub bytes: Bytes,
    /// How many of its bytes were not kept.
    pub missing: usize,
}

/// What a packet of a recording begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Ip,
    /// The header of Linux's `any` device (LINUX_SLL).
    Cooked,
    /// Its newer form (LINUX_SLL2).
    Cooked2,
    /// An address family in 4 bytes, of either byte order (BSD loopback).
    Loopback,
    /// Something that is not understood; its number in the registry of tcpdump.org.
    Other(u32),
}

impl LinkType {
    /// What packets with that number of the registry begin with.
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
