//! The lists of names in layouts that are registries of the game: types of particles, components of items.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::reports::bare;
use crate::schema::parse_int;

/// A list of names that is not that of the earlier version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedList {
    /// The registry, for example `particle_type`.
    pub registry: String,
    /// The names that the earlier version does not have.
    pub added: Vec<String>,
    /// The names that only the earlier version has.
    pub removed: Vec<String>,
    /// `true` if the layout of what follows depends on the name, so that that of the new ones is not known: packets
    /// decode up to the first of them.
    pub decides: bool,
}

/// The definitions of a description whose lists of names were replaced.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    /// The new definitions, by their section and name.
    pub(super) definitions: BTreeMap<(String, String), Json>,
    /// The lists in each definition that has any.
    pub(super) lists: BTreeMap<(String, String), Lists>,
}

/// The lists of names in a definition.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) changed: Vec<ChangedList>,
    /// The registries whose names decide about what follows them, changed or not.
    pub(super) deciding: BTreeSet<&'static str>,
}

/// Replaces the lists of names in all definitions of a description by the registries of another version. `sections`
/// are the names of its parts with their definitions.
pub(super) fn rewrite(
    sections: &[(String, &Map<String, Json>)],
    registries: &BTreeMap<String, Vec<(i64, String)>>,
) -> Rewritten {
    let mut deciding = BTreeSet::new();
    for (_, definitions) in sections {
        definitions.values().for_each(|it| note_deciding(it, &mut deciding));
    }
    let mut rewritten = Rewritten::default();
    for (section, definitions) in sections {
        for (name, definition) in definitions.iter().filter(|(name, _)| *name != "packet") {
            let mut new = definition.clone();
            let mut lists = Lists::default();
            replace(&mut new, deciding.contains(name.as_str()), registries, &mut lists);
            if lists.changed.is_empty() && lists.deciding.is_empty() {
                continue;
            }
            let key = (section.clone(), name.clone());
            // New names whose data is unknown change nothing.
            if new != *definition {
                rewritten.definitions.insert(key.clone(), new);
            }
            rewritten.lists.insert(key, lists);
        }
    }
    rewritten
}

/// Adds the names of types whose values decide about what follows.
fn note_deciding(json: &Json, deciding: &mut BTreeSet<String>) {
    for (decides, ty) in fields_of(json) {
        deciding.extend(ty.as_str().filter(|_| decides).map(str::to_owned));
    }
    match json {
        Json::Array(parts) => parts.iter().for_each(|it| note_deciding(it, deciding)),
        Json::Object(parts) => parts.values().for_each(|it| note_deciding(it, deciding)),
        _ => {}
    }
}

/// Returns the types of the fields of a container, and whether what follows depends on them.
fn fields_of(json: &Json) -> Vec<(bool, &Json)> {
    let Some([kind, Json::Array(fields)]) = json.as_array().map(Vec::as_slice) else {
        return Vec::new();
    };
    if kind != "container" {
        return Vec::new();
    }
    let mut compared = BTreeSet::new();
    note_compared(json, &mut compared);
    let types = fields.iter().filter_map(|field| {
        let name = field.get("name").and_then(Json::as_str);
        Some((name.is_some_and(|name| compared.contains(name)), field.get("type")?))
    });
    types.collect()
}

/// Adds the names of fields on which a `switch` depends.
fn note_compared<'j>(json: &'j Json, compared: &mut BTreeSet<&'j str>) {
    match json {
        Json::Array(parts) => parts.iter().for_each(|it| note_compared(it, compared)),
        Json::Object(parts) => {
            for (key, part) in parts {
                match part.as_str().filter(|_| key == "compareTo") {
                    Some(path) => {
                        let path = path.trim_start_matches("../");
                        compared.extend(path.split('/').next());
                    }
                    None => note_compared(part, compared),
                }
            }
        }
        _ => {}
    }
}

