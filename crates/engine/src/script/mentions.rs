//! Functions, fields and packets that callbacks mention and that do not exist, found before they are used.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::tokens::{Token, TokenKind, tokens};
use crate::lang::{Condition, Expr, ExprError, Path, Vocabulary, Warning, closest};

/// Finds what does not exist in a script that loads. `globals` are the names of global functions and tables, and of
/// what the tables have, as `string.format`.
pub(super) fn missing(
    text: &str,
    globals: &HashSet<String>,
    vocabulary: &Vocabulary<'_>,
) -> Vec<Warning> {
    let tokens = tokens(text);
    let mut reader = Reader { tokens: &tokens, checked: HashMap::new(), found: Vec::new() };
    reader.calls(globals);
    for place in 0..tokens.len() {
        reader.callback(place, vocabulary);
    }
    reader.found
}

struct Reader<'t> {
    tokens: &'t [Token<'t>],
    /// Expressions that were checked, with what is wrong with them.
    checked: HashMap<String, Option<ExprError>>,
    found: Vec<Warning>,
}

impl<'t> Reader<'t> {
    /// Finds calls of functions that are nowhere defined.
    fn calls(&mut self, globals: &HashSet<String>) {
        let declared = self.declared();
        for place in 0..self.tokens.len() {
            let Some(name) = self.name(place) else { continue };
            if self.follows_dot(place) || declared.contains(name) {
                continue;
            }
            let called = |place: usize| {
                let next = self.tokens.get(place + 1);
                next.is_some_and(|it| {
                    it.is('(') || it.is('{') || matches!(it.kind, TokenKind::Text(_))
                })
            };
            if called(place) && !globals.contains(name) {
                self.report(place, format!("there is no function `{name}`"), globals);
            } else if self.is(place + 1, '.')
                && let Some(member) = self.name(place + 2)
                && called(place + 2)
                && globals.contains(name)
            {
                let whole = format!("{name}.{member}");
                if LIBRARIES.contains(&name) && !globals.contains(&whole) {
                    self.report(place + 2, format!("there is no function `{whole}`"), globals);
                }
            }
        }
    }

