//! The log's own thread, the queue before it, and what it writes to.

mod compactor;
mod incidents;
mod key_log;
mod passed_counts;
mod progress;
mod queue;
mod sinks;
mod store_sink;
mod wire_tap;
mod writer;

pub use compactor::{Compactor, LakeNotice};
pub use incidents::{IncidentCounts, IncidentNotice, IncidentOptions, IncidentRecorder};
pub use key_log::KeyLog;
pub use passed_counts::PassedCounts;
pub(super) use queue::{Batch, Depth};
pub use sinks::{LogFault, NamedSink, OnError};
pub use store_sink::StoreSink;
pub(super) use wire_tap::WireTap;
pub use writer::{LogHandle, LogOptions, LogView, LogWriter, OnFull};
