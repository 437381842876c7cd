use std::ops::Range;

/// A token of a script that has no syntax errors.
#[derive(Debug, Clone)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    /// Its place in the text.
    pub(super) span: Range<usize>,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    /// A name or a keyword.
    Word(&'t str),
    /// A string, as it is written between its quotes.
    Text(&'t str),
    /// A number, or one character of an operator.
    Other(char),
}

impl<'t> Token<'t> {
    pub(super) fn word(&self) -> Option<&'t str> {
        match self.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the value of a string without escapes.
    pub(super) fn plain_text(&self) -> Option<&'t str> {
        match self.kind {
            TokenKind::Text(text) if !text.contains('\\') => Some(text),
            _ => None,
        }
    }

    pub(super) fn is(&self, char: char) -> bool {
        self.kind == TokenKind::Other(char)
    }
}

/// Returns the tokens of a script, without comments.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if let Some(comment) = rest.strip_prefix("--") {
            2 + long(comment).map_or_else(|| line(comment), |(whole, _)| whole)
        } else if let Some((whole, inner)) = long(rest) {
            let kind = TokenKind::Text(&rest[inner]);
            found.push(Token { kind, span: at..at + whole });
            whole
        } else if first == '"' || first == '\'' {
            let end = quoted(rest, first);
            let whole = rest.len().min(end + 1);
            found.push(Token { kind: TokenKind::Text(&rest[1..end]), span: at..at + whole });
            whole
        } else if is_name(first) {
            // `1..2` is no number, and `0x1p4` one.
            let whole = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
            let word = TokenKind::Word(&rest[..whole]);
            let kind = if first.is_ascii_digit() { TokenKind::Other('0') } else { word };
            found.push(Token { kind, span: at..at + whole });
            whole
        } else {
            if !first.is_whitespace() {
                let span = at..at + first.len_utf8();
                found.push(Token { kind: TokenKind::Other(first), span });
            }
            first.len_utf8()
        };
        at += length;
    }
    found
}

/// Returns the length of a long bracket at the beginning (`[[..]]`, `[==[..]==]`), and what is in it.
fn long(text: &str) -> Option<(usize, Range<usize>)> {
    let level = text.strip_prefix('[')?.bytes().take_while(|byte| *byte == b'=').count();
    let start = level + 2;
    text[level + 1..].starts_with('[').then_some(())?;
    let close = format!("]{}]", "=".repeat(level));
    let length = text[start..].find(&close);
    Some(match length {
        Some(length) => (start + length + close.len(), start..start + length),
        None => (text.len(), start..text.len()),
    })
}

/// Returns the length of the rest of a line.
fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Returns where the second quote of a string is, or the text ends.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        if !escaped && (char == quote || char == '\n') {
            return at;
        }
        escaped = !escaped && char == '\\';
    }
    text.len()
}

fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_strings_and_signs_are_told_apart_and_comments_left_out() {
        let text = "local x = 'a\\'b' .. \"c\" -- on('chat')\n--[==[ x ]] ]==] y[[z]] 1e5..0x1F";
        let kinds: Vec<TokenKind<'_>> = tokens(text).iter().map(|token| token.kind).collect();
        use TokenKind::{Other, Text, Word};
        let dots = [Other('.'), Other('.')];
        let expected = [
            &[Word("local"), Word("x"), Other('='), Text("a\\'b")][..],
            &dots,
            &[Text("c"), Word("y"), Text("z"), Other('0')],
            &dots,
            &[Other('0')],
        ];
        assert_eq!(kinds, expected.concat());
        for token in tokens(text) {
            assert!(text.get(token.span).is_some());
        }
    }

    #[test]
    fn texts_that_end_too_early_end_there() {
        for text in ["'", "\"a", "[[", "--[[", "[=", "'\\", "x--", "ü'ß"] {
            tokens(text);
        }
    }
}
