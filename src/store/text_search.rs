use std::fmt::Write as _;

use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::lang::ExprError;
use mitmcraft_protocol::schema::Catalog;

/// Returns the expression that finds `text` in the bodies of packets: bytes if it is written as such
/// (`0a:1b:2c`, `0x0a1b2c`), otherwise text in any letter case, in UTF-8 and in UTF-16.
///
/// # Errors
/// [`ExprError`] if the text is too long.
pub fn search_expression(text: &str, catalog: &Catalog) -> Result<Expr, ExprError> {
    let source = match bytes(text) {
        Some(bytes) => format!(r#"pkt.body matches "(?s-u){}""#, escaped(&bytes)),
        None => {
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            let plain = regex_syntax::escape(text);
            let plain = plain.replace('\\', "\\\\").replace('"', "\\\"");
            format!(
                r#"pkt.body matches "(?i){plain}" or pkt.body matches "(?s-u){}""#,
                escaped(&wide)
            )
        }
    };
    Ok(Expr::parse(&source, catalog)?.0)
}

/// Returns the bytes that a text is the hex form of.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: String = match text.strip_prefix("0x") {
        Some(digits) => digits.to_owned(),
        None if text.contains(':') => {
            text.split(':').all(|byte| byte.len() == 2).then(|| text.replace(':', ""))?
        }
        None => return None,
    };
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// Returns a regular expression for bytes, as it stands in a text of the language.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, r"\x{byte:02x}");
        out
    })
}
