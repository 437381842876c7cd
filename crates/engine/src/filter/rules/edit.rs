//! Changes to a packet's value, verified by decoding the result.

use super::EditError;
use super::component::Components;
use super::edit_path::{EditPath, element, lookup};
use super::nbt;
use super::value_json::json_of;
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::{PacketType, Protocol, Shape, Value};
use mitmcraft_protocol::wire::{Compound, Nbt, Tag};

/// A change to a packet's value: what a field is set to, or `None` to remove it.
pub(crate) type Change = (EditPath, Option<Value>);

/// The bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The body of a packet: its id and its fields.
    Packet,
    /// The payload of a plugin channel: only fields.
    Payload,
}

/// Makes all changes, and returns the new body or payload.
///
/// It is decoded again and compared with the intended value. If they differ, it is an error.
pub(super) fn rewrite(
    protocol: &Protocol,
    packet: &PacketType,
    mut value: Value,
    edits: &[&Change],
    form: Form,
) -> Result<Vec<u8>, EditError> {
    let mut sets = Vec::new();
    let components = Components::of(protocol, packet);
    for (path, new) in edits {
        let Some(new) = new else { continue };
        let place = resolve(&value, path.steps());
        let mut new = new.clone();
        if path.pointer.is_none() {
            components.resolve(path.steps(), &mut new);
            components.read_texts(path.steps(), &mut new);
        }
        set(&mut value, path, &new, components).map_err(|why| why.at(path))?;
        // A list may be empty, or only some of its elements may have the field.
        if !path.steps().contains(&PathStep::Each) {
            sets.push((path, new, place));
        }
    }
    forget_redundant(protocol, packet, &mut value, edits);
    let (mut body, got) = checked(protocol, packet, &value, form)?;
    for (path, new, place) in sets {
        let meant = lookup(&got, &place)
            .is_some_and(|held| path.pointer.is_some() || agrees(&new, held, Missing::Refused));
        if !meant {
            return Err(EditError::NoPlace.at(path));
        }
    }
    // Removals shift the elements after them, so they come last.
    let mut removed = false;
    for (path, _) in edits.iter().filter(|(_, new)| new.is_none()) {
        remove(&mut value, path).map_err(|why| why.at(path))?;
        removed = true;
    }
    if removed {
        body = checked(protocol, packet, &value, form)?.0;
    }
    Ok(body)
}

/// Removes fields that are redundant with edited ones, so that the encoder computes them.
fn forget_redundant(
    protocol: &Protocol,
    packet: &PacketType,
    value: &mut Value,
    edits: &[&Change],
) {
    let changed = |name: &str| {
        edits.iter().any(|(path, _)| {
            matches!(path.steps().first(), Some(PathStep::Name(field)) if **field == *name)
        })
    };
    let redundant = Shape::of(protocol, packet).redundant(changed);
    if let Value::Map(fields) = open(value) {
        fields.retain(|(name, _)| !redundant.contains(name));
    }
}

/// Encodes a value, and checks that it decodes to the same.
fn checked(
    protocol: &Protocol,
    packet: &PacketType,
    value: &Value,
    form: Form,
) -> Result<(Vec<u8>, Value), EditError> {
    let (body, got) = encode(protocol, packet, value, form)?;
    if agrees(value, &got, Missing::Allowed) { Ok((body, got)) } else { Err(EditError::Differs) }
}

/// Replaces `[-1]` and `[+]` in a path by the indexes that they mean now.
fn resolve(value: &Value, steps: &[PathStep]) -> Vec<PathStep> {
    let mut place = Some(value);
    let mut resolved = Vec::with_capacity(steps.len());
    for step in steps {
        let step = match (step, place.map(Value::plain)) {
            (PathStep::Append, Some(Value::List(items))) => PathStep::Index(items.len() as i64),
            (PathStep::Append, _) => PathStep::Index(0),
            (PathStep::Index(index), Some(Value::List(items))) if *index < 0 => {
                PathStep::Index(items.len() as i64 + index)
            }
            (step, _) => step.clone(),
        };
        place = place.and_then(|value| lookup(value, std::slice::from_ref(&step)));
        resolved.push(step);
    }
    resolved
}

/// Encodes a packet that a rule makes. Returns its body, the value as encoded, and the value that it
/// decodes to.
pub(super) fn make(
    protocol: &Protocol,
    packet: &PacketType,
    mut value: Value,
) -> Result<(Vec<u8>, Value, Value), EditError> {
    let components = Components::of(protocol, packet);
    components.resolve(&[], &mut value);
    components.read_texts(&[], &mut value);
    components.read_tables(&[], &mut value)?;
    let (body, got) = encode(protocol, packet, &value, Form::Packet)?;
    Ok((body, value, got))
}

