use std::fmt::{Display, Write as _};

/// Puts ANSI codes round text, or not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

/// What stands out how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Paint {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    pub(crate) fn text(self, out: &mut String, color: Color, text: &dyn Display) {
        let code = match color {
            Color::Plain => 0,
            Color::Bold => 1,
            Color::Dim => 2,
            Color::Red => 31,
            Color::Green => 32,
            Color::Yellow => 33,
            Color::Blue => 34,
            Color::Magenta => 35,
            Color::Cyan => 36,
        };
        // Writing to a string does not fail.
        let _ = match self.on && color != Color::Plain {
            true => write!(out, "\x1b[{code}m{text}\x1b[0m"),
            false => write!(out, "{text}"),
        };
    }
}
