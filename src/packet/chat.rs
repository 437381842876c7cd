//! Plain text of chat components, which are JSON up to 1.20.2 and NBT since.

use serde_json::{Map, Value as Json};

use crate::wire::{Encoding, Tag};

/// Returns the text that a player reads of a component in JSON, without formatting codes (`§c`).
/// Text that is not JSON is returned as it is.
pub(crate) fn plain_text(text: &str) -> String {
    let json = match text.trim_start().starts_with(['{', '[', '"']) {
        true => serde_json::from_str(text).ok(),
        false => None,
    };
    let mut out = String::new();
    match json {
        Some(json) => write(&json, &mut out, 0),
        None => out.push_str(text),
    }
    without_codes(&out)
}

/// Returns the text that a player reads of a component in NBT.
pub(crate) fn plain_nbt(tag: &Tag) -> String {
    let mut out = String::new();
    write(&to_json(tag, 0), &mut out, 0);
    without_codes(&out)
}

/// Returns the text of NBT if it has the form of a component: a text, or a compound with content.
pub(crate) fn component_text(root: &Tag) -> Option<String> {
    let is_component = match root {
        Tag::Text(_) => true,
        Tag::Compound(compound) => CONTENTS.iter().any(|key| compound.get(key).is_some()),
        _ => false,
    };
    is_component.then(|| plain_nbt(root))
}

fn write(component: &Json, out: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match component {
        Json::Null => {}
        Json::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Json::Number(number) => out.push_str(&number.to_string()),
        Json::String(text) => out.push_str(text),
        Json::Array(parts) => parts.iter().for_each(|part| write(part, out, depth + 1)),
        Json::Object(fields) => {
            write_content(fields, out, depth);
            if let Some(extra) = fields.get("extra") {
                write(extra, out, depth + 1);
            }
        }
    }
}

fn write_content(fields: &Map<String, Json>, out: &mut String, depth: usize) {
    if let Some(Json::String(key)) = fields.get("translate") {
        let arguments = fields.get("with").and_then(Json::as_array);
        let arguments = arguments.into_iter().flatten().map(|argument| {
            let mut text = String::new();
            write(argument, &mut text, depth + 1);
            text
        });
        let fallback = fields.get("fallback").and_then(Json::as_str);
        return translate(key, fallback, &arguments.collect::<Vec<_>>(), out);
    }
    let score = |score: &Json| score.get("value").or_else(|| score.get("name")).cloned();
    let score = fields.get("score").and_then(score);
    // Lists of compounds in NBT wrap texts under an empty name.
    let plain = ["text", "", "selector", "keybind"].iter().find_map(|name| fields.get(*name));
    if let Some(content) = plain.or(score.as_ref()) {
        write(content, out, depth + 1);
    }
}

/// Appends a translated text with its arguments: a translation known here, else the component's own
/// fallback, else the key followed by the arguments.
fn translate(key: &str, fallback: Option<&str>, arguments: &[String], out: &mut String) {
    let known = TRANSLATIONS.iter().find(|(known, _)| *known == key).map(|(_, text)| *text);
    let Some(pattern) = known.or(fallback) else {
        out.push_str(key);
        for argument in arguments {
            out.push(' ');
            out.push_str(argument);
        }
        return;
    };
    let mut next = 0;
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let place = after[..digits].parse::<usize>().ok().and_then(|place| place.checked_sub(1));
        let (place, tail) = match (after[digits..].strip_prefix("$s"), after.strip_prefix('s')) {
            (Some(tail), _) if place.is_some() => (place, tail),
            (_, Some(tail)) => {
                next += 1;
                (Some(next - 1), tail)
            }
            _ => {
                out.push('%');
                rest = after.strip_prefix('%').unwrap_or(after);
                continue;
            }
        };
        if let Some(argument) = place.and_then(|place| arguments.get(place)) {
            out.push_str(argument);
        }
        rest = tail;
    }
    out.push_str(rest);
}

/// Returns the text without `§` and the character after each.
fn without_codes(text: &str) -> String {
    let mut chars = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(char) = chars.next() {
        match char {
            '§' => drop(chars.next()),
            _ => plain.push(char),
        }
    }
    plain
}

