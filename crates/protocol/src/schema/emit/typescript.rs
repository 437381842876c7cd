use std::fmt::Write as _;

use serde_json::Value as Json;

/// Returns TypeScript declarations of the types of [`json_schema`](super::json_schema)'s result: a type per
/// definition, and `Packet`, the union of all packets with their `state`, `dir`, `packet` and `fields`.
///
/// Integers of 64 bits are `number` too: read them with a parser that keeps all their digits.
#[must_use]
pub fn typescript(schema: &Json) -> String {
    let mut out = format!(
        "// {}: the packets of JSONL captures.\n\n",
        schema["title"].as_str().unwrap_or_default()
    );
    for (name, definition) in schema["definitions"].as_object().into_iter().flatten() {
        let _ = writeln!(out, "export type {} = {};\n", name, of(definition, 0));
    }
    out.push_str("export type Packet =");
    let lines = schema["anyOf"].as_array().into_iter().flatten();
    for line in lines.filter(|line| line["properties"].is_object()) {
        let _ = write!(out, "\n  | {}", of(line, 1));
    }
    out.push_str(";\n");
    out
}

/// Returns the type of the values that `schema` allows. Lines after the first one are indented by `level`.
fn of(schema: &Json, level: usize) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/definitions/")) {
        return name.to_owned();
    }
    if let Some(cases) = schema["anyOf"].as_array() {
        return cases.iter().map(|case| of(case, level)).collect::<Vec<_>>().join(" | ");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Json::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    match schema["type"].as_str() {
        Some("integer") => "number".to_owned(),
        Some("array") => format!("({})[]", of(&schema["items"], level)),
        Some("object") => object(schema, level),
        Some(name) => name.to_owned(),
        None => "unknown".to_owned(),
    }
}

fn object(schema: &Json, level: usize) -> String {
    let Some(properties) = schema["properties"].as_object().filter(|it| !it.is_empty()) else {
        return "Record<string, never>".to_owned();
    };
    let required = schema["required"].as_array();
    let mut out = "{\n".to_owned();
    for (name, property) in properties {
        let always = required.is_some_and(|all| all.iter().any(|it| it == name));
        let mark = if always { "" } else { "?" };
        let indent = "  ".repeat(level + 1);
        let key = Json::from(name.as_str());
        let _ = writeln!(out, "{indent}{key}{mark}: {};", of(property, level + 1));
    }
    let _ = write!(out, "{}}}", "  ".repeat(level));
    out
}
