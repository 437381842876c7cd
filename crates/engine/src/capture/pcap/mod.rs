//! Classic pcap, and the view `plain` that it shares with pcapng.

mod flow;
mod ip;
mod plain;
mod sink;
mod window;

pub(super) use flow::{TcpFlow, UsedEndpoints};
pub(super) use ip::{Endpoints, MAX_PAYLOAD, ReadFrame, Segment};
pub(super) use plain::{Carried, PlainFrame, PlainFrameSink, PlainView, endpoints};
pub use sink::PcapSink;
pub(super) use sink::SNAP_LENGTH;
pub(crate) use window::Window;
