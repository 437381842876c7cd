use bytes::Bytes;

use super::{Name, parse_uuid};
use crate::wire::Nbt;

/// A decoded value. Lossless: encoding it produces the bytes that were decoded.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A field that is not present: an empty option, or a `switch` without a matching case.
    Absent,
    /// A boolean.
    Bool(bool),
    /// An integer of any width, VarInts and VarLongs included.
    Int(i64),
    /// An unsigned 64-bit integer above [`i64::MAX`].
    Unsigned(u64),
    /// A 32-bit float.
    Float32(f32),
    /// A 64-bit float.
    Float64(f64),
    /// A text, or the name of a mapped number.
    Text(Name),
    /// A UUID.
    Uuid(u128),
    /// A byte buffer.
    Bytes(Bytes),
    /// An NBT tree.
    Nbt(Box<Nbt>),
    /// The elements of an array.
    List(Vec<Self>),
    /// The fields of a container, in wire order.
    Map(Vec<(Name, Self)>),
    /// A value that was not encoded in the usual way; see [`Exact`].
    Exact(Box<Exact>),
}

/// A value and the bytes it was decoded from, where encoding it in the usual way would produce
/// others: a VarInt longer than necessary, a `true` of 2, invalid UTF-8, compressed NBT, a present
/// option without content.
///
/// The bytes of a leaf are all of it, those of a list or an option only its prefix. If the content
/// of an option is unusual too, the prefix is the outer `Exact`.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// The decoded value.
    pub value: Value,
    /// The bytes it was decoded from.
    pub wire: Bytes,
}

impl Value {
    /// Returns the named field of a map.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self.plain() {
            Self::Map(fields) => fields.iter().find(|(key, _)| **key == *name).map(|(_, it)| it),
            _ => None,
        }
    }

    /// Describes the type of the value for messages: `an integer`, `text`.
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

    /// Returns the value without the bytes it was decoded from.
    #[must_use]
    pub fn plain(&self) -> &Self {
        match self {
            Self::Exact(exact) => exact.value.plain(),
            value => value,
        }
    }

    /// Returns the number, if this is an integer up to [`i64::MAX`].
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self.plain() {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// Returns the number, if this is a float of either size.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        match self.plain() {
            Self::Float32(float) => Some(f64::from(*float)),
            Self::Float64(float) => Some(*float),
            _ => None,
        }
    }

    /// Returns the UUID, if this is one in a form that versions have: a number, four integers, or text.
    #[must_use]
    pub fn as_uuid(&self) -> Option<u128> {
        match self.plain() {
            Self::Uuid(uuid) => Some(*uuid),
            Self::Text(text) => parse_uuid(text),
            Self::List(ints) if ints.len() == 4 => ints.iter().try_fold(0, |uuid, int| {
                let int = int.as_int()? as u32;
                Some(uuid << 32 | u128::from(int))
            }),
            _ => None,
        }
    }

    /// Returns the text, if this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self.plain() {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes, if this is a byte buffer.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match self.plain() {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the elements, if this is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        match self.plain() {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Replaces the field `name` of a map that has one; other values stay as they are.
    #[must_use]
    pub fn with_field(self, name: &str, new: Self) -> Self {
        let Self::Map(mut fields) = self.plain().clone() else { return self };
        if let Some((_, value)) = fields.iter_mut().find(|(key, _)| **key == *name) {
            *value = new;
        }
        Self::Map(fields)
    }

    /// Creates a map of `fields` in this order.
    pub fn map<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Map(fields.into_iter().map(|(name, value)| (Name::from(name), value)).collect())
    }

    /// Converts JSON to a value. JSON has no bytes, UUIDs or NBT: they stay text and maps, which
    /// [`Protocol::encode`](super::Protocol::encode) accepts in their place.
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

    /// Converts the value to JSON that [`from_json`](Self::from_json) reads back. Meant for values
    /// that a user wrote; decoded packets are written by [`JsonVisitor`](super::JsonVisitor)
    /// without loss.
    pub fn to_json(&self) -> serde_json::Value {
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
