//! Decodes recordings of other programs (tcpdump, Wireshark) into entries of captures; sans-IO.
//!
//! ```text
//! PcapReader ──CapturedPacket──> network::datagram ──Datagram──> Traffic ──┬─> Connection: Stream, Stream ──> Session (observing)
//! (pcap, pcapng)               (link, IP, fragments)                       └─> Queries ─────────────────────> query::Relay
//! ```
//!
//! Packets are interpreted by the same [`Session`](crate::session::Session) as in the proxy. The
//! memory of a stream is bounded: bytes that arrive out of order wait a limited time for the bytes
//! before them, and then a gap is reported.

mod captured;
mod connection;
mod datagram;
mod end_reason;
mod fragments;
mod network;
mod notice;
mod pcap_reader;
mod queries;
mod stream;
#[cfg(test)]
mod tests;
mod traffic;

pub use captured::{CapturedPacket, LinkType};
pub use notice::{DecodeNotice, DecodedConnection};
pub use pcap_reader::{PcapReadError, PcapReader};
pub use traffic::{Traffic, TrafficCounts, TrafficOptions};
