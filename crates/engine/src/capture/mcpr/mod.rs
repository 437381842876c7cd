//! Recordings for ReplayMod (`.mcpr`).

mod sink;

pub use sink::{McprError, McprSink};
