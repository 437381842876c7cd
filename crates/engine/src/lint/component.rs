//! Text components in NBT, as the game parses them since 1.20.3, and in JSON.

use serde_json::Value as Json;

use mitmcraft_protocol::packet::TextColor;
use mitmcraft_protocol::wire::{Compound, Tag};

/// Returns what is wrong with a text component in NBT, and whether the game refuses it for certain.
pub(super) fn fault(tag: &Tag) -> Option<(bool, String)> {
    part(tag, MAX_DEPTH)
}

/// Returns what is wrong with the form of a text component in JSON.
pub(super) fn json_fault(json: &Json) -> Option<&'static str> {
    match json {
        Json::Array(all) if all.is_empty() => Some("an empty list is not a component"),
        // The parser of JSON bounds the depth.
        Json::Array(all) => all.iter().find_map(json_fault),
        Json::Object(fields) if !CONTENTS.iter().any(|key| fields.contains_key(*key)) => {
            Some("a component without `text`, `translate` or other contents")
        }
        Json::Object(fields) => match fields.get("extra") {
            Some(Json::Array(all)) if all.is_empty() => Some("`extra` of a component is empty"),
            Some(Json::Array(all)) => all.iter().find_map(json_fault),
            Some(_) => Some("`extra` of a component is not a list"),
            None => None,
        },
        _ => None,
    }
}

fn part(tag: &Tag, depth: usize) -> Option<(bool, String)> {
    if depth == 0 {
        // The game's own limit is that of NBT.
        return None;
    }
    match tag {
        Tag::Text(_) => None,
        Tag::List(list) if list.items.is_empty() => {
            Some((true, "an empty list is not a component".to_owned()))
        }
        Tag::List(list) => list.items.iter().find_map(|it| part(it, depth - 1)),
        Tag::Compound(compound) => compound_fault(compound, depth),
        _ => Some((true, "a component is a string, a list or a compound".to_owned())),
    }
}

fn compound_fault(compound: &Compound, depth: usize) -> Option<(bool, String)> {
    // An element of a list whose elements differ in type.
    if let [(key, inner)] = &compound.entries[..]
        && key.is_empty()
    {
        return part(inner, depth - 1);
    }
    if !CONTENTS.iter().any(|key| compound.get(key).is_some()) {
        let reason = "a component without `text`, `translate` or other contents";
        return Some((false, reason.to_owned()));
    }
    for key in ["text", "translate", "keybind", "color", "font", "insertion"] {
        // Since 1.21.9 a font can be a compound.
        if let Some(value) = compound.get(key)
            && !matches!((key, value), (_, Tag::Text(_)) | ("font", Tag::Compound(_)))
        {
            return Some((true, format!("`{key}` of a component is not a string")));
        }
    }
    if let Some(Tag::Text(color)) = compound.get("color")
        && !is_color(color)
    {
        let color = String::from_utf8_lossy(color);
        return Some((true, format!("`{color}` is not a colour")));
    }
    for key in ["bold", "italic", "underlined", "strikethrough", "obfuscated"] {
        if matches!(compound.get(key), Some(Tag::Text(_) | Tag::List(_) | Tag::Compound(_))) {
            return Some((true, format!("`{key}` of a component is neither true nor false")));
        }
    }
    match compound.get("extra") {
        None => {}
        Some(Tag::List(list)) if list.items.is_empty() => {
            return Some((true, "`extra` of a component is empty".to_owned()));
        }
        Some(Tag::List(list)) => {
            if let Some(fault) = list.items.iter().find_map(|it| part(it, depth - 1)) {
                return Some(fault);
            }
        }
        Some(_) => return Some((true, "`extra` of a component is not a list".to_owned())),
    }
    None
}

fn is_color(color: &[u8]) -> bool {
    match color {
        [b'#', digits @ ..] => {
            (1..=6).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit)
        }
        name => TextColor::NAMES.iter().any(|it| it.as_bytes() == name),
    }
}

/// The keys of which a component in NBT has one.
const CONTENTS: [&str; 10] = [
    "text",
    "translate",
    "keybind",
    "score",
    "selector",
    "nbt",
    "type",
    "object",
    "sprite",
    "player",
];

/// Levels of components that are checked.
const MAX_DEPTH: usize = 64;
