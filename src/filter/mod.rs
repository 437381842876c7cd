//! What to do with a packet: filters, and what they are given.
//!
//! [`Expr`] and [`Formula`] are the filter language: one for what is shown, what is recorded, and
//! rules. They see a packet through a [`View`].

mod context;
mod expr;
mod packet;
mod pipeline;
mod time;
mod verdict;

pub use context::Context;
pub use expr::{Expr, ExprError, Formula, Needs, Outlook, View, Warning};
pub use packet::{Content, Origin, Packet, RawReason, Undecoded};
pub use pipeline::{Filter, Judgement, Pipeline};
pub use time::Timestamp;
pub use verdict::{Delay, Detail, Effects, Injection, Notes, Ring, Verdict};
