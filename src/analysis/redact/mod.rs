//! Captures made safe to share.
//!
//! [`Redactor`] takes an entry and gives one that tells nobody who played where and what was said:
//! every text in a packet is replaced unless it is known to be the game's own, so that what nobody
//! thought of is replaced too. What is the same stays the same: `pseudonyms` makes the replacements out
//! of a seed.

mod leaf_kinds;
mod nbt;
mod policy;
mod pseudonyms;
mod redact_sink;
mod redactor;
mod text;

pub use redact_sink::RedactSink;
pub use redactor::Redactor;
