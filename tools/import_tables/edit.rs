//! Edits of ProtoDef JSON. Each returns whether it fitted, or panics.

use serde_json::{Map, Value as Json, json};

/// The definition of a clientbound packet of the game.
pub(crate) fn packet<'j>(tables: &'j mut Json, name: &str) -> &'j mut Json {
    &mut tables["play"]["toClient"]["types"][format!("packet_{name}")]
}

/// The definition of a serverbound packet of the game.
pub(crate) fn sent<'j>(tables: &'j mut Json, name: &str) -> &'j mut Json {
    &mut tables["play"]["toServer"]["types"][format!("packet_{name}")]
}

/// The type of a container's field.
///
/// # Panics
/// If there is none.
pub(crate) fn field<'j>(container: &'j mut Json, name: &str) -> &'j mut Json {
    let fields = container[1].as_array_mut();
    let found = fields.and_then(|fields| fields.iter_mut().find(|field| field["name"] == name));
    &mut found.unwrap_or_else(|| panic!("no field `{name}`"))["type"]
}

/// The layout of an item component.
pub(crate) fn component<'j>(tables: &'j mut Json, name: &str) -> &'j mut Json {
    &mut field(&mut tables["types"]["SlotComponent"], "data")[1]["fields"][name]
}

/// Replaces a whole definition, which must be there.
pub(crate) fn define(place: &mut Json, to: Json) -> bool {
    let fits = !place.is_null() && *place != to;
    *place = to;
    fits
}

pub(crate) fn replace(place: &mut Json, from: &Json, to: Json) -> bool {
    let fits = place == from;
    if fits {
        *place = to;
    }
    fits
}

/// Adds a field before another one, or at the end.
pub(crate) fn insert(container: &mut Json, name: &str, ty: Json, before: Option<&str>) -> bool {
    let Some(fields) = container[1].as_array_mut() else { return false };
    let place = match before {
        Some(before) => fields.iter().position(|field| field["name"] == before),
        None => Some(fields.len()),
    };
    let is_new = fields.iter().all(|field| field["name"] != name);
    let Some(place) = place.filter(|_| is_new) else { return false };
    fields.insert(place, json!({ "name": name, "type": ty }));
    true
}

/// Removes a field.
pub(crate) fn remove(container: &mut Json, name: &str) -> bool {
    let Some(fields) = container[1].as_array_mut() else { return false };
    let before = fields.len();
    fields.retain(|field| field["name"] != name);
    fields.len() + 1 == before
}

/// Adds names to a mapper before the name `before`, or at the end; the following numbers grow.
pub(crate) fn insert_names(mapper: &mut Json, new: &[&str], before: Option<&str>) -> bool {
    edit_names(mapper, |names| {
        let place = match before {
            Some(before) => names.iter().position(|name| name == before),
            None => Some(names.len()),
        };
        let is_new = new.iter().all(|new| names.iter().all(|name| name != new));
        let Some(place) = place.filter(|_| is_new) else { return false };
        names.splice(place..place, new.iter().map(|name| (*name).to_owned()));
        true
    })
}

/// Removes a name from a mapper; the following numbers shrink.
pub(crate) fn remove_name(mapper: &mut Json, old: &str) -> bool {
    edit_names(mapper, |names| {
        let before = names.len();
        names.retain(|name| name != old);
        names.len() + 1 == before
    })
}

/// Exchanges two names of a mapper, of which `second` follows `first`.
pub(crate) fn exchange_names(mapper: &mut Json, first: &str, second: &str) -> bool {
    edit_names(mapper, |names| {
        let place = names.windows(2).position(|pair| pair == [first, second]);
        if let Some(place) = place {
            names.swap(place, place + 1);
        }
        place.is_some()
    })
}

/// Edits the names of a mapper, which count from 0 without a gap.
fn edit_names(mapper: &mut Json, edit: impl FnOnce(&mut Vec<String>) -> bool) -> bool {
    let Some(mappings) = mapper[1]["mappings"].as_object_mut() else { return false };
    let in_hex = mappings.keys().all(|key| key.starts_with("0x"));
    let names = mappings.values().map(|name| name.as_str().map(str::to_owned));
    let Some(mut names) = names.collect::<Option<Vec<_>>>() else { return false };
    let fits = edit(&mut names);
    let key = |id: usize| if in_hex { format!("0x{id:02x}") } else { id.to_string() };
    let fresh = names.into_iter().enumerate().map(|(id, name)| (key(id), Json::String(name)));
    *mappings = fresh.collect::<Map<_, _>>();
    fits
}

/// Adds a packet before another one, whose id it takes.
pub(crate) fn insert_packet(section: &mut Json, name: &str, ty: Json, before: &str) -> bool {
    let types = &mut section["types"];
    let root = &mut types["packet"];
    let fits = insert_names(field(root, "name"), &[name], Some(before));
    field(root, "params")[1]["fields"][name] = json!(format!("packet_{name}"));
    types[format!("packet_{name}")] = ty;
    fits
}

/// Removes a packet; the following ids shrink.
pub(crate) fn remove_packet(section: &mut Json, name: &str) -> bool {
    let Some(Json::String(definition)) = unlist_packet(section, name) else { return false };
    section["types"].as_object_mut().is_some_and(|types| types.remove(&definition).is_some())
}

/// Takes a packet off the list of a section, and returns what defines it; the following ids shrink.
pub(crate) fn unlist_packet(section: &mut Json, name: &str) -> Option<Json> {
    let root = &mut section["types"]["packet"];
    let fits = remove_name(field(root, "name"), name);
    let definition = field(root, "params")[1]["fields"].as_object_mut()?.remove(name);
    definition.filter(|_| fits)
}

/// A container of these fields.
pub(crate) fn container(fields: &[(&str, Json)]) -> Json {
    let fields = fields.iter().map(|(name, ty)| json!({ "name": name, "type": ty }));
    json!(["container", fields.collect::<Vec<_>>()])
}

/// A list with its length in front.
pub(crate) fn list(element: Json) -> Json {
    json!(["array", { "countType": "varint", "type": element }])
}

/// A VarInt with names that count from 0.
pub(crate) fn names(names: &[&str]) -> Json {
    let mappings = names.iter().enumerate().map(|(id, name)| (id.to_string(), json!(name)));
    json!(["mapper", { "type": "varint", "mappings": mappings.collect::<Map<_, _>>() }])
}

/// A reference to a registry, or the value itself.
pub(crate) fn holder(reference: &str, inline: &str) -> Json {
    json!(["registryEntryHolder", {
        "baseName": reference,
        "otherwise": { "name": "data", "type": inline },
    }])
}