    /// Returns the names that the script itself gives to anything, anywhere.
    fn declared(&self) -> HashSet<&'t str> {
        let mut declared = HashSet::new();
        for place in 0..self.tokens.len() {
            match self.tokens[place].word() {
                Some("local" | "for") => declared.extend(self.names(place + 1)),
                Some("function") => {
                    declared.extend(self.name(place + 1));
                    declared.extend(self.parameters(place));
                }
                Some(name) if self.is(place + 1, '=') && !self.is(place + 2, '=') => {
                    declared.insert(name);
                }
                // `a, b = ..`
                Some(name) if self.is(place + 1, ',') => {
                    declared.insert(name);
                }
                _ => {}
            }
        }
        declared
    }

    /// Checks a callback that begins at this place: `on("..", function(packet, session) .. end)`.
    fn callback(&mut self, place: usize, vocabulary: &Vocabulary<'_>) {
        let name = self.name(place);
        if self.follows_dot(place) || !self.is(place + 1, '(') {
            return;
        }
        let (when, function) = match name {
            Some("on" | "every" | "after") if self.is(place + 3, ',') => {
                (self.tokens[place + 2].plain_text(), place + 4)
            }
            Some("on_open" | "on_state" | "on_close") => (None, place + 2),
            _ => return,
        };
        if self.tokens.get(function).and_then(Token::word) != Some("function") {
            return;
        }
        let mut parameters = self.parameters(function).into_iter();
        let body = self.body(function);
        if name == Some("on")
            && let (Some(packet), Some(when)) = (parameters.next(), when)
            && !self.is_shadowed(packet, &body)
        {
            body.clone().for_each(|place| self.packet(place, packet, when, vocabulary));
        }
        if let Some(session) = parameters.next()
            && !self.is_shadowed(session, &body)
        {
            body.for_each(|place| self.session(place, session, vocabulary));
        }
    }

    /// Checks a use of the packet of a callback.
    fn packet(&mut self, place: usize, packet: &str, when: &str, vocabulary: &Vocabulary<'_>) {
        if self.name(place) != Some(packet) || self.follows_dot(place) {
            return;
        }
        let Some(member) = self.name(place + 2) else { return };
        if self.is(place + 1, ':') {
            if !METHODS.contains(&member) {
                let message = format!("a packet has no function `{member}`");
                self.report(place + 2, message, METHODS);
            } else if member == "replace" && self.is(place + 3, '(') && self.is(place + 5, ',') {
                self.packet_name(place + 4, vocabulary);
            }
            return;
        }
        match member {
            _ if !self.is(place + 1, '.') => {}
            "fields" => {}
            "pkt" => {
                if let Some(property) = self.name(place + 4)
                    && self.is(place + 3, '.')
                    && !PROPERTIES.contains(&property)
                {
                    let message = format!("no packet has a property `pkt.{property}`");
                    self.report(place + 4, message, PROPERTIES);
                }
            }
            field => {
                let exists = Path::named(field).map(Path::exists);
                let (Ok(when), Some(exists)) = (Condition::parse(when), exists) else { return };
                let part = exists.to_string().len();
                let expression = when.and(exists).to_string();
                let start = expression.len() - part;
                if let Some(error) = self.check(expression, vocabulary)
                    && error.span == (start..start + field.len())
                    && !METHODS.contains(&field)
                {
                    self.found(place + 2, error.message, error.hint);
                }
            }
        }
    }

    /// Checks a use of the session of a callback.
    fn session(&mut self, place: usize, session: &str, vocabulary: &Vocabulary<'_>) {
        if self.name(place) != Some(session) || self.follows_dot(place) {
            return;
        }
        let Some(member) = self.name(place + 2) else { return };
        let known = if self.is(place + 1, ':') {
            SESSION_METHODS
        } else if self.is(place + 1, '.') {
            SESSION
        } else {
            return;
        };
        if !SESSION.contains(&member) && !SESSION_METHODS.contains(&member) {
            self.report(place + 2, format!("a session has no `{member}`"), known);
        } else if member == "send" && self.is(place + 3, '(') && self.is(place + 5, ',') {
            self.packet_name(place + 6, vocabulary);
        }
    }

    /// Checks the name of a packet that is to be sent.
    fn packet_name(&mut self, place: usize, vocabulary: &Vocabulary<'_>) {
        let Some(name) = self.tokens.get(place).and_then(Token::plain_text) else { return };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !name.is_empty()
            && name.bytes().all(plain)
            && let Some(error) = self.check(name.to_owned(), vocabulary)
        {
            self.found(place, error.message, error.hint);
        }
    }

    /// Returns what is wrong with an expression.
    fn check(&mut self, text: String, vocabulary: &Vocabulary<'_>) -> Option<ExprError> {
        let parse = |text: &String| Expr::parse_in(text, vocabulary).err();
        self.checked.entry(text).or_insert_with_key(parse).clone()
    }

    fn report<'k>(
        &mut self,
        place: usize,
        message: String,
        known: impl IntoIterator<Item = &'k (impl AsRef<str> + ?Sized + 'k)>,
    ) {
        let word = self.tokens[place].word().unwrap_or_default();
        let near = closest(word, known.into_iter().map(AsRef::as_ref));
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        self.found(place, message, hint);
    }

    fn found(&mut self, place: usize, message: String, hint: Option<String>) {
        self.found.push(Warning { span: self.tokens[place].span.clone(), message, hint });
    }

    /// Returns the places of the tokens between a `function` and its `end`.
    fn body(&self, function: usize) -> Range<usize> {
        let mut depth = 0_usize;
        for (place, token) in self.tokens.iter().enumerate().skip(function) {
            match token.word() {
                Some("function" | "if" | "do" | "repeat") => depth += 1,
                Some("end" | "until") => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return function + 1..place;
            }
        }
        function + 1..self.tokens.len()
    }

    /// Returns whether a name means something else somewhere in a body, behind its parameters.
    fn is_shadowed(&self, name: &str, body: &Range<usize>) -> bool {
        let start = body.clone().find(|place| self.is(*place, ')')).unwrap_or(body.end);
        (start..body.end).any(|place| match self.tokens[place].word() {
            Some("local" | "for") => self.names(place + 1).contains(&name),
            Some("function") => self.parameters(place).contains(&name),
            Some(word) => word == name && self.is(place + 1, '=') && !self.is(place + 2, '='),
            None => false,
        })
    }

    /// Returns the names of a list that begins at this place: `a, b <const>, c`.
    fn names(&self, mut place: usize) -> Vec<&'t str> {
        if self.tokens.get(place).and_then(Token::word) == Some("function") {
            place += 1;
        }
        let mut names = Vec::new();
        while let Some(name) = self.name(place) {
            names.push(name);
            place += if self.is(place + 1, '<') { 4 } else { 1 };
            if !self.is(place, ',') {
                break;
            }
            place += 1;
        }
        names
    }

    /// Returns the parameters of a `function` at this place.
    fn parameters(&self, function: usize) -> Vec<&'t str> {
        let open = (function + 1..self.tokens.len()).find(|place| self.is(*place, '('));
        open.map_or_else(Vec::new, |open| self.names(open + 1))
    }

    fn name(&self, place: usize) -> Option<&'t str> {
        self.tokens.get(place)?.word().filter(|word| !KEYWORDS.contains(word))
    }

    fn is(&self, place: usize, char: char) -> bool {
        self.tokens.get(place).is_some_and(|token| token.is(char))
    }

    /// Returns whether the token is a member of what stands before it.
    fn follows_dot(&self, place: usize) -> bool {
        let before = |back: usize, char| place >= back && self.is(place - back, char);
        let is_concatenation = before(1, '.') && before(2, '.');
        before(1, ':') || before(1, '.') && !is_concatenation
    }
}

/// Tables whose functions are all known.
const LIBRARIES: [&str; 4] = ["math", "string", "table", "utf8"];

const METHODS: &[&str] = &["drop", "replace", "delay", "comment", "tag"];

const PROPERTIES: &[&str] = &[
    "name", "id", "dir", "state", "size", "wire", "n", "time", "origin", "protocol", "version",
    "body", "error",
];

const SESSION: &[&str] = &[
    "id", "player", "client", "server", "upstream", "protocol", "version", "state", "time", "vars",
];

const SESSION_METHODS: &[&str] = &["send", "kick"];

const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];
