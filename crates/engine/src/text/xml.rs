/// Escapes a text or an attribute of XML. Characters that XML cannot have are replaced.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(char),
            '\0'..'\x20' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}
