//! What was seen: records and events, and the files they are kept in.
//!
//! Entries go to a [`Sink`]: [`JsonlSink`], [`PcapngSink`] and [`PcapSink`] write files, which
//! [`create_sink`] chooses between. [`open_capture`] makes the same entries of JSONL and pcapng
//! again. The formats are those of `docs/captures.md`.

mod entry_writer;
mod files;
mod jsonl;
mod mcpr;
mod pcap;
mod pcapng;
mod read_error;
mod reason;
mod record;
mod ring_sink;
mod sink;
mod where_sink;
mod wire;

pub use files::{
    CaptureTarget, Compression, CreateError, CreateOptions, Entries, FileType, Format,
    UnknownPlaceholder, create_sink, open_capture, read_capture, unpack, write_sink,
};
pub use jsonl::{JsonlReader, JsonlSink};
pub use mcpr::{McprError, McprSink};
pub use pcap::PcapSink;
pub(crate) use pcap::Window;
pub use pcapng::{PcapngReader, PcapngSink, Views};
pub use read_error::{EntryError, FilePosition, ReadError};
pub(crate) use reason::Reason;
pub(crate) use record::no_description;
pub use record::{Describe, Entry, Event, EventKind, LegState, Record, Summary};
pub use ring_sink::RingSink;
pub use sink::Sink;
pub use where_sink::WhereSink;
pub use wire::{Wire, WireKind, WireLeg};

pub use crate::packet::Outcome;
