use serde_json::{Map, Value as Json};

/// Formatted text, read from a chat component in JSON, from text with `§` codes, or from a mixture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Text {
    /// The pieces of the text, in order.
    pub spans: Vec<Span>,
}

/// A piece of a [`Text`] with uniform formatting.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The characters of the piece.
    pub text: String,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    color: Option<Color>,
    /// Indexed like `FORMATS`.
    formats: [bool; 5],
}

/// A text colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Color {
    /// One of the game's 16 colours, by the digit of its `§` code.
    Named(u8),
    /// Any other colour as red, green and blue; since 1.16.
    Rgb(u8, u8, u8),
}

impl Text {
    /// Reads a chat component in JSON. Anything else is read as text with `§` codes.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        let mut text = Self::default();
        let is_json = raw.trim_start().starts_with(['{', '[', '"']);
        match is_json.then(|| serde_json::from_str(raw).ok()).flatten() {
            Some(json) => text.component(&json, Style::default(), 0),
            None => text.coded(raw, Style::default()),
        }
        text
    }

    /// Reads text with `§` codes.
    #[must_use]
    pub fn from_codes(raw: &str) -> Self {
        let mut text = Self::default();
        text.coded(raw, Style::default());
        text
    }

    /// Returns the characters without formatting.
    #[must_use]
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Returns the text with `§` codes, as pings before 1.7 send it.
    #[must_use]
    pub fn codes(&self) -> String {
        let mut out = String::new();
        let mut current = Style::default();
        for span in &self.spans {
            if span.style != current {
                if !out.is_empty() || current != Style::default() {
                    out.push_str("§r");
                }
                if let Some(Color::Named(digit)) = span.style.color {
                    out.push('§');
                    out.push(char::from_digit(digit.into(), 16).unwrap_or('f'));
                }
                for (format, _) in FORMATS.iter().zip(span.style.formats).filter(|(_, on)| *on) {
                    out.push('§');
                    out.push(format.0);
                }
                current = span.style;
            }
            out.push_str(&span.text);
        }
        out
    }

    /// Returns the text for a terminal, in colour if `colored`. Control characters are replaced, so
    /// that the text cannot steer the terminal.
    #[must_use]
    pub fn terminal(&self, colored: bool) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let styled = colored && span.style != Style::default();
            if styled {
                out.push_str(&span.style.escape());
            }
            let shown =
                |char: char| if char.is_control() && char != '\n' { '\u{fffd}' } else { char };
            out.extend(span.text.chars().map(shown));
            if styled {
                out.push_str("\x1b[0m");
            }
        }
        out
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
                let content = ["text", "fallback", "translate", "selector", "keybind"];
                if let Some(content) = content.iter().find_map(|name| fields.get(*name)) {
                    self.component(content, style, depth + 1);
                }
                if let Some(Json::Array(extra)) = fields.get("extra") {
                    extra.iter().for_each(|part| self.component(part, style, depth + 1));
                }
            }
        }
    }

    fn coded(&mut self, text: &str, base: Style) {
        let mut style = base;
        let mut pieces = text.split('§');
        self.push(pieces.next().unwrap_or(""), style);
        for piece in pieces {
            let mut chars = piece.chars();
            let Some(code) = chars.next().map(|code| code.to_ascii_lowercase()) else { continue };
            if let Some(digit) = code.to_digit(16) {
                style = Style { color: Some(Color::Named(digit as u8)), ..Style::default() };
            } else if let Some(place) = FORMATS.iter().position(|format| format.0 == code) {
                style.formats[place] = true;
            } else if code == 'r' {
                style = base;
            }
            self.push(chars.as_str(), style);
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.spans.push(Span { text: text.to_owned(), style });
        }
    }
}

impl Span {
    /// Returns the colour, if the piece has one.
    #[must_use]
    pub fn color(&self) -> Option<Color> {
        self.style.color
    }
}

