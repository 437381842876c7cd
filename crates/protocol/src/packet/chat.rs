//! Chat components, which are JSON up to 1.20.2 and NBT since, as styled text.

use serde_json::{Map, Value as Json};

use super::StyledText;
use super::styled_text::Style;
use crate::wire::{Encoding, Tag};

/// Returns the text that a player reads of a component in JSON, without formatting codes (`§c`).
/// Text that is not JSON is returned as it is.
pub fn plain_text(text: &str) -> String {
    StyledText::parse(text).plain()
}

/// Returns the text that a player reads of a component in NBT.
pub fn plain_nbt(tag: &Tag) -> String {
    StyledText::of_json(&to_json(tag, 0)).plain()
}

/// Returns `raw` with each text replaced: those of a component in JSON, each on its own, or `raw` itself if it is
/// no component. `None` if `replace` returns that for a text.
///
/// Returns `raw` itself if no text changes; otherwise the component is written as compact JSON, with its keys in order.
/// Texts are `text`, the items of `extra`, and the arguments of
/// translations in `with`.
pub fn replace_text(raw: &str, replace: &mut dyn FnMut(&str) -> Option<String>) -> Option<String> {
    let json =
        raw.trim_start().starts_with(['{', '[', '"']).then(|| serde_json::from_str(raw).ok());
    let Some(mut json) = json.flatten().filter(|json| StyledText::from_json(json).is_some()) else {
        return replace(raw);
    };
    let changed = replace_in_json(&mut json, replace)?;
    Some(if changed { json.to_string() } else { raw.to_owned() })
}

/// Replaces each text of a component in NBT, as [`replace_text`] does. `None` if `replace` returns that for a text;
/// some texts are replaced then.
pub fn replace_nbt(tag: &mut Tag, replace: &mut dyn FnMut(&str) -> Option<String>) -> Option<()> {
    match tag {
        Tag::Text(bytes) => {
            let text = Encoding::ModifiedUtf8.decode_lossy(bytes);
            let new = replace(&text)?;
            if new != text {
                *bytes = Encoding::ModifiedUtf8.encode(&new).into_owned().into();
            }
            Some(())
        }
        Tag::List(list) => list.items.iter_mut().try_for_each(|item| replace_nbt(item, replace)),
        Tag::Compound(compound) => {
            let texts = compound.entries.iter_mut().filter(|(name, _)| holds_text(name));
            texts.map(|(_, tag)| tag).try_for_each(|tag| replace_nbt(tag, replace))
        }
        _ => Some(()),
    }
}

