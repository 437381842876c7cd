use std::fmt;
use std::ops::BitOr;

/// What a value can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing.
    Absent,
    /// A bool.
    Bool,
    /// An integer of any width.
    Int,
    /// A float of 32 or 64 bits.
    Float,
    /// Text.
    Text,
    /// A number that stands for a name.
    Name,
    /// A UUID.
    Uuid,
    /// A byte buffer.
    Bytes,
    /// An NBT tree, which can hold anything.
    Nbt,
    /// Elements of one shape.
    List,
    /// Named fields.
    Map,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Absent,
        Self::Bool,
        Self::Int,
        Self::Float,
        Self::Text,
        Self::Name,
        Self::Uuid,
        Self::Bytes,
        Self::Nbt,
        Self::List,
        Self::Map,
    ];

    /// What a user calls it, for example `integer`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Bool => "bool",
            Self::Int => "integer",
            Self::Float => "float",
            Self::Text => "text",
            Self::Name => "name",
            Self::Uuid => "UUID",
            Self::Bytes => "bytes",
            Self::Nbt => "NBT",
            Self::List => "list",
            Self::Map => "fields",
        }
    }
}

/// A set of [`Kind`]s.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u16);

impl Kinds {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The set of these.
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

    /// Whether it is among them.
    #[must_use]
    pub fn has(self, kind: Kind) -> bool {
        self.meets(kind.into())
    }

    /// Whether some are in both.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
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
    /// `integer or text`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Kind::name).collect();
        match names.split_last() {
            None => f.write_str("nothing"),
            Some((last, [])) => f.write_str(last),
            Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
        }
    }
}
