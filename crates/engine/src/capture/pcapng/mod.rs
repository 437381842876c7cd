//! pcapng: up to three views of a run, each on interfaces of its own, and all data of JSONL.

mod assembly;
mod blocks;
mod derived;
mod edit;
mod json_view;
mod metadata;
mod reader;
mod sink;
mod views;
mod wire_view;

pub(super) use edit::edit_block;
pub use reader::PcapngReader;
pub use sink::PcapngSink;
pub use views::Views;
