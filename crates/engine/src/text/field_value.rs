use serde_json::value::RawValue;

use mitmcraft_protocol::packet::StyledText;
use mitmcraft_protocol::schema::{Value, format_uuid};
use mitmcraft_protocol::wire::json::{
    write_json_base64, write_json_f32, write_json_f64, write_json_int, write_json_str,
};

/// Returns a value of a field as JSON, in the form that JSONL captures have.
///
/// # Errors
/// Never for values of packets.
pub fn field_json(value: &Value) -> Result<Box<RawValue>, serde_json::Error> {
    let mut out = Vec::new();
    write(&mut out, value);
    RawValue::from_string(String::from_utf8_lossy(&out).into_owned())
}

/// Returns a value of a field as text: a component as a player reads it, other values as in JSON,
/// without quotes.
#[must_use]
pub fn field_text(value: &Value) -> String {
    match value.plain() {
        Value::Text(text) => text.to_string(),
        Value::Absent => String::new(),
        value => {
            if let Value::Nbt(nbt) = value
                && let Some(text) = StyledText::from_nbt(&nbt.root)
            {
                return text.plain();
            }
            let mut out = Vec::new();
            write(&mut out, value);
            let json = String::from_utf8_lossy(&out).into_owned();
            match json.strip_prefix('"').and_then(|json| json.strip_suffix('"')) {
                // A UUID, bytes or a NaN, which need no escapes.
                Some(text) => text.to_owned(),
                None => json,
            }
        }
    }
}

fn write(out: &mut Vec<u8>, value: &Value) {
    match value.plain() {
        Value::Absent | Value::Exact(_) => out.extend_from_slice(b"null"),
        Value::Bool(bool) => out.extend_from_slice(bool.to_string().as_bytes()),
        Value::Int(int) => write_json_int(out, *int),
        Value::Unsigned(int) => out.extend_from_slice(int.to_string().as_bytes()),
        Value::Float32(float) => write_json_f32(out, *float),
        Value::Float64(float) => write_json_f64(out, *float),
        Value::Text(text) => write_json_str(out, text),
        Value::Uuid(uuid) => write_json_str(out, &format_uuid(*uuid)),
        Value::Bytes(bytes) => write_json_base64(out, bytes),
        Value::Nbt(nbt) => nbt.write_json(out),
        Value::List(items) => {
            out.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write(out, item);
            }
            out.push(b']');
        }
        Value::Map(fields) => {
            out.push(b'{');
            for (place, (name, field)) in fields.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_json_str(out, name);
                out.push(b':');
                write(out, field);
            }
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn values_are_exact_in_json_and_plain_as_text() {
        for (value, json, text) in [
            (Value::Absent, "null", ""),
            (Value::Bool(true), "true", "true"),
            (Value::Int(i64::MIN), "-9223372036854775808", "-9223372036854775808"),
            (Value::Unsigned(u64::MAX), "18446744073709551615", "18446744073709551615"),
            (Value::Float32(0.1), "0.1", "0.1"),
            (Value::Float64(f64::NAN), "\"NaN\"", "NaN"),
            (Value::from("a \"b\"\n"), r#""a \"b\"\n""#, "a \"b\"\n"),
            (Value::Bytes(Bytes::from_static(&[1, 2])), "\"AQI=\"", "AQI="),
            (Value::List(vec![1.into(), "x".into()]), r#"[1,"x"]"#, r#"[1,"x"]"#),
            (
                Value::map([("a", 1.into()), ("b", 2.into())]),
                r#"{"a":1,"b":2}"#,
                r#"{"a":1,"b":2}"#,
            ),
        ] {
            assert_eq!(field_json(&value).unwrap().get(), json);
            assert_eq!(field_text(&value), text);
        }
    }
}
