//! Conversions from a value to what a type needs for encoding, with the error if the value does not
//! fit.

use std::borrow::Cow;
use std::fmt::Display;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::error::put_before;
use super::{EncodeCause, EncodeError, Name, Value};
use crate::wire::Nbt;

pub(super) type Encoded<T> = Result<T, EncodeError>;

/// The steps on the path to the value of an error.
pub(super) trait Inside {
    /// Puts `step` in front of the error's path.
    fn inside(self, step: impl Display) -> Self;
}

impl Inside for EncodeError {
    #[cold]
    fn inside(mut self, step: impl Display) -> Self {
        put_before(&mut self.path, step);
        self
    }
}

impl<T> Inside for Encoded<T> {
    #[inline]
    fn inside(self, step: impl Display) -> Self {
        self.map_err(|error| error.inside(step))
    }
}

pub(super) fn fault(cause: impl Into<EncodeCause>) -> EncodeError {
    EncodeError { path: String::new(), cause: cause.into() }
}

pub(super) fn invalid(why: impl Into<String>) -> EncodeError {
    fault(EncodeCause::Invalid(why.into()))
}

pub(super) fn wanted(expected: &'static str, value: &Value) -> EncodeError {
    fault(EncodeCause::Type { expected, found: value.kind() })
}

/// Returns the alternative that is present: one that is not `Absent`, otherwise one that exists at
/// all.
pub(super) fn one_of<'a>(
    fields: &'a [(Name, Value)],
    first: &Name,
    second: &Name,
) -> Option<(&'a Name, &'a Value)> {
    let given = |name: &Name| fields.iter().find(|(key, _)| key == name);
    let there = |it: &&(Name, Value)| !matches!(it.1, Value::Absent);
    let (one, other) = (given(first), given(second));
    let found = one.filter(there).or_else(|| other.filter(there)).or(one).or(other)?;
    Some((&found.0, &found.1))
}

pub(super) fn needs_one_of(first: &Name, second: &Name) -> EncodeError {
    fault(EncodeCause::OneOf([Name::clone(first), Name::clone(second)]))
}

pub(super) fn field<'a>(fields: &'a [(Name, Value)], name: &Name) -> &'a Value {
    fields.iter().find(|(key, _)| key == name).map_or(ABSENT, |(_, value)| value)
}

pub(super) fn map(value: &Value) -> Encoded<&[(Name, Value)]> {
    match value.plain() {
        Value::Map(fields) => Ok(fields),
        value => Err(wanted("a table", value)),
    }
}

pub(super) fn list(value: &Value) -> Encoded<&[Value]> {
    match value.plain() {
        Value::List(items) => Ok(items),
        value => Err(wanted("a list", value)),
    }
}

pub(super) fn int(value: &Value) -> Encoded<i64> {
    value.as_int().ok_or_else(|| wanted("an integer", value))
}

pub(super) fn text(value: &Value) -> Encoded<&str> {
    match value {
        Value::Text(text) => Ok(text),
        value => Err(wanted("text", value)),
    }
}

pub(super) fn float(value: &Value) -> Encoded<f64> {
    match value.plain() {
        Value::Float32(float) => Ok((*float).into()),
        Value::Float64(float) => Ok(*float),
        Value::Int(int) => Ok(*int as f64),
        Value::Text(text) => match &**text {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(wanted("a number", value)),
        },
        value => Err(wanted("a number", value)),
    }
}

pub(super) fn uuid(value: &Value) -> Encoded<u128> {
    match value {
        Value::Uuid(uuid) => Ok(*uuid),
        Value::Text(text) => super::parse_uuid(text).ok_or_else(|| wanted("a UUID", value)),
        value => Err(wanted("a UUID", value)),
    }
}

/// Returns bytes; text is decoded as base64, as in captures.
pub(super) fn buffer(value: &Value) -> Encoded<Cow<'_, [u8]>> {
    match value.plain() {
        Value::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
        Value::Text(text) => BASE64_STANDARD.decode(text.as_bytes()).map(Cow::Owned).map_err(fault),
        value => Err(wanted("bytes", value)),
    }
}

/// Returns NBT; a map is read in the JSON form of captures.
pub(super) fn nbt(value: &Value) -> Encoded<Option<Cow<'_, Nbt>>> {
    match value.plain() {
        Value::Absent => Ok(None),
        Value::Nbt(nbt) => Ok(Some(Cow::Borrowed(nbt))),
        value @ Value::Map(_) => {
            Nbt::from_json(&value.to_json()).map(|nbt| Some(Cow::Owned(nbt))).map_err(fault)
        }
        value => Err(wanted("NBT", value)),
    }
}

pub(super) fn flags_number(flags: &[(Name, u64)], fields: &[(Name, Value)]) -> Encoded<u64> {
    let mut raw = 0;
    for (name, value) in fields {
        if *name == super::rest_name() {
            raw |= match value.plain() {
                Value::Unsigned(rest) => *rest,
                value => int(value)?.cast_unsigned(),
            };
            continue;
        }
        let Some((_, mask)) = flags.iter().find(|(flag, _)| flag == name) else {
            return Err(fault(EncodeCause::UnknownFlag).inside(name));
        };
        match value.plain() {
            Value::Bool(true) => raw |= mask,
            Value::Bool(false) | Value::Absent => {}
            value => return Err(wanted("true or false", value).inside(name)),
        }
    }
    Ok(raw)
}

pub(super) const ABSENT: &Value = &Value::Absent;
