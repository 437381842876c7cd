use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::members::Members;
use crate::schema::types::{Field, Type, TypeId};
use crate::schema::{PacketType, Protocol, rest_name, vec3};

/// Returns a JSON Schema (draft 7) of the lines of a JSONL capture that have these packets, which must
/// belong to `protocol`.
///
/// `definitions` has one schema per packet, named as `PlayClientboundMapChunk`, for the object in `fields`, and
/// one per type that is used several times. Lines of events, and of packets that do not decode, are valid
/// whatever they contain.
#[must_use]
pub fn json_schema<'p>(
    protocol: &Protocol,
    packets: impl IntoIterator<Item = &'p PacketType>,
) -> Json {
    let mut writer = Writer { types: &protocol.types, ..Writer::default() };
    let mut lines = vec![json!({ "required": ["event"] }), json!({ "required": ["error"] })];
    for packet in packets {
        let (state, direction) = (packet.state().name(), packet.direction().name());
        let name = type_name(&format!("{state}_{direction}_{}", packet.name()));
        // A packet without a layout has `null`, one whose layout has no fields `{}`.
        let fields = writer.element(packet.ty, packet.name());
        writer.definitions.insert(name.clone(), fields);
        lines.push(json!({
            "type": "object",
            "properties": {
                "state": { "const": state },
                "dir": { "const": direction },
                "packet": { "const": &**packet.name() },
                "fields": reference(&name),
            },
            "required": ["state", "dir", "packet", "fields"],
        }));
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": format!("Minecraft: Java Edition {} (protocol {})", protocol.name(), protocol.version()),
        "anyOf": lines,
        "definitions": writer.definitions,
    })
}

/// Writes the types of one protocol. A type is written where it is first used; from its second use on, and
/// if it contains itself, it has a definition.
#[derive(Default)]
struct Writer<'p> {
    types: &'p [Type],
    /// The types around the one that is being written.
    open: Vec<TypeId>,
    /// The large types that were written.
    written: BTreeMap<u32, Json>,
    /// The names of the types that have a definition.
    names: BTreeMap<u32, String>,
    definitions: Map<String, Json>,
}

