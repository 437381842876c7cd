use serde_json::Value as Json;

use crate::text::{ByteSize, Escaped, field_json};
use mitmcraft_protocol::schema::Value;
use mitmcraft_protocol::wire::to_hex;

/// Formats two values short enough for a line, from a little before their first difference.
pub(super) fn display_pair(a: Option<&Value>, b: Option<&Value>) -> (String, String) {
    let plain = |value: Option<&Value>| value.map(|value| value.plain().clone());
    match (plain(a), plain(b)) {
        (Some(Value::Bytes(a)), Some(Value::Bytes(b))) => {
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            (bytes_from(&a, same), bytes_from(&b, same))
        }
        (Some(Value::Text(a)), Some(Value::Text(b))) => {
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            (text_from(&a, same), text_from(&b, same))
        }
        (a, b) => {
            let (text_a, text_b) = (one(a.as_ref()), one(b.as_ref()));
            let bare = |text: &str| text.trim_matches('"').to_owned();
            if bare(&text_a) != bare(&text_b) {
                return (text_a, text_b);
            }
            // They differ in what they are: text and a UUID, an integer and a float.
            let kind = |value: Option<Value>| match value {
                None => "nothing",
                Some(Value::Float32(_)) => "a float of 32 bits",
                Some(Value::Float64(_)) => "a float of 64 bits",
                Some(value) => value.kind(),
            };
            (format!("{text_a} ({})", kind(a)), format!("{text_b} ({})", kind(b)))
        }
    }
}

/// Converts a value to JSON as in captures.
pub(super) fn to_json(value: &Value) -> Json {
    match value {
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.to_string(), to_json(value)));
            Json::Object(fields.collect())
        }
        value => {
            let json = field_json(value).ok();
            json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or(Json::Null)
        }
    }
}

fn one(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Absent) => "(none)".to_owned(),
        Some(Value::Text(text)) => text_from(text, 0),
        Some(Value::Bytes(bytes)) => format!("[{}]", ByteSize(bytes.len() as u64)),
        Some(Value::Float32(float)) => format!("{float:?}"),
        Some(value) => {
            let text = to_json(value).to_string();
            let short: String = text.chars().take(MAX_SHOWN).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            format!("{}{more}", Escaped(short))
        }
    }
}

/// Formats a text from a little before its first difference, `same` characters in.
fn text_from(text: &str, same: usize) -> String {
    let skipped = same.saturating_sub(BEFORE);
    let cut: String = text.chars().skip(skipped).take(MAX_SHOWN).collect();
    let more = text.chars().nth(skipped + MAX_SHOWN).is_some();
    let (before, after) = (if skipped > 0 { "…" } else { "" }, if more { "…" } else { "" });
    format!("\"{before}{}{after}\"", Escaped(cut.replace('"', "\\\"")))
}

fn bytes_from(bytes: &[u8], same: usize) -> String {
    let rest = bytes.get(same..).unwrap_or_default();
    let shown = to_hex(&rest[..rest.len().min(8)], "");
    let more = if rest.len() > 8 { "…" } else { "" };
    format!("[{}, from byte {same}: {shown}{more}]", ByteSize(bytes.len() as u64))
}

/// Greatest number of characters of a value.
const MAX_SHOWN: usize = 100;

/// Number of characters shown before the first difference.
const BEFORE: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_look_the_same_are_shown_with_what_they_are() {
        let id = "069a79f4-44e9-4726-a5be-fca90e38aaf5";
        let uuid = Value::Uuid(mitmcraft_protocol::schema::parse_uuid(id).unwrap());
        let (a, b) = display_pair(Some(&id.into()), Some(&uuid));
        assert_eq!((a, b), (format!("\"{id}\" (text)"), format!("\"{id}\" (a UUID)")));
        let (a, b) = display_pair(Some(&Value::Int(1)), Some(&"1".into()));
        assert_eq!((a.as_str(), b.as_str()), ("1 (an integer)", "\"1\" (text)"));
        let (a, b) = display_pair(Some(&Value::Float32(0.1)), Some(&Value::Float64(0.1)));
        assert_eq!(a, "0.1 (a float of 32 bits)");
        assert_eq!(b, "0.1 (a float of 64 bits)");
        let (a, b) = display_pair(Some(&Value::Int(1)), Some(&Value::Int(2)));
        assert_eq!((a.as_str(), b.as_str()), ("1", "2"));
    }
}
