//! What a run counts, as Prometheus reads it: text over HTTP, on an address of its own.
//!
//! Who reads it cannot hold up a session: counting is a few atomic additions a batch, and the page
//! is made and sent by tasks that sessions do not know.

mod counters;
mod http;
mod page;
mod server;

pub use counters::{Metrics, Trouble};
pub use server::MetricsServer;
