use std::fmt::{Display, Write as _};

/// Puts ANSI escape codes around text if colours are enabled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

/// A colour or style of text, with its ANSI code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
    Plain = 0,
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Magenta = 35,
    Cyan = 36,
}

impl Paint {
    pub(super) fn text(self, out: &mut String, color: Color, text: &dyn Display) {
        let code = color as u8;
        // Writing to a string does not fail.
        let _ = if self.0 && color != Color::Plain {
            write!(out, "\x1b[{code}m{text}\x1b[0m")
        } else {
            write!(out, "{text}")
        };
    }
}
