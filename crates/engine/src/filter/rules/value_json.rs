use serde_json::Value as Json;

use super::EditError;
use mitmcraft_protocol::schema::{Name, Value, format_uuid};

/// Converts a value from a file or an expression into JSON.
pub(super) fn json_of(value: &Value) -> Result<Json, EditError> {
    Ok(match value.plain() {
        Value::Absent => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Int(int) => Json::from(*int),
        Value::Unsigned(int) => Json::from(*int),
        Value::Float32(float) => Json::from(*float),
        Value::Float64(float) => Json::from(*float),
        Value::Text(text) => Json::from(&**text),
        Value::Uuid(uuid) => Json::from(format_uuid(*uuid)),
        Value::List(items) => items.iter().map(json_of).collect::<Result<_, _>>()?,
        Value::Map(fields) => {
            let member = |(name, it): &(Name, Value)| Ok((String::from(&**name), json_of(it)?));
            Json::Object(fields.iter().map(member).collect::<Result<_, EditError>>()?)
        }
        other @ (Value::Bytes(_) | Value::Nbt(_) | Value::Exact(_)) => {
            return Err(EditError::NoJson(other.kind()));
        }
    })
}
