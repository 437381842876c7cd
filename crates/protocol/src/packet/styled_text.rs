use serde_json::{Map, Value as Json};

/// Formatted text, read from a chat component in JSON, from text with `§` codes, or from a mixture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StyledText {
    /// The pieces of the text, in order.
    pub spans: Vec<TextSpan>,
}

/// A piece of a [`StyledText`] with uniform formatting.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextSpan {
    /// The characters of the piece.
    pub text: String,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Style {
    color: Option<TextColor>,
    /// Indexed like `FORMATS`.
    formats: [bool; 5],
}

/// A text colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextColor {
    /// One of the game's 16 colours, by the digit of its `§` code.
    Named(u8),
    /// Any other colour as red, green and blue; since 1.16.
    Rgb(u8, u8, u8),
}

impl StyledText {
    /// Reads text with `§` codes.
    #[must_use]
    pub fn from_codes(raw: &str) -> Self {
        let mut text = Self::default();
        text.coded(raw, Style::default());
        text
    }

    /// Returns text without formatting, whatever its characters are.
    #[must_use]
    pub fn unstyled(text: String) -> Self {
        Self { spans: vec![TextSpan { text, style: Style::default() }] }
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
                if let Some(TextColor::Named(digit)) = span.style.color {
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

    /// Appends text with `§` codes, which change `base` up to the end of `text`.
    pub(super) fn coded(&mut self, text: &str, base: Style) {
        let mut style = base;
        let mut pieces = text.split('§');
        self.push(pieces.next().unwrap_or(""), style);
        for piece in pieces {
            let mut chars = piece.chars();
            let Some(code) = chars.next().map(|code| code.to_ascii_lowercase()) else { continue };
            if let Some(digit) = code.to_digit(16) {
                style = Style { color: Some(TextColor::Named(digit as u8)), ..Style::default() };
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
            self.spans.push(TextSpan { text: text.to_owned(), style });
        }
    }
}

impl TextSpan {
    /// Returns the colour, if the piece has one.
    #[must_use]
    pub fn color(&self) -> Option<TextColor> {
        self.style.color
    }

    /// Returns the names of the formats: `bold`, `italic`, `underlined`, `strikethrough`, `obfuscated`.
    pub fn formats(&self) -> impl Iterator<Item = &'static str> {
        let formats = self.style.formats.into_iter().zip(FORMATS);
        formats.filter(|(on, _)| *on).map(|(_, format)| format.1)
    }

    /// Returns the terminal's codes for the formatting, separated by semicolons; `None` without
    /// formatting.
    #[must_use]
    pub fn terminal_codes(&self) -> Option<String> {
        if self.style == Style::default() {
            return None;
        }
        let color = match self.style.color {
            Some(TextColor::Named(digit)) => Some(TERMINAL[usize::from(digit & 15)].to_string()),
            Some(TextColor::Rgb(red, green, blue)) => Some(format!("38;2;{red};{green};{blue}")),
            None => None,
        };
        let formats = self.style.formats.iter().zip(FORMATS).filter(|(on, _)| **on);
        let formats = formats.filter_map(|(_, format)| format.2).map(|code| code.to_string());
        Some(color.into_iter().chain(formats).collect::<Vec<_>>().join(";"))
    }
}

impl Style {
    /// Returns the style of a component within one of this style.
    pub(super) fn with(mut self, fields: &Map<String, Json>) -> Self {
        if let Some(color) = fields.get("color").and_then(Json::as_str) {
            self.color = TextColor::from_name(color);
        }
        for (on, format) in self.formats.iter_mut().zip(FORMATS) {
            if let Some(set) = fields.get(format.1).and_then(Json::as_bool) {
                *on = set;
            }
        }
        self
    }
}

impl TextColor {
    /// The names of the game's 16 colours, indexed by the digit of their code.
    pub const NAMES: [&str; 16] = [
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

    /// Returns the colour that a component calls `name`: `gold`, or `#ffaa00`.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(digit) = Self::NAMES.iter().position(|color| *color == name) {
            return Some(Self::Named(digit as u8));
        }
        let is_hex = |hex: &&str| hex.len() == 6 && hex.bytes().all(|it| it.is_ascii_hexdigit());
        let hex = name.strip_prefix('#').filter(is_hex)?;
        let rgb = u32::from_str_radix(hex, 16).ok()?;
        let [_, red, green, blue] = rgb.to_be_bytes();
        Some(Self::Rgb(red, green, blue))
    }
}

/// The nearest terminal colours, indexed like the names.
const TERMINAL: [u8; 16] = [30, 34, 32, 36, 31, 35, 33, 37, 90, 94, 92, 96, 91, 95, 93, 97];

/// Format code, member of a component, and the terminal's code for it.
const FORMATS: [(char, &str, Option<u8>); 5] = [
    ('k', "obfuscated", None),
    ('l', "bold", Some(1)),
    ('m', "strikethrough", Some(9)),
    ('n', "underlined", Some(4)),
    ('o', "italic", Some(3)),
];

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
            let text = StyledText::parse(raw);
            assert_eq!((text.plain().as_str(), text.codes().as_str()), (plain, codes), "{raw}");
        }
    }

    #[test]
    fn colours_are_the_games_names_or_six_digits() {
        assert_eq!(TextColor::from_name("gold"), Some(TextColor::Named(6)));
        assert_eq!(TextColor::from_name("#ffAA00"), Some(TextColor::Rgb(0xff, 0xaa, 0)));
        for wrong in ["Steve", "#ffaa0", "#+faa00", "ffaa00", "#ffaa0ü"] {
            assert_eq!(TextColor::from_name(wrong), None, "{wrong}");
        }
    }
}
