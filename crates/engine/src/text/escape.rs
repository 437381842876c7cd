//! Untrusted text, made safe for a terminal.

use std::fmt::{self, Display, Write as _};
use std::io;

use mitmcraft_protocol::packet::StyledText;
use mitmcraft_protocol::wire::is_unseen;

/// Displays untrusted text safely on a terminal: escapes characters that would move the cursor, or
/// colour, hide or reorder text.
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper { out: f, quote: None, lines: false, left: usize::MAX }, "{}", self.0)
    }
}

/// Displays untrusted text of several lines like [`Escaped`], but keeps tabs and the ends of lines.
pub struct EscapedLines<T>(pub T);

impl<T: Display> Display for EscapedLines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper { out: f, quote: None, lines: true, left: usize::MAX }, "{}", self.0)
    }
}

/// Displays formatted text for a terminal, in colour if the second value is true. Its characters
/// are those of [`EscapedLines`], so that the text cannot control the terminal.
pub struct Styled<'a>(pub &'a StyledText, pub bool);

impl Display for Styled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for span in &self.0.spans {
            match span.terminal_codes().filter(|_| self.1) {
                Some(codes) => {
                    write!(f, "\x1b[{codes}m{}\x1b[0m", EscapedLines(&span.text))?;
                }
                None => write!(f, "{}", EscapedLines(&span.text))?,
            }
        }
        Ok(())
    }
}

/// Displays JSON with the characters that [`Escaped`] escapes as `\uXXXX`: the same value, safe for
/// a terminal.
pub struct EscapedJson<'a>(pub &'a str);

impl Display for EscapedJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            // Outside of texts there are no such characters but the ends of lines.
            if !is_unseen(char) || char == '\n' {
                f.write_char(char)?;
                continue;
            }
            for unit in char.encode_utf16(&mut [0; 2]) {
                write!(f, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

/// Writes lines of JSON to a terminal as [`EscapedJson`]. A line is written when it is complete.
pub struct EscapedJsonWriter<W: io::Write> {
    inner: W,
    line: Vec<u8>,
}

impl<W: io::Write> EscapedJsonWriter<W> {
    /// Creates a writer that writes to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, line: Vec::new() }
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let shown = EscapedJson(&String::from_utf8_lossy(&line)).to_string();
        self.inner.write_all(shown.as_bytes())
    }
}

impl<W: io::Write> io::Write for EscapedJsonWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Displays untrusted text like [`Escaped`], in quotes and cut to a number of characters.
pub(super) struct Quoted<'a>(pub(super) &'a str, pub(super) usize);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        Escaper { out: f, quote: Some('"'), lines: false, left: self.1 }.write_str(self.0)?;
        f.write_char('"')
    }
}

/// Displays formatted text like [`Quoted`], in colour if the last value is true.
pub(super) struct QuotedText<'a>(pub(super) &'a StyledText, pub(super) usize, pub(super) bool);

impl Display for QuotedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.1;
        f.write_char('"')?;
        for span in &self.0.spans {
            let codes = span.terminal_codes().filter(|_| self.2);
            if let Some(codes) = &codes {
                write!(f, "\x1b[{codes}m")?;
            }
            Escaper { out: f, quote: Some('"'), lines: false, left }.write_str(&span.text)?;
            if codes.is_some() {
                f.write_str("\x1b[0m")?;
            }
            let count = span.text.chars().count();
            if count > left {
                break;
            }
            left -= count;
        }
        f.write_char('"')
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
    use std::io::Write as _;

    use super::*;

    #[test]
    fn no_character_that_a_terminal_interprets_is_printed() {
        for code in (0..=0x10_ffff).filter_map(char::from_u32) {
            let shown = Escaped(code).to_string();
            let fit = !shown.chars().any(|char| char.is_control() || is_unseen(char));
            assert!(fit, "{code:?}");
        }
        assert_eq!(
            Escaped("a\x1b[31m\u{9b}\u{202e}b\\").to_string(),
            r"a\u{1b}[31m\u{9b}\u{202e}b\"
        );
        assert_eq!(Quoted("a\"\\\n", 9).to_string(), r#""a\"\\\n""#);
        assert_eq!(Quoted("\u{e4}\u{f6}\u{fc}", 2).to_string(), "\"\u{e4}\u{f6}…\"");
        assert_eq!(Quoted("\u{e4}\u{f6}\u{fc}", 3).to_string(), "\"\u{e4}\u{f6}\u{fc}\"");
    }

    #[test]
    fn formatted_text_has_colours_and_no_other_control_characters() {
        let text = StyledText::parse(r##"{"text":"a\u001b[2Jb","color":"#102030","bold":true}"##);
        assert_eq!(Styled(&text, false).to_string(), r"a\u{1b}[2Jb");
        assert_eq!(Styled(&text, true).to_string(), "\x1b[38;2;16;32;48;1ma\\u{1b}[2Jb\x1b[0m");
        let red = StyledText::parse("§cred\n\u{202e}x\u{200b}\u{e0041}");
        assert_eq!(
            Styled(&red, true).to_string(),
            "\x1b[91mred\n\\u{202e}x\\u{200b}\\u{e0041}\x1b[0m"
        );
    }

    #[test]
    fn quoted_text_is_cut_after_its_last_characters() {
        let text = StyledText::parse(r#"["ab",{"text":"cd","color":"red"},"ef"]"#);
        for (limit, plain, colored) in [
            (6, "\"abcdef\"", "\"ab\x1b[91mcd\x1b[0mef\""),
            (3, "\"abc…\"", "\"ab\x1b[91mc…\x1b[0m\""),
            (2, "\"ab…\"", "\"ab\x1b[91m…\x1b[0m\""),
        ] {
            assert_eq!(QuotedText(&text, limit, false).to_string(), plain);
            assert_eq!(QuotedText(&text, limit, true).to_string(), colored);
        }
        let evil = StyledText::parse(r#"{"text":"\u001b[2J\"\n","color":"red"}"#);
        assert_eq!(QuotedText(&evil, 9, true).to_string(), "\"\x1b[91m\\u{1b}[2J\\\"\\n\x1b[0m\"");
    }

    #[test]
    fn escaped_json_is_the_same_value() {
        let text: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        let json = serde_json::to_string(&serde_json::json!({ "text": text, "n": [1, null] }));
        let json = json.unwrap();
        let shown = EscapedJson(&json).to_string();
        assert!(!shown.chars().any(is_unseen));
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(value(&shown), value(&json));
        assert_eq!(EscapedJson("[\"\u{9b}\u{e0001}ä\"]").to_string(), r#"["\u009b\udb40\udc01ä"]"#);
    }

    #[test]
    fn json_written_in_any_pieces_is_escaped_line_by_line() {
        let json = "{\"a\":\"\u{202e}\u{9b}ü\"}\n{\"b\":1}\n";
        for size in [1, 2, 3, 100] {
            let mut writer = EscapedJsonWriter::new(Vec::new());
            json.as_bytes().chunks(size).for_each(|piece| writer.write_all(piece).unwrap());
            let shown = String::from_utf8(writer.inner).unwrap();
            assert_eq!(shown, "{\"a\":\"\\u202e\\u009bü\"}\n{\"b\":1}\n", "{size}");
        }
    }
}
