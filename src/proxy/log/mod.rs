//! The log's own thread, the queue before it, and what it writes to.

mod compactor;
mod key_log;
mod passed_counts;
mod progress;
mod queue;
mod sinks;
mod store_sink;
mod wire_tap;
mod writer;

pub use compactor::{Compactor, LakeNotice};
pub use key_log::KeyLog;
pub use passed_counts::PassedCounts;
pub(super) use queue::Depth;
pub use store_sink::StoreSink;
pub(super) use wire_tap::WireTap;
pub(super) use writer::Batch;
pub use writer::{LogFault, LogHandle, LogOptions, LogView, LogWriter, NamedSink, OnError, OnFull};
