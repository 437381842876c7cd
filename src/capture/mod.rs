//! What was seen: records and events, and the files they are kept in.
//!
//! Entries go to a [`Sink`]; [`JsonlSink`] writes them as lines of JSON, and [`JsonlReader`] makes
//! the same entries of them again.

mod ip;
mod json_line;
mod json_map;
mod jsonl;
mod jsonl_reader;
mod keys;
mod outlet;
mod pcap;
mod pcapng;
mod pcapng_reader;
mod plain;
mod read_error;
mod rebuild;
mod record;
mod sink;

pub use jsonl::JsonlSink;
pub use jsonl_reader::JsonlReader;
pub use pcap::PcapSink;
pub use pcapng::PcapngSink;
pub use pcapng_reader::PcapngReader;
pub use read_error::{EntryError, Place, ReadError};
pub use record::{Entry, Event, EventKind, LegState, Outcome, Record, Summary};
pub use sink::Sink;
