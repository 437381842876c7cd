//! The bytes of every message of the Query document, both ways, and the page that lists them.
//!
//! `tests/golden/query.toml` is written from the document, not from the description.
//! `UPDATE_DOCS=1 cargo test --test it golden` rewrites the page.

use std::fmt::Write as _;
use std::sync::Arc;

use mitmcraft_engine::query::{Answer, Request};
use mitmcraft_protocol::schema::{
    Catalog, Direction, JsonVisitor, PacketType, Protocol, State, Value, query_magic,
};
use serde_json::Value as Json;

use super::{unhex, verify_page};
use crate::support::root;

struct Golden {
    direction: Direction,
    id: i32,
    name: String,
    title: String,
    note: Option<String>,
    fields: Vec<[String; 3]>,
    cases: Vec<Case>,
}

struct Case {
    about: String,
    /// The whole datagram.
    datagram: Vec<u8>,
    json: Json,
}

#[test]
fn every_message_of_the_document_decodes_to_its_documented_fields() {
    each_case(|protocol, packet, golden, case, body| {
        let mut out = Vec::new();
        let mut visitor = JsonVisitor::new(&mut out);
        let end = protocol.walk(packet, body, 1, &mut visitor);
        visitor.finish();
        assert_eq!(end, Ok(body.len()), "{}: {}", golden.title, case.about);
        let decoded: Json = serde_json::from_slice(&out).unwrap();
        assert_eq!(decoded, case.json, "{}: {}", golden.title, case.about);
    });
}

#[test]
fn every_message_of_the_document_encodes_to_the_same_bytes() {
    each_case(|protocol, packet, golden, case, body| {
        let decoded = protocol.decode(packet, body, 1).unwrap();
        for value in [decoded, Value::from_json(&case.json)] {
            let encoded = protocol.encode(packet, &value).unwrap();
            assert_eq!(encoded, body, "{}: {}", golden.title, case.about);
        }
    });
}

#[test]
fn messages_convert_to_and_from_requests_and_responses() {
    each_case(|_, _, golden, case, _| {
        let at = format!("{}: {}", golden.title, case.about);
        let exact = !["other padding", "another separator of the same length"]
            .contains(&case.about.as_str());
        let encoded = match golden.direction {
            Direction::Serverbound => Request::decode(&case.datagram).unwrap().encode(),
            Direction::Clientbound => match Answer::decode(&case.datagram) {
                Ok(answer) => {
                    assert_eq!(Answer::decode(&answer.encode().unwrap()), Ok(answer.clone()));
                    answer.encode()
                }
                Err(error) => {
                    assert!(at.contains("no token") || at.contains("no number"), "{at}: {error}");
                    return;
                }
            },
        };
        if exact {
            assert_eq!(encoded.unwrap(), case.datagram, "{at}");
        }
    });
}

#[test]
fn a_truncated_message_does_not_decode() {
    each_case(|protocol, packet, golden, case, body| {
        for length in 1..body.len() {
            if protocol
                .walk(packet, &body[..length], 1, &mut mitmcraft_protocol::schema::Measure)
                .is_ok()
            {
                // A full request begins like a basic one; an answer that is only a session id can
                // be of either kind.
                let whole = match golden.title.as_str() {
                    "Full stat, request" => 9,
                    "Basic stat, response" | "Full stat, response" => 5,
                    _ => 0,
                };
                assert_eq!(length, whole, "{}: {}", golden.title, case.about);
            }
        }
    });
}

#[test]
fn the_page_lists_the_messages_of_the_golden_file() {
    let mut page = String::from(HEAD);
    for golden in read() {
        let (direction, id) = (golden.direction, golden.id);
        let _ =
            write!(page, "\n## {}\n\n`0x{id:02x}` `{}`, {direction}.", golden.title, golden.name);
        if let Some(note) = &golden.note {
            let _ = write!(page, " {note}");
        }
        page.push_str("\n\n| document | type | field |\n| --- | --- | --- |\n");
        for [document, kind, field] in &golden.fields {
            let document = document.replace('|', "\\|");
            let _ = writeln!(page, "| {document} | {kind} | `{field}` |");
        }
        let _ = write!(page, "\nGolden bytes: {} cases.\n", golden.cases.len());
        let case = &golden.cases[0];
        let hex: Vec<String> = case.datagram.iter().map(|byte| format!("{byte:02x}")).collect();
        let lines: Vec<String> = hex.chunks(24).map(|line| line.join(" ")).collect();
        let _ = write!(page, "\n```\n{}\n{}\n```\n", lines.join("\n"), case.json);
        page.push('\n');
        for case in &golden.cases {
            let _ = writeln!(page, "* {}", case.about);
        }
    }
    verify_page("query.md", &page);
}

fn each_case(check: impl Fn(&Protocol, &PacketType, &Golden, &Case, &[u8])) {
    let protocol: Arc<Protocol> = Catalog::embedded().query();
    let goldens = read();
    assert_eq!((goldens.len(), protocol.packets().len()), (6, 4));
    for golden in &goldens {
        let packet = protocol.packet(State::Status, golden.direction, golden.id).unwrap();
        assert_eq!(**packet.name(), *golden.name);
        for case in &golden.cases {
            let body = match golden.direction {
                Direction::Serverbound => {
                    case.datagram.strip_prefix(query_magic(Direction::Serverbound)).unwrap()
                }
                Direction::Clientbound => &case.datagram,
            };
            check(&protocol, packet, golden, case, body);
        }
    }
}

fn read() -> Vec<Golden> {
    let text = std::fs::read_to_string(root().join("tests/golden/query.toml")).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let text = |table: &toml::Value, key: &str| table[key].as_str().unwrap().to_owned();
    let json = |text: &str| serde_json::from_str(text).unwrap();
    let case = |case: &toml::Value| Case {
        about: text(case, "about"),
        datagram: unhex(&text(case, "hex")),
        json: json(&text(case, "json")),
    };
    let packets = file["packet"].as_array().unwrap();
    packets
        .iter()
        .map(|packet| Golden {
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
            cases: packet["case"].as_array().unwrap().iter().map(case).collect(),
        })
        .collect()
}

const HEAD: &str = "# Query

Every message of the Query document: UDP datagrams, with the names that mitmcraft shows and that
rules use. `document` and `type` are the document's own words; `field` is the path of the decoded
field. A request starts with the magic number `fe fd`, which precedes the id and is not a field. Text
is UTF-8 if its bytes are valid UTF-8, else Latin-1. Notes say where the document is wrong.

Written by `tests/it/golden` from `tests/golden/query.toml`, whose bytes the same test decodes
and encodes.
";
