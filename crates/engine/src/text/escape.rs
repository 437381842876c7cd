//! Text for a terminal: JSON, formatted text, and what the program composes of untrusted text.

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::io;

use mitmcraft_protocol::packet::StyledText;
pub use mitmcraft_protocol::wire::{Escaped, EscapedLines};
use mitmcraft_protocol::wire::{EscapedQuoted, is_unseen};

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

/// Displays text that the program has composed, for a terminal: keeps tabs, the ends of lines and, if the second
/// value is true, colours. What it quotes has to be [`Escaped`] when it is composed, since its lines and colours
/// would be kept too; nothing else of it can control the terminal.
pub struct Composed<'a>(pub &'a str, pub bool);

impl Display for Composed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find("\x1b[").filter(|_| self.1) {
            let codes = &rest[at + 2..];
            let end = codes.find(|char: char| !char.is_ascii_digit() && char != ';');
            let end = end.filter(|end| codes[*end..].starts_with('m')).map(|end| at + 2 + end + 1);
            let kept = at..end.unwrap_or(at);
            write!(f, "{}{}", EscapedLines(&rest[..at]), &rest[kept.clone()])?;
            if kept.is_empty() {
                write!(f, "{}[", Escaped('\x1b'))?;
            }
            rest = &rest[end.unwrap_or(at + 2)..];
        }
        write!(f, "{}", EscapedLines(rest))
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

/// Returns a path as one word of a command line, which no shell takes for anything else, and no program for an option.
#[must_use]
pub fn shell_quoted(path: &str) -> Cow<'_, str> {
    let is_plain = |it: char| {
        it.is_ascii_alphanumeric() || "/._-:".contains(it) || cfg!(windows) && it == '\\'
    };
    if !path.is_empty() && !path.starts_with('-') && path.chars().all(is_plain) {
        return path.into();
    }
    let here = if path.starts_with('-') { "./" } else { "" };
    format!("'{here}{}'", path.replace('\'', r"'\''")).into()
}

/// Displays untrusted text like [`Escaped`], in quotes and cut to a number of characters.
pub(super) struct Quoted<'a>(pub(super) &'a str, pub(super) usize);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", EscapedQuoted(self.0, self.1))
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
            write!(f, "{}", EscapedQuoted(&span.text, left))?;
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn composed_text_has_lines_and_colours_and_nothing_else() {
        let text = "\x1b[1;31ma\x1b[0m\tb\n\x1b[2J\x1b]52;c;eA==\x07\x1b[31\x1b[mc\u{9b}m";
        let plain = "\\u{1b}[1;31ma\\u{1b}[0m\tb\n\\u{1b}[2J\\u{1b}]52;c;eA==\\u{7}\\u{1b}[31\\u{1b}[mc\\u{9b}m";
        assert_eq!(Composed(text, false).to_string(), plain);
        let coloured =
            plain.replace("\\u{1b}[1;31m", "\x1b[1;31m").replace("\\u{1b}[0m", "\x1b[0m");
        assert_eq!(Composed(text, true).to_string(), coloured.replace("\\u{1b}[m", "\x1b[m"));
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