/// Encodes a packet that a rule or a script makes, whose fields all have to have their place in it.
///
/// # Errors
/// [`EditError`] with the packet's name.
pub(crate) fn build(
    protocol: &Protocol,
    packet: &PacketType,
    value: Value,
) -> Result<Vec<u8>, EditError> {
    let (bytes, value, got) =
        make(protocol, packet, value).map_err(|why| why.of_packet(packet.name()))?;
    if !agrees(&value, &got, Missing::Refused) {
        return Err(EditError::CannotHold(packet.name().clone()));
    }
    Ok(bytes)
}

/// Encodes a packet that a person gives as JSON, in the form in which captures have fields. Texts
/// that stand for chat components are converted to the form of the version.
///
/// # Errors
/// [`EditError`] if the fields are not those of the packet.
pub(crate) fn encode_json(
    protocol: &Protocol,
    packet: &PacketType,
    fields: &serde_json::Value,
) -> Result<Vec<u8>, EditError> {
    Ok(make(protocol, packet, Value::from_json(fields))?.0)
}

/// Encodes a value, and decodes it again.
fn encode(
    protocol: &Protocol,
    packet: &PacketType,
    value: &Value,
    form: Form,
) -> Result<(Vec<u8>, Value), EditError> {
    let encoded = match form {
        Form::Packet => protocol.encode(packet, value),
        Form::Payload => protocol.encode_payload(packet, value),
    };
    let bytes = encoded?;
    let decoded = match form {
        Form::Packet => protocol
            .identify(packet.state(), packet.direction(), &bytes)
            .and_then(|(packet, start)| protocol.decode(packet, &bytes, start)),
        Form::Payload => protocol.decode(packet, &bytes, 0),
    };
    let got = decoded.map_err(EditError::Lost)?;
    Ok((bytes, got))
}

/// The treatment of intended fields that are missing because a variant does not have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Allowed,
    Refused,
}

/// Returns whether `got` has everything intended. Values that a file can only write as another kind
/// (base64 for bytes) are taken as encoded.
pub(super) fn agrees(meant: &Value, got: &Value, missing: Missing) -> bool {
    match (meant.plain(), got.plain()) {
        (Value::Map(meant), got @ Value::Map(_)) => {
            meant.iter().all(|(name, meant)| match (meant.plain(), got.get(name)) {
                (Value::Absent, None) => true,
                (_, None) => missing == Missing::Allowed,
                (meant, Some(got)) => agrees(meant, got, missing),
            })
        }
        (Value::List(meant), Value::List(got)) => {
            meant.len() == got.len()
                && meant.iter().zip(got).all(|(meant, got)| agrees(meant, got, missing))
        }
        (Value::Absent, Value::Absent) => true,
        (Value::Map(meant), Value::Absent) if meant.is_empty() => true,
        (_, Value::Absent) => missing == Missing::Allowed,
        (Value::Float32(meant), Value::Float32(got)) => meant.to_bits() == got.to_bits(),
        (Value::Float64(meant), Value::Float64(got)) => meant.to_bits() == got.to_bits(),
        (Value::Float64(meant), Value::Float32(got)) => (*meant as f32).to_bits() == got.to_bits(),
        (Value::Nbt(meant), Value::Nbt(got)) => nbt::same(meant, got),
        (meant @ (Value::Bool(_) | Value::Int(_) | Value::Bytes(_)), got)
            if std::mem::discriminant(meant) == std::mem::discriminant(got) =>
        {
            meant == got
        }
        (Value::Text(meant), Value::Text(got)) => meant == got,
        (Value::Uuid(meant), Value::Uuid(got)) => meant == got,
        _ => true,
    }
}

fn set(
    value: &mut Value,
    path: &EditPath,
    new: &Value,
    components: Components<'_>,
) -> Result<(), EditError> {
    match &path.pointer {
        None => each(value, path.steps(), &mut |place| {
            if let Some(merged) = components.merge(path.steps(), place, new) {
                *place = merged?;
                return Ok(());
            }
            merge(place, new)?;
            components.read_tables(path.steps(), place)
        }),
        Some(pointer) => {
            let json = json_of(new)?;
            each(value, path.steps(), &mut |place| match open(place) {
                Value::Nbt(tree) => {
                    nbt::each(component_in(tree), &tags(pointer), &mut |place| merge(place, new))
                }
                place => in_json(place, |root| set_json(root, pointer, json.clone())),
            })
        }
    }
}

fn remove(value: &mut Value, path: &EditPath) -> Result<(), EditError> {
    let Some(pointer) = &path.pointer else { return remove_at(value, path.steps()) };
    each(value, path.steps(), &mut |place| match open(place) {
        place @ Value::Nbt(_) => remove_at(place, &tags(pointer)),
        place => in_json(place, |root| remove_json(root, pointer)),
    })
}

