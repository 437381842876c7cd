//! Captures of version 1, as mitmcraft wrote them before version 2.

use mitmcraft_engine::capture::{Entry, JsonlReader, JsonlSink, open_capture};
use mitmcraft_protocol::schema::Catalog;

use super::{from_jsonl, put, to_jsonl};
use crate::support::root;
use crate::support::samples::*;
use crate::support::shared::Shared;

fn golden(name: &str) -> Vec<Entry> {
    let path = root().join("tests/golden/captures-v1").join(name);
    open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap).collect()
}

fn to_version_1(entries: &[Entry]) -> String {
    let shared = Shared::default();
    put(JsonlSink::new(shared.clone()).version_1(), entries);
    String::from_utf8(shared.bytes()).unwrap()
}

#[test]
fn jsonl_is_read_and_written_to_the_same_bytes() {
    let path = root().join("tests/golden/captures-v1/session-1.8.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(to_version_1(&golden("session-1.8.jsonl")) == text);
}

#[test]
fn both_formats_hold_what_the_captures_of_today_hold() {
    for name in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let now = repository_capture(name);
        assert!(to_jsonl(&golden(name)) == to_jsonl(&now), "{name}");
        assert!(now.len() > 400, "{name}");
    }
}

#[test]
fn every_kind_of_entry_survives_version_1() {
    for entries in [
        everything(1, "127.0.0.1:51234", "192.0.2.7:25565"),
        queries(2, "[2001:db8::7]:51234", "[2001:db8::1]:25565"),
    ] {
        let text = to_version_1(&entries);
        assert!(text.lines().all(|line| line.starts_with("{\"v\":1,\"session\":")));
        let (read, errors) = from_jsonl(text.as_bytes());
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(to_jsonl(&read), to_jsonl(&entries));
    }
}

#[test]
fn a_list_of_single_bytes_is_an_array_of_numbers() {
    let light = light();
    let text = to_version_1(&light);
    assert!(text.contains(r#""skyLight":[[1,2,255]]"#), "{text}");
    let first = JsonlReader::new(text.as_bytes(), Catalog::embedded()).next().unwrap().unwrap();
    assert_eq!(to_jsonl(&[first]), to_jsonl(&light));
}
