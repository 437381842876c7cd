//! The bytes of every packet of a protocol document, both ways, and the page that lists them.
//!
//! `tests/golden/*.toml` is written from the documents and `errata`, not from the tables, so that
//! one is a witness of the other. `UPDATE_DOCS=1 cargo test --test golden` writes the pages anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mitmcraft::schema::{
    Catalog, Direction, JsonVisitor, PacketType, Protocol, SpanVisitor, State, Value,
};
use serde_json::Value as Json;

/// A packet of a golden file.
struct Golden {
    state: State,
    direction: Direction,
    id: i32,
    name: String,
    title: String,
    note: Option<String>,
    fields: Vec<[String; 3]>,
    cases: Vec<(Vec<u8>, Json)>,
}

#[test]
fn every_packet_of_the_1_8_document_decodes_to_what_it_says() {
    let protocol = java_47();
    for (golden, packet, body, json) in cases(&protocol) {
        let (found, start) = protocol.identify(golden.state, golden.direction, &body).unwrap();
        assert_eq!(found.name(), packet.name());
        let mut out = Vec::new();
        let mut visitor = JsonVisitor::new(&mut out);
        let end = protocol.walk(packet, &body, start, &mut visitor);
        visitor.finish();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(end, Ok(body.len()), "{} {text}", golden.name);
        let decoded: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(decoded, json, "{}", golden.name);
        assert_eq!(protocol.measure(packet, &body, start), Ok(body.len()), "{}", golden.name);
    }
}

#[test]
fn every_packet_of_the_1_8_document_encodes_to_the_same_bytes() {
    let protocol = java_47();
    for (golden, packet, body, json) in cases(&protocol) {
        let (_, start) = protocol.identify(golden.state, golden.direction, &body).unwrap();
        let value = protocol.decode(packet, &body, start).unwrap();
        assert_eq!(protocol.encode(packet, &value).unwrap(), body, "{} {value:?}", golden.name);
        let said = Value::from_json(&json);
        assert_eq!(protocol.encode(packet, &said).unwrap(), body, "{} {json}", golden.name);
    }
}

#[test]
fn the_spans_of_a_packet_cover_every_byte_of_it() {
    let protocol = java_47();
    for (golden, packet, body, _) in cases(&protocol) {
        let (_, start) = protocol.identify(golden.state, golden.direction, &body).unwrap();
        let mut visitor = SpanVisitor::default();
        protocol.walk(packet, &body, start, &mut visitor).unwrap();
        let spans = visitor.finish();
        let mut covered = vec![false; body.len()];
        covered[..start].fill(true);
        for span in spans {
            covered[span.bytes].fill(true);
        }
        assert!(covered.iter().all(|byte| *byte), "{} {covered:?}", golden.name);
    }
}

#[test]
fn a_packet_cut_anywhere_is_incomplete_and_never_taken_for_whole() {
    let protocol = java_47();
    for (golden, packet, body, _) in cases(&protocol) {
        let (_, start) = protocol.identify(golden.state, golden.direction, &body).unwrap();
        let rest = golden.fields.last().is_some_and(|row| row[1] == "Byte array");
        for length in start..body.len() {
            if let Ok(end) = protocol.measure(packet, &body[..length], start) {
                let tail = matches!(&**packet.name(), "custom_payload" | "map_chunk_bulk");
                assert!(tail && end == length, "{} at {length} {rest}", golden.name);
            }
        }
    }
}

#[test]
fn the_golden_file_has_every_packet_of_the_table_and_the_table_every_packet_of_the_file() {
    let protocol = java_47();
    let goldens = read("java-47.toml");
    assert_eq!(goldens.len(), 111);
    for golden in &goldens {
        assert!(!golden.cases.is_empty(), "{} has no bytes", golden.name);
        let packet = protocol.packet(golden.state, golden.direction, golden.id).unwrap();
        assert_eq!(**packet.name(), *golden.name);
    }
    for packet in protocol.packets() {
        assert!(goldens.iter().any(|golden| is(golden, packet)), "{packet:?}");
    }
}

