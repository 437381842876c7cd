use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::channels::CHANNELS;
use super::number::parse_int;
use super::registry::REGISTRIES;
use super::{Direction, SchemaError, State, packet_types};

/// Returns whether a description names another one or has no packet ids of its own, so that it is
/// merged into that of another version.
pub(super) fn is_partial(description: &Json) -> bool {
    let sections = State::ALL.into_iter().flat_map(|state| {
        Direction::ALL.map(|direction| &description[state.name()][direction.side()]["types"])
    });
    description.get(EXTENDS).is_some() || !sections.into_iter().any(|it| it.get("packet").is_some())
}

/// Merges a partial description into `base`: its types, channels and registries replace those of the same name,
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
            None if ["types", CHANNELS, REGISTRIES].contains(&key.as_str()) => {
                merge_types(&mut base[key], key, part)?;
            }
            // A text is a remark.
            None if key == EXTENDS || part.is_string() => {}
            None => {
                let states = State::ALL.map(State::name).join(", ");
                let cause = format!(
                    "unknown key `{key}`, not one of extends, types, {CHANNELS}, {REGISTRIES}, {states}"
                );
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
    let fault = |cause: String| SchemaError { at: at.clone(), cause };
    let root = types.get("packet").cloned();
    let mut root = root.unwrap_or_else(|| packet_types("varint", Map::new(), Map::new()));
    let [ids, known] = lists(&mut root)
        .ok_or_else(|| fault("the version has an unusual list of packets".into()))?;
    let mut given = BTreeMap::new();
    for (id, name) in object(&at, packets)? {
        let number = packet_id(id).ok_or_else(|| fault(format!("`{id}` is not a packet id")))?;
        let name = match name {
            Json::Null => None,
            name => Some(name.as_str().ok_or_else(|| fault(format!("`{id}` has no name")))?),
        };
        let definition = name.map(|name| format!("packet_{name}"));
        let own = definition.filter(|definition| types.get(definition).is_some());
        if let Some(name) = name
            && own.is_none()
            && !known.contains_key(name)
        {
            return Err(fault(format!("`{name}` has no type `packet_{name}`")));
        }
        if let Some(other) = given.insert(number, (name, own))
            && other.0 != name
        {
            return Err(fault(format!("`{id}` has two names")));
        }
    }
    give_ids(ids, known, given);
    types["packet"] = root;
    Ok(())
}

/// Returns the names of packets by their ids, and their types by their names.
fn lists(root: &mut Json) -> Option<[&mut Map<String, Json>; 2]> {
    let parts = root.get_mut(1)?.as_array_mut()?;
    let [ids, types] = parts.as_mut_slice() else { return None };
    let ids = ids.get_mut("type")?.get_mut(1)?.get_mut("mappings")?.as_object_mut()?;
    Some([ids, types.get_mut("type")?.get_mut(1)?.get_mut("fields")?.as_object_mut()?])
}

/// Gives ids to packets, all at once, so that a packet whose id goes to another one keeps its type if it gets another
/// id itself. Other packets with these ids, and other ids of these packets, are removed; an id without a name is free.
fn give_ids(
    ids: &mut Map<String, Json>,
    types: &mut Map<String, Json>,
    given: BTreeMap<u16, (Option<&str>, Option<String>)>,
) {
    let named: BTreeSet<&str> = given.values().filter_map(|(name, _)| *name).collect();
    let mut removed = BTreeSet::new();
    ids.retain(|key, name| {
        let is_replaced = packet_id(key).is_some_and(|id| given.contains_key(&id));
        let stays = !is_replaced && !name.as_str().is_some_and(|name| named.contains(name));
        removed.extend(name.as_str().filter(|_| !stays).map(str::to_owned));
        stays
    });
    for (id, (name, definition)) in given {
        let Some(name) = name else { continue };
        ids.insert(format!("0x{id:02x}"), json!(name));
        if let Some(definition) = definition {
            types.insert(name.to_owned(), json!(definition));
        }
    }
    types.retain(|name, _| !removed.contains(name) || ids.values().any(|it| it == name));
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

/// The key of the protocol number that a description is for.
pub(super) const NUMBER: &str = "number";

/// The key of the game version that a description is for.
pub(super) const NAME: &str = "name";