fn to_json(tag: &Tag, depth: usize) -> Json {
    if depth > MAX_DEPTH {
        return Json::Null;
    }
    let text = |bytes: &[u8]| Encoding::ModifiedUtf8.decode_lossy(bytes).into_owned();
    match tag {
        Tag::Byte(byte) => Json::from(*byte),
        Tag::Short(short) => Json::from(*short),
        Tag::Int(int) => Json::from(*int),
        Tag::Long(long) => Json::from(*long),
        Tag::Float(float) => Json::from(*float),
        Tag::Double(double) => Json::from(*double),
        Tag::Text(bytes) => Json::String(text(bytes)),
        Tag::List(list) => list.items.iter().map(|tag| to_json(tag, depth + 1)).collect(),
        Tag::Compound(compound) => Json::Object(
            compound
                .entries
                .iter()
                .map(|(name, tag)| (text(name), to_json(tag, depth + 1)))
                .collect(),
        ),
        Tag::ByteArray(bytes) => bytes.iter().map(|byte| Json::from(byte.cast_signed())).collect(),
        Tag::IntArray(ints) => ints.iter().copied().map(Json::from).collect(),
        Tag::LongArray(longs) => longs.iter().copied().map(Json::from).collect(),
    }
}

/// The most common translations; the other texts of the game may not be redistributed.
const TRANSLATIONS: [(&str, &str); 9] = [
    ("chat.type.text", "<%s> %s"),
    ("chat.type.emote", "* %s %s"),
    ("chat.type.announcement", "[%s] %s"),
    ("chat.type.admin", "[%s: %s]"),
    ("commands.message.display.incoming", "%s whispers to you: %s"),
    ("commands.message.display.outgoing", "You whisper to %s: %s"),
    ("multiplayer.player.joined", "%s joined the game"),
    ("multiplayer.player.joined.renamed", "%s (formerly known as %s) joined the game"),
    ("multiplayer.player.left", "%s left the game"),
];

/// The deepest nesting of components; the game allows less.
const MAX_DEPTH: usize = 128;

/// The keys of content, of which a component has at least one.
const CONTENTS: [&str; 6] = ["text", "translate", "keybind", "score", "selector", "extra"];

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::wire::{Compound, List, TagType};

    #[test]
    fn reads_components_of_every_form() {
        for (json, text) in [
            (r#"{"text":"Hello"}"#, "Hello"),
            (r#"{"text":"a","extra":["b",{"text":"c","extra":[{"text":"d"}]}]}"#, "abcd"),
            (r#"["a",{"text":"b"},3,true]"#, "ab3true"),
            (r#""just text""#, "just text"),
            (r#"{"text":"§cred §lbold"}"#, "red bold"),
            ("§aplain", "plain"),
            ("/gamemode 1", "/gamemode 1"),
            ("{not json", "{not json"),
            ("", ""),
            (r#"{"translate":"chat.type.text","with":[{"text":"Zoë"},"hi"]}"#, "<Zoë> hi"),
            (
                r#"{"translate":"death.attack.mob","with":["Zoë","Zombie"]}"#,
                "death.attack.mob Zoë Zombie",
            ),
            (
                r#"{"translate":"x","fallback":"%2$s, 100%% %1$s %s %d","with":["a","b"]}"#,
                "b, 100% a a %d",
            ),
            (r#"{"translate":"x","fallback":"%s %s","with":["a"]}"#, "a "),
            (r#"{"score":{"name":"Notch","objective":"kills","value":"7"}}"#, "7"),
            (r#"{"selector":"@p"}"#, "@p"),
            (r#"{"keybind":"key.jump","extra":["!"]}"#, "key.jump!"),
        ] {
            assert_eq!(plain_text(json), text, "{json}");
        }
    }

    #[test]
    fn deep_components_end_somewhere() {
        let deep = format!("{}\"x\"{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(plain_text(&deep), deep);
        let tag =
            (0..500).fold(Tag::text("x"), |tag, _| Tag::List(List::new(tag.tag_type(), vec![tag])));
        assert_eq!(plain_nbt(&tag), "");
    }

    #[test]
    fn reads_components_in_nbt() {
        let key = Bytes::from_static;
        let wrapped = Compound { entries: vec![(key(b""), Tag::text("!"))] };
        let extra = Compound { entries: vec![(key(b"text"), Tag::text("\u{1f600}"))] };
        let list = List::new(TagType::Compound, vec![Tag::Compound(extra), Tag::Compound(wrapped)]);
        let root = Compound {
            entries: vec![
                (key(b"text"), Tag::text("§ahi ")),
                (key(b"bold"), Tag::Byte(1)),
                (key(b"extra"), Tag::List(list)),
            ],
        };
        assert_eq!(plain_nbt(&Tag::Compound(root)), "hi \u{1f600}!");
        assert_eq!(plain_nbt(&Tag::text("plain")), "plain");
    }
}
