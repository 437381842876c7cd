use serde::Serialize;

use super::cut;
use mitmcraft_protocol::packet::{StyledText, TextColor};

/// A piece of a text that a player reads, with uniform formatting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TextPiece {
    /// The characters.
    pub text: String,
    /// The colour: a hex digit for one of the game's 16, or `#rrggbb`.
    pub color: Option<String>,
    /// The formats: `bold`, `italic`, `underlined`, `strikethrough`, `obfuscated`.
    pub formats: Vec<&'static str>,
}

impl TextPiece {
    /// Returns the pieces of a text.
    #[must_use]
    pub fn all(text: &StyledText) -> Vec<Self> {
        let pieces = text.spans.iter().map(|span| Self {
            text: cut(&span.text),
            color: span.color().map(|color| match color {
                TextColor::Named(digit) => format!("{digit:x}"),
                TextColor::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
            }),
            formats: span.formats().collect(),
        });
        pieces.collect()
    }
}
