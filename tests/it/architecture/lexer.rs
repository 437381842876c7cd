//! Rust source as tokens: enough to find paths and string literals, comments left out.

/// A token and the line it begins on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: usize,
}

/// Kinds of tokens, as far as the checks tell them apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// An identifier or a keyword.
    Word(String),
    /// A string literal of any form: what is between the quotes, escapes as they are written.
    Text(String),
    /// `::`.
    Colons,
    /// Any other punctuation, one character at a time.
    Sign(char),
    /// A number, a character or a lifetime.
    Other,
}

impl Token {
    pub(super) fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Splits a source file into tokens.
pub(super) fn lex(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, line: 1, tokens: Vec::new() };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn step(&mut self) {
        let line = self.line;
        let kind = match self.peek(0) {
            '/' if self.peek(1) == '/' => return self.skip_while(|char| char != '\n'),
            '/' if self.peek(1) == '*' => return self.skip_block_comment(),
            char if char.is_whitespace() => return self.advance(1),
            '"' => self.string(),
            '\'' => self.quote(),
            ':' if self.peek(1) == ':' => {
                self.advance(2);
                Kind::Colons
            }
            char if char.is_ascii_digit() => {
                self.skip_while(|char| char.is_alphanumeric() || char == '_');
                Kind::Other
            }
            char if char.is_alphabetic() || char == '_' => self.word_or_string(),
            char => {
                self.advance(1);
                Kind::Sign(char)
            }
        };
        self.tokens.push(Token { kind, line });
    }

    /// An identifier, or a literal with a prefix: `b".."`, `r#".."#`, `b'x'`, `r#type`.
    fn word_or_string(&mut self) -> Kind {
        let begin = self.at;
        self.skip_while(|char| char.is_alphanumeric() || char == '_');
        let word: String = self.chars[begin..self.at].iter().collect();
        if !["b", "c", "r", "br", "cr"].contains(&word.as_str()) {
            return Kind::Word(word);
        }
        let hashes = (0..).take_while(|offset| self.peek(*offset) == '#').count();
        let raw = word.ends_with('r');
        match self.peek(hashes) {
            '"' if raw => self.raw_string(hashes),
            '"' if hashes == 0 => self.string(),
            '\'' if word == "b" && hashes == 0 => self.quote(),
            char if word == "r" && hashes == 1 && char.is_alphabetic() => {
                self.advance(1);
                self.word_or_string()
            }
            _ => Kind::Word(word),
        }
    }

    fn string(&mut self) -> Kind {
        self.advance(1);
        let begin = self.at;
        while self.peek(0) != '"' {
            self.advance(if self.peek(0) == '\\' { 2 } else { 1 });
        }
        let text = self.chars[begin..self.at].iter().collect();
        self.advance(1);
        Kind::Text(text)
    }

    fn raw_string(&mut self, hashes: usize) -> Kind {
        self.advance(hashes + 1);
        let begin = self.at;
        while self.peek(0) != '"' || (1..=hashes).any(|offset| self.peek(offset) != '#') {
            self.advance(1);
        }
        let text = self.chars[begin..self.at].iter().collect();
        self.advance(hashes + 1);
        Kind::Text(text)
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) -> Kind {
        self.advance(1);
        if self.peek(0) == '\\' {
            self.advance(2);
            self.skip_while(|char| char != '\'');
            self.advance(1);
        } else if self.peek(1) == '\'' {
            self.advance(2);
        } else {
            self.skip_while(|char| char.is_alphanumeric() || char == '_');
        }
        Kind::Other
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.advance(1);
                    continue;
                }
            }
            self.advance(2);
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_while(&mut self, holds: impl Fn(char) -> bool) {
        while self.at < self.chars.len() && holds(self.peek(0)) {
            self.advance(1);
        }
    }

    fn advance(&mut self, count: usize) {
        for _ in 0..count {
            assert!(self.at < self.chars.len(), "the file ends within a literal or a comment");
            self.line += usize::from(self.chars[self.at] == '\n');
            self.at += 1;
        }
    }

    fn peek(&self, offset: usize) -> char {
        self.chars.get(self.at + offset).copied().unwrap_or('\0')
    }
}

#[test]
fn comments_strings_and_lifetimes_are_told_apart() {
    let text = "/* a /* nested */ comment */ 'x' '\\'' '\"' &'a str // \"no string\"\n\
                b\"\\\"one\" r#\"two \"quoted\"\"# br\"three\" r#type::x";
    let tokens = lex(text);
    let texts: Vec<&str> = tokens
        .iter()
        .filter_map(|token| match &token.kind {
            Kind::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["\\\"one", "two \"quoted\"", "three"]);
    let words: Vec<&str> = tokens.iter().filter_map(Token::word).collect();
    assert_eq!(words, ["str", "type", "x"]);
    assert_eq!(tokens.last().unwrap().line, 2);
}
