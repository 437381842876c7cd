//! Changes to NBT in place. A tag keeps its type; a new one gets the type of its value.

use std::mem;

use bytes::Bytes;

use super::EditError;
use super::edit_path::element;
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::{Name, Value};
use mitmcraft_protocol::wire::{Compound, Encoding, List, Nbt, Tag, TagType};

/// Calls `act` with each tag at the end of a path, as a value.
pub(super) fn each(
    tag: &mut Tag,
    steps: &[PathStep],
    act: &mut dyn FnMut(&mut Value) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let Some((step, rest)) = steps.split_first() else {
        let scalar =
            !matches!(tag, Tag::List(_) | Tag::Compound(_) | Tag::IntArray(_) | Tag::LongArray(_));
        let mut value = show(tag);
        act(&mut value)?;
        if scalar {
            return put(tag, value);
        }
        *tag = tag_of(value)?;
        return Ok(());
    };
    match (step, tag) {
        (PathStep::Name(name), Tag::Compound(compound)) => {
            if let Some(tag) = compound.get_mut(name) {
                return each(tag, rest, act);
            }
            let mut tag = None;
            create(rest, act, &mut tag)?;
            if let Some(tag) = tag {
                compound.entries.push((key(name), tag));
            }
            Ok(())
        }
        (PathStep::Index(index), Tag::List(list)) => {
            let at = element(*index, list.items.len())?;
            each(&mut list.items[at], rest, act)
        }
        (PathStep::Each, Tag::List(list)) => {
            list.items.iter_mut().try_for_each(|tag| each(tag, rest, act))
        }
        (_, tag) => Err(EditError::NoTag(Some(tag.tag_type().name()))),
    }
}

/// Creates a tag and the compounds around it.
fn create(
    steps: &[PathStep],
    act: &mut dyn FnMut(&mut Value) -> Result<(), EditError>,
    made: &mut Option<Tag>,
) -> Result<(), EditError> {
    match steps.split_first() {
        None => {
            let mut value = Value::Absent;
            act(&mut value)?;
            *made = Some(tag_of(value)?);
            Ok(())
        }
        Some((PathStep::Name(_), _)) => {
            let mut tag = Tag::Compound(Compound::default());
            each(&mut tag, steps, act)?;
            *made = Some(tag);
            Ok(())
        }
        Some(_) => Err(EditError::NoTag(None)),
    }
}

pub(super) fn remove(nbt: &mut Nbt, name: &str) -> Result<(), EditError> {
    let Tag::Compound(compound) = &mut nbt.root else {
        return Err(EditError::NotCompound);
    };
    let key = key(name);
    compound.entries.retain(|(name, _)| *name != key);
    Ok(())
}

/// Returns whether a table is NBT as captures write it: `{ type = "compound", value = {..} }`.
pub(super) fn is_typed(value: &Value) -> bool {
    value.get("type").is_some() && value.get("value").is_some()
}

/// Returns whether two trees are equal in all bits of every number.
pub(super) fn same(one: &Nbt, other: &Nbt) -> bool {
    let json = |nbt: &Nbt| {
        let mut out = Vec::new();
        nbt.write_json(&mut out);
        out
    };
    one == other || json(one) == json(other)
}

/// Returns the value of a tag, unless it has parts.
pub(crate) fn scalar(tag: &Tag) -> Option<Value> {
    Some(match tag {
        Tag::Float(float) => Value::Float32(*float),
        Tag::Double(float) => Value::Float64(*float),
        Tag::ByteArray(bytes) => Value::Bytes(bytes.clone()),
        Tag::Text(text) => Value::from(&*Encoding::ModifiedUtf8.decode_lossy(text)),
        _ => Value::Int(tag.as_int()?),
    })
}

fn show(tag: &mut Tag) -> Value {
    scalar(tag).unwrap_or_else(|| {
        Value::Nbt(Box::new(Nbt { name: None, root: mem::replace(tag, Tag::Byte(0)) }))
    })
}

/// Sets a tag to a value; the tag keeps its type.
fn put(tag: &mut Tag, value: Value) -> Result<(), EditError> {
    match (&mut *tag, value.plain()) {
        (Tag::Byte(old), Value::Bool(bool)) => *old = i8::from(*bool),
        (Tag::Byte(old), Value::Int(int)) => {
            *old = i8::try_from(*int).map_err(|_| EditError::TooLarge(*int))?;
        }
        (Tag::Short(old), Value::Int(int)) => {
            *old = i16::try_from(*int).map_err(|_| EditError::TooLarge(*int))?;
        }
        (Tag::Int(old), Value::Int(int)) => {
            *old = i32::try_from(*int).map_err(|_| EditError::TooLarge(*int))?;
        }
        (Tag::Long(old), Value::Int(int)) => *old = *int,
        (Tag::Float(old), Value::Float32(float)) => *old = *float,
        (Tag::Float(old), Value::Float64(float)) => *old = *float as f32,
        (Tag::Float(old), Value::Int(int)) => *old = *int as f32,
        (Tag::Double(old), Value::Float64(float)) => *old = *float,
        (Tag::Double(old), Value::Float32(float)) => *old = (*float).into(),
        (Tag::Double(old), Value::Int(int)) => *old = *int as f64,
        (Tag::ByteArray(old), Value::Bytes(bytes)) => *old = bytes.clone(),
        (old @ Tag::Text(_), Value::Text(text)) => *old = Tag::text(text),
        (_, Value::Nbt(_) | Value::Map(_)) => *tag = tag_of(value)?,
        (old, value) => {
            let expected = old.tag_type().name();
            return Err(EditError::Tag { expected, found: value.kind() });
        }
    }
    Ok(())
}

/// Converts a value into a tag, of the type that a table names or of the value's own.
pub(super) fn tag_of(value: Value) -> Result<Tag, EditError> {
    if is_typed(&value) {
        return Ok(Nbt::from_json(&value.to_json())?.root);
    }
    Ok(match value {
        Value::Bool(bool) => Tag::Byte(i8::from(bool)),
        Value::Int(int) => i32::try_from(int).map_or(Tag::Long(int), Tag::Int),
        Value::Float32(float) => Tag::Float(float),
        Value::Float64(float) => Tag::Double(float),
        Value::Text(text) => Tag::text(&text),
        Value::Bytes(bytes) => Tag::ByteArray(bytes),
        Value::Nbt(nbt) => nbt.root,
        Value::List(items) => list_of(items.into_iter().map(tag_of).collect::<Result<_, _>>()?),
        Value::Map(fields) => {
            let entry = |(name, value): (Name, Value)| Ok((key(&name), tag_of(value)?));
            let entries = fields.into_iter().map(entry).collect::<Result<_, EditError>>()?;
            Tag::Compound(Compound { entries })
        }
        other => return Err(EditError::NoTagOf(other.kind())),
    })
}

/// Converts a list into NBT, whose lists have items of one type: others are wrapped in compounds
/// under an empty name, as the game does.
pub(super) fn list_of(items: Vec<Tag>) -> Tag {
    let first = items.first().map_or(TagType::End, Tag::tag_type);
    if items.iter().all(|item| item.tag_type() == first) {
        return Tag::List(List::new(first, items));
    }
    let wrap = |item| match item {
        Tag::Compound(_) => item,
        other => Tag::Compound(Compound { entries: vec![(key(""), other)] }),
    };
    Tag::List(List::new(TagType::Compound, items.into_iter().map(wrap).collect()))
}

pub(super) fn key(name: &str) -> Bytes {
    match Tag::text(name) {
        Tag::Text(bytes) => bytes,
        _ => Bytes::new(),
    }
}
