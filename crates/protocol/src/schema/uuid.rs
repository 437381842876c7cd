/// Formats a UUID with hyphens: `b50ad385-829d-3141-a216-7e7d7539ba7f`.
#[must_use]
pub fn format_uuid(uuid: u128) -> String {
    let hex = format!("{uuid:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Parses a UUID with or without hyphens.
#[must_use]
pub fn parse_uuid(text: &str) -> Option<u128> {
    let (mut uuid, mut digits) = (0, 0);
    for byte in text.bytes().filter(|byte| *byte != b'-') {
        uuid = uuid << 4 | u128::from(char::from(byte).to_digit(16)?);
        digits += 1;
        if digits > 32 {
            return None;
        }
    }
    (digits == 32).then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_output_and_rejects_everything_else() {
        let text = "b50ad385-829d-3141-a216-7e7d7539ba7f";
        let uuid = parse_uuid(text).unwrap();
        assert_eq!(uuid, 0xb50a_d385_829d_3141_a216_7e7d_7539_ba7f);
        assert_eq!(format_uuid(uuid), text);
        assert_eq!(parse_uuid("b50ad385829d3141a2167e7d7539ba7f"), Some(uuid));
        for bad in
            ["", "b50ad385", &text[1..], "+50ad385829d3141a2167e7d7539ba7f", &format!("{text}0")]
        {
            assert_eq!(parse_uuid(bad), None, "{bad}");
        }
    }
}
