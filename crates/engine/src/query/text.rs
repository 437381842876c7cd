use mitmcraft_protocol::schema::Value;

/// Returns a text as a field. A NUL would end the field, and becomes a space.
pub(super) fn field(text: &str) -> Value {
    Value::from(text.replace('\0', " ").as_str())
}
