//! Captures: records of packets, events of sessions, and the files that hold them.
//!
//! An [`Entry`] goes to a [`Sink`]. [`JsonlSink`], [`PcapngSink`] and [`PcapSink`] write files;
//! [`create_sink`] chooses one of them by the file's name. [`open_capture`] reads entries from JSONL and pcapng files
//! (also inside a zip archive), Parquet files and recordings of ReplayMod. `docs/captures.md` and
//! `docs/capture-formats.md` specify the formats.

mod body_places;
mod drain;
mod entry_ring;
mod entry_writer;
mod files;
mod head;
mod inflation_budget;
mod joined_sessions;
mod jsonl;
mod mcpr;
mod parquet;
mod pcap;
mod pcapng;
mod read_error;
mod reason;
mod record;
mod ring_sink;
mod sink;
mod where_sink;
mod wire;
mod zipped;

pub use self::parquet::{
    Cell, ColumnKind, ParquetReader, ParquetSink, TableColumn, TableWriter, catches_panic,
    session_id,
};
pub use body_places::{BodyPlace, BodyPlaces};
use body_places::{NotedPlaces, PartLength};
use drain::drain;
pub use entry_ring::{EntryRing, LeftOut};
use entry_writer::EntryWriter;
pub(crate) use files::is_device;
use files::spool;
pub use files::{
    CaptureTarget, ClaimError, CommentEditor, CommentError, Comments, CompactedPart, Compression,
    CreateError, CreateOptions, Entries, FileType, Format, Keep, Lake, NamedFiles, OpenLake,
    Rotation, UnknownPlaceholder, check_capture_name, check_file, check_file_name, claim_file,
    create_sink, file_time, is_packed, is_table, open_capture, open_table, read_capture,
    read_capture_within, unpack, write_sink,
};
pub use head::RawKind;
pub use inflation_budget::InflationBudget;
pub use joined_sessions::JoinedSessions;
use jsonl::edit_line;
pub use jsonl::{JsonlReader, JsonlSink, raw_content, write_packet};
pub(crate) use jsonl::{packet_json, write_question};
pub use mcpr::{McprError, McprFault, McprSink};
use mcpr::{McprReader, Metadata};
pub use pcap::PcapSink;
pub(crate) use pcap::Window;
use pcapng::edit_block;
pub use pcapng::{PcapngReader, PcapngSink, Views};
pub use read_error::{Damage, EntryError, FilePosition, ReadError};
pub(crate) use reason::Reason;
pub use record::{Describe, Entry, Event, EventKind, LegState, Record, Summary};
use record::{OVERHEAD, no_description};
pub use ring_sink::RingSink;
pub use sink::{Sink, Unrecorded};
pub use where_sink::WhereSink;
pub use wire::{Wire, WireKind, WireLeg};
use zipped::{MEMBER, ZippedForm, read_zipped};
pub use zipped::{ZipFault, ZipReader};

pub use mitmcraft_protocol::packet::Outcome;
