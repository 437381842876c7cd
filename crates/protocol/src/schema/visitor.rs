use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use super::Name;
use crate::wire::{Encoding, Nbt, Reader};

/// The result of a [`Visitor`] method: continue, or stop the walk because nothing more is needed.
pub type Flow = ControlFlow<()>;

/// Receives the parts of a packet during a walk, in wire order.
///
/// All methods except [`leaf`](Self::leaf) do nothing by default. The walk is compiled separately
/// for each visitor, so methods that do nothing cost nothing.
pub trait Visitor {
    /// Called for each value without parts.
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow;

    /// Called before the value of the named field.
    fn field(&mut self, _name: &Name) -> Flow {
        Flow::Continue(())
    }

    /// Called at the start of a container; `at` is its offset in the body.
    fn open_map(&mut self, _at: usize) -> Flow {
        Flow::Continue(())
    }

    /// Called at the start of a list; `at` is the offset of its length, `count` the number of
    /// elements if it is known.
    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        Flow::Continue(())
    }

    /// Called at the end of a container or list; `at` is the offset after it.
    fn close(&mut self, _at: usize) -> Flow {
        Flow::Continue(())
    }

    /// Called for a list of single bytes (`u8` or `i8`) with its elements; `at` is the offset of its
    /// length. Returns `None`, the default, to be called for the list and each element instead.
    fn byte_list(&mut self, _at: usize, _bytes: &[u8]) -> Option<Flow> {
        None
    }

    /// Called before a value with the prefix in front of it: the byte that marks an option as
    /// present, or a list's count in an unusual encoding; `at` is its offset in the body. See
    /// [`Exact`](super::Exact).
    fn prefix(&mut self, _at: usize, _wire: &[u8]) {}
}

/// A value without parts, and the bytes it was decoded from.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Leaf<'a> {
    /// The decoded value.
    pub value: Scalar<'a>,
    /// All bytes of the value, including a length prefix.
    pub wire: &'a [u8],
    /// Offset of `wire` in the body.
    pub at: usize,
    /// `true` if encoding the value produces exactly `wire`.
    pub canonical: bool,
}

impl Leaf<'_> {
    /// Returns the range of the bytes in the body.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.at..self.at + self.wire.len()
    }

    /// Returns `false` if the value has a form that no program writes: a number that is longer than
    /// needed, or bytes that are no text of their encoding.
    pub(crate) fn is_usual(&self) -> bool {
        let is_text = match self.value {
            Scalar::Text(bytes, encoding) => encoding.decode(bytes).is_ok(),
            _ => true,
        };
        self.canonical && is_text
    }
}

/// The value of a [`Leaf`].
#[derive(Debug, Clone, Copy)]
pub enum Scalar<'a> {
    /// A value that is not present: an empty option, or a switch without a matching case.
    Absent,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer above [`i64::MAX`].
    Unsigned(u64),
    /// A 32-bit float.
    Float32(f32),
    /// A 64-bit float.
    Float64(f64),
    /// A text that is not decoded yet.
    Text(&'a [u8], Encoding),
    /// The name of a mapped number, and the number.
    Name(&'a Name, i64),
    /// A UUID.
    Uuid(u128),
    /// A byte buffer.
    Bytes(&'a [u8]),
    /// Well-formed NBT.
    Nbt {
        /// The document, from the type of its root on.
        bytes: &'a [u8],
        /// `true` if the root has a name.
        named: bool,
    },
    /// Gzip that should contain NBT with a root name; not checked.
    CompressedNbt(&'a [u8]),
}

impl<'a> Scalar<'a> {
    /// Returns the decoded text of a text or a mapped number, with U+FFFD for invalid sequences.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match *self {
            Self::Text(bytes, encoding) => Some(encoding.decode_lossy(bytes)),
            Self::Name(name, _) => Some(Cow::Borrowed(name)),
            _ => None,
        }
    }

    /// Reads the NBT tree, inflating it if it is compressed.
    #[must_use]
    pub fn nbt(&self) -> Option<Nbt> {
        match *self {
            Self::Nbt { bytes, named } => Nbt::read(&mut Reader::new(bytes), named).ok()?,
            Self::CompressedNbt(bytes) => super::gzip::read_nbt(bytes),
            _ => None,
        }
    }
}

/// A [`Visitor`] that ignores all parts, for finding the end of a packet and checking its form.
#[derive(Debug, Default, Clone, Copy)]
pub struct Measure;

impl Visitor for Measure {
    fn leaf(&mut self, _leaf: &Leaf<'_>) -> Flow {
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, _bytes: &[u8]) -> Option<Flow> {
        Some(Flow::Continue(()))
    }
}
