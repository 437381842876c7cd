//! pcapng: several views of a run, one interface each, and everything that JSONL keeps.

mod json_view;
mod reader;
pub(super) mod sink;
mod views;
mod wire_view;

pub use reader::PcapngReader;
pub use sink::PcapngSink;
pub use views::Views;
