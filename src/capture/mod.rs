//! What was seen: records and events, and the files they are kept in.
//!
//! Entries go to a [`Sink`]; [`JsonlSink`] writes them as lines of JSON, .

mod json_line;
mod json_map;
mod jsonl;
mod outlet;
mod record;
mod ring;
mod sink;
mod where_sink;

pub use jsonl::JsonlSink;
pub use record::{Entry, Event, EventKind, LegState, Outcome, Record, Summary};
pub use ring::RingSink;
pub use sink::Sink;
pub use where_sink::WhereSink;
