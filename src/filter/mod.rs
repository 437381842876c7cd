//! What to do with a packet: filters, and what they are given.
//!
//! [`Expr`] and [`Formula`] are the filter language: one for what is shown, what is recorded, and
//! rules. They see a packet through a [`View`].

mod context;
mod expr;
mod packet;
mod pipeline;
mod rules;
mod time;
mod verdict;
mod view;

pub use context::Context;
pub use expr::{Expr, ExprError, Formula, Needs, Outlook, View, Warning};
pub use packet::{Content, Origin, Packet, RawReason, Undecoded};
pub use pipeline::{Filter, Judgement, Pipeline};
pub use rules::{Checked, Fault, RingCapture, RuleCount, RuleSet, Rules, Severity};
pub use time::Timestamp;
pub use verdict::{Delay, Detail, Effects, Injection, Notes, Ring, Verdict};
