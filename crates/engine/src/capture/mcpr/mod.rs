//! Recordings for ReplayMod (`.mcpr`).

mod fault;
mod metadata;
mod reader;
mod sink;
#[cfg(test)]
mod tests;

pub use fault::McprFault;
pub(super) use metadata::Metadata;
pub(super) use reader::McprReader;
pub use sink::{McprError, McprSink};