impl Style {
    fn with(mut self, fields: &Map<String, Json>) -> Self {
        if let Some(color) = fields.get("color").and_then(Json::as_str) {
            self.color = Color::named(color);
        }
        for (on, format) in self.formats.iter_mut().zip(FORMATS) {
            if let Some(said) = fields.get(format.1).and_then(Json::as_bool) {
                *on = said;
            }
        }
        self
    }

    fn escape(self) -> String {
        let mut codes: Vec<String> = Vec::new();
        match self.color {
            Some(Color::Named(digit)) => codes.push(TERMINAL[usize::from(digit & 15)].to_string()),
            Some(Color::Rgb(red, green, blue)) => codes.push(format!("38;2;{red};{green};{blue}")),
            None => {}
        }
        let formats = self.formats.iter().zip(FORMATS).filter(|(on, _)| **on);
        codes.extend(formats.filter_map(|(_, format)| format.2).map(|code| code.to_string()));
        format!("\x1b[{}m", codes.join(";"))
    }
}

impl Color {
    fn named(name: &str) -> Option<Self> {
        if let Some(digit) = COLORS.iter().position(|color| *color == name) {
            return Some(Self::Named(digit as u8));
        }
        let hex = name.strip_prefix('#').filter(|hex| hex.len() == 6)?;
        let rgb = u32::from_str_radix(hex, 16).ok()?;
        let [_, red, green, blue] = rgb.to_be_bytes();
        Some(Self::Rgb(red, green, blue))
    }
}

/// Colour names, indexed by the digit of their code.
const COLORS: [&str; 16] = [
    "black",
    "dark_blue",
    "dark_green",
    "dark_aqua",
    "dark_red",
    "dark_purple",
    "gold",
    "gray",
    "dark_gray",
    "blue",
    "green",
    "aqua",
    "red",
    "light_purple",
    "yellow",
    "white",
];

/// The nearest terminal colours, indexed like `COLORS`.
const TERMINAL: [u8; 16] = [30, 34, 32, 36, 31, 35, 33, 37, 90, 94, 92, 96, 91, 95, 93, 97];

/// Format code, member of a component, and the terminal's code for it.
const FORMATS: [(char, &str, Option<u8>); 5] = [
    ('k', "obfuscated", None),
    ('l', "bold", Some(1)),
    ('m', "strikethrough", Some(9)),
    ('n', "underlined", Some(4)),
    ('o', "italic", Some(3)),
];

/// Deepest nesting of components.
const MAX_DEPTH: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_components_and_codes() {
        for (raw, plain, codes) in [
            (r#"{"text":"Hello world"}"#, "Hello world", "Hello world"),
            (r#""§4Zoë§r's""#, "Zoë's", "§4Zoë§r's"),
            (
                r#"{"text":"a","color":"gold","extra":[{"text":"b","bold":true},"c"]}"#,
                "abc",
                "§6a§r§6§lb§r§6c",
            ),
            (r#"["",{"text":"x","color":"green"}]"#, "x", "§ax"),
            ("plain §lbold", "plain bold", "plain §r§lbold"),
            ("{no json", "{no json", "{no json"),
            ("end§", "end", "end"),
        ] {
            let text = Text::parse(raw);
            assert_eq!((text.plain().as_str(), text.codes().as_str()), (plain, codes), "{raw}");
        }
    }

    #[test]
    fn a_terminal_gets_colour_and_nothing_that_steers_it() {
        let text = Text::parse(r##"{"text":"a\u001b[2Jb","color":"#102030","bold":true}"##);
        assert_eq!(text.terminal(false), "a\u{fffd}[2Jb");
        assert_eq!(text.terminal(true), "\x1b[38;2;16;32;48;1ma\u{fffd}[2Jb\x1b[0m");
        assert_eq!(Text::parse("§cred").terminal(true), "\x1b[91mred\x1b[0m");
    }
}
