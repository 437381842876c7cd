//! Offsets in texts: the protocol counts UTF-16 code units, as JavaScript does.

/// Returns an offset in bytes as one in UTF-16 code units.
#[must_use]
pub fn units(text: &str, at: usize) -> usize {
    let before = text.char_indices().take_while(|(place, _)| *place < at);
    before.map(|(_, char)| char.len_utf16()).sum()
}

/// Returns an offset in UTF-16 code units as one in bytes.
#[must_use]
pub fn bytes(text: &str, units: usize) -> usize {
    let mut left = units;
    for (place, char) in text.char_indices() {
        if left < char.len_utf16() {
            return place;
        }
        left -= char.len_utf16();
    }
    text.len()
}
