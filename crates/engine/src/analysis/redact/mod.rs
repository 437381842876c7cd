//! Makes captures safe to share.
//!
//! [`Redactor`] removes from entries who played where and what was said. Every text in a packet is
//! replaced unless it is known to belong to the game, so unforeseen texts are replaced too. Equal texts
//! have equal replacements, which `pseudonyms` derives from a seed.

mod damaged;
mod leaf_kinds;
mod nbt;
mod policy;
mod pseudonyms;
mod redact_sink;
mod redactor;
mod text;

pub use redact_sink::RedactSink;
pub use redactor::Redactor;
