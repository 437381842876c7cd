//! The domain types: a packet with its context, origin and time, and the text of chat components.

mod chat;
mod context;
#[expect(clippy::module_inception, reason = "one type per file, named after it")]
mod packet;
mod timestamp;

pub(crate) use chat::{component_text, plain_nbt, plain_text};
pub use context::Context;
pub use packet::{Content, Origin, Packet, RawReason, Undecoded};
pub use timestamp::Timestamp;