fn remove_at(value: &mut Value, steps: &[PathStep]) -> Result<(), EditError> {
    let Some((last, around)) = steps.split_last() else { return Ok(()) };
    each(value, around, &mut |place| match (last, open(place)) {
        (PathStep::Name(name), Value::Nbt(nbt)) => nbt::remove(nbt, name),
        (PathStep::Name(_), around) => each(around, std::slice::from_ref(last), &mut |place| {
            *place = Value::Absent;
            Ok(())
        }),
        (PathStep::Index(index), Value::List(items)) => {
            items.remove(element(*index, items.len())?);
            Ok(())
        }
        (PathStep::Each, Value::List(items)) => {
            items.clear();
            Ok(())
        }
        _ => Err(EditError::NothingToRemove),
    })
}

/// Calls `act` with each value at the end of a path.
fn each(
    value: &mut Value,
    steps: &[PathStep],
    act: &mut dyn FnMut(&mut Value) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let Some((step, rest)) = steps.split_first() else { return act(value) };
    let value = open(value);
    match step {
        PathStep::Name(name) => {
            if let Value::Absent = value {
                *value = Value::Map(Vec::new());
            }
            match value {
                Value::Map(fields) => {
                    let at = fields.iter().position(|(key, _)| key == name);
                    let at = at.unwrap_or_else(|| {
                        fields.push((name.clone(), Value::Absent));
                        fields.len() - 1
                    });
                    each(&mut fields[at].1, rest, act)
                }
                Value::Nbt(tree) => nbt::each(&mut tree.root, steps, act),
                other => Err(EditError::NoField { name: name.clone(), value: other.kind() }),
            }
        }
        PathStep::Index(index) => match value {
            Value::List(items) => {
                let at = element(*index, items.len())?;
                each(&mut items[at], rest, act)
            }
            Value::Nbt(tree) => nbt::each(&mut tree.root, steps, act),
            other => Err(EditError::NoElements(other.kind())),
        },
        PathStep::Each => match value {
            Value::List(items) => items.iter_mut().try_for_each(|item| each(item, rest, act)),
            other => Err(EditError::NoElements(other.kind())),
        },
        PathStep::Append => {
            if let Value::Absent = value {
                *value = Value::List(Vec::new());
            }
            let Value::List(items) = value else {
                return Err(EditError::NoElements(value.kind()));
            };
            let mut item = Value::Absent;
            each(&mut item, rest, act)?;
            items.push(item);
            Ok(())
        }
    }
}

/// Returns the plain value of one in an unusual encoding, to be changed. NBT loses that encoding,
/// since its bytes change; a list keeps its unusual prefix as long as it fits.
fn open(value: &mut Value) -> &mut Value {
    if let Value::Exact(exact) = value
        && let Value::Nbt(_) = exact.value
    {
        *value = std::mem::replace(&mut exact.value, Value::Absent);
        return value;
    }
    match value {
        Value::Exact(exact) => open(&mut exact.value),
        value => value,
    }
}

/// Replaces a value; a table changes only the fields that it names.
fn merge(place: &mut Value, new: &Value) -> Result<(), EditError> {
    let Value::Map(fields) = new else {
        *place = new.clone();
        return Ok(());
    };
    match open(place) {
        Value::Map(_) => fields.iter().try_for_each(|(name, new)| {
            each(place, &[PathStep::Name(name.clone())], &mut |place| merge(place, new))
        }),
        Value::Nbt(tree) if !nbt::is_typed(new) && matches!(tree.root, Tag::Compound(_)) => {
            fields.iter().try_for_each(|(name, new)| {
                nbt::each(&mut tree.root, &[PathStep::Name(name.clone())], &mut |place| {
                    merge(place, new)
                })
            })
        }
        place => {
            *place = new.clone();
            Ok(())
        }
    }
}

/// Returns the path in NBT that a JSON pointer means in a component.
fn tags(pointer: &[String]) -> Vec<PathStep> {
    let step = |part: &String| match part.parse() {
        Ok(index) => PathStep::Index(index),
        Err(_) => PathStep::Name(part.as_str().into()),
    };
    pointer.iter().map(step).collect()
}

/// Returns the component in NBT; a bare text gets room for other members.
fn component_in(nbt: &mut Nbt) -> &mut Tag {
    if let Tag::Text(_) = nbt.root {
        let text = std::mem::replace(&mut nbt.root, Tag::Byte(0));
        nbt.root = Tag::Compound(Compound { entries: vec![(nbt::key("text"), text)] });
    }
    &mut nbt.root
}

/// Changes the JSON in a text.
fn in_json(
    place: &mut Value,
    change: impl FnOnce(&mut serde_json::Value) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let Some(text) = place.as_text() else {
        return Err(EditError::NotJson(place.kind()));
    };
    let mut root = serde_json::from_str(text)
        .map_err(|error: serde_json::Error| EditError::InvalidJson(error.to_string()))?;
    change(&mut root)?;
    *place = Value::from(root.to_string().as_str());
    Ok(())
}

