use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use super::Name;
use crate::wire::{Encoding, Nbt, Reader};

/// Go on, or stop here because all that was wanted has been seen.
pub type Flow = ControlFlow<()>;

/// What sees the parts of a packet as it is walked, in wire order.
///
/// Every method but [`leaf`](Self::leaf) may be left out. What a visitor does not use costs nothing:
/// the walk is compiled anew for each.
pub trait Visitor {
    /// A value without parts.
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow;

    /// The value that comes next is the field of that name.
    fn field(&mut self, _name: &Name) -> Flow {
        Flow::Continue(())
    }

    /// A container begins at this offset of the body.
    fn open_map(&mut self, _at: usize) -> Flow {
        Flow::Continue(())
    }

    /// A container ends before this offset.
    fn close_map(&mut self, _at: usize) -> Flow {
        Flow::Continue(())
    }

    /// A list begins at this offset (that of its length); how many elements it says to have.
    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        Flow::Continue(())
    }

    /// A list ends before this offset.
    fn close_list(&mut self, _at: usize) -> Flow {
        Flow::Continue(())
    }

    /// The value that comes next has an unusual prefix: see [`Exact`](super::Exact).
    fn prefix(&mut self, _wire: &[u8]) {}
}

/// A value without parts, and the bytes it came as.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    /// What it means.
    pub value: Scalar<'a>,
    /// All its bytes, a length in front included.
    pub wire: &'a [u8],
    /// Offset of these bytes in the body.
    pub at: usize,
    /// Whether encoding the value gives just these bytes.
    pub canonical: bool,
}

impl Leaf<'_> {
    /// The bytes' place in the body.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.at..self.at + self.wire.len()
    }
}

/// The meaning of a [`Leaf`].
#[derive(Debug, Clone, Copy)]
pub enum Scalar<'a> {
    /// Nothing: an empty option, a switch without a case.
    Absent,
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer beyond [`i64::MAX`].
    Unsigned(u64),
    /// A 32-bit float.
    Float32(f32),
    /// A 64-bit float.
    Float64(f64),
    /// Text, not yet decoded.
    Text(&'a [u8], Encoding),
    /// A mapped number's name, and the number.
    Name(&'a Name, i64),
    /// A UUID.
    Uuid(u128),
    /// A byte buffer.
    Bytes(&'a [u8]),
    /// NBT, found to be well-formed; with a root name or without.
    Nbt {
        /// The tag with its type.
        bytes: &'a [u8],
        /// Whether the root has a name.
        named: bool,
    },
    /// Gzip that should hold NBT with a root name; not looked into.
    CompressedNbt(&'a [u8]),
}

impl<'a> Scalar<'a> {
    /// The text, decoded; what is no text has U+FFFD in its place.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match *self {
            Self::Text(bytes, encoding) => Some(encoding.decode_lossy(bytes)),
            Self::Name(name, _) => Some(Cow::Borrowed(name)),
            _ => None,
        }
    }

    /// The NBT tree, read, and taken out of its gzip where it is in one.
    #[must_use]
    pub fn nbt(&self) -> Option<Nbt> {
        match *self {
            Self::Nbt { bytes, named } => Nbt::read(&mut Reader::new(bytes), named).ok()?,
            Self::CompressedNbt(bytes) => super::gzip::read_nbt(bytes),
            _ => None,
        }
    }
}

/// Sees nothing: finds the end of a packet, and whether it is well-formed.
#[derive(Debug, Default, Clone, Copy)]
pub struct Measure;

impl Visitor for Measure {
    fn leaf(&mut self, _leaf: &Leaf<'_>) -> Flow {
        Flow::Continue(())
    }
}
