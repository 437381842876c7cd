//! What was seen: records and events, and the files they are kept in.

mod record;
mod sink;

pub use record::{Entry, Event, EventKind, LegState, Outcome, Record, Summary};
pub use sink::Sink;
