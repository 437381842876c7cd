use std::borrow::Cow;
use std::fmt::Write as _;

use mitmcraft_protocol::wire::is_unseen;

/// Returns a string of TOML that is read as `text`: in `'..'` if that saves escapes. Characters that a screen does not
/// show become escapes.
#[must_use]
pub fn toml_string(text: &str) -> String {
    let needs_escape = |char| is_unseen(char) || matches!(char, '"' | '\\');
    if text.contains(needs_escape) && !text.contains(|char| is_unseen(char) || char == '\'') {
        return format!("'{text}'");
    }
    let mut out = String::from('"');
    for char in text.chars() {
        let code = u32::from(char);
        // Writing to a string does not fail.
        let _ = match char {
            '"' | '\\' => write!(out, "\\{char}"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            _ if !is_unseen(char) => write!(out, "{char}"),
            _ if code > 0xffff => write!(out, "\\U{code:08x}"),
            _ => write!(out, "\\u{code:04x}"),
        };
    }
    out.push('"');
    out
}

/// Returns a key of TOML: bare if it can be, otherwise as a string.
#[must_use]
pub fn toml_key(key: &str) -> Cow<'_, str> {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    match !key.is_empty() && key.chars().all(is_bare) {
        true => key.into(),
        false => toml_string(key).into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the text as TOML reads it.
    fn read(written: &str) -> String {
        let file: toml::Table = toml::from_str(&format!("it = {written}\n")).unwrap();
        file["it"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_text_is_written_in_its_simplest_form() {
        for (text, written) in [
            ("", r#""""#),
            ("chat", r#""chat""#),
            ("it's", r#""it's""#),
            (r#"say "x""#, r#"'say "x"'"#),
            (r"C:\x", r"'C:\x'"),
            (r#"it's "x""#, r#""it's \"x\"""#),
            ("a\tb\r\nc", r#""a\tb\r\nc""#),
            (
                "'''\u{1b}[31m\u{7f}\u{202e}\u{e0041}\0",
                r#""'''\u001b[31m\u007f\u202e\U000e0041\u0000""#,
            ),
        ] {
            assert_eq!(toml_string(text), written);
            assert_eq!(read(written), text);
        }
    }

    #[test]
    fn every_character_is_read_as_it_was_and_none_is_unseen() {
        let all: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        let written = toml_string(&all);
        assert!(!written.contains(is_unseen));
        assert!(read(&written) == all);
    }

    proptest! {
        #[test]
        fn every_text_is_read_as_it_was(text in any::<String>()) {
            prop_assert_eq!(read(&toml_string(&text)), text.clone());
            let table: toml::Table = format!("{} = 1", toml_key(&text)).parse().unwrap();
            prop_assert!(table.contains_key(&text), "{:?}", table);
        }
    }
}
