//! What was seen: records and events, and the files they are kept in.
//!
//! Entries go to a [`Sink`]: [`JsonlSink`], [`PcapngSink`] and [`PcapSink`] write files, which
//! [`create_sink`] chooses between; [`SummarySink`] counts; [`write_line`] prints. [`open_capture`]
//! makes the same entries of JSONL and pcapng again. The formats are those of `docs/captures.md`.

mod create;
mod exported;
mod file_type;
mod flow;
mod ip;
mod json_line;
mod json_map;
mod jsonl;
mod jsonl_reader;
mod keys;
mod line;
mod mcpr;
mod name_pattern;
mod open;
mod outlet;
mod packer;
mod pcap;
mod pcapng;
mod pcapng_reader;
mod plain;
mod read_error;
mod reason;
mod rebuild;
mod record;
mod ring;
mod rotating_sink;
mod session_sink;
mod shelf;
mod sink;
mod summary;
mod unpack;
mod views;
mod where_sink;
mod window;
mod wire;
mod wire_view;

pub use create::{CreateError, CreateOptions, create_sink, write_sink};
pub use file_type::{FileType, Format, Packing};
pub use jsonl::JsonlSink;
pub use jsonl_reader::JsonlReader;
pub(crate) use line::{Bare, Size};
pub use line::{LineMemory, LineOptions, Margin, Verbosity, write_line};
pub use mcpr::{McprError, McprSink};
pub use name_pattern::UnknownPlace;
pub use open::{Entries, open_capture, read_capture};
pub use pcap::PcapSink;
pub use pcapng::PcapngSink;
pub use pcapng_reader::PcapngReader;
pub use read_error::{EntryError, Place, ReadError};
pub use record::{Entry, Event, EventKind, LegState, Outcome, Record, Summary};
pub use ring::RingSink;
pub use sink::Sink;
pub(crate) use summary::packet_name;
pub use summary::{Row, SessionTotals, SummarySink, Tally, Totals};
pub use unpack::unpack;
pub use views::Views;
pub use where_sink::WhereSink;
pub(crate) use window::Window;
pub use wire::{Wire, WireKind, WireLeg};
