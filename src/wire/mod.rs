//! Bytes to primitives and back.
//!
//! Nothing here knows of packets: a [`Reader`] takes primitives off the front of a slice without
//! copying, a [`Writer`] appends them, and both speak every integer, string and NBT form that a
//! Minecraft protocol uses.

mod error;
mod json;
mod nbt;
mod reader;
mod text;
mod varint;
mod writer;

pub use error::WireError;
pub use nbt::{Compound, List, Nbt, NbtJsonError, Tag, TagType};
pub use reader::Reader;
pub use text::Encoding;
pub use varint::{VarInt, VarLong, write_varint, write_varlong};
pub use writer::Writer;
