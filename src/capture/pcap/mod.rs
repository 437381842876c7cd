//! Classic pcap, and the plain view of TCP segments that it shares with pcapng.

pub(crate) mod flow;
pub(crate) mod ip;
pub(crate) mod plain;
mod sink;
mod window;

pub use sink::PcapSink;
pub(crate) use window::Window;
