//! The text form of layouts, as `docs/protocol-tables.md` describes it.

use std::collections::BTreeMap;

use super::layout::{Count, Key, Kind, Node, On};

/// Parses a layout.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, String> {
    let mut parser = Parser { rest: text };
    let nodes = parser.sequence()?;
    match parser.peek() {
        None => Ok(nodes),
        Some(char) => Err(format!("`{char}` was not expected before `{}`", parser.rest)),
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn sequence(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        while self.peek().is_some_and(|char| !matches!(char, ')' | ']' | '}' | '|')) {
            nodes.push(self.node(None)?);
        }
        Ok(nodes)
    }

    fn node(&mut self, label: Option<String>) -> Result<Node, String> {
        let at = String::new();
        if self.take("?(") {
            let parts = self.parts(")")?;
            return Ok(Node::Group { kind: Kind::Option, parts, label, at });
        }
        if self.take("[") {
            let count = self.word()?;
            self.expect(":")?;
            let parts = self.parts("]")?;
            let count = match count.parse() {
                Ok(count) => Count::Fixed(count),
                Err(_) if LEAVES.contains(&count) => Count::Prefix(count.into()),
                Err(_) => Count::Label(count.into()),
            };
            return Ok(Node::Group { kind: Kind::List(count), parts, label, at });
        }
        if self.take("{") {
            return self.switch();
        }
        if self.take("@") {
            return Ok(Node::Named { name: self.word()?.into(), at });
        }
        let word = self.word()?;
        if self.take("=") {
            return self.node(Some(word.into()));
        }
        if self.rest.starts_with('(') {
            self.expect("(")?;
            let parts = self.parts(")")?;
            let kind = match (word, word.strip_prefix("until").map(str::parse)) {
                (_, Some(Ok(end))) => Kind::Until(end),
                ("topbit", _) => Kind::TopBit,
                ("holder", _) => Kind::Holder,
                ("set", _) if parts.len() == 2 => Kind::Set,
                ("more", _) => Kind::More,
                _ => return Err(format!("unknown group `{word}`")),
            };
            return Ok(Node::Group { kind, parts, label, at });
        }
        if !LEAVES.contains(&word) {
            return Err(format!("unknown wire type `{word}`"));
        }
        Ok(Node::Leaf { wire: word.into(), label, at })
    }

    fn switch(&mut self) -> Result<Node, String> {
        let label = self.word()?.to_owned();
        let mask = match self.take("&") {
            true => Some(self.word()?.parse().map_err(|_| "a mask is a number")?),
            false => None,
        };
        let mut cases = BTreeMap::new();
        loop {
            let mut keys = vec![self.key()?];
            while self.take(",") {
                keys.push(self.key()?);
            }
            self.expect(":")?;
            let nodes = self.sequence()?;
            for key in keys {
                if cases.insert(key.clone(), nodes.clone()).is_some() {
                    return Err(format!("the case {key} twice"));
                }
            }
            if self.take("}") {
                return Ok(Node::Switch { on: On { label, mask }, cases, at: String::new() });
            }
            self.expect("|")?;
        }
    }

    fn key(&mut self) -> Result<Key, String> {
        if self.take("\"") {
            let (text, rest) = self.rest.split_once('"').ok_or("a text without an end")?;
            self.rest = rest;
            return Ok(Key::Text(text.into()));
        }
        Ok(match self.word()? {
            "else" => Key::Else,
            "negative" => Key::Negative,
            word => Key::Int(word.parse().map_err(|_| format!("the case `{word}`"))?),
        })
    }

    fn parts(&mut self, end: &str) -> Result<Vec<Vec<Node>>, String> {
        let mut parts = vec![self.sequence()?];
        while self.take("|") {
            parts.push(self.sequence()?);
        }
        self.expect(end)?;
        Ok(parts)
    }

    fn word(&mut self) -> Result<&'t str, String> {
        self.peek();
        let end = self.rest.find(|char: char| !(char.is_alphanumeric() || "_-.".contains(char)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if word.is_empty() { Err(format!("a word was expected at `{rest}`")) } else { Ok(word) }
    }

    fn take(&mut self, text: &str) -> bool {
        self.peek();
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.take(text) { Ok(()) } else { Err(format!("no `{text}` at `{}`", self.rest)) }
    }

    /// Returns the next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }
}

/// The wire types. `x8` to `x64` are integers of which the source does not say whether they are signed.
const LEAVES: &[&str] = &[
    "bool",
    "i8",
    "u8",
    "x8",
    "i16",
    "u16",
    "x16",
    "i32",
    "u32",
    "x32",
    "i64",
    "u64",
    "x64",
    "f32",
    "f64",
    "varint",
    "varlong",
    "string",
    "uuid",
    "position",
    "old_position",
    "nbt",
    "named_nbt",
    "gzip_nbt",
    "rest",
    "lpvec3",
    "never",
];
