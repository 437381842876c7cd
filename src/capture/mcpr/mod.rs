//! Recordings for ReplayMod.

mod sink;

pub use sink::{McprError, McprSink};
