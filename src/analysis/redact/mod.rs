//! Captures made safe to share.
//!
//! [`Redactor`] takes an entry and gives one that tells nobody who played where and what was said:
//! every text in a packet is replaced unless it is known to be the game's own, so that what nobody
//! thought of is replaced too. What is the same stays the same: `words` makes the replacements out
//! of a seed.

mod document;
mod leaves;
mod policy;
mod redact_sink;
mod redactor;
mod text;
mod words;

pub use redact_sink::RedactSink;
pub use redactor::Redactor;
