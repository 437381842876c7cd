//! JSONL: one entry per line. pcapng files contain the same lines for what is not in a stream.

mod edit;
mod keys;
mod line;
mod map;
mod preamble;
mod reader;
mod rebuild;
mod sink;
mod tables;
mod version;

pub(super) use edit::edit_line;
pub(super) use line::{Form, write_entry};
pub(super) use preamble::Preamble;
pub use reader::JsonlReader;
pub(super) use rebuild::Rebuilder;
pub use rebuild::raw_content;
pub use sink::JsonlSink;
pub(super) use version::Version;