#[test]
fn the_page_of_protocol_47_lists_what_the_golden_file_has() {
    let mut page = String::from(HEAD_47);
    let mut place = None;
    for golden in read("java-47.toml") {
        if place != Some((golden.state, golden.direction)) {
            place = Some((golden.state, golden.direction));
            let _ = write!(page, "\n## {}, {}\n", golden.state, golden.direction);
        }
        let _ = write!(page, "\n### `0x{:02x}` `{}`: {}\n\n", golden.id, golden.name, golden.title);
        if let Some(note) = &golden.note {
            let _ = write!(page, "{note}\n\n");
        }
        if golden.fields.is_empty() {
            page.push_str("No fields.\n");
        } else {
            page.push_str("| document | type | field |\n| --- | --- | --- |\n");
        }
        for [document, kind, field] in &golden.fields {
            let cell = |text: &str| text.replace('|', "\\|");
            let field = if field.is_empty() { String::new() } else { format!("`{field}`") };
            let _ = writeln!(page, "| {} | {} | {field} |", cell(document), cell(kind));
        }
        let count = golden.cases.len();
        let plural = if count == 1 { "case" } else { "cases" };
        let _ = write!(page, "\nGolden bytes: {count} {plural}, the first\n\n```\n");
        let (body, json) = &golden.cases[0];
        let hex: Vec<String> = body.iter().take(48).map(|byte| format!("{byte:02x}")).collect();
        let more =
            if body.len() > 48 { format!(" .. ({} bytes)", body.len()) } else { String::new() };
        let text = json.to_string();
        let text: String = match text.chars().count() {
            0..=200 => text,
            _ => text.chars().take(200).chain(" ..".chars()).collect(),
        };
        let _ = write!(page, "{}{more}\n{text}\n```\n", hex.join(" "));
    }
    verify_page("java-47.md", &page);
}

fn java_47() -> Arc<Protocol> {
    let found = Catalog::embedded().find(47).unwrap();
    assert!(found.exact);
    found.protocol
}

fn cases(protocol: &Protocol) -> Vec<(Golden, &PacketType, Vec<u8>, Json)> {
    let mut all = Vec::new();
    for mut golden in read("java-47.toml") {
        let packet = protocol.packet(golden.state, golden.direction, golden.id).unwrap();
        for (body, json) in std::mem::take(&mut golden.cases) {
            let golden = Golden {
                cases: Vec::new(),
                name: golden.name.clone(),
                title: golden.title.clone(),
                note: golden.note.clone(),
                fields: golden.fields.clone(),
                ..golden
            };
            all.push((golden, packet, body, json));
        }
    }
    assert!(all.len() > 300, "the golden file is there");
    all
}

fn is(golden: &Golden, packet: &PacketType) -> bool {
    golden.state == packet.state()
        && golden.direction == packet.direction()
        && golden.id == packet.id()
        && *golden.name == **packet.name()
}

fn read(file: &str) -> Vec<Golden> {
    let text = std::fs::read_to_string(root().join("tests/golden").join(file)).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let text = |table: &toml::Value, key: &str| table[key].as_str().unwrap().to_owned();
    let packets = file["packet"].as_array().unwrap();
    packets
        .iter()
        .map(|packet| Golden {
            state: text(packet, "state").parse().unwrap(),
            direction: text(packet, "direction").parse().unwrap(),
            id: packet["id"].as_integer().unwrap() as i32,
            name: text(packet, "name"),
            title: text(packet, "title"),
            note: packet.get("note").map(|note| note.as_str().unwrap().to_owned()),
            fields: packet["fields"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| ["document", "type", "field"].map(|key| text(row, key)))
                .collect(),
            cases: packet["case"]
                .as_array()
                .unwrap()
                .iter()
                .map(|case| {
                    (unhex(&text(case, "hex")), serde_json::from_str(&text(case, "json")).unwrap())
                })
                .collect(),
        })
        .collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    assert_eq!(digits.len() % 2, 0);
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn verify_page(name: &str, page: &str) {
    let path = root().join("docs/protocols").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let same = written == page;
    assert!(same, "{} is stale: UPDATE_DOCS=1 cargo test --test golden", path.display());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

const HEAD_47: &str = "# Protocol 47 (Minecraft 1.8 to 1.8.9)

Every packet of the 1.8 protocol document, with the names that mitmcraft shows and that rules use.
`document` and `type` are the document's own words; `field` is the path in what is decoded (empty
for a length or a presence flag that the list or the optional field stands for). Packets and fields
are called as in `minecraft-data`. A note says where the document is wrong.

Written by `tests/golden.rs` from `tests/golden/java-47.toml`, whose bytes the same test decodes and
encodes.
";
