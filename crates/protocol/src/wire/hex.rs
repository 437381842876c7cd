use std::fmt::Write as _;

/// Formats bytes as pairs of lower-case hex digits, with `separator` between the pairs.
#[must_use]
pub fn to_hex(bytes: &[u8], separator: &str) -> String {
    let mut hex = String::with_capacity(bytes.len() * (2 + separator.len()));
    for (place, byte) in bytes.iter().enumerate() {
        if place > 0 {
            hex.push_str(separator);
        }
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Parses pairs of hex digits, with nothing between them. Returns `None` for anything else.
#[must_use]
pub fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok();
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back_and_nothing_else_does() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(parse_hex(&to_hex(&all, "")), Some(all));
        assert_eq!(parse_hex("0aFf"), Some(vec![10, 255]));
        assert_eq!(parse_hex(""), Some(Vec::new()));
        for bad in ["0", "0g", "+f", "0a ", "0a 1b", "é"] {
            assert_eq!(parse_hex(bad), None, "{bad}");
        }
        assert_eq!(to_hex(&[0, 171, 255], ":"), "00:ab:ff");
        assert_eq!(to_hex(&[7], ":"), "07");
    }
}
