use std::fmt;
use std::ops::BitOr;

use crate::wire::named;

named! {
    /// A kind of decoded values.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Kind {
        /// No value.
        Absent => "absent",
        /// A boolean.
        Bool => "bool",
        /// An integer of any width.
        Int => "integer",
        /// A float of 32 or 64 bits.
        Float => "float",
        /// Text.
        Text => "text",
        /// The name of a mapped number.
        Name => "name",
        /// A UUID.
        Uuid => "UUID",
        /// A byte buffer.
        Bytes => "bytes",
        /// An NBT tree, which can hold any other kind.
        Nbt => "NBT",
        /// A sequence of elements.
        List => "list",
        /// A set of named fields.
        Map => "container",
    }

    /// All kinds.
    pub const ALL;

    /// Returns the word for this kind in messages, for example `integer`.
    pub fn name;
}

/// A set of [`Kind`]s.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u16);

impl Kinds {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Returns the set of `kinds`.
    #[must_use]
    pub const fn of(kinds: &[Kind]) -> Self {
        let mut set = 0;
        let mut index = 0;
        while index < kinds.len() {
            set |= 1 << kinds[index] as u16;
            index += 1;
        }
        Self(set)
    }

    /// Returns whether `kind` is in the set.
    #[must_use]
    pub fn has(self, kind: Kind) -> bool {
        self.meets(kind.into())
    }

    /// Returns whether the sets have a kind in common.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the kinds of this set that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }
}

impl From<Kind> for Kinds {
    fn from(kind: Kind) -> Self {
        Self::of(&[kind])
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Kinds {
    /// Writes the kinds in words: `integer or text`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Kind::name).collect();
        match names.split_last() {
            None => f.write_str("nothing"),
            Some((last, [])) => f.write_str(last),
            Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
        }
    }
}
