use super::EditError;
use crate::lang::Formula;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Name, Value};

/// A value of the file: literal, or with expressions computed for each packet.
#[derive(Debug, Clone)]
pub(super) enum Template {
    Value(Value),
    Formula(Formula),
    List(Vec<Self>),
    Map(Vec<(Name, Self)>),
}

impl Template {
    /// Returns the value for a packet, or the reason why there is none.
    pub(super) fn value(&self, packet: &Packet) -> Result<Value, EditError> {
        self.with(&|formula| {
            let value = formula.value(packet);
            value.ok_or_else(|| EditError::NoValue(formula.to_string()))
        })
    }

    /// Returns the value as text, for comments and reasons.
    pub(super) fn text(&self, packet: &Packet) -> Result<String, EditError> {
        Ok(match self.value(packet)? {
            Value::Text(text) => text.to_string(),
            Value::Int(int) => int.to_string(),
            Value::Unsigned(int) => int.to_string(),
            Value::Float32(float) => float.to_string(),
            Value::Float64(float) => float.to_string(),
            Value::Bool(bool) => bool.to_string(),
            Value::Uuid(uuid) => mitmcraft_protocol::schema::format_uuid(uuid),
            other => return Err(EditError::NotText(format!("{other:?}"))),
        })
    }

    /// Returns the value if it does not depend on the packet.
    pub(super) fn literal(&self) -> Option<Value> {
        self.with(&|_| Err(())).ok()
    }

    /// Returns the value in which each formula has the value that `compute` returns.
    fn with<E>(&self, compute: &impl Fn(&Formula) -> Result<Value, E>) -> Result<Value, E> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Formula(formula) => compute(formula),
            Self::List(items) => {
                let items = items.iter().map(|item| item.with(compute));
                items.collect::<Result<_, _>>().map(Value::List)
            }
            Self::Map(fields) => {
                let field =
                    |(name, field): &(Name, Self)| Ok((Name::clone(name), field.with(compute)?));
                fields.iter().map(field).collect::<Result<_, _>>().map(Value::Map)
            }
        }
    }
}
