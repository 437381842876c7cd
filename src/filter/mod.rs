//! What to do with a packet: filters, and what they are given.

mod context;
mod packet;
mod pipeline;
mod time;
mod verdict;

pub use context::Context;
pub use packet::{Content, Origin, Packet, RawReason, Undecoded};
pub use pipeline::{Filter, Judgement, Pipeline};
pub use time::Timestamp;
pub use verdict::{Delay, Detail, Effects, Injection, Notes, Ring, Verdict};
