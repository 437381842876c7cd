//! Protocol descriptions that are not built in, contained in captures.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mitmcraft_engine::capture::{
    CreateOptions, Entry, EntryError, EventKind, JsonlReader, PcapngReader, ReadError, Rotation,
    create_sink, open_capture,
};
use mitmcraft_protocol::packet::Context;
use mitmcraft_protocol::schema::{Catalog, Protocol};
use serde_json::{Value as Json, json};

use super::{from_jsonl, from_pcapng, sorted, to_file, to_jsonl, to_pcapng, without_first_line};
use crate::support::samples::*;

/// A description of protocol 47 in which the keep-alive is a packet `name`.
fn protocol(name: &str) -> Arc<Protocol> {
    let packet = json!(["container", [
        { "name": "name", "type": ["mapper", { "type": "varint", "mappings": { "0x00": name } }] },
        { "name": "params", "type": ["switch", { "compareTo": "name", "fields": { name: "body" } }] },
    ]]);
    let body = json!(["container", [{ "name": "number", "type": "varint" }]]);
    let side = json!({ "types": { "packet": packet, "body": body } });
    let description =
        json!({ "types": { "varint": "native" }, "play": { "toClient": side, "toServer": side } });
    Arc::new(Protocol::from_json(47, "my-47", &description).unwrap())
}

/// A session with packets that are decoded with a description of the user.
pub(super) fn entries(session: u64, name: &str) -> Vec<Entry> {
    let mut stage = Stage::new(session, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.open();
    stage.context.protocol = protocol(name);
    stage.state(Play, None, false);
    for number in 0..5 {
        stage.body(Serverbound, Play, &[0x00, number]);
    }
    stage.body(Clientbound, Play, &[0x00, 7]).outcome = mitmcraft_engine::capture::Outcome::Drop;
    stage.close("over");
    stage.entries
}

fn names(entries: &[Entry]) -> Vec<String> {
    let records = entries.iter().filter_map(Entry::record);
    let name = |kind: &mitmcraft_protocol::schema::PacketType| kind.name().to_string();
    records.map(|record| record.packet.kind().map(name).unwrap_or_default()).collect()
}

fn contexts(entries: &[Entry]) -> impl Iterator<Item = &Context> {
    entries.iter().map(|entry| &**entry.context())
}

#[test]
fn a_capture_is_read_with_the_descriptions_in_it() {
    let entries = entries(1, "mine");
    for (read, errors) in
        [from_jsonl(to_file(&entries).as_bytes()), from_pcapng(&to_pcapng(&entries))]
    {
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(names(&read), ["mine"; 6]);
        assert_eq!(to_jsonl(&read), to_jsonl(&entries));
        assert!(contexts(&read).skip(1).all(|it| it.protocol.name() == "my-47" && !it.guess));
    }
}

#[test]
fn the_first_line_names_the_built_in_tables_and_the_next_contains_the_others() {
    let text = to_file(&entries(1, "mine"));
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tables = Catalog::built_in_id().to_string();
    let program = concat!("mitmcraft ", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        lines[0],
        json!({ "v": 2, "event": "capture", "program": program, "tables": tables })
    );
    let at = lines.iter().position(|line| line["event"] == "table").unwrap();
    assert!(at < lines.iter().position(|line| line["event"] == "state").unwrap());
    let id = protocol("mine").description().unwrap().id().to_string();
    assert_eq!(lines[at]["table"], id);
    assert_eq!((&lines[at]["protocol"], &lines[at]["version"]), (&json!(47), &json!("my-47")));
    let named = |line: &&Json| line["seq"].is_u64() || line["event"] == "state";
    assert!(lines.iter().filter(named).all(|line| line["table"] == id));
    assert_eq!(lines.iter().filter(|line| line["event"] == "table").count(), 1);
    let built_in = to_file(&everything(1, "127.0.0.1:1", "127.0.0.1:2"));
    assert!(!built_in.contains("\"table\"") && built_in.contains("\"tables\""));
}

#[test]
fn a_capture_without_its_description_is_an_error_and_not_read_with_another() {
    let entries = entries(1, "mine");
    let text = to_file(&entries);
    let (table, rest): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.contains("\"event\":\"table\""));
    let (read, errors) = from_jsonl(rest.join("\n").as_bytes());
    assert_eq!(names(&read), [""; 0]);
    assert_eq!(errors.len(), 7, "six packets and a state");
    let id = protocol("mine").description().unwrap().id();
    for error in errors {
        let ReadError::Entry(_, EntryError::NoTable { version: 47, id: found }) = error else {
            panic!("{error}");
        };
        assert_eq!(found, id.0);
    }
    // Frames that Wireshark has saved have lost it too.
    let mut file = to_pcapng(&entries);
    let at = file.windows(7).position(|it| it == b"\"table\"").unwrap();
    file[at + 1] = b'T';
    let (read, errors) = from_pcapng(&file);
    assert_eq!(names(&read), [""; 0]);
    assert!(errors.iter().any(|it| it.to_string().contains("that the capture does not contain")));

    // A damaged or hostile one too.
    let line: Json = serde_json::from_str(table[0]).unwrap();
    let with = |key: &str, value: Json| {
        let mut line = line.clone();
        line[key] = value;
        let (read, errors) = from_jsonl(format!("{line}\n{}", rest.join("\n")).as_bytes());
        assert_eq!(names(&read), [""; 0], "{key}");
        errors[0].to_string()
    };
    let unusable = "line 1: unusable description of protocol 47: ";
    let damaged = "damaged, too large, or not a protocol description";
    assert_eq!(with("description", json!("AAAA")), format!("{unusable}{damaged}"));
    assert_eq!(with("table", json!("00000000")), format!("{unusable}{damaged}"));
    assert_eq!(with("version", json!("\u{1b}[2J")), format!("{unusable}{damaged}"));
    assert_eq!(with("table", json!(7)), "line 1: invalid value 7 for `table`");
    let packed = packed(&json!({ "play": 1 }));
    let found = with("description", json!(packed));
    assert!(found.starts_with(unusable) && found.contains("play"), "{found}");
}

