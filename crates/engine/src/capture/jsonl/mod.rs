//! JSONL: one entry per line. pcapng files contain the same lines for what is not in a stream.

mod edit;
mod forms;
mod keys;
mod line;
mod map;
mod preamble;
mod reader;
mod rebuild;
mod sink;
mod tables;

pub(super) use edit::edit_line;
pub(super) use forms::Forms;
pub use line::write_packet;
pub(super) use line::{Form, diagnostics, meaning_object, write_entry, write_values};
pub(crate) use line::{packet_json, write_question};
pub(super) use map::JsonMap;
pub(super) use preamble::FORMAT_VERSION;
pub(super) use preamble::{Preamble, first_line};
pub use reader::JsonlReader;
pub(super) use rebuild::Rebuilder;
pub use rebuild::raw_content;
pub use sink::JsonlSink;
