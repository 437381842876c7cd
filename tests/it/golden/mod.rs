//! The bytes of `tests/golden`, decoded and encoded.

mod layouts;
mod packets;
mod ping;
mod query;

use crate::support::root;

/// Reads bytes in hex; spaces are ignored.
fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    assert_eq!(digits.len() % 2, 0);
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Compares a page of `docs/protocols` with what it must be, or writes it.
fn verify_page(name: &str, page: &str) {
    let path = root().join("docs/protocols").join(name);
    let page = format!("{GENERATED}\n{page}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let same = written == page;
    assert!(same, "{} is stale: UPDATE_DOCS=1 cargo test --test it golden", path.display());
}

/// The first line of each page.
const GENERATED: &str = "<!-- Generated: UPDATE_DOCS=1 cargo test --test it golden -->";
