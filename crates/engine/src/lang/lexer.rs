use std::ops::Range;

use super::error::ExprError;
use mitmcraft_protocol::wire::parse_hex;

/// A range of the source, in bytes.
pub(super) type Span = Range<usize>;

/// A token of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    /// A name or a keyword.
    Word(&'t str),
    /// A name with `*` or `?` in it.
    Glob(&'t str),
    Int(u64),
    Float(f64),
    Text(Quoted),
    Bytes(Vec<u8>),
    /// An operator or bracket, as written.
    Symbol(&'static str),
    End,
}

/// A quoted text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quoted {
    pub(super) value: String,
    /// The first backslash that begins no valid escape, with the next character; both are in
    /// `value`.
    pub(super) unknown: Option<Span>,
    /// Pairs of offsets in `value` and in the source, from which on both advance together.
    pub(super) anchors: Vec<(usize, usize)>,
}

impl Quoted {
    /// Returns the offset in the source of an offset in the value.
    pub(super) fn source(&self, place: usize) -> usize {
        let before = self.anchors.iter().rev().find(|(value, _)| *value <= place);
        before.map_or(place, |(value, source)| source + place - value)
    }
}

/// Splits the text into tokens. The last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, Span)>, ExprError> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new(), operand: false };
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.next()?;
        let end = token == Token::End;
        lexer.operand = lexer.ends_operand(&token);
        lexer.tokens.push((token, start..lexer.at));
        if end {
            return Ok(lexer.tokens);
        }
    }
}

/// Splits a line of several expressions at a separator, unless that stands in quotes or brackets. Returns the parts
/// without the white space around them, each with its place.
pub fn split(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let (mut depth, mut quotes, mut last) = (0usize, Quotes::None, ' ');
    let parts = text.split(move |char| {
        let before = std::mem::replace(&mut last, char);
        match (quotes, char) {
            (Quotes::Escaped, _) => quotes = Quotes::Text,
            (Quotes::Text, '\\') => quotes = Quotes::Escaped,
            (Quotes::Text | Quotes::Raw, '"') => quotes = Quotes::None,
            (Quotes::Text | Quotes::Raw, _) => {}
            (Quotes::R, '"') => quotes = Quotes::Raw,
            (_, '"') => quotes = Quotes::Text,
            (_, 'r') if !is_word(before) => quotes = Quotes::R,
            _ => quotes = Quotes::None,
        }
        if !matches!(quotes, Quotes::None | Quotes::R) {
            return false;
        }
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        char == separator && depth == 0
    });
    parts.map(move |part| {
        let part = part.trim();
        (part.as_ptr().addr() - text.as_ptr().addr(), part)
    })
}

/// The place of a character in or before quotes.
#[derive(Clone, Copy)]
enum Quotes {
    None,
    /// After an `r` that begins a word.
    R,
    Text,
    /// After a backslash in a text.
    Escaped,
    /// In a text without escapes.
    Raw,
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<(Token<'t>, Span)>,
    /// `true` if the last token ended an operand, so that an operator must follow.
    operand: bool,
}

impl<'t> Lexer<'t> {
    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn next(&mut self) -> Result<Token<'t>, ExprError> {
        let Some(char) = self.rest().chars().next() else { return Ok(Token::End) };
        if let Some(bytes) = self.bytes()? {
            return Ok(bytes);
        }
        match char {
            '"' => self.quoted(),
            'r' if self.rest().starts_with("r\"") => self.raw(),
            '0'..='9' => self.number(),
            '*' => Ok(self.star()),
            _ if is_word_start(char) => Ok(self.word()),
            _ => self.symbol(char),
        }
    }

