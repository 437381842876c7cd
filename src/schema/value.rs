use bytes::Bytes;

use super::Name;
use crate::wire::Nbt;

/// What was decoded: lossless, so that encoding it gives the same bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A field that is not there: an empty option, a `switch` without a case for it.
    Absent,
    /// One byte, 0 or 1.
    Bool(bool),
    /// Every integer, VarInt and VarLong.
    Int(i64),
    /// An unsigned 64-bit number beyond [`i64::MAX`].
    Unsigned(u64),
    /// A 32-bit float.
    Float32(f32),
    /// A 64-bit float.
    Float64(f64),
    /// Text, or the name of a mapped number.
    Text(Name),
    /// A UUID of 16 bytes.
    Uuid(u128),
    /// A byte buffer.
    Bytes(Bytes),
    /// An NBT tree.
    Nbt(Box<Nbt>),
    /// The elements of an array.
    List(Vec<Self>),
    /// The fields of a container, in wire order.
    Map(Vec<(Name, Self)>),
    /// A value whose bytes are not those that encoding it gives; see [`Exact`].
    Exact(Box<Exact>),
}

/// A value with the bytes that it came as, where these are not the usual ones: a VarInt longer than
/// it need be, a `true` of 2, text that is no UTF-8, compressed NBT, an option that is there with
/// nothing in it.
///
/// For a leaf `wire` is all of it; for a list or an option it is the prefix alone. An option whose
/// value has odd bytes itself has its prefix around them.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// What it means.
    pub value: Value,
    /// What it came as.
    pub wire: Bytes,
}

impl Value {
    /// The field of that name, when this is a map that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self.plain() {
            Self::Map(fields) => fields.iter().find(|(key, _)| **key == *name).map(|(_, it)| it),
            _ => None,
        }
    }

    /// What it is, for messages: `an integer`, `text`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.plain() {
            Self::Absent | Self::Exact(_) => "nothing",
            Self::Bool(_) => "a bool",
            Self::Int(_) | Self::Unsigned(_) => "an integer",
            Self::Float32(_) | Self::Float64(_) => "a float",
            Self::Text(_) => "text",
            Self::Uuid(_) => "a UUID",
            Self::Bytes(_) => "bytes",
            Self::Nbt(_) => "NBT",
            Self::List(_) => "a list",
            Self::Map(_) => "a table",
        }
    }

    /// The value itself, without the bytes that it came as.
    #[must_use]
    pub fn plain(&self) -> &Self {
        match self {
            Self::Exact(exact) => exact.value.plain(),
            value => value,
        }
    }

    /// The number, when this is an integer that fits.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self.plain() {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The text, when this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self.plain() {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, when these are a buffer.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match self.plain() {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A map of these fields, in this order.
    pub fn map<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Map(fields.into_iter().map(|(name, value)| (Name::from(name), value)).collect())
    }

    /// The value that this JSON says, as far as JSON can tell: bytes and UUIDs come as text and
    /// NBT as a map, which encoding takes where the packet has bytes, a UUID or NBT.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Absent,
            Json::Bool(bool) => Self::Bool(*bool),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => Self::Int(int),
                (None, Some(int)) => Self::Unsigned(int),
                (None, None) => Self::Float64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::Text(text.as_str().into()),
            Json::Array(items) => Self::List(items.iter().map(Self::from_json).collect()),
            Json::Object(fields) => Self::Map(
                fields
                    .iter()
                    .map(|(name, it)| (name.as_str().into(), Self::from_json(it)))
                    .collect(),
            ),
        }
    }

    /// The JSON that [`from_json`](Self::from_json) reads back: for what a user wrote, not for
    /// what was decoded (that is [`JsonVisitor`](super::JsonVisitor)'s, which loses nothing).
    pub(super) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self.plain() {
            Self::Bool(bool) => Json::Bool(*bool),
            Self::Int(int) => Json::from(*int),
            Self::Unsigned(int) => Json::from(*int),
            Self::Float32(float) => Json::from(*float),
            Self::Float64(float) => Json::from(*float),
            Self::Text(text) => Json::from(&**text),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(fields) => Json::Object(
                fields.iter().map(|(name, it)| (name.to_string(), it.to_json())).collect(),
            ),
            Self::Uuid(uuid) => Json::from(super::format_uuid(*uuid)),
            Self::Absent | Self::Bytes(_) | Self::Nbt(_) | Self::Exact(_) => Json::Null,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<i32> for Value {
    fn from(int: i32) -> Self {
        Self::Int(int.into())
    }
}
