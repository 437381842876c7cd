use std::fmt::Write as _;

use serde::Serialize;

use crate::store::Details;
use mitmcraft_engine::capture::Record;
use mitmcraft_engine::lang::{Expr, Vocabulary};
use mitmcraft_engine::text::{Column, field_json, field_text};
use mitmcraft_protocol::schema::{Catalog, Value};

/// A field of a packet that a person has picked: to filter by it, to list it, or to copy it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PickedField {
    /// Its path: `items[3].itemCount`. A tag of NBT has that of the field that it is in.
    pub path: String,
    /// Its name as a column of the list: `window_items.items[3].itemCount`.
    pub column: String,
    /// An expression that the packet matches, and others with the same value.
    pub condition: String,
    /// Its value as text: a component as a player reads it.
    pub text: String,
    /// Its value as JSON, as captures have it.
    pub json: String,
    /// Its bytes in hex.
    pub hex: String,
}

/// The way in which a condition is added to a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combination {
    /// In place of the filter.
    Only,
    /// Packets meet both.
    And,
    /// Packets meet one or both.
    Or,
    /// Packets meet the filter, and not the condition.
    Not,
}

impl PickedField {
    /// Picks the field at a place of the details; `None` if that has no path.
    #[must_use]
    pub fn new(details: &Details, place: usize, catalog: &Catalog) -> Option<Self> {
        let line = details.fields.get(place)?;
        let with_path = |place: &usize| !details.fields[*place].path.is_empty();
        let path = &details.fields[(0..=place).rev().find(with_path)?].path;
        let record = &details.record;
        let kind = record.packet.kind()?.name();
        let vocabulary = Vocabulary::new(catalog);
        let named = [format!("{kind}.{path}"), path.clone()];
        let columns = named.iter().map(|name| Column::parse(name, &vocabulary));
        let column = columns.flatten().next()?;
        let value = column.value(record);
        let (text, json) = match &value {
            Some(value) if line.path == *path => {
                (field_text(value), field_json(value).ok()?.get().to_owned())
            }
            // A tag of NBT, or a part that has no value of its own.
            _ => (line.value.clone(), serde_json::Value::from(&*line.value).to_string()),
        };
        let bytes = details.bytes.get(line.bytes.clone()).unwrap_or_default();
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let value = value.filter(|_| line.path == *path);
        let condition = condition(&named, value.as_ref(), record, &vocabulary)?;
        let (column, path) = (column.name().to_owned(), path.clone());
        Some(Self { path, column, condition, text, json, hex: hex.join(" ") })
    }
}

/// Adds a condition to a filter.
#[must_use]
pub fn combined(filter: &str, condition: &str, how: Combination) -> String {
    // A single comparison needs no parentheses.
    let is_single = |text: &str| !text.contains(" or ") && !text.contains(" and ");
    let whole = |text: &str| if is_single(text) { text.to_owned() } else { format!("({text})") };
    let negated = |text: &str| match is_single(text) && !text.starts_with("not ") {
        true => format!("not {text}"),
        false => format!("not ({text})"),
    };
    let (filter, condition) = (filter.trim(), condition.trim());
    match how {
        Combination::Only => condition.to_owned(),
        Combination::Not if filter.is_empty() => negated(condition),
        _ if filter.is_empty() => condition.to_owned(),
        Combination::And => format!("{} and {}", whole(filter), whole(condition)),
        Combination::Or => format!("{} or {}", whole(filter), whole(condition)),
        Combination::Not => format!("{} and {}", whole(filter), negated(condition)),
    }
}

/// Returns an expression that the packet matches by a field with one of these names.
fn condition(
    names: &[String],
    value: Option<&Value>,
    record: &Record,
    vocabulary: &Vocabulary<'_>,
) -> Option<String> {
    let compared = names.iter().filter_map(|name| compared(name, value?.plain()));
    let present = names.iter().map(|name| format!("{name}.exists"));
    // Some values are not what the language has, such as a float with few digits.
    let holds = |text: &String| {
        Expr::parse_in(text, vocabulary).is_ok_and(|(expr, _)| expr.matches(record))
    };
    compared.chain(present).find(holds)
}

fn compared(name: &str, value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(true) => name.to_owned(),
        Value::Bool(false) => format!("not {name}"),
        Value::Int(int) => format!("{name} == {int}"),
        Value::Unsigned(int) => format!("{name} == {int}"),
        Value::Float32(_) | Value::Float64(_) => format!("{name} == {}", field_text(value)),
        Value::Text(_) | Value::Uuid(_) => {
            let text = field_text(value);
            let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            (text.len() <= MAX_TEXT).then(|| format!("{name} == \"{quoted}\""))?
        }
        Value::Bytes(bytes) if (2..=MAX_BYTES).contains(&bytes.len()) => {
            let mut text = format!("{name} == ");
            for (place, byte) in bytes.iter().enumerate() {
                let _ = write!(text, "{}{byte:02x}", if place > 0 { ":" } else { "" });
            }
            text
        }
        _ => return None,
    })
}

/// Most bytes of a text that is compared.
const MAX_TEXT: usize = 200;

/// Most bytes that are compared.
const MAX_BYTES: usize = 32;
