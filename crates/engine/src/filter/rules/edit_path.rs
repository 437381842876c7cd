use std::fmt;

use super::EditError;
use crate::lang::payload_steps;
use mitmcraft_protocol::packet::{FieldPath, PathStep, position};
use mitmcraft_protocol::schema::Value;

/// The part of a packet that a rule changes: `items[3].itemCount`, `response#/players/online`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditPath {
    pub(super) field: FieldPath,
    /// A JSON pointer (RFC 6901) into the field's text.
    pub(super) pointer: Option<Vec<String>>,
}

impl EditPath {
    /// Parses a path. An error is a message with an offset in bytes.
    pub(crate) fn parse(text: &str) -> Result<Self, (&'static str, usize)> {
        let (field, pointer) = match text.split_once('#') {
            Some((field, pointer)) => (field, Some(pointer)),
            None => (text, None),
        };
        let path = FieldPath::parse(field).map_err(|error| (error.message, error.at))?;
        let pointer = match pointer {
            None => None,
            Some("") => Some(Vec::new()),
            Some(pointer) => match pointer.strip_prefix('/') {
                Some(parts) => Some(parts.split('/').map(unescape).collect()),
                None => return Err(("expected `/` after `#`", field.len() + 1)),
            },
        };
        Ok(Self { field: path, pointer })
    }

    /// Creates a path of these steps.
    pub(crate) fn of(steps: &[PathStep]) -> Self {
        Self { field: steps.iter().cloned().collect(), pointer: None }
    }

    /// Returns the path of a field of the packet itself.
    pub(super) fn field(name: &str) -> Self {
        Self { field: FieldPath::from_iter([PathStep::Name(name.into())]), pointer: None }
    }

    /// Returns the path within the payload of a plugin channel, if this one begins with `payload`.
    pub(super) fn in_payload(&self) -> Option<Self> {
        let steps = payload_steps(self.steps())?;
        Some(Self { field: steps.iter().cloned().collect(), pointer: self.pointer.clone() })
    }

    pub(super) fn steps(&self) -> &[PathStep] {
        self.field.steps()
    }
}

impl fmt::Display for EditPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.field.fmt(f)?;
        let Some(pointer) = &self.pointer else { return Ok(()) };
        f.write_str("#")?;
        pointer
            .iter()
            .try_for_each(|part| write!(f, "/{}", part.replace('~', "~0").replace('/', "~1")))
    }
}

/// Returns the value at a path of names and indexes.
pub(super) fn lookup<'v>(value: &'v Value, steps: &[PathStep]) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match (step, value.plain()) {
        // NBT is compared as a whole.
        (_, Value::Nbt(_)) => Some(value),
        (PathStep::Name(name), _) => lookup(value.get(name)?, rest),
        (PathStep::Index(index), Value::List(items)) => {
            lookup(&items[position(*index, items.len())?], rest)
        }
        _ => None,
    }
}

/// Returns the place of an element of a list that must have it.
pub(super) fn element(index: i64, length: usize) -> Result<usize, EditError> {
    position(index, length).ok_or(EditError::NoElement { index, length })
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_paths() {
        for text in [
            "message",
            "metadata[*].value",
            "data[+]",
            "response#/players/online",
            "response#",
            "message#/extra/0/a~1b",
        ] {
            assert_eq!(EditPath::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_position() {
        for (text, at) in [("", 0), ("#/a", 0), ("a..b#/c", 1), ("a#b", 2)] {
            assert_eq!(EditPath::parse(text).unwrap_err().1, at, "{text}");
        }
    }
}