/// Returns whether a text was changed.
fn replace_in_json(
    component: &mut Json,
    replace: &mut dyn FnMut(&str) -> Option<String>,
) -> Option<bool> {
    let mut changed = false;
    match component {
        Json::String(text) => {
            let new = replace(text)?;
            changed = new != *text;
            *text = new;
        }
        Json::Array(parts) => {
            for part in parts {
                changed |= replace_in_json(part, replace)?;
            }
        }
        Json::Object(fields) => {
            for (_, part) in fields.iter_mut().filter(|(name, _)| holds_text(name.as_bytes())) {
                changed |= replace_in_json(part, replace)?;
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
    Some(changed)
}

/// Returns whether a key of a component holds text or components. Lists of compounds in NBT wrap texts under an
/// empty name.
fn holds_text(key: &[u8]) -> bool {
    matches!(key, b"text" | b"" | b"extra" | b"with")
}

impl StyledText {
    /// Reads NBT if it has the form of a component: a text, or a compound with content.
    pub fn from_nbt(root: &Tag) -> Option<Self> {
        let is_component = match root {
            Tag::Text(_) => true,
            Tag::Compound(compound) => CONTENTS.iter().any(|key| compound.get(key).is_some()),
            _ => false,
        };
        is_component.then(|| Self::of_json(&to_json(root, 0)))
    }

    /// Reads JSON if it has the form of a component: a text, a list, or an object with content.
    pub fn from_json(json: &Json) -> Option<Self> {
        let is_component = match json {
            Json::String(_) => true,
            Json::Array(parts) => {
                !parts.is_empty() && parts.iter().all(|part| part.is_object() || part.is_string())
            }
            Json::Object(fields) => CONTENTS.iter().any(|key| fields.contains_key(*key)),
            _ => false,
        };
        is_component.then(|| Self::of_json(json))
    }

    /// Reads a chat component in JSON. Anything else is read as text with `§` codes.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        let is_json = raw.trim_start().starts_with(['{', '[', '"']);
        let Some(json) = is_json.then(|| serde_json::from_str(raw).ok()).flatten() else {
            return Self::from_codes(raw);
        };
        Self::of_json(&json)
    }

    fn of_json(json: &Json) -> Self {
        let mut text = Self::default();
        text.component(json, Style::default(), 0);
        text
    }

    fn component(&mut self, component: &Json, style: Style, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match component {
            Json::Null => {}
            Json::Bool(_) | Json::Number(_) => self.coded(&component.to_string(), style),
            Json::String(text) => self.coded(text, style),
            Json::Array(parts) => {
                // The style of the first element applies to the others as well.
                let style = match parts.first() {
                    Some(Json::Object(first)) => style.with(first),
                    _ => style,
                };
                parts.iter().for_each(|part| self.component(part, style, depth + 1));
            }
            Json::Object(fields) => {
                let style = style.with(fields);
                self.content(fields, style, depth);
                match fields.get("extra") {
                    Some(Json::Array(extra)) => {
                        extra.iter().for_each(|part| self.component(part, style, depth + 1));
                    }
                    Some(extra) => self.component(extra, style, depth + 1),
                    None => {}
                }
            }
        }
    }

    fn content(&mut self, fields: &Map<String, Json>, style: Style, depth: usize) {
        if let Some(Json::String(key)) = fields.get("translate") {
            let arguments =
                fields.get("with").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            let known = TRANSLATIONS.iter().find(|(known, _)| known == key).map(|(_, text)| *text);
            let pattern = known.or_else(|| fields.get("fallback").and_then(Json::as_str));
            return match pattern {
                Some(pattern) => self.translation(pattern, arguments, style, depth),
                None => {
                    self.coded(key, style);
                    for argument in arguments {
                        self.coded(" ", style);
                        self.component(argument, style, depth + 1);
                    }
                }
            };
        }
        let score = |score: &Json| score.get("value").or_else(|| score.get("name")).cloned();
        let score = fields.get("score").and_then(score);
        // Lists of compounds in NBT wrap texts under an empty name.
        let plain = ["text", "", "selector", "keybind"].iter().find_map(|name| fields.get(*name));
        if let Some(content) = plain.or(score.as_ref()) {
            self.component(content, style, depth + 1);
        }
    }

    /// Appends a translation, in which `%s` is the next argument and `%2$s` the second.
    fn translation(&mut self, pattern: &str, arguments: &[Json], style: Style, depth: usize) {
        let mut next = 0;
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once('%') {
            self.coded(before, style);
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let place =
                after[..digits].parse::<usize>().ok().and_then(|place| place.checked_sub(1));
            let (place, tail) = match (after[digits..].strip_prefix("$s"), after.strip_prefix('s'))
            {
                (Some(tail), _) if place.is_some() => (place, tail),
                (_, Some(tail)) => {
                    next += 1;
                    (Some(next - 1), tail)
                }
                _ => {
                    self.coded("%", style);
                    rest = after.strip_prefix('%').unwrap_or(after);
                    continue;
                }
            };
            if let Some(argument) = place.and_then(|place| arguments.get(place)) {
                self.component(argument, style, depth + 1);
            }
            rest = tail;
        }
        self.coded(rest, style);
    }
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
pub(crate) const TRANSLATIONS: [(&str, &str); 9] = [
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
    fn a_translation_keeps_its_style_and_those_of_its_arguments() {
        let json = r#"{"translate":"chat.type.emote","color":"red","with":[{"text":"a","bold":true},"b"]}"#;
        assert_eq!(StyledText::parse(json).codes(), "§c* §r§c§la§r§c b");
    }

    #[test]
    fn the_depth_of_components_is_limited() {
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
