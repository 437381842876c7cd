use thiserror::Error;

use mitmcraft_protocol::packet::Undecoded;
use mitmcraft_protocol::schema::{DecodeError, Direction, EncodeError, Kinds, Name, State};
use mitmcraft_protocol::wire::NbtJsonError;

/// The reason why a packet cannot be made or changed as a rule, a script, a program or a person says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// A change to a field cannot be made.
    #[error("`{path}`: {cause}")]
    Field {
        /// The path of the field, as the change has it.
        path: String,
        /// The reason.
        cause: Box<Self>,
    },
    /// A packet cannot be made.
    #[error("`{packet}`: {cause}")]
    Packet {
        /// The name of the packet.
        packet: Name,
        /// The reason.
        cause: Box<Self>,
    },
    /// The payload of a plugin channel cannot be changed.
    #[error("`payload` of `{channel}`: {cause}")]
    Payload {
        /// The name of its layout.
        channel: Name,
        /// The reason.
        cause: Box<Self>,
    },
    /// The packet cannot be opened or decoded.
    #[error(transparent)]
    Undecoded(#[from] Undecoded),
    /// A part of the packet does not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The value is not one of the packet.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A table in the form that captures have of NBT is not NBT.
    #[error(transparent)]
    Nbt(#[from] NbtJsonError),
    /// The encoded packet does not decode.
    #[error("does not decode again: {0}")]
    Lost(DecodeError),
    /// The encoded packet decodes to something else.
    #[error("the encoded packet would differ from the intended one")]
    Differs,
    /// The encoded packet has no place for the field.
    #[error("the packet has no place for it")]
    NoPlace,
    /// The packet has no place for some of the fields.
    #[error("`{0}` cannot hold these values")]
    CannotHold(Name),
    /// The type of the packet is not known.
    #[error("what its id means is not known")]
    UnknownType,
    /// There is no packet of that name.
    #[error("no {direction} packet `{name}` in state {state} of {version}")]
    NoPacket {
        /// The direction of the packet.
        direction: Direction,
        /// The name.
        name: String,
        /// The state of the packet.
        state: State,
        /// The newest version that the session can have.
        version: String,
    },
    /// An expression has no value for the packet.
    #[error("`={0}` has no value for this packet: a field is absent, or the result is too large")]
    NoValue(String),
    /// A value cannot stand in a comment or a reason.
    #[error("not text: {0}")]
    NotText(String),
    /// A value that is given is not one of the field.
    #[error("expected {expected}, found {found}")]
    Kind {
        /// The kind of value that the field takes.
        expected: String,
        /// The value that was given.
        found: &'static str,
    },
    /// A value cannot be that of the field, for the reason that the text gives.
    #[error("{0}")]
    Refused(String),
    /// A table has a field that the packet does not have.
    #[error("no field `{name}`{}", .near.as_ref().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default())]
    UnknownField {
        /// The name.
        name: Name,
        /// The name that may be meant.
        near: Option<String>,
    },
    /// A value has no fields.
    #[error("no field `{name}` in {value}")]
    NoField {
        /// The name of the field.
        name: Name,
        /// The kind of the value.
        value: &'static str,
    },
    /// A value has no elements.
    #[error("no elements in {0}")]
    NoElements(&'static str),
    /// A list is too short.
    #[error("no element {index} in a list of {length}")]
    NoElement {
        /// The index, from the end if negative.
        index: i64,
        /// The length of the list.
        length: usize,
    },
    /// A path leads to nothing that can be removed.
    #[error("no element to remove")]
    NothingToRemove,
    /// A tag of NBT has no such tag.
    #[error("no such tag{}", .0.map(|it| format!(" in a tag of type `{it}`")).unwrap_or_default())]
    NoTag(Option<&'static str>),
    /// NBT has no names.
    #[error("the NBT is not a compound")]
    NotCompound,
    /// A tag of NBT cannot have the number.
    #[error("{0} does not fit")]
    TooLarge(i64),
    /// A tag of NBT has another type.
    #[error("expected `{expected}`, found {found}")]
    Tag {
        /// The type of the tag.
        expected: &'static str,
        /// The value that was given.
        found: &'static str,
    },
    /// A value is no tag of NBT.
    #[error("{0} is not an NBT tag")]
    NoTagOf(&'static str),
    /// A field is to be changed as JSON and is no text.
    #[error("`#` needs text that holds JSON, not {0}")]
    NotJson(&'static str),
    /// A text is not JSON, for the reason that the text gives.
    #[error("invalid JSON: {0}")]
    InvalidJson(String),
    /// A JSON pointer leads through a value without parts.
    #[error("nothing below `/{0}` in the JSON")]
    NothingBelow(String),
    /// A list in JSON has no such element.
    #[error("no element `{0}` in the JSON's list")]
    NoJsonElement(String),
    /// A JSON pointer is empty.
    #[error("the whole JSON cannot be removed")]
    WholeJson,
    /// A value has no form in JSON.
    #[error("{0} cannot be put into JSON")]
    NoJson(&'static str),
    /// The payload of a plugin channel has no known layout.
    #[error("`payload`: its channel has no layout that fits")]
    NoLayout,
    /// The payload of a plugin channel would have another layout.
    #[error("`payload` of `{0}` could no longer be decoded")]
    PayloadLost(Name),
}

impl EditError {
    /// Says that the error is about a field.
    pub(super) fn at(self, path: impl ToString) -> Self {
        Self::Field { path: path.to_string(), cause: Box::new(self) }
    }

    /// Says that the error is about a packet that is made.
    pub(super) fn of_packet(self, packet: &Name) -> Self {
        Self::Packet { packet: packet.clone(), cause: Box::new(self) }
    }

    /// The error of a value where something else is expected.
    pub(super) fn kind(expected: Kinds, found: &'static str) -> Self {
        Self::Kind { expected: expected.to_string(), found }
    }
}
