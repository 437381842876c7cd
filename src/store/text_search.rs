use mitmcraft_engine::lang::{Expr, ExprError, Path, Vocabulary};
use mitmcraft_protocol::schema::Catalog;
use mitmcraft_protocol::wire::parse_hex;

/// Returns the expression that finds `text` in the bodies of packets: bytes if it is written as such
/// (`0a:1b:2c`, `0x0a1b2c`), otherwise text in any letter case, in UTF-8 and in UTF-16.
///
/// # Errors
/// [`ExprError`] if the text is too long.
pub fn search_expression(text: &str, catalog: &Catalog) -> Result<Expr, ExprError> {
    let body = |pattern| Path::words(["pkt", "body"]).matches(pattern);
    let exactly = |bytes: &[u8]| {
        let bytes: String = bytes.iter().map(|byte| format!(r"\x{byte:02x}")).collect();
        body(format!("(?s-u){bytes}"))
    };
    let condition = match bytes(text) {
        Some(bytes) => exactly(&bytes),
        None => {
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            body(format!("(?i){}", regex_syntax::escape(text))).or(exactly(&wide))
        }
    };
    Ok(Expr::new(&condition, &Vocabulary::new(catalog))?.0)
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
    parse_hex(&digits).filter(|bytes| !bytes.is_empty())
}