    /// Reads pairs of hex digits separated by colons, or after a colon.
    fn bytes(&mut self) -> Result<Option<Token<'t>>, ExprError> {
        let rest = self.rest();
        let pair = |text: &str| parse_hex(text.get(..2)?)?.pop();
        let mut place = usize::from(rest.starts_with(':'));
        if pair(&rest[place..]).is_none() || (place == 0 && rest.as_bytes().get(2) != Some(&b':')) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        while let Some(byte) = pair(&rest[place..]) {
            bytes.push(byte);
            place += 2;
            match rest.as_bytes().get(place) {
                Some(b':') => place += 1,
                _ => break,
            }
        }
        let end = word_end(&rest[place..]) + place;
        if end > place || rest[..place].ends_with(':') {
            let span = self.at..self.at + end;
            return Err(ExprError::new(&span, "bytes are pairs of hex digits")
                .hint("for example `0a:1b:2c`, or `:0a` for a single one"));
        }
        self.at += place;
        Ok(Some(Token::Bytes(bytes)))
    }

    fn quoted(&mut self) -> Result<Token<'t>, ExprError> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        let mut unknown = None;
        let mut anchors = vec![(0, self.at)];
        loop {
            let place = self.at;
            match self.take() {
                None => return Err(self.unterminated(start)),
                Some('"') => return Ok(Token::Text(Quoted { value, unknown, anchors })),
                Some('\\') => {
                    match self.escape(start)? {
                        Some(char) => value.push(char),
                        None => {
                            self.at = place + 1;
                            value.push('\\');
                            let end =
                                place + 1 + self.rest().chars().next().map_or(0, char::len_utf8);
                            unknown.get_or_insert(place..end);
                        }
                    }
                    anchors.push((value.len(), self.at));
                }
                Some(char) => value.push(char),
            }
        }
    }

    /// Reads an escape after its backslash; `None` when it is not valid.
    fn escape(&mut self, start: usize) -> Result<Option<char>, ExprError> {
        Ok(Some(match self.take() {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('0') => '\0',
            Some('"') => '"',
            Some('\\') => '\\',
            Some('u') => {
                let digits = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let Some((digits, _)) = digits else { return Ok(None) };
                let char = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                self.at += digits.len() + 2;
                return Ok(char);
            }
            Some(_) => return Ok(None),
            None => return Err(self.unterminated(start)),
        }))
    }

    fn raw(&mut self) -> Result<Token<'t>, ExprError> {
        let start = self.at;
        self.at += 2;
        let Some((value, _)) = self.rest().split_once('"') else {
            return Err(self.unterminated(start));
        };
        let anchors = vec![(0, self.at)];
        self.at += value.len() + 1;
        Ok(Token::Text(Quoted { value: value.to_owned(), unknown: None, anchors }))
    }

    fn unterminated(&self, start: usize) -> ExprError {
        ExprError::new(&(start..self.text.len()), "this text has no closing quote")
    }

    fn number(&mut self) -> Result<Token<'t>, ExprError> {
        let start = self.at;
        let rest = self.rest();
        let digits = |from: usize| {
            let digits = rest[from..].bytes().take_while(u8::is_ascii_digit);
            from + digits.count()
        };
        let (token, length) = if let Some(hex) = rest.strip_prefix("0x") {
            let count = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
            (u64::from_str_radix(&hex[..count], 16).ok().map(Token::Int), count + 2)
        } else {
            let whole = digits(0);
            let mut end = whole;
            if rest[end..].starts_with('.') && digits(end + 1) > end + 1 {
                end = digits(end + 1);
            }
            if rest[end..].starts_with(['e', 'E']) {
                let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
                let exponent = digits(end + 1 + sign);
                end = if exponent > end + 1 + sign { exponent } else { end };
            }
            let text = &rest[..end];
            let float = || text.parse().ok().filter(|it: &f64| it.is_finite()).map(Token::Float);
            (if end == whole { text.parse().ok().map(Token::Int) } else { float() }, end)
        };
        let tail = word_end(&rest[length..]);
        self.at += length + tail;
        let span = start..self.at;
        let number = &self.text[span.clone()];
        match token {
            Some(token) if tail == 0 => Ok(token),
            None if tail == 0 && length > 2 => {
                Err(ExprError::new(&span, format!("`{number}` is out of range")))
            }
            _ => Err(ExprError::new(&span, format!("`{number}` is not a number"))),
        }
    }

    /// Reads a star: a multiplication after an operand, elsewhere the start of a glob.
    fn star(&mut self) -> Token<'t> {
        let glob = !self.operand && !matches!(self.last(), Some(Token::Symbol("[" | ".")));
        if glob {
            return self.word();
        }
        self.at += 1;
        Token::Symbol("*")
    }

    fn word(&mut self) -> Token<'t> {
        let part = self.last() == Some(&Token::Symbol("."));
        let rest = self.rest();
        let glob = |char: char| !part && matches!(char, '*' | '?');
        let length = rest.find(|char| !is_word(char) && !glob(char)).unwrap_or(rest.len());
        self.at += length;
        let word = &rest[..length];
        if word.contains(['*', '?']) { Token::Glob(word) } else { Token::Word(word) }
    }

    fn symbol(&mut self, char: char) -> Result<Token<'t>, ExprError> {
        let rest = self.rest();
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            self.at += symbol.len();
            return Ok(Token::Symbol(symbol));
        }
        let span = self.at..self.at + char.len_utf8();
        let error = ExprError::new(&span, format!("unexpected `{char}`"));
        Err(match char {
            '=' => error.hint("equality is `==`"),
            '&' => error.hint("write `and` or `&&`"),
            '|' => error.hint("write `or` or `||`"),
            '\'' => error.hint("put text in double quotes"),
            // As mitmproxy writes.
            '~' => error.hint(
                "`~q` is `serverbound`, `~s` is `clientbound`, `~b TEXT` is `pkt.body contains \"TEXT\"`, `~marked` is \
                 `pkt.marked`; for a regular expression, write `matches`",
            ),
            _ => error,
        })
    }

    fn ends_operand(&self, token: &Token<'_>) -> bool {
        match token {
            _ if self.last() == Some(&Token::Symbol(".")) => true,
            Token::Word("and" | "or" | "not") | Token::End => false,
            // These words are names where no operator can follow.
            Token::Word("in" | "contains" | "matches") => !self.operand,
            Token::Symbol(symbol) => matches!(*symbol, ")" | "]" | "}"),
            _ => true,
        }
    }

    fn last(&self) -> Option<&Token<'t>> {
        self.tokens.last().map(|(token, _)| token)
    }

    fn take(&mut self) -> Option<char> {
        let char = self.rest().chars().next()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }
}

