//! JSONL: one entry per line. pcapng files carry the same lines.

mod keys;
pub(crate) mod line;
mod map;
mod reader;
mod rebuild;
mod sink;

pub use reader::JsonlReader;
pub(crate) use rebuild::Rebuilder;
pub use sink::JsonlSink;