impl Writer<'_> {
    /// Returns the schema of a type, or `None` if it never has a value. `field` is a field of this type.
    fn value(&mut self, id: TypeId, field: &str) -> Option<Json> {
        if let Some(name) = self.names.get(&id.0) {
            return Some(reference(name));
        }
        if self.open.contains(&id) {
            return Some(reference(&self.name(id, field)));
        }
        if let Some(schema) = self.written.get(&id.0).cloned() {
            let name = self.name(id, field);
            self.definitions.insert(name.clone(), schema);
            return Some(reference(&name));
        }
        self.open.push(id);
        let schema = self.inline(id, field);
        self.open.pop();
        let schema = schema?;
        if let Some(name) = self.names.get(&id.0) {
            self.definitions.insert(name.clone(), schema);
            return Some(reference(name));
        }
        if schema.to_string().len() > INLINE {
            self.written.insert(id.0, schema.clone());
        }
        Some(schema)
    }

    /// Gives a type a name that no definition has.
    fn name(&mut self, id: TypeId, field: &str) -> String {
        let first = type_name(field);
        let is_free = |name: &String| *name != NBT && self.names.values().all(|it| it != name);
        let mut name = first.clone();
        for number in 2.. {
            if is_free(&name) {
                break;
            }
            name = format!("{first}_{number}");
        }
        self.names.insert(id.0, name.clone());
        name
    }

    fn inline(&mut self, id: TypeId, field: &str) -> Option<Json> {
        let types = self.types;
        Some(match &types[id.0 as usize] {
            Type::Void => return None,
            Type::Bool => json!({ "type": "boolean" }),
            ty @ (Type::Int(_) | Type::VarInt | Type::VarLong) => {
                let (low, high) = ty.range().into_inner();
                // Limits of 64 bits or less.
                json!({ "type": "integer", "minimum": low as i64, "maximum": high as u64 })
            }
            Type::F32 | Type::F64 => float(),
            Type::Uuid => json!({ "type": "string", "format": "uuid" }),
            Type::Text { .. } | Type::Terminated(_) | Type::RestText | Type::Between(_) => text(),
            Type::RestTexts => list(text()),
            Type::Buffer(_) | Type::Rest => base64(),
            // What is no such value stays bytes.
            Type::Sized { of, .. } => any_of([self.value(*of, field)?, base64()]),
            Type::Container(_) | Type::Bitfield(_) | Type::Flags { .. } | Type::TextForms(_) => {
                let mut members = Members::default();
                self.members(id, true, &mut members);
                members.object()
            }
            ty @ (Type::Switch(_) | Type::IfMore { .. }) => self.either(ty.cases(), field)?,
            Type::Option(inner)
            | Type::CountFor { base: inner, .. }
            | Type::RestLength { base: inner } => self.value(*inner, field)?,
            Type::Array { element, .. } => self.elements(*element, field),
            Type::Metadata { element, .. } | Type::TopBit(element) => {
                list(self.element(*element, field))
            }
            Type::Mapper { base, names } => {
                let names: BTreeSet<&str> = names.iter().map(|(_, name)| &**name).collect();
                // A number without a name stays a number.
                let number = self.value(*base, field)?;
                any_of([json!({ "type": "string", "enum": names }), number])
            }
            Type::Nbt { .. } | Type::CompressedNbt { .. } => {
                self.definitions.insert(NBT.into(), nbt());
                // A document in a compressed field that does not inflate stays bytes.
                any_of([reference(NBT), base64()])
            }
            Type::Holder { base, inline } => {
                let mut members = Members::default();
                members.add(base, json!({ "type": "integer" }), false);
                members.extend(&inline.name, self.value(inline.ty, &inline.name), false);
                members.object()
            }
            Type::HolderSet { base, entries } => {
                let mut members = Members::default();
                members.extend(&base.name, self.value(base.ty, &base.name), false);
                members.add(&entries.name, self.elements(entries.ty, &entries.name), false);
                members.object()
            }
            Type::Vec3 => {
                let mut members = Members::default();
                vec3::names().iter().for_each(|name| members.add(name, float(), true));
                members.object()
            }
        })
    }

    /// Adds the fields of a type whose value is a map, or is merged into one. They are always there if
    /// `required`.
    fn members(&mut self, id: TypeId, required: bool, members: &mut Members) {
        let types = self.types;
        match &types[id.0 as usize] {
            Type::Container(fields) => {
                for Field { name, ty, .. } in fields {
                    match name {
                        Some(name) => {
                            let required = required && !self.may_be_absent(*ty);
                            members.extend(name, self.value(*ty, name), required);
                        }
                        None => self.members(*ty, required, members),
                    }
                }
            }
            Type::Bitfield(bits) => {
                let integer = json!({ "type": "integer" });
                bits.iter().for_each(|it| members.add(&it.name, integer.clone(), required));
            }
            Type::Flags { flags, .. } => {
                let flag = json!({ "type": "boolean" });
                flags.iter().for_each(|(name, _)| members.add(name, flag.clone(), required));
                members.add(&rest_name(), json!({ "type": "integer" }), false);
            }
            Type::TextForms(forms) => {
                members.add(&forms.whole, text(), required);
                for part in forms.parts() {
                    let part_type = if part.number { json!({ "type": "integer" }) } else { text() };
                    members.add(&part.name, part_type, false);
                }
            }
            // Other types have no fields.
            ty => ty.cases().for_each(|case| self.members(case, false, members)),
        }
    }

    /// Returns whether a field of this type can be left out.
    fn may_be_absent(&self, id: TypeId) -> bool {
        match &self.types[id.0 as usize] {
            Type::Void | Type::Option(_) | Type::Nbt { .. } | Type::CompressedNbt { .. } => true,
            Type::Switch(switch) => switch.cases().any(|case| self.may_be_absent(case)),
            Type::IfMore { some, otherwise, .. } => {
                otherwise.is_none_or(|other| self.may_be_absent(other)) || self.may_be_absent(*some)
            }
            _ => false,
        }
    }

    /// Returns the schema of a value that has one of these types, or `None` if none of them has a value.
    fn either(&mut self, types: impl Iterator<Item = TypeId>, field: &str) -> Option<Json> {
        let mut all: Vec<TypeId> = types.collect();
        all.sort_by_key(|id| id.0);
        all.dedup();
        let schemas: Vec<Json> = all.into_iter().filter_map(|it| self.value(it, field)).collect();
        (!schemas.is_empty()).then(|| any_of(schemas))
    }

    /// Returns the schema of an element of a list, in which what is absent is `null`.
    fn element(&mut self, id: TypeId, field: &str) -> Json {
        let null = || json!({ "type": "null" });
        match self.value(id, field) {
            Some(schema) if self.may_be_absent(id) => any_of([schema, null()]),
            Some(schema) => schema,
            None => null(),
        }
    }

    /// Returns the schema of a counted list: one of single bytes is base64.
    fn elements(&mut self, id: TypeId, field: &str) -> Json {
        match &self.types[id.0 as usize] {
            Type::Int(int) if int.bytes == 1 => base64(),
            _ => list(self.element(id, field)),
        }
    }
}

pub(super) fn any_of(schemas: impl IntoIterator<Item = Json>) -> Json {
    let mut all: Vec<Json> = Vec::new();
    for schema in schemas {
        let cases = match schema.get("anyOf") {
            Some(Json::Array(cases)) => cases.clone(),
            _ => vec![schema],
        };
        for case in cases {
            if !all.contains(&case) {
                all.push(case);
            }
        }
    }
    if all.len() == 1 { all.remove(0) } else { json!({ "anyOf": all }) }
}

/// Returns a name in capitals: `MapChunk` for `map_chunk`.
fn type_name(name: &str) -> String {
    let words = name.split(|char: char| !char.is_alphanumeric()).filter(|it| !it.is_empty());
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        first.to_uppercase() + rest
    };
    words.map(capital).collect()
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/definitions/{name}") })
}

fn text() -> Json {
    json!({ "type": "string" })
}

fn base64() -> Json {
    json!({ "type": "string", "contentEncoding": "base64" })
}

fn list(element: Json) -> Json {
    json!({ "type": "array", "items": element })
}

fn float() -> Json {
    json!({ "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity", "-Infinity"] }] })
}

/// Returns the schema of NBT, which names the type of every value.
fn nbt() -> Json {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string" },
            "name": { "type": "string" },
            "value": {},
            "base64": { "type": "string", "contentEncoding": "base64" },
        },
        "required": ["type", "value"],
        "additionalProperties": false,
    })
}

/// The name of the definition of NBT.
const NBT: &str = "Nbt";

/// Longest schema, in bytes, that is repeated rather than defined once.
const INLINE: usize = 200;
