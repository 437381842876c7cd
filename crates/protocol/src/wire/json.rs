//! Writers of the JSON leaves shared by every JSON form of packets; they append to a buffer without
//! an intermediate value.

use base64_simd::STANDARD;

/// Appends a JSON string, quoted and escaped.
pub fn write_json_str(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect(TAKES_ALL);
}

/// Appends an integer with all its digits.
pub fn write_json_int(out: &mut Vec<u8>, value: i64) {
    serde_json::to_writer(out, &value).expect(TAKES_ALL);
}

/// Appends an integer without a sign with all its digits.
pub fn write_json_uint(out: &mut Vec<u8>, value: u64) {
    serde_json::to_writer(out, &value).expect(TAKES_ALL);
}

/// Appends the shortest decimal that reads back as the same `f32`. Numbers without a JSON form
/// become the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
pub fn write_json_f32(out: &mut Vec<u8>, value: f32) {
    match not_finite(value.into()) {
        Some(name) => write_json_str(out, name),
        None => serde_json::to_writer(out, &value).expect(TAKES_ALL),
    }
}

/// Appends the shortest decimal that reads back as the same `f64`. Numbers without a JSON form
/// become the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
pub fn write_json_f64(out: &mut Vec<u8>, value: f64) {
    match not_finite(value) {
        Some(name) => write_json_str(out, name),
        None => serde_json::to_writer(out, &value).expect(TAKES_ALL),
    }
}

/// Appends a JSON string of standard base64 with padding.
pub fn write_json_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    STANDARD.encode_append(bytes, out);
    out.push(b'"');
}

fn not_finite(value: f64) -> Option<&'static str> {
    if value.is_finite() {
        return None;
    }
    Some(match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    })
}

const TAKES_ALL: &str = "a `Vec` takes every byte, and leaves always have a JSON form";

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_escaped_and_bytes_are_padded_base64() {
        assert_eq!(
            written(|out| write_json_str(out, "a\"\\\n\u{1}/\u{e9}\u{1f600}")),
            "\"a\\\"\\\\\\n\\u0001/\u{e9}\u{1f600}\""
        );
        assert_eq!(written(|out| write_json_base64(out, &[0, 0xff])), "\"AP8=\"");
        assert_eq!(written(|out| write_json_base64(out, &[])), "\"\"");
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(written(|out| write_json_int(out, i64::MIN)), "-9223372036854775808");
        assert_eq!(written(|out| write_json_int(out, i64::MAX)), "9223372036854775807");
    }

    #[test]
    fn floats_are_the_shortest_decimals_of_their_width() {
        assert_eq!(written(|out| write_json_f32(out, 0.1)), "0.1");
        assert_eq!(written(|out| write_json_f64(out, 0.1f32.into())), "0.10000000149011612");
        assert_eq!(written(|out| write_json_f32(out, 5.0)), "5.0");
        assert_eq!(written(|out| write_json_f64(out, -0.0)), "-0.0");
        assert_eq!(written(|out| write_json_f32(out, f32::NAN)), "\"NaN\"");
        assert_eq!(written(|out| write_json_f32(out, f32::INFINITY)), "\"Infinity\"");
        assert_eq!(written(|out| write_json_f64(out, f64::NEG_INFINITY)), "\"-Infinity\"");
    }
}
