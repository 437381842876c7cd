//! JSONL: one entry per line. pcapng files contain the same lines for what is not in a stream.

mod keys;
mod line;
mod map;
mod reader;
mod rebuild;
mod sink;

pub(super) use line::{Form, write_entry, write_record};
pub use reader::JsonlReader;
pub(super) use rebuild::Rebuilder;
pub use sink::JsonlSink;
