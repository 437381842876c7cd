//! Foreign recordings of game traffic (tcpdump's, Wireshark's) become entries; sans-IO.
//!
//! ```text
//! PcapReader ──CapturedPacket──> Network ──Datagram──> Traffic ──┬─> Connection: Stream, Stream ──> Session (observing)
//! (pcap, pcapng)           (link, IP, fragments)           └─> Queries ─────────────────────> query::Relay
//! ```
//!
//! What a packet means is decided by the same [`Session`](crate::session::Session) as in the
//! proxy. What is held for a stream is bounded: bytes that come out of order wait for those before
//! them only so long, and then a gap is told.

mod captured;
mod connection;
mod datagram;
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
pub use notice::Notice;
pub use pcap_reader::{PcapReadError, PcapReader};
pub use traffic::{Traffic, TrafficCounts, TrafficOptions};
