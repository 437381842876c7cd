use mitmcraft_protocol::wire::Reader;

/// Returns the text of a plugin channel's payload, or `None` if it is no text: all of it, a string
/// with its length in front (a VarInt, or two bytes; several of the latter), or words separated by NUL
/// (`REGISTER`). The words are separated by spaces.
pub(super) fn payload_text(bytes: &[u8]) -> Option<String> {
    if bytes.len() < 2 || bytes.len() > MAX_LENGTH {
        return None;
    }
    prefixed(bytes).or_else(|| java_strings(bytes)).or_else(|| words(bytes))
}

fn prefixed(bytes: &[u8]) -> Option<String> {
    let mut reader = Reader::new(bytes);
    let length = usize::try_from(reader.varint().ok()?.value).ok()?;
    let text = reader.rest();
    (length == text.len()).then(|| words(text)).flatten()
}

fn java_strings(mut bytes: &[u8]) -> Option<String> {
    let mut all = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        all.push(words(text)?);
        bytes = rest;
    }
    (bytes.is_empty() && !all.is_empty()).then(|| all.join(" "))
}

fn words(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_suffix('\0').unwrap_or(text);
    let readable = |char: char| !char.is_control() || matches!(char, '\0' | '\n' | '\t');
    let whole = text.split('\0').all(|word| !word.is_empty()) && text.chars().all(readable);
    whole.then(|| text.replace('\0', " "))
}

/// Greatest length in bytes of a payload that is read as text.
const MAX_LENGTH: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_text_in_any_form_that_mods_use_or_it_is_not() {
        for (bytes, text) in [
            (&b"vanilla"[..], Some("vanilla")),
            (b"\x07vanilla", Some("vanilla")),
            (b"FML|HS\0FML\0", Some("FML|HS FML")),
            (b"\0\x07Connect\0\x05lobby", Some("Connect lobby")),
            ("{\"a\":\n\"ü\"}".as_bytes(), Some("{\"a\":\n\"ü\"}")),
            (b"\x06vanilla", None),
            (b"\0\x01", None),
            (b"\0\0", None),
            (b"ab\xff", None),
            (b"ab\x1b[2J", None),
            (b"a", None),
            (b"", None),
        ] {
            assert_eq!(payload_text(bytes).as_deref(), text, "{bytes:?}");
        }
    }
}
