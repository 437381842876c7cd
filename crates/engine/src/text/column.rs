use crate::capture::Record;
use crate::lang::{Expr, ExprError, Formula, Path, Vocabulary};
use mitmcraft_protocol::packet::{FieldPath, PathStep, position};
use mitmcraft_protocol::schema::{PacketType, Value};

/// A value of each packet that a person has named: a field or an expression of the filter language.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    /// `None` for lists and containers, which are no values in expressions.
    formula: Option<Formula>,
    /// The path to a list or container, if it may be one.
    path: Option<FieldPath>,
}

impl Column {
    /// Reads a name or an expression of the filter language.
    ///
    /// # Errors
    /// [`ExprError`] if it is not one, or no packet has such a field.
    pub fn parse(name: &str, vocabulary: &Vocabulary<'_>) -> Result<Self, ExprError> {
        let path = FieldPath::parse(name).ok();
        let is_field = || {
            let named = path.as_ref().and_then(Path::field);
            named.is_some_and(|named| Expr::new(&named.exists(), vocabulary).is_ok())
        };
        let formula = match Formula::parse_in(name, vocabulary) {
            Ok(formula) => Some(formula),
            Err(_) if is_field() => None,
            Err(error) => return Err(error),
        };
        Ok(Self { name: name.to_owned(), formula, path })
    }

    /// Its name, as the person typed it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the formula of its value; `None` for a list or a container.
    #[must_use]
    pub fn formula(&self) -> Option<&Formula> {
        self.formula.as_ref()
    }

    /// Returns the value of a packet; `None` if it has none.
    #[must_use]
    pub fn value(&self, record: &Record) -> Option<Value> {
        self.formula.as_ref().and_then(|formula| formula.value(record)).or_else(|| {
            let steps = self.path.as_ref()?.steps();
            let named = |kind: &PacketType| matches!(steps, [PathStep::Name(name), _, ..] if name == kind.name());
            let steps = if record.packet.kind().is_some_and(named) { &steps[1..] } else { steps };
            element(&record.packet.value_with_payload().ok()?, steps).cloned()
        })
    }
}

/// Returns the part of a value to which a path leads.
fn element<'v>(value: &'v Value, steps: &[PathStep]) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    let inner = match (step, value.plain()) {
        (PathStep::Name(name), value) => value.get(name)?,
        (PathStep::Index(index), Value::List(items)) => &items[position(*index, items.len())?],
        _ => return None,
    };
    element(inner, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn a_column_is_a_value_a_list_or_a_container_and_no_condition() {
        let catalog = Catalog::embedded().only(&[47]);
        let vocabulary = Vocabulary::new(&catalog);
        for name in ["items", "window_items.items", "spawn_position.location", "x + 1", "pkt.size"]
        {
            assert!(Column::parse(name, &vocabulary).is_ok(), "{name}");
        }
        // As `chat or items.exists`, it would be an expression.
        for name in ["chat or items", "items or chat", "no_such_field"] {
            assert!(Column::parse(name, &vocabulary).is_err(), "{name}");
        }
    }
}
