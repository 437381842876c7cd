use std::fmt::{Display, Write as _};

/// Puts ANSI escape codes around text if colours are enabled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    on: bool,
}

/// A colour or style of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
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
    pub(super) fn new(on: bool) -> Self {
        Self { on }
    }

    pub(super) fn is_on(self) -> bool {
        self.on
    }

    pub(super) fn text(self, out: &mut String, color: Color, text: &dyn Display) {
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
        let _ = if self.on && color != Color::Plain {
            write!(out, "\x1b[{code}m{text}\x1b[0m")
        } else {
            write!(out, "{text}")
        };
    }
}
