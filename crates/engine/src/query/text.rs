use mitmcraft_protocol::schema::Value;
use mitmcraft_protocol::wire::Encoding;

/// Returns the text of a field, which the description reads as Latin-1: as UTF-8 if its bytes are
/// valid UTF-8.
pub(super) fn shown(text: &str) -> String {
    match Encoding::Latin1.encode(text) {
        Ok(bytes) => str::from_utf8(&bytes).unwrap_or(text).to_owned(),
        Err(_) => text.to_owned(),
    }
}

/// Encodes a text as a field: Latin-1 if it can hold all of it, else UTF-8. A NUL would end the
/// field, and becomes a space.
pub(super) fn field(text: &str) -> Value {
    let text = text.replace('\0', " ");
    match Encoding::Latin1.encode(&text) {
        Ok(_) => Value::from(text.as_str()),
        Err(_) => Value::from(&*Encoding::Latin1.decode_lossy(text.as_bytes())),
    }
}
