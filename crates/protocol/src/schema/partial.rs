use serde_json::{Map, Value as Json, json};

use super::channels::CHANNELS;
use super::number::parse_int;
use super::{Direction, SchemaError, State, packet_types};

/// Returns whether a description names another one or has no packet ids of its own, so that it is
/// merged into that of another version.
pub(super) fn is_partial(description: &Json) -> bool {
    let sections = State::ALL.into_iter().flat_map(|state| {
        Direction::ALL.map(|direction| &description[state.name()][direction.side()]["types"])
    });
    description.get(EXTENDS).is_some() || !sections.into_iter().any(|it| it.get("packet").is_some())
}

/// Merges a partial description into `base`: its types and channels replace those of the same name,
/// and its `packets` give ids to names.
///
/// # Errors
/// [`SchemaError`] with the place in `partial`.
pub(super) fn merge(mut base: Json, partial: &Json) -> Result<Json, SchemaError> {
    for (key, part) in object(SchemaError::TOP, partial)? {
        match State::ALL.into_iter().find(|state| state.name() == key) {
            Some(state) => {
                for (side, section) in object(key, part)? {
                    if !Direction::ALL.iter().any(|direction| direction.side() == side) {
                        let cause = format!("unknown key `{side}`, not one of toClient, toServer");
                        return Err(SchemaError { at: key.clone(), cause });
                    }
                    merge_section(&mut base, state, side, section)?;
                }
            }
            None if key == "types" || key == CHANNELS => merge_types(&mut base[key], key, part)?,
            // A text is a remark.
            None if key == EXTENDS || part.is_string() => {}
            None => {
                let states = State::ALL.map(State::name).join(", ");
                let cause =
                    format!("unknown key `{key}`, not one of extends, types, {CHANNELS}, {states}");
                return Err(SchemaError { at: SchemaError::TOP.into(), cause });
            }
        }
    }
    Ok(base)
}

fn merge_section(
    base: &mut Json,
    state: State,
    side: &str,
    section: &Json,
) -> Result<(), SchemaError> {
    let at = format!("{state}.{side}");
    let section = object(&at, section)?;
    if let Some(key) = section.keys().find(|key| !["types", "packets"].contains(&key.as_str())) {
        let cause = format!("unknown key `{key}`, not one of types, packets");
        return Err(SchemaError { at, cause });
    }
    let types = &mut base[state.name()][side]["types"];
    if let Some(own) = section.get("types") {
        merge_types(types, &format!("{at}.types"), own)?;
    }
    let Some(packets) = section.get("packets") else { return Ok(()) };
    let at = format!("{at}.packets");
    for (id, name) in object(&at, packets)? {
        let fault = |cause: String| SchemaError { at: at.clone(), cause };
        let number = packet_id(id).ok_or_else(|| fault(format!("`{id}` is not a packet id")))?;
        let name = name.as_str().ok_or_else(|| fault(format!("`{id}` has no name")))?;
        let definition = format!("packet_{name}");
        let root = types.get("packet").cloned();
        let mut root = root.unwrap_or_else(|| packet_types("varint", Map::new(), Map::new()));
        let known = &root[1][1]["type"][1]["fields"];
        if types.get(&definition).is_none() && known.get(name).is_none() {
            return Err(fault(format!("`{name}` has no type `{definition}`")));
        }
        give_id(&mut root, number, name, types.get(&definition).is_some().then_some(definition))
            .ok_or_else(|| fault("the version has an unusual list of packets".into()))?;
        types["packet"] = root;
    }
    Ok(())
}

/// Gives an id to a packet. Another packet with that id, and another id of this one, are removed.
fn give_id(root: &mut Json, id: u16, name: &str, definition: Option<String>) -> Option<()> {
    let parts = root[1].as_array_mut()?;
    let [ids, types] = parts.as_mut_slice() else { return None };
    let mappings = ids["type"][1]["mappings"].as_object_mut()?;
    let replaced: Vec<Json> = mappings
        .iter()
        .filter(|(key, _)| packet_id(key) == Some(id))
        .map(|(_, other)| other.clone())
        .collect();
    mappings.retain(|key, other| packet_id(key) != Some(id) && other != name);
    mappings.insert(format!("0x{id:02x}"), json!(name));
    let types = types["type"][1]["fields"].as_object_mut()?;
    types.retain(|other, _| other == name || !replaced.iter().any(|it| it == other));
    if let Some(definition) = definition {
        types.insert(name.to_owned(), json!(definition));
    }
    Some(())
}

fn packet_id(text: &str) -> Option<u16> {
    parse_int(text)?.try_into().ok()
}

fn merge_types(base: &mut Json, at: &str, own: &Json) -> Result<(), SchemaError> {
    if !base.is_object() {
        *base = json!({});
    }
    for (name, definition) in object(at, own)? {
        base[name] = definition.clone();
    }
    Ok(())
}

pub(super) fn object<'j>(at: &str, json: &'j Json) -> Result<&'j Map<String, Json>, SchemaError> {
    let fault = || SchemaError { at: at.into(), cause: "expected an object".into() };
    json.as_object().ok_or_else(fault)
}

/// The key that names the version that a partial description changes: its game version or number.
pub(super) const EXTENDS: &str = "extends";
