use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Map, Value as Json};

use super::policy::{is_known_key, is_own_value, is_resource};
use super::pseudonyms::Pseudonyms;
use mitmcraft_protocol::schema::{format_uuid, parse_uuid};

impl Pseudonyms {
    /// Replaces every word, number, UUID and address in a text. Keeps punctuation and formatting codes,
    /// and in JSON what the game requires, so that chat components can still be displayed.
    pub(super) fn text(&self, text: &str) -> String {
        self.text_within(text, 0)
    }

    fn text_within(&self, text: &str, depth: usize) -> String {
        if is_resource(text) {
            return text.to_owned();
        }
        if is_blob(text) {
            return EMPTY_BLOB.to_owned();
        }
        if text.contains('\0') {
            // Proxies and mod loaders append parts to a host.
            let parts = text.split('\0').map(|part| self.text_within(part, depth));
            return parts.collect::<Vec<_>>().join("\0");
        }
        if depth < MAX_DEPTH
            && text.trim_start().starts_with(['{', '[', '"'])
            && let Ok(mut json) = serde_json::from_str(text)
        {
            self.json(&mut json, None, depth + 1);
            return json.to_string();
        }
        self.plain(text)
    }

    fn json(&self, json: &mut Json, key: Option<&str>, depth: usize) {
        match json {
            Json::String(text) => {
                if !key.is_some_and(|key| is_own_value(key, text)) {
                    *text = self.text_within(text, depth);
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.json(item, key, depth)),
            Json::Object(fields) => {
                // An image that the server chose.
                fields.remove("favicon");
                let members = std::mem::take(fields).into_iter().map(|(key, mut value)| {
                    self.json(&mut value, Some(&key), depth);
                    let key = if is_known_key(&key) { key } else { self.text_within(&key, depth) };
                    (key, value)
                });
                *fields = members.collect::<Map<_, _>>();
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn plain(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut begins = true;
        while let Some(char) = rest.chars().next() {
            if begins && let Some((other, taken)) = self.special(rest) {
                out.push_str(&other);
                rest = &rest[taken..];
                begins = false;
                continue;
            }
            let word = rest.find(|char: char| !char.is_alphanumeric()).unwrap_or(rest.len());
            if word > 0 {
                let (this, after) = rest.split_at(word);
                if after.starts_with("://") && SCHEMES.contains(&this) {
                    out.push_str(this);
                } else {
                    out.push_str(&self.word(this));
                }
                rest = after;
                begins = false;
                continue;
            }
            rest = &rest[char.len_utf8()..];
            match char {
                '§' => {
                    out.push(char);
                    let code = rest.chars().next();
                    out.extend(code);
                    rest = &rest[code.map_or(0, char::len_utf8)..];
                }
                char if char.is_ascii() => out.push(char),
                _ => out.push('*'),
            }
            begins = true;
        }
        out
    }

    /// Replaces a UUID or address at the beginning of `text`, and returns its length in bytes. Looks no further than
    /// either can be long, since every place of a text may ask.
    fn special(&self, text: &str) -> Option<(String, usize)> {
        let run = |fits: fn(u8) -> bool, longest: usize| {
            text.bytes().take(longest + 1).take_while(|byte| fits(*byte)).count()
        };
        let hex = run(|byte| byte.is_ascii_hexdigit() || byte == b'-', UUID);
        if matches!(hex, 32 | UUID)
            && let Some(uuid) = parse_uuid(&text[..hex])
        {
            let other = format_uuid(self.uuid(uuid));
            return Some((if hex == 32 { other.replace('-', "") } else { other }, hex));
        }
        let digits = run(|byte| byte.is_ascii_digit() || byte == b'.', IPV4 + 1);
        let number = text[..digits].trim_end_matches('.');
        let ip: Ipv4Addr = number.parse().ok()?;
        Some((self.ip(IpAddr::V4(ip)).to_string(), number.len()))
    }
}

/// Returns `true` for JSON in base64, like the properties of a profile.
fn is_blob(text: &str) -> bool {
    let base64 = |char: char| char.is_ascii_alphanumeric() || "+/=\n\r".contains(char);
    text.len() >= BLOB && text.starts_with("ey") && text.chars().all(base64)
}

/// `{}` in base64.
pub(super) const EMPTY_BLOB: &str = "e30=";

/// Length in bytes of a UUID with hyphens.
const UUID: usize = 36;

/// Greatest length in bytes of an IPv4 address.
const IPV4: usize = 15;

/// Least length in bytes of base64 that is recognised.
const BLOB: usize = 32;

/// Greatest depth of JSON in texts of JSON; deeper JSON is redacted as plain text.
const MAX_DEPTH: usize = 8;

/// Schemes of links that the client opens.
const SCHEMES: [&str; 2] = ["http", "https"];

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str) -> String {
        Pseudonyms::new(b"seed").text(text)
    }

    #[test]
    fn words_are_replaced_and_everything_around_them_stays() {
        let pseudonyms = Pseudonyms::new(b"seed");
        let (hello, tester) = (pseudonyms.word("hello"), pseudonyms.word("Tester"));
        assert_eq!(
            redact("<Tester> \u{a7}chello, Tester!"),
            format!("<{tester}> \u{a7}c{hello}, {tester}!")
        );
        assert_eq!(redact("minecraft:stone"), "minecraft:stone");
        assert_eq!(redact("\u{2603} !"), "* !");
        assert_eq!(redact(""), "");
    }

    #[test]
    fn components_keep_what_the_game_needs() {
        let pseudonyms = Pseudonyms::new(b"seed");
        let text = r#"{"translate":"chat.type.text","with":[{"text":"Tester","color":"red","clickEvent":{"action":"suggest_command","value":"/msg Tester "}},"hi"],"Bob":1}"#;
        let (tester, msg) = (pseudonyms.word("Tester"), pseudonyms.word("msg"));
        let (hi, bob) = (pseudonyms.word("hi"), pseudonyms.word("Bob"));
        let expected = format!(
            r#"{{"translate":"chat.type.text","with":[{{"text":"{tester}","color":"red","clickEvent":{{"action":"suggest_command","value":"/{msg} {tester} "}}}},"{hi}"],"{bob}":1}}"#
        );
        assert_eq!(redact(text), expected);
        assert!(!redact(r#"{"translate":"a secret"}"#).contains("secret"));
        assert!(!redact(r#"{"color":"Tester"}"#).contains("Tester"));
        assert!(!redact(r#"{"text":"x","favicon":"data:image/png;base64,iVBO"}"#).contains("iVBO"));
        assert!(!redact(r#"{"text":"{\"text\":\"Tester\"}"}"#).contains("Tester"));
    }

    #[test]
    fn addresses_end_where_no_number_can_follow() {
        let ip = Pseudonyms::new(b"seed").ip("203.0.113.9".parse().unwrap()).to_string();
        let dots = ".".repeat(100);
        assert_eq!(redact(&format!("203.0.113.9{dots}")), format!("{ip}{dots}"));
        let longest = redact("255.255.255.255.");
        assert!(longest.starts_with("10.") && longest.ends_with('.'), "{longest}");
        for text in ["255.255.255.2551", "255.255.255.255.1", "203.0.113.9.1", "1.2.3"] {
            assert!(!redact(text).starts_with("10."), "{text}");
        }
    }

    #[test]
    fn uuids_and_addresses_are_replaced_as_they_are_elsewhere() {
        let pseudonyms = Pseudonyms::new(b"seed");
        let uuid = "b50ad385-829d-3141-a216-7e7d7539ba7f";
        let other = format_uuid(pseudonyms.uuid(parse_uuid(uuid).unwrap()));
        assert_eq!(redact(&format!("id: {uuid}.")), format!("{}: {other}.", pseudonyms.word("id")));
        assert_eq!(redact(&uuid.replace('-', "")), other.replace('-', ""));
        let ip = pseudonyms.ip("203.0.113.9".parse().unwrap());
        assert_eq!(redact("203.0.113.9"), ip.to_string());
        let port = pseudonyms.word("25565");
        assert_eq!(redact("(203.0.113.9:25565)"), format!("({ip}:{port})"));
        assert_eq!(redact("play.example.org\0FML\0").matches('\0').count(), 2);
        let link = redact("https://example.org/Tester");
        assert!(link.starts_with("https://") && !link.contains("example"), "{link}");
        assert_eq!(
            redact("eyJ0aW1lc3RhbXAiOjE2MDAwMDAwMDAwMDAsInByb2ZpbGVJZCI6ImEifQ=="),
            EMPTY_BLOB
        );
    }
}