fn set_json(
    root: &mut serde_json::Value,
    pointer: &[String],
    new: serde_json::Value,
) -> Result<(), EditError> {
    use serde_json::Value as Json;
    let mut place = root;
    for part in pointer {
        if place.is_null() {
            *place = Json::Object(serde_json::Map::new());
        }
        place = match place {
            Json::Object(members) => members.entry(part.as_str()).or_insert(Json::Null),
            Json::Array(items) => {
                let at = if part == "-" { items.len() } else { index(part, items.len() + 1)? };
                if at == items.len() {
                    items.push(Json::Null);
                }
                &mut items[at]
            }
            _ => return Err(EditError::NothingBelow(part.clone())),
        };
    }
    *place = new;
    Ok(())
}

fn remove_json(root: &mut serde_json::Value, pointer: &[String]) -> Result<(), EditError> {
    use serde_json::Value as Json;
    let Some((last, around)) = pointer.split_last() else {
        return Err(EditError::WholeJson);
    };
    let mut place = root;
    for part in around {
        let below = match place {
            Json::Object(members) => members.get_mut(part),
            Json::Array(items) => {
                let at = index(part, items.len())?;
                items.get_mut(at)
            }
            _ => None,
        };
        // Nothing needs to be removed.
        let Some(below) = below else { return Ok(()) };
        place = below;
    }
    match place {
        Json::Object(members) => {
            members.shift_remove(last);
        }
        Json::Array(items) => {
            let at = index(last, items.len())?;
            items.remove(at);
        }
        _ => {}
    }
    Ok(())
}

fn index(part: &str, length: usize) -> Result<usize, EditError> {
    let index = part.parse().ok().filter(|index| *index < length);
    index.ok_or_else(|| EditError::NoJsonElement(part.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::wire::Nbt;

    #[test]
    fn an_encoded_value_agrees_if_it_holds_all_that_was_meant() {
        let map = |fields: &[(&str, Value)]| Value::map(fields.iter().cloned());
        let list = |items: &[i64]| Value::List(items.iter().map(|it| Value::Int(*it)).collect());
        let nbt = |root| Value::Nbt(Box::new(Nbt { name: None, root }));
        let text = |text: &str| Value::from(text);
        let one = || map(&[("a", Value::Int(1))]);
        for (meant, got, agreed) in [
            (one(), map(&[("a", Value::Int(1)), ("b", Value::Int(2))]), true),
            (one(), map(&[("a", Value::Int(2))]), false),
            (map(&[("a", Value::Absent)]), map(&[]), true),
            (list(&[1, 2]), list(&[1, 2]), true),
            (list(&[1, 2]), list(&[1, 3]), false),
            (list(&[1, 2]), list(&[1]), false),
            (Value::Absent, Value::Absent, true),
            (map(&[]), Value::Absent, true),
            (Value::Float32(0.0), Value::Float32(-0.0), false),
            (Value::Float32(f32::NAN), Value::Float32(f32::NAN), true),
            (Value::Float64(0.0), Value::Float64(-0.0), false),
            (Value::Float64(f64::NAN), Value::Float64(f64::NAN), true),
            (Value::Float64(0.1), Value::Float32(0.1), true),
            (Value::Float64(0.1), Value::Float32(0.2), false),
            (nbt(Tag::Float(f32::NAN)), nbt(Tag::Float(f32::NAN)), true),
            (nbt(Tag::Byte(1)), nbt(Tag::Byte(1)), true),
            (nbt(Tag::Byte(1)), nbt(Tag::Byte(2)), false),
            (Value::Int(1), Value::Int(2), false),
            (Value::Bool(true), Value::Bool(false), false),
            (Value::Int(1), Value::Float32(1.0), true),
            (text("a"), text("a"), true),
            (text("a"), text("b"), false),
            (Value::Uuid(1), Value::Uuid(1), true),
            (Value::Uuid(1), Value::Uuid(2), false),
            (text("AA=="), Value::Bytes(vec![0].into()), true),
        ] {
            assert_eq!(agrees(&meant, &got, Missing::Refused), agreed, "{meant:?} {got:?}");
            assert_eq!(agrees(&meant, &got, Missing::Allowed), agreed, "{meant:?} {got:?}");
        }
        for (meant, got) in [(one(), map(&[])), (one(), Value::Absent), (text(""), Value::Absent)] {
            assert!(agrees(&meant, &got, Missing::Allowed), "{meant:?} {got:?}");
            assert!(!agrees(&meant, &got, Missing::Refused), "{meant:?} {got:?}");
        }
    }
}
