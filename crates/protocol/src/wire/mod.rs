//! Primitives of the Minecraft protocols: integers, VarInts, text encodings, NBT, and bytes in hex.
//!
//! This layer knows nothing of packets. A [`Reader`] takes primitives off the front of a slice
//! without copying, and an [`Nbt`] document is read and written losslessly.

mod error;
mod escape;
mod hex;
pub mod json;
mod named;
mod nbt;
mod reader;
mod text;
mod varint;

pub use error::WireError;
pub use error::bytes;
pub use escape::{Escaped, EscapedLines, EscapedQuoted};
pub use hex::{parse_hex, to_hex};
#[doc(hidden)]
pub use named::named;
pub use nbt::{Compound, List, Nbt, NbtJsonError, Tag, TagType};
pub use reader::Reader;
pub use text::{Encoding, is_unseen};
pub use varint::{VarInt, VarLong, write_varint, write_varlong};
