use serde::Serialize;

use crate::store::Details;
use mitmcraft_engine::capture::Record;
use mitmcraft_engine::lang::{Condition, Expr, Literal, Path, Vocabulary};
use mitmcraft_engine::text::{Column, field_json, field_text};
use mitmcraft_protocol::packet::FieldPath;
use mitmcraft_protocol::schema::{Catalog, Value};
use mitmcraft_protocol::wire::to_hex;

/// A field of a packet that a person has picked: to filter by it, to list it, or to copy it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PickedField {
    /// Its path: `items[3].itemCount`. A tag of NBT has that of the field that it is in.
    pub path: String,
    /// Its name as a column of the list: `window_items.items[3].itemCount`.
    pub column: String,
    /// An expression that the packet matches, and others with the same value.
    #[cfg_attr(test, ts(type = "string"))]
    pub condition: Condition,
    /// Its value as text: a component as a player reads it.
    pub text: String,
    /// Its value as JSON, as captures have it.
    pub json: String,
    /// Its bytes in hex.
    pub hex: String,
}

impl PickedField {
    /// Picks the field at a place of the details; `None` if that has no path.
    #[must_use]
    pub fn new(details: &Details, place: usize, catalog: &Catalog) -> Option<Self> {
        let line = details.fields.get(place)?;
        let with_path = |place: &usize| !details.fields[*place].path.is_empty();
        let path = &details.fields[(0..=place).rev().find(with_path)?].path;
        let steps = FieldPath::parse(path).ok()?;
        let record = &details.record;
        let kind = record.packet.kind()?.name();
        let vocabulary = Vocabulary::new(catalog);
        let whole = Path::named(kind).map(|kind| kind.then(&steps));
        let names: Vec<Path> = whole.into_iter().chain(Path::field(&steps)).collect();
        let mut columns = names.iter().map(|it| Column::parse(&it.to_string(), &vocabulary));
        let column = columns.find_map(Result::ok)?;
        let value = column.value(record);
        let (text, json) = match &value {
            Some(value) if line.path == *path => {
                (field_text(value), field_json(value).ok()?.get().to_owned())
            }
            // A tag of NBT, or a part that has no value of its own.
            _ => (line.value.clone(), serde_json::Value::from(&*line.value).to_string()),
        };
        let bytes = details.bytes.get(line.bytes.clone()).unwrap_or_default();
        let value = value.filter(|_| line.path == *path);
        let condition = condition(&names, value.as_ref(), record, &vocabulary)?;
        let (column, path) = (column.name().to_owned(), path.clone());
        Some(Self { path, column, condition, text, json, hex: to_hex(bytes, " ") })
    }
}

/// Returns a condition that the packet meets by a field with one of these paths: that it has its value, otherwise that
/// it is there.
fn condition(
    paths: &[Path],
    value: Option<&Value>,
    record: &Record,
    vocabulary: &Vocabulary<'_>,
) -> Option<Condition> {
    let paths = || paths.iter().cloned();
    let compared = paths().filter_map(|path| comparison(path, value?, MAX_TEXT));
    let present = paths().map(Path::exists);
    // Some values are not what the language has, and some names are not those of fields.
    let holds = |condition: &Condition| {
        Expr::new(condition, vocabulary).is_ok_and(|(expr, _)| expr.matches(record))
    };
    compared.chain(present).find(holds)
}

/// Returns the condition that a field has a value. Returns `None` if the language has no literal for the value, or it
/// is longer than people compare.
pub(super) fn comparison(path: Path, value: &Value, max_text: usize) -> Option<Condition> {
    let value = Literal::of(value)?;
    let is_short = match &value {
        Literal::Text(text) => text.len() <= max_text,
        Literal::Bytes(bytes) => bytes.len() <= MAX_BYTES,
        _ => true,
    };
    is_short.then(|| path.equals(value))
}

/// Most bytes of a text that is compared.
const MAX_TEXT: usize = 200;

/// Most bytes that are compared.
const MAX_BYTES: usize = 32;
