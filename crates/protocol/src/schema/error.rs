use std::fmt::Display;

use thiserror::Error;

use super::{Direction, MAX_LISTED, Name, State};
use crate::wire::{NbtJsonError, WireError, bytes};

/// The error of compiling a protocol description.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{at}: {cause}")]
#[non_exhaustive]
pub struct SchemaError {
    /// Place in the description, for example `play.toClient.types.packet_chat`.
    pub at: String,
    /// The problem, as a message for the author of the description.
    pub cause: String,
}

impl SchemaError {
    /// The place of an error that concerns the whole description.
    pub(super) const TOP: &str = "description";
}

/// The error of decoding a packet body.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{cause}", place(path))]
#[non_exhaustive]
pub struct DecodeError {
    /// Offset in the body, in bytes.
    pub at: usize,
    /// Path of the field, for example `items[3].nbtData`; empty for the packet itself.
    pub path: String,
    /// The problem in that field.
    pub cause: DecodeCause,
}

impl DecodeError {
    pub(crate) fn new(at: usize, cause: DecodeCause) -> Self {
        Self { at, path: String::new(), cause }
    }
}

/// The cause of a [`DecodeError`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeCause {
    /// The bytes do not form the expected primitive.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The state and direction have no packet with this id.
    #[error("no {direction} packet 0x{id:02x} in state {state}")]
    UnknownId {
        /// The packet id.
        id: i32,
        /// The state of the connection.
        state: State,
        /// The direction of the packet.
        direction: Direction,
    },
    /// This many bytes remain after the last field.
    #[error("{} left after the last field", bytes(*.0))]
    Trailing(usize),
    /// A number that the version does not have, although the layout of what follows depends on it.
    #[error("{0} is not known in this version, so that what follows has no layout")]
    UnknownNumber(i64),
    /// A name that the version does not have, although the layout of what follows depends on it.
    #[error("`{0}` is not known in this version, so that what follows has no layout")]
    UnknownName(Name),
    /// Types nested deeper than this many levels.
    #[error("nested deeper than {0} levels")]
    Depth(usize),
    /// More fields than the bytes of a packet account for.
    #[error("too many fields for a packet of its size")]
    Fields,
    /// An empty body, without a packet id.
    #[error("empty frame: no packet id")]
    Empty,
}

/// The error of encoding a value as a packet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{cause}", place(path))]
#[non_exhaustive]
pub struct EncodeError {
    /// Path of the field, for example `items[3].itemCount`; empty for the packet itself.
    pub path: String,
    /// The problem in that field.
    pub cause: EncodeCause,
}

/// The cause of an [`EncodeError`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeCause {
    /// The packet has no field of this name, or not in this case of a switch.
    #[error("no such field")]
    UnknownField,
    /// A set of flags has no flag of this name.
    #[error("no such flag")]
    UnknownFlag,
    /// A value of another type, or none where one is required.
    #[error("expected {expected}, found {found}")]
    Type {
        /// The type that the field has.
        expected: &'static str,
        /// The type of the value.
        found: &'static str,
    },
    /// A number that the field cannot hold.
    #[error("{number} is out of range ({low} to {high})")]
    Range {
        /// The number.
        number: i128,
        /// The smallest number allowed.
        low: i128,
        /// The largest number allowed.
        high: i128,
    },
    /// A name that a mapper does not have.
    #[error("`{name}` is not one of {}", listed(.known))]
    UnknownName {
        /// The name.
        name: Name,
        /// The names that the mapper has.
        known: Vec<Name>,
    },
    /// A field whose layout depends on another one, which has a value without a layout in this version.
    #[error("no layout for this `{on}` in this version")]
    NoLayout {
        /// The other field, beside this one or around it.
        on: Name,
        /// The smallest number that has a layout, if numbers have.
        known: Option<i64>,
    },
    /// A map that is not the JSON form of NBT.
    #[error(transparent)]
    Nbt(#[from] NbtJsonError),
    /// Text in place of bytes that is not base64.
    #[error("not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Values nested deeper than this many levels.
    #[error("nested deeper than {0} levels")]
    Depth(usize),
    /// More fields than the bytes of the packet account for.
    #[error("too many fields for a packet of its size")]
    Fields,
    /// A choice of which neither is there.
    #[error("`{}` or `{}` is missing", .0[0], .0[1])]
    OneOf([Name; 2]),
    /// A list or bytes of another length than the one that is fixed.
    #[error("length {length}, must be {fixed}")]
    Length {
        /// The length.
        length: usize,
        /// The only length possible.
        fixed: usize,
    },
    /// An empty list where that cannot be.
    #[error("the list needs at least one element")]
    Empty,
    /// NBT whose root has a name although it must not, or the other way round.
    #[error("NBT {} a root name", if *.named { "without" } else { "with" })]
    RootName {
        /// `true` if the root must have a name.
        named: bool,
    },
    /// A value that contradicts another field or the rules of its type; with a description.
    #[error("{0}")]
    Invalid(String),
}

/// Returns the first of some names, separated by commas.
fn listed(names: &[Name]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_LISTED).map(|name| &**name).collect();
    first.join(", ")
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// Puts a step in front of a path: the name of a field, or `[3]`.
pub(super) fn put_before(path: &mut String, step: impl Display) {
    let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
    *path = format!("{step}{dot}{path}");
}
