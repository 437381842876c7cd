//! The domain types: a packet with its context, origin, time and outcome, paths to its fields, and
//! the styled text of chat components.

mod cause;
mod chat;
mod context;
mod diagnostic;
mod diagnostics;
mod field_path;
mod foreign;
mod glob;
mod neighbors;
mod origin;
mod outcome;
#[expect(clippy::module_inception, reason = "one type per file, named after it")]
mod packet;
mod per_protocol;
mod raw_reason;
mod reading;
mod sent_registries;
mod styled_text;
mod tally;
mod timestamp;
mod undecoded;

pub use self::glob::{Glob, glob_matches};
pub use cause::Cause;
pub(crate) use chat::TRANSLATIONS;
pub use chat::{plain_nbt, plain_text, replace_nbt, replace_text};
pub use context::Context;
pub use diagnostic::Diagnostic;
pub use diagnostics::Diagnostics;
pub use field_path::{FieldPath, PathError, PathStep, any_position, position};
pub use foreign::foreign_protocol;
pub use neighbors::Neighbors;
pub use origin::Origin;
pub use outcome::Outcome;
pub use packet::{Content, Packet};
pub use per_protocol::PerProtocol;
pub use raw_reason::RawReason;
pub use reading::{ReadAs, Reading};
pub use sent_registries::{SentRegistries, dimension_ceiling};
pub use styled_text::{StyledText, TextColor, TextSpan};
pub use tally::{ProtocolTally, Tally, TypeCounts};
pub use timestamp::Timestamp;
pub use undecoded::Undecoded;
