//! Untrusted text, made safe for a terminal and for lines of text.

use std::fmt::{self, Display, Write as _};

use super::is_unseen;

/// Displays untrusted text in one line, safely on a terminal: escapes characters that would end the line,
/// move the cursor, or colour, hide or reorder text.
#[derive(Debug)]
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper { out: f, quote: None, lines: false, left: usize::MAX }, "{}", self.0)
    }
}

/// Displays untrusted text of several lines like [`Escaped`], but keeps tabs and the ends of lines.
#[derive(Debug)]
pub struct EscapedLines<T>(pub T);

impl<T: Display> Display for EscapedLines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper { out: f, quote: None, lines: true, left: usize::MAX }, "{}", self.0)
    }
}

/// Displays untrusted text like [`Escaped`] for a place between double quotes, cut to a number of characters.
#[derive(Debug)]
pub struct EscapedQuoted<'a>(pub &'a str, pub usize);

impl Display for EscapedQuoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaper { out: f, quote: Some('"'), lines: false, left: self.1 }.write_str(self.0)
    }
}

struct Escaper<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    quote: Option<char>,
    /// `true` if tabs and the ends of lines are kept.
    lines: bool,
    /// Number of characters that may still be written.
    left: usize,
}

impl fmt::Write for Escaper<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            if self.left == 0 {
                return self.out.write_char('…');
            }
            self.left -= 1;
            match char {
                '\n' | '\t' if self.lines => self.out.write_char(char)?,
                '\n' => self.out.write_str("\\n")?,
                '\r' => self.out.write_str("\\r")?,
                '\t' => self.out.write_str("\\t")?,
                '\\' if self.quote.is_some() => self.out.write_str("\\\\")?,
                char if Some(char) == self.quote => write!(self.out, "\\{char}")?,
                char if is_unseen(char) => write!(self.out, "\\u{{{:x}}}", u32::from(char))?,
                char => self.out.write_char(char)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_that_a_terminal_interprets_is_printed() {
        for code in (0..=0x10_ffff).filter_map(char::from_u32) {
            let shown = Escaped(code).to_string();
            let fit = !shown.chars().any(|char| char.is_control() || is_unseen(char));
            assert!(fit, "{code:?}");
        }
        assert_eq!(
            Escaped("a\x1b[31m\u{9b}\u{202e}b\\\n").to_string(),
            r"a\u{1b}[31m\u{9b}\u{202e}b\\n"
        );
        assert_eq!(EscapedLines("a\r\n\tb\u{85}").to_string(), "a\\r\n\tb\\u{85}");
        assert_eq!(EscapedQuoted("a\"\\\n", 9).to_string(), r#"a\"\\\n"#);
        assert_eq!(EscapedQuoted("\u{e4}\u{f6}\u{fc}", 2).to_string(), "\u{e4}\u{f6}…");
        assert_eq!(EscapedQuoted("\u{e4}\u{f6}\u{fc}", 3).to_string(), "\u{e4}\u{f6}\u{fc}");
    }
}
