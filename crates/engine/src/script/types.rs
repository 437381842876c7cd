use std::fmt::Write as _;

use mitmcraft_protocol::schema::{Protocol, json_schema};
use mitmcraft_protocol::wire::is_unseen;
use serde_json::Value as Json;

/// Returns annotations for the Lua language server: the functions of scripts, and a class for the fields
/// of each packet of a version, named as `PlayServerboundChat`.
#[must_use]
pub fn lua_types(protocol: &Protocol) -> String {
    let schema = json_schema(protocol, protocol.packets());
    let mut out = include_str!("types.lua").to_owned();
    // A description of a person may have any name.
    let title = schema["title"].as_str().unwrap_or_default().replace(is_unseen, " ");
    let _ = write!(out, "\n-- {title}");
    let lines = schema["anyOf"].as_array().into_iter().flatten();
    let packets: Vec<&str> =
        lines.filter_map(|line| definition(&line["properties"]["fields"])).collect();
    for (name, definition) in schema["definitions"].as_object().into_iter().flatten() {
        let fields = definition["properties"].as_object();
        match fields.filter(|_| name != NBT) {
            Some(fields) => {
                let parent = if packets.contains(&name.as_str()) { " : Packet" } else { "" };
                let _ = write!(out, "\n\n---@class {name}{parent}");
                for (field, schema) in fields {
                    let mark = if is_required(definition, field) { "" } else { "?" };
                    let _ = write!(out, "\n---@field {}{mark} {}", key(field), of(schema));
                }
            }
            None => {
                let ty = if name == NBT { "any".to_owned() } else { of(definition) };
                let _ = write!(out, "\n\n---@alias {name} {ty}");
            }
        }
    }
    out.push('\n');
    out
}

fn definition(schema: &Json) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/definitions/")
}

/// Returns the type of the values that `schema` allows, as scripts read them.
fn of(schema: &Json) -> String {
    if let Some(name) = definition(schema) {
        return name.to_owned();
    }
    if let Some(cases) = schema["anyOf"].as_array() {
        return cases.iter().map(of).collect::<Vec<_>>().join("|");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Json::to_string).collect::<Vec<_>>().join("|");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    match schema["type"].as_str() {
        Some("array") => format!("({})[]", of(&schema["items"])),
        Some("object") => object(schema),
        Some("null") => "nil".to_owned(),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

fn object(schema: &Json) -> String {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fields = properties.map(|(name, field)| {
        let mark = if is_required(schema, name) { "" } else { "?" };
        format!("{}{mark}: {}", key(name), of(field))
    });
    let fields = fields.collect::<Vec<_>>().join(", ");
    if fields.is_empty() { "table".to_owned() } else { format!("{{ {fields} }}") }
}

fn is_required(schema: &Json, field: &str) -> bool {
    schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == field))
}

/// Returns the name of a field as annotations write it.
fn key(name: &str) -> String {
    let plain = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|first: char| first.is_ascii_digit())
    };
    if plain(name) { name.to_owned() } else { format!("[{}]", Json::from(name)) }
}

/// The definition of NBT in captures. Scripts read its values, without their types.
const NBT: &str = "Nbt";
