use serde_json::Value as Json;

use mitmcraft_protocol::wire::json::write_json_str;

/// Returns a packet's line with another comment; `None` if it does not have the form in which it is written
/// here.
pub(in crate::capture) fn edit_line(line: &[u8], comment: Option<&str>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    // No text has this: its quotes would be escaped. Nested objects come later.
    let verdict = text.find(VERDICT)? + VERDICT.len();
    let mut start = verdict + text[verdict..].find('"')? + 1;
    if let Some(of) = text[start..].strip_prefix(",\"of\":") {
        start = text.len() - of.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    }
    let mut end = start;
    if text[start..].starts_with(KEY) {
        let mut strings =
            serde_json::Deserializer::from_str(&text[start + KEY.len()..]).into_iter::<Json>();
        strings.next()?.ok()?;
        end = start + KEY.len() + strings.byte_offset();
    }
    let mut edited = line[..start].to_vec();
    if let Some(comment) = comment {
        edited.extend_from_slice(KEY.as_bytes());
        write_json_str(&mut edited, comment);
    }
    edited.extend_from_slice(&line[end..]);
    // Nothing but the comment must be another.
    let without = |line: &[u8]| -> Option<Json> {
        let mut json: Json = serde_json::from_slice(line).ok()?;
        json.as_object_mut()?.remove("comment");
        Some(json)
    };
    let now: Json = serde_json::from_slice(&edited).ok()?;
    let same = without(line)? == without(&edited)? && now["comment"].as_str() == comment;
    same.then_some(edited)
}

/// The key and quote of a line's `verdict`, the member before `of` and `comment`.
const VERDICT: &str = ",\"verdict\":\"";

const KEY: &str = ",\"comment\":";