fn is_word_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// Returns the length of the word at the start of the text.
fn word_end(text: &str) -> usize {
    text.find(|char| !is_word(char)).unwrap_or(text.len())
}

/// All symbols. Longer ones come before their prefixes.
const SYMBOLS: [&str; 22] = [
    "==", "!=", "<=", ">=", "&&", "||", "..", ".", "<", ">", "!", "(", ")", "{", "}", "[", "]",
    ",", "+", "-", "/", "%",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> Vec<Token<'_>> {
        let mut tokens = tokens(text).unwrap();
        tokens.pop();
        tokens.into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn a_star_is_a_glob_in_a_word_and_multiplies_after_an_operand() {
        use Token::{Glob, Int, Symbol, Word};
        assert_eq!(lex("entity_* * x?"), [Glob("entity_*"), Symbol("*"), Glob("x?")]);
        assert_eq!(lex("2*x"), [Int(2), Symbol("*"), Word("x")]);
        assert_eq!(lex("a.x*2"), [Word("a"), Symbol("."), Word("x"), Symbol("*"), Int(2)]);
        assert_eq!(lex("not *_window"), [Word("not"), Glob("*_window")]);
        assert_eq!(lex("a[*]"), [Word("a"), Symbol("["), Symbol("*"), Symbol("]")]);
        assert_eq!(lex("*.x"), [Glob("*"), Symbol("."), Word("x")]);
    }

    #[test]
    fn numbers_bytes_and_ranges_are_distinguished() {
        use Token::{Bytes, Float, Int, Symbol, Word};
        assert_eq!(lex("0x17..0x19"), [Int(0x17), Symbol(".."), Int(0x19)]);
        assert_eq!(
            lex("1..2 1.5 2e3 1.5e-1"),
            [Int(1), Symbol(".."), Int(2), Float(1.5), Float(2000.0), Float(0.15)]
        );
        assert_eq!(
            lex("0a:1B:2c :ff ab cd:ef"),
            [Bytes(vec![0x0a, 0x1b, 0x2c]), Bytes(vec![0xff]), Word("ab"), Bytes(vec![0xcd, 0xef])]
        );
        assert_eq!(lex("18446744073709551615"), [Int(u64::MAX)]);
    }

    #[test]
    fn escapes_are_decoded_and_unknown_ones_are_kept() {
        let text = |text| match lex(text).remove(0) {
            Token::Text(quoted) => quoted,
            token => panic!("{token:?}"),
        };
        assert_eq!(text(r#""a\n\"\\\u{1f600}\0""#).value, "a\n\"\\\u{1f600}\0");
        assert_eq!(text(r#"r"a\n""#).value, r"a\n");
        let digits = text(r#""é\n\d+""#);
        assert_eq!(digits.value, "é\n\\d+");
        assert_eq!(digits.unknown, Some(5..7));
        // "é\n\d+": the value's `+` (byte 5) is byte 7 of the source
        assert_eq!([0, 2, 3, 4, 5].map(|at| digits.source(at)), [1, 3, 5, 6, 7]);
    }

    #[test]
    fn separators_in_quotes_and_brackets_split_nothing() {
        let parts = |text, separator| split(text, separator).collect::<Vec<_>>();
        let line = r#" chat ;; a == "x;\";y" ; b"#;
        assert_eq!(parts(line, ';'), [(1, "chat"), (7, ""), (9, r#"a == "x;\";y""#), (25, "b")]);
        // A backslash before a quote ends a text without escapes.
        assert_eq!(
            parts(r#"a == r";\"; br"\";""#, ';'),
            [(0, r#"a == r";\""#), (12, r#"br"\";""#)]
        );
        let names = |text| split(text, ',').map(|(_, part)| part).collect::<Vec<_>>();
        assert_eq!(names("a, pkt.time ,c[0].d"), ["a", "pkt.time", "c[0].d"]);
        assert_eq!(names(r#"tag."a,b",lower(x)"#), [r#"tag."a,b""#, "lower(x)"]);
        assert_eq!(
            names("a in {1, 2}, distance(x, y, z, 0, 0, 0)"),
            ["a in {1, 2}", "distance(x, y, z, 0, 0, 0)"]
        );
        assert_eq!(names("a,,b"), ["a", "", "b"]);
    }

    #[test]
    fn an_invalid_token_is_an_error_with_a_hint() {
        for (text, span, message, hint) in [
            ("a = 1", 2..3, "unexpected `=`", Some("equality is `==`")),
            ("a & b", 2..3, "unexpected `&`", Some("write `and` or `&&`")),
            ("\"abc", 0..4, "this text has no closing quote", None),
            ("\"abc\\", 0..5, "this text has no closing quote", None),
            ("r\"abc", 0..5, "this text has no closing quote", None),
            ("x == 12ab", 5..9, "`12ab` is not a number", None),
            ("0x", 0..2, "`0x` is not a number", None),
            ("1e999", 0..5, "`1e999` is out of range", None),
            ("18446744073709551616", 0..20, "`18446744073709551616` is out of range", None),
            (
                "ab:c",
                0..4,
                "bytes are pairs of hex digits",
                Some("for example `0a:1b:2c`, or `:0a` for a single one"),
            ),
        ] {
            let error = tokens(text).unwrap_err();
            assert_eq!(error.span, span, "{text}");
            assert_eq!(error.message, message);
            assert_eq!(error.hint.as_deref(), hint);
        }
    }
}