/// Returns JSON as the value of the key `description`.
fn packed(json: &Json) -> String {
    use base64::Engine as _;
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(json.to_string().as_bytes()).unwrap();
    base64::prelude::BASE64_STANDARD.encode(encoder.finish().unwrap())
}

#[test]
fn a_description_takes_no_more_memory_than_reading_may() {
    let text = to_file(&entries(1, "mine"));
    let length = serde_json::to_string(&json!("")).unwrap().len();
    assert!(length < 1000);
    let reader = JsonlReader::within(text.as_bytes(), Catalog::embedded(), 20_000);
    let (read, errors) = sorted(reader);
    assert_eq!(names(&read), [""; 0]);
    assert!(errors[0].to_string().contains("unusable description"), "{errors:?}");
    let reader = JsonlReader::within(text.as_bytes(), Catalog::embedded(), 200_000);
    assert_eq!(names(&sorted(reader).0), ["mine"; 6]);
}

#[test]
fn a_description_that_the_user_names_takes_precedence() {
    let mut catalog = Catalog::embedded().clone();
    catalog.insert(protocol("other"));
    let entries = entries(1, "mine");
    let text = to_file(&entries);
    let (read, errors) = sorted(JsonlReader::new(text.as_bytes(), &catalog));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(names(&read), ["other"; 6]);
    let file = to_pcapng(&entries);
    let (read, errors) = sorted(PcapngReader::new(&file[..], &catalog));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(names(&read), ["other"; 6]);
}

#[test]
fn captures_one_after_the_other_keep_their_own_descriptions() {
    let mut plain = Stage::new(3, "127.0.0.1:51235", "192.0.2.7:25565");
    plain.open();
    plain.body(Serverbound, Play, &[0x00, 7]);
    let parts = [entries(1, "one"), entries(2, "two"), plain.entries];
    let text: String = parts.iter().map(|entries| to_file(entries)).collect();
    let file: Vec<u8> = parts.iter().flat_map(|entries| to_pcapng(entries)).collect();
    for (read, errors) in [from_jsonl(text.as_bytes()), from_pcapng(&file)] {
        assert!(errors.is_empty(), "{errors:?}");
        let expected = [["one"; 6].as_slice(), &["two"; 6], &["keep_alive"]].concat();
        assert_eq!(names(&read), expected);
    }
}

#[test]
fn each_file_of_a_series_contains_its_descriptions() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tables");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for ending in ["jsonl", "pcapng"] {
        let mut options = CreateOptions::default();
        options.rotate = Some(Rotation::Size(1));
        let mut sink = create_sink(&folder.join(format!("all.{ending}")), &options).unwrap();
        for entry in entries(1, "mine") {
            sink.write(&entry).unwrap();
            sink.flush().unwrap();
        }
        sink.finish().unwrap();
        let mut files: BTreeMap<PathBuf, Vec<Entry>> = BTreeMap::new();
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|it| it == ending) {
                let read = open_capture(&path, Catalog::embedded()).unwrap();
                files.insert(path, read.map(Result::unwrap).collect());
            }
        }
        assert!(files.len() > 5, "{ending}: {files:?}");
        let all: Vec<String> = files.values().flat_map(|entries| names(entries)).collect();
        assert_eq!(all, ["mine"; 6], "{ending}");
    }
}

#[test]
fn the_first_line_is_no_entry() {
    let entries = everything(1, "127.0.0.1:1", "127.0.0.1:2");
    let text = to_file(&entries);
    assert_eq!(text.lines().count(), entries.len() + 1);
    assert_eq!(from_jsonl(text.as_bytes()).0.len(), entries.len());
    // Without it, as after `grep`, the entries are read as well.
    let (read, errors) = from_jsonl(without_first_line(&text).as_bytes());
    assert!(errors.is_empty() && read.len() == entries.len());
}

#[test]
fn a_description_that_no_line_names_is_left_out() {
    let is_named = |entry: &Entry| match entry {
        Entry::Event(event) => !matches!(event.kind, EventKind::Open | EventKind::Close(_)),
        Entry::Packet(_) => true,
    };
    let mut ends = entries(1, "mine");
    ends.retain(|entry| !is_named(entry));
    assert!(ends.len() == 2 && ends[1].context().protocol.description().is_some());
    let text = to_file(&ends);
    assert!(!text.contains("\"table\""), "{text}");
    assert_eq!(to_file(&from_jsonl(text.as_bytes()).0), text);
}

#[test]
fn a_description_with_two_names_keeps_both() {
    let renamed = |name: &str| {
        let text = to_file(&entries(1, "mine"));
        text.replace("\"my-47\"", &format!("\"{name}\""))
    };
    let both = [renamed("one"), renamed("two")].concat();
    let (read, errors) = from_jsonl(both.as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    for (again, errors) in [from_jsonl(to_file(&read).as_bytes()), from_pcapng(&to_pcapng(&read))] {
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(to_jsonl(&again), to_jsonl(&read));
    }
    assert!(to_file(&read).matches("\"event\":\"table\"").count() == 2);
}