/// Replaces the lists of names in a type. `decides` says whether what follows depends on its value.
fn replace(
    json: &mut Json,
    decides: bool,
    registries: &BTreeMap<String, Vec<(i64, String)>>,
    lists: &mut Lists,
) {
    let decided: Vec<bool> = fields_of(json).into_iter().map(|(decides, _)| decides).collect();
    match json {
        Json::Array(parts) => match parts.as_mut_slice() {
            [Json::String(kind), options] if kind == "mapper" => {
                if let Some(mappings) = options.get_mut("mappings").and_then(Json::as_object_mut) {
                    replace_names(mappings, decides, registries, lists);
                }
            }
            [Json::String(kind), Json::Array(fields)] if kind == "container" => {
                let types = fields.iter_mut().filter_map(|field| field.get_mut("type"));
                for (ty, decides) in types.zip(decided) {
                    replace(ty, decides, registries, lists);
                }
            }
            parts => parts.iter_mut().for_each(|it| replace(it, false, registries, lists)),
        },
        Json::Object(parts) => {
            parts.values_mut().for_each(|it| replace(it, false, registries, lists));
        }
        _ => {}
    }
}

/// Gives the numbers of a registry to the names of a mapper that is its list.
fn replace_names(
    mappings: &mut Map<String, Json>,
    decides: bool,
    registries: &BTreeMap<String, Vec<(i64, String)>>,
    lists: &mut Lists,
) {
    let known: Vec<(i64, &str)> = mappings
        .iter()
        .filter_map(|(number, name)| Some((parse_int(number)?, name.as_str()?)))
        .collect();
    let Some((registry, entries)) = registry_of(&known, registries) else { return };
    lists.deciding.extend(decides.then_some(registry));
    let qualified = known.iter().any(|(_, name)| name.starts_with("minecraft:"));
    let mut list = ChangedList {
        registry: registry.to_owned(),
        added: Vec::new(),
        removed: Vec::new(),
        decides,
    };
    let mut names = BTreeMap::new();
    for (number, entry) in entries {
        let same = known.iter().find(|(_, name)| last_part(name) == last_part(entry));
        let full = match qualified && !entry.contains(':') {
            true => format!("minecraft:{entry}"),
            false => entry.clone(),
        };
        match same {
            // Cases are told by the name that the layout has.
            Some((_, name)) if decides => drop(names.insert(*number, (*name).to_owned())),
            Some((_, name)) if bare(name) == *entry => {
                drop(names.insert(*number, (*name).to_owned()))
            }
            Some(_) => drop(names.insert(*number, full)),
            None => {
                list.added.push(entry.clone());
                // Without a name a number ends the decoding, so that nothing is made up for its data.
                if !decides {
                    names.insert(*number, full);
                }
            }
        }
    }
    let is_left = |name: &str| entries.iter().any(|(_, entry)| last_part(entry) == last_part(name));
    let removed = known.iter().filter(|(_, name)| !is_left(name));
    list.removed = removed.map(|(_, name)| bare(name).to_owned()).collect();
    let old: BTreeMap<i64, String> =
        known.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
    if names == old && list.added.is_empty() {
        return;
    }
    *mappings = names.into_iter().map(|(number, name)| (number.to_string(), name.into())).collect();
    lists.changed.push(list);
}

/// Returns the registry that has most of a mapper's names.
fn registry_of<'r>(
    known: &[(i64, &str)],
    registries: &'r BTreeMap<String, Vec<(i64, String)>>,
) -> Option<(&'static str, &'r [(i64, String)])> {
    let names: BTreeSet<&str> = known.iter().map(|(_, name)| last_part(name)).collect();
    let found = IN_LAYOUTS.into_iter().filter_map(|registry| {
        let entries = registries.get(registry)?;
        let common = entries.iter().filter(|(_, entry)| names.contains(last_part(entry))).count();
        (2 * common > names.len()).then_some((common, registry, entries.as_slice()))
    });
    let (_, registry, entries) = found.max_by_key(|(common, ..)| *common)?;
    Some((registry, entries))
}

/// Returns a name without what its kind puts before it: `generic.armor` is `armor` since 1.21.2.
fn last_part(name: &str) -> &str {
    bare(name).rsplit('.').next().unwrap_or(name)
}

/// The registries whose numbers layouts have names for.
pub(super) const IN_LAYOUTS: [&str; 10] = [
    "attribute",
    "command_argument_type",
    "consume_effect_type",
    "data_component_type",
    "particle_type",
    "position_source_type",
    "recipe_book_category",
    "recipe_display",
    "recipe_serializer",
    "slot_display",
];
