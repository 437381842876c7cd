use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::Severity;
use super::edit_path::EditPath;
use super::source::Source;
use super::template::Template;
use crate::lang::{Formula, Vocabulary, closest};
use mitmcraft_protocol::schema::{MAX_LISTED, Value};
use mitmcraft_protocol::wire::parse_hex;

/// A value of the file, with its place.
pub(super) type Item<'a, 't> = &'a Spanned<DeValue<'t>>;

/// A key of the file, with its place.
pub(super) type Key<'a, 't> = &'a Spanned<DeString<'t>>;

/// Reads TOML values of expected types, and records faults.
pub(super) struct Reader<'s, 't> {
    pub(super) source: &'s mut Source<'t>,
    pub(super) vocabulary: &'s Vocabulary<'s>,
    /// Returns what is wrong with the name of a capture.
    pub(super) capture_name: &'s dyn Fn(&str) -> Option<String>,
}

impl Reader<'_, '_> {
    pub(super) fn unknown(&mut self, key: Key<'_, '_>, known: &[&str]) {
        let name = key.get_ref().as_ref();
        // What other languages and options call it.
        let synonym = ["where", "if", "filter", "condition"].contains(&name).then_some("when");
        let synonym = synonym.filter(|key| known.contains(key));
        let hint = match closest(name, known.iter().copied()).or(synonym) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.len() > MAX_LISTED => "docs/filters.md lists the keys".to_owned(),
            None => format!("expected one of {}", known.join(", ")),
        };
        self.source.error_with(key.span(), format!("unknown key `{name}`"), hint);
    }

    pub(super) fn text<'a>(&mut self, key: Key<'_, '_>, item: Item<'a, '_>) -> Option<&'a str> {
        let text = item.get_ref().as_str();
        self.wanted(text, "text", key, item)
    }

    pub(super) fn bool(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Option<bool> {
        let bool = item.get_ref().as_bool();
        self.wanted(bool, "true or false", key, item)
    }

    pub(super) fn table<'a, 't>(
        &mut self,
        key: Key<'_, '_>,
        item: Item<'a, 't>,
    ) -> Option<&'a DeTable<'t>> {
        let table = item.get_ref().as_table();
        self.wanted(table, "a table", key, item)
    }

    pub(super) fn list<'a, 't>(
        &mut self,
        key: Key<'_, '_>,
        item: Item<'a, 't>,
    ) -> Option<&'a [Spanned<DeValue<'t>>]> {
        let list = item.get_ref().as_array().map(|array| &array[..]);
        self.wanted(list, "a list", key, item)
    }

    /// Reads an integer within a range.
    pub(super) fn int(
        &mut self,
        key: Key<'_, '_>,
        item: Item<'_, '_>,
        range: std::ops::RangeInclusive<i64>,
    ) -> Option<i64> {
        let int = item.get_ref().as_integer();
        let int = self.wanted(int, "an integer", key, item)?;
        let value = i64::from_str_radix(int.as_str(), int.radix()).ok();
        let value = value.filter(|value| range.contains(value));
        if value.is_none() {
            let (low, high) = range.into_inner();
            let name = key.get_ref();
            let message = match high {
                i64::MAX => format!("`{name}` must be at least {low}"),
                _ => format!("`{name}` must be from {low} to {high}"),
            };
            self.source.error(item.span(), message);
        }
        value
    }

    /// Reads a text in a given format, such as a duration.
    pub(super) fn form<T, E: fmt::Display>(
        &mut self,
        key: Key<'_, '_>,
        item: Item<'_, '_>,
        read: impl FnOnce(&str) -> Result<T, E>,
        example: &str,
    ) -> Option<T> {
        let Some(text) = item.get_ref().as_str() else {
            let message = mismatch(key, "text", item);
            self.source.error_with(item.span(), message, format!("for example `\"{example}\"`"));
            return None;
        };
        self.valid(read(text), item, example)
    }

    pub(super) fn valid<T, E: fmt::Display>(
        &mut self,
        value: Result<T, E>,
        item: Item<'_, '_>,
        example: &str,
    ) -> Option<T> {
        let hint = || format!("for example `{example}`");
        value.map_err(|why| self.source.error_with(item.span(), why.to_string(), hint())).ok()
    }

    /// Reads one of the given words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: Key<'_, '_>,
        item: Item<'_, '_>,
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(key, item)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let hint = match closest(text, words.iter().map(|(word, _)| *word)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            let message = format!("`{}` cannot be `{text}`", key.get_ref());
            self.source.error_with(item.span(), message, hint);
        }
        found.map(|(_, value)| *value)
    }

    pub(super) fn hex(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Option<Bytes> {
        let read = |text: &str| hex(text).ok_or_else(|| format!("`{text}` is not bytes in hex"));
        self.form(key, item, read, "02 0a ff")
    }

    pub(super) fn path(&mut self, text: &str, span: Range<usize>) -> Option<EditPath> {
        match EditPath::parse(text) {
            Ok(path) => Some(path),
            Err((why, at)) => {
                let place = self.source.inside(span, at..text.len(), 0);
                self.source.error_with(
                    place,
                    format!("invalid path: {why}"),
                    "a path looks like `items[3].itemCount`".to_owned(),
                );
                None
            }
        }
    }

    /// Reads a value for a packet: a literal, or an expression after `=`.
    pub(super) fn template(&mut self, item: Item<'_, '_>) -> Option<Template> {
        Some(match item.get_ref() {
            DeValue::String(text) => match text.strip_prefix('=') {
                None => Template::Value(Value::from(text.as_ref())),
                Some(literal) if literal.starts_with('=') => Template::Value(literal.into()),
                Some(formula) => Template::Formula(self.formula(formula, item, 1)?),
            },
            DeValue::Boolean(bool) => Template::Value(Value::Bool(*bool)),
            DeValue::Integer(int) => {
                let (digits, radix) = (int.as_str(), int.radix());
                let signed = i64::from_str_radix(digits, radix).map(Value::Int);
                let value =
                    signed.or_else(|_| u64::from_str_radix(digits, radix).map(Value::Unsigned));
                Template::Value(self.present(value.ok(), item, "does not fit 64 bits")?)
            }
            DeValue::Float(float) => {
                let float = float.as_str().parse().ok().map(Value::Float64);
                Template::Value(self.present(float, item, "not a number")?)
            }
            DeValue::Datetime(_) => {
                let hint = "quote it if it is text".to_owned();
                self.source.error_with(item.span(), "packets have no dates", hint);
                return None;
            }
            DeValue::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.template(item)).collect();
                Template::List(items.into_iter().collect::<Option<_>>()?)
            }
            DeValue::Table(table) => {
                let fields: Vec<_> = in_order(table)
                    .into_iter()
                    .map(|(key, item)| {
                        let name = key.get_ref().as_ref().into();
                        self.template(item).map(|field| (name, field))
                    })
                    .collect();
                Template::Map(fields.into_iter().collect::<Option<_>>()?)
            }
        })
    }

    /// Reads a formula, whose text begins `skip` bytes into that of the item.
    pub(super) fn formula(
        &mut self,
        text: &str,
        item: Item<'_, '_>,
        skip: usize,
    ) -> Option<Formula> {
        let formula = Formula::parse_in(text, self.vocabulary);
        formula.map_err(|why| self.source.expr(Severity::Error, item.span(), skip, why)).ok()
    }

    fn present<T>(&mut self, value: Option<T>, item: Item<'_, '_>, error: &str) -> Option<T> {
        if value.is_none() {
            self.source.error(item.span(), error);
        }
        value
    }

    fn wanted<T>(
        &mut self,
        found: Option<T>,
        what: &str,
        key: Key<'_, '_>,
        item: Item<'_, '_>,
    ) -> Option<T> {
        if found.is_none() {
            let message = mismatch(key, what, item);
            let hint = match (item.get_ref(), key.get_ref().as_ref()) {
                (DeValue::Table(_), list @ ("rule" | "expect")) => {
                    Some(format!("write `[[{list}]]`"))
                }
                (DeValue::String(_), "every") => {
                    Some("it counts matches: `every = 10` acts on the first of ten".to_owned())
                }
                _ => None,
            };
            self.source.error_with(item.span(), message, hint);
        }
        found
    }
}

fn mismatch(key: Key<'_, '_>, wanted: &str, item: Item<'_, '_>) -> String {
    let given = match item.get_ref() {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a bool",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    format!("`{}` must be {wanted}, not {given}", key.get_ref())
}

/// Returns the entries of a table in the order of the file.
pub(super) fn in_order<'a, 't>(table: &'a DeTable<'t>) -> Vec<(Key<'a, 't>, Item<'a, 't>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Parses bytes in hex, with any whitespace between digits.
pub(crate) fn hex(text: &str) -> Option<Bytes> {
    let digits: String = text.split_ascii_whitespace().collect();
    parse_hex(&digits).filter(|bytes| !bytes.is_empty()).map(Bytes::from)
}
