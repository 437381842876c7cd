//! Metrics of a run for Prometheus: text over HTTP, on an address of its own.
//!
//! Readers cannot slow a session down: counting is a few atomic additions per batch, and the page is
//! made and sent by separate tasks.

mod counters;
mod page;
mod server;

pub use counters::{Metrics, Trouble};
pub use server::MetricsServer;
