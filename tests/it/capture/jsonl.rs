use std::collections::{BTreeMap, BTreeSet};

use mitmcraft_engine::capture::{
    Entry, EntryError, FilePosition, JsonlSink, Outcome, ReadError, session_id,
};
use mitmcraft_protocol::packet::{Content, Origin, RawReason};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::{from_jsonl, interleaved, put, to_jsonl};
use crate::support::samples::*;
use crate::support::shared::Shared;

fn stage() -> Stage {
    Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565")
}

/// Writes one entry and returns its only line.
fn line(stage: &Stage) -> String {
    let text = to_jsonl(&stage.entries);
    let line = text.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'));
    serde_json::from_str::<Json>(line).unwrap();
    line.to_owned()
}

#[test]
fn a_packet_is_one_line_with_its_keys_in_order() {
    let mut stage = stage();
    stage.packet(Serverbound, Play, "chat", json!({"message": "hi \"there\"\n"}));
    assert_eq!(
        line(&stage),
        r#"{"v":2,"session":1,"seq":1,"time":"2026-11-20T12:31:04.101234690Z","t":0.001234,"dir":"serverbound","origin":"client","state":"play","protocol":47,"id":1,"packet":"chat","wire":14,"size":13,"verdict":"pass","fields":{"message":"hi \"there\"\n"},"body":"AQtoaSAidGhlcmUiCg=="}"#
    );
}

#[test]
fn a_compressed_packet_has_its_size_on_the_wire_and_its_inflated_body() {
    let mut stage = stage();
    let body = encode(Serverbound, Play, "chat", &json!({"message": "a".repeat(90)}));
    stage.content(Serverbound, Play, Content::Frame(compressed(&body, 64)));
    let line: Json = serde_json::from_str(&line(&stage)).unwrap();
    assert_eq!(line["size"], 92);
    assert!(line["wire"].as_u64().unwrap() < 30);
    assert!(line["body"].as_str().unwrap().starts_with("AVphYWFhYWFh"));
}

#[test]
fn a_replacement_refers_to_the_packet_that_it_replaces() {
    let mut stage = stage();
    stage.rewrite(Serverbound, Play, &[0x00, 0x05], &[0x00, 0x06]);
    let text = to_jsonl(&stage.entries);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(r#""origin":"client","#));
    assert!(
        lines[0]
            .ends_with(r#""size":2,"verdict":"rewrite","fields":{"keepAliveId":5},"body":"AAU="}"#)
    );
    assert!(lines[1].contains(r#""origin":"proxy","#));
    assert!(lines[1].ends_with(
        r#""size":2,"verdict":"send","of":1,"fields":{"keepAliveId":6},"body":"AAY="}"#
    ));
}

#[test]
fn a_guess_and_a_comment_have_keys() {
    let mut stage = stage();
    stage.context.guess = true;
    let record = stage.body(Clientbound, Play, &[0x00, 0x05]);
    record.outcome = Outcome::Drop;
    record.comment = Some("rule \"x\"".to_owned());
    let line = line(&stage);
    assert!(line.contains(r#""protocol":47,"guess":true,"id":0,"packet":"keep_alive","wire":3,"#));
    assert!(line.contains(r#""verdict":"drop","comment":"rule \"x\"","fields":"#));
}

#[test]
fn an_undecodable_packet_has_the_fields_before_the_error_and_its_whole_body() {
    let mut stage = stage();
    stage.body(Serverbound, Play, &[0x04, 0x40, 0, 0, 0, 0, 0, 0, 0, 9]);
    assert!(line(&stage).ends_with(
        r#""id":4,"packet":"position","wire":11,"size":10,"verdict":"pass","fields":{"x":2.0},"error":"y: 8 bytes needed, 1 left","at":9,"body":"BEAAAAAAAAAACQ=="}"#
    ));
}

#[test]
fn an_unknown_id_has_no_name_and_no_fields() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &[0x7f, 1]);
    assert!(line(&stage).ends_with(
        r#""id":127,"packet":null,"wire":3,"size":2,"verdict":"pass","error":"no clientbound packet 0x7f in state play","at":0,"body":"fwE="}"#
    ));
}

#[test]
fn an_empty_frame_has_no_id() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &[]);
    assert!(line(&stage).ends_with(
        r#""id":null,"packet":null,"wire":1,"size":0,"verdict":"pass","error":"empty frame: no packet id","at":0,"body":""}"#
    ));
}

#[test]
fn bytes_without_a_frame_have_a_reason() {
    let line = |reason: RawReason| {
        let mut stage = stage();
        stage.raw(Clientbound, &[1, 2], reason);
        let line = line(&stage);
        let start = line.find(r#""state""#).unwrap();
        line[start..].to_owned()
    };
    assert_eq!(
        line(RawReason::NotMinecraft),
        r#""state":"play","protocol":47,"wire":2,"size":2,"verdict":"pass","error":"not Minecraft: relayed as it came","raw":"relay","raw_bytes":"AQI="}"#
    );
    assert!(
        line(RawReason::Opaque("why".to_owned()))
            .ends_with(r#""error":"no longer understood: why","raw":"opaque","raw_bytes":"AQI="}"#)
    );
    assert!(line(RawReason::Oversize { frame: 9, left: 8 }).ends_with(
        r#""error":"part of a frame of 9 bytes, beyond the limit; 8 to come","raw":"oversize","frame":9,"left":8,"raw_bytes":"AQI="}"#
    ));
    assert!(line(RawReason::CutOff).ends_with(
        r#""error":"connection ended within a frame","raw":"cutoff","raw_bytes":"AQI="}"#
    ));
    assert!(line(RawReason::Injected).ends_with(
        r#""error":"sent by a rule, without a frame","raw":"injected","raw_bytes":"AQI="}"#
    ));
}

#[test]
fn a_frame_that_does_not_inflate_is_kept_as_received() {
    let mut stage = stage();
    let corrupt = received(&[6, 5, 0x78, 0x9c, 0xff, 0xff, 0xff], 256, 1000);
    stage.content(Clientbound, Play, Content::Frame(corrupt));
    assert!(line(&stage).ends_with(
        r#""id":null,"packet":null,"wire":7,"size":5,"verdict":"pass","diagnostic":["compressed-below-threshold"],"error":"zlib stream is corrupt at byte 3 of 5","raw":"frame","threshold":256,"raw_bytes":"BgV4nP///w=="}"#
    ));
}

#[test]
fn sessions_open_change_and_close() {
    let mut stage = stage();
    stage.open();
    stage.context.player = Some("Notch".to_owned());
    stage.state(Play, Some(256), true);
    stage.close("the server closed");
    assert_eq!(
        to_jsonl(&stage.entries),
        [
            r#"{"v":2,"session":1,"event":"open","time":"2026-11-20T12:31:04.100000123Z","client":{"address":"127.0.0.1:51234"},"upstream":"play.example.org:25565","server":{"address":null}}"#,
            r#"{"v":2,"session":1,"event":"state","time":"2026-11-20T12:31:04.100000123Z","state":"play","protocol":47,"version":"1.8","player":"Notch","client":{"address":"127.0.0.1:51234","threshold":256,"encrypted":true},"server":{"address":"192.0.2.7:25565","threshold":256,"encrypted":true}}"#,
            r#"{"v":2,"session":1,"event":"close","time":"2026-11-20T12:31:05.100000124Z","reason":"the server closed","packets":{"serverbound":3,"clientbound":5},"bytes":{"serverbound":400,"clientbound":50000},"duration":1.000000}"#,
            "",
        ]
        .join("\n")
    );
}

#[test]
fn reads_back_what_it_wrote() {
    let entries = interleaved(vec![
        everything(1, "127.0.0.1:51234", "192.0.2.7:25565"),
        everything(2, "[2001:db8::7]:51234", "[2001:db8::1]:25565"),
    ]);
    let text = to_jsonl(&entries);
    let (read, errors) = from_jsonl(text.as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), text);
}

#[test]
fn a_packet_read_back_equals_the_original() {
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    let (read, _) = from_jsonl(to_jsonl(&entries).as_bytes());
    for (entry, read) in entries.iter().zip(&read) {
        let (Entry::Packet(was), Entry::Packet(is)) = (entry, read) else {
            let (Entry::Event(was), Entry::Event(is)) = (entry, read) else { panic!() };
            assert_eq!(is.kind, was.kind);
            continue;
        };
        assert_eq!(is.packet.body(), was.packet.body());
        assert_eq!(is.packet.error(), was.packet.error());
        assert_eq!(is.packet.wire_size(), was.packet.wire_size());
        assert_eq!(is.packet.at(), was.packet.at());
        assert_eq!(is.packet.context().opened, was.packet.context().opened);
        assert_eq!(is.packet.context().client, was.packet.context().client);
        assert_eq!(is.packet.context().upstream, was.packet.context().upstream);
    }
    let Some(Entry::Packet(last)) = read.iter().rfind(|it| matches!(it, Entry::Packet(_))) else {
        panic!()
    };
    assert_eq!(last.packet.context().player.as_deref(), Some("Notch"));
    assert_eq!(last.packet.context().version, Some(47));
    assert_eq!(last.packet.context().server, Some("192.0.2.7:25565".parse().unwrap()));
}

#[test]
fn an_invalid_line_is_an_error_with_its_number_and_reading_continues() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &[0x00, 0x05]);
    let good = line(&stage);
    for (bad, error) in [
        ("{\"v\":2,", "line 2: not a JSON object, at column 7: EOF while parsing a value"),
        ("[]", "line 2: not a JSON object, at column 0: invalid type: sequence, expected a map"),
        ("{}", "line 2: missing key `v`"),
        (
            &good.replace("\"v\":2", "\"v\":3"),
            "line 2: format version 3, which a later release of mitmcraft wrote: only version 2 is read",
        ),
        (&good.replace("\"seq\":1,", ""), "line 2: missing key `seq`"),
        (&good.replace("\"play\"", "\"plya\""), "line 2: invalid value plya for `state`"),
        (&good.replace("AAU=", "AA5"), "line 2: invalid value \\\"AA5\\\" for `body`"),
        (&good.replace("AAU=", "AA=="), "line 2: `size` is 2, but the body has 1 byte"),
        (&good.replace("\"seq\":1", "\"seq\":-1"), "line 2: invalid value -1 for `seq`"),
    ] {
        let text = format!("{good}\n{bad}\n\n{good}\n");
        let (entries, errors) = from_jsonl(text.as_bytes());
        assert_eq!(entries.len(), 2);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].to_string(), error);
    }
}

#[test]
fn a_file_in_another_version_is_one_error() {
    let text = to_jsonl(&everything(1, "127.0.0.1:51234", "192.0.2.7:25565"));
    let (entries, errors) = from_jsonl(text.replace("{\"v\":2,", "{\"v\":1,").as_bytes());
    assert!(entries.is_empty());
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected =
        "line 1: format version 1, which no release of mitmcraft wrote: only version 2 is read";
    assert_eq!(said, [expected]);
}

#[test]
fn a_truncated_file_gives_all_complete_lines_and_an_error() {
    let mut stage = stage();
    stage.open();
    stage.packet(Clientbound, Play, "chat", json!({"message": "\"\u{e9}\"", "position": 0}));
    stage.body(Serverbound, Play, &[0x00, 0x05]);
    let text = to_jsonl(&stage.entries);
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    for end in last..=text.len() {
        let (entries, errors) = from_jsonl(&text.as_bytes()[..end]);
        let whole = end >= text.len() - 1;
        assert_eq!(entries.len(), if whole { 3 } else { 2 }, "at {end}");
        match &errors[..] {
            [] => assert!(whole || end == last),
            [ReadError::CutOff(FilePosition::Line(3))] => assert!(!whole && end > last),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn bodies_left_out_are_encoded_from_the_fields() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &[0x00, 0x05]);
    let shared = Shared::default();
    put(JsonlSink::new(shared.clone()).without_bodies(), &stage.entries);
    let text = shared.bytes();
    assert!(text.ends_with(b",\"fields\":{\"keepAliveId\":5}}\n"));
    let (entries, errors) = from_jsonl(&text);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&entries), to_jsonl(&stage.entries));

    stage.entries.clear();
    stage.body(Clientbound, Play, &[0x00]);
    stage.raw(Clientbound, &[0x00], RawReason::NotMinecraft);
    let shared = Shared::default();
    put(JsonlSink::new(shared.clone()).without_bodies(), &stage.entries);
    let (entries, errors) = from_jsonl(&shared.bytes());
    assert!(entries.is_empty());
    assert_eq!(errors.len(), 2);
    for error in errors {
        let ReadError::Entry(_, error) = error else { panic!("{error}") };
        assert_eq!(error, EntryError::NoBody);
    }
}

#[test]
fn meanings_stand_beside_the_fields_and_are_ignored_on_reading() {
    let mut stage = stage();
    let records = json!([{"horizontalPos": 0x3c, "y": 64, "blockId": 16}]);
    let fields = json!({"chunkX": 1, "chunkZ": 2, "records": records});
    stage.packet(Clientbound, Play, "multi_block_change", fields);
    stage.packet(Clientbound, Play, "keep_alive", json!({"keepAliveId": 5}));
    let arrow = json!({"entityId": 7, "type": 60, "x": 0, "y": 0, "z": 0, "pitch": 0, "yaw": 0,
        "objectData": 0});
    stage.packet(Clientbound, Play, "spawn_entity", arrow);
    let critical = json!({"entityId": 7, "metadata": [{"key": 16, "type": 0, "value": 1}]});
    stage.packet(Clientbound, Play, "entity_metadata", critical);
    let shared = Shared::default();
    put(JsonlSink::new(shared.clone()).with_meanings(), &stage.entries);
    let text = String::from_utf8(shared.bytes()).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let meaning = json!({"records[0].horizontalPos": "x 3, z 12", "records[0].blockId": "stone"});
    let line = |name: &str| lines.iter().find(|line| line["packet"] == name).unwrap();
    assert_eq!(line("multi_block_change")["meaning"], meaning);
    assert_eq!(line("multi_block_change")["fields"]["records"], records);
    assert!(line("keep_alive").get("meaning").is_none());
    let kinds = json!({"metadata[0].type": "byte", "metadata[0].key": "flags"});
    assert_eq!(line("entity_metadata")["meaning"], kinds);
    let (entries, errors) = from_jsonl(text.as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&entries), to_jsonl(&stage.entries));
}

#[test]
fn a_capture_without_its_beginning_is_read() {
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    let text = to_jsonl(&entries[12..14]);
    let (read, errors) = from_jsonl(text.as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), text);
}

/// `t` of edited captures is off by microseconds, and each packet had a session of its own in Parquet.
#[test]
fn the_opening_of_a_session_decides_when_it_opened_and_not_each_t() {
    let written = to_jsonl(&everything(1, "127.0.0.1:51234", "192.0.2.7:25565"));
    let lines = written.lines().enumerate().map(|(place, line)| {
        let mut line: Json = serde_json::from_str(line).unwrap();
        if let Some(t) = line.get("t").and_then(Json::as_f64) {
            line["t"] = json!(t + place as f64 / 1e6);
        }
        format!("{line}\n")
    });
    let lines: Vec<String> = lines.collect();
    let sessions = |lines: &[String]| {
        let (entries, errors) = from_jsonl(lines.concat().as_bytes());
        assert!(errors.is_empty(), "{errors:?}");
        entries.iter().map(|it| session_id(it.context())).collect::<BTreeSet<_>>().len()
    };
    assert_eq!(sessions(&lines), 1);
    let packets: Vec<String> = lines.iter().filter(|it| it.contains("\"t\":")).cloned().collect();
    assert!(packets.len() > 2);
    assert_eq!(sessions(&packets), packets.len(), "without an opening, `t` decides");
}

#[test]
fn the_page_on_captures_documents_every_key() {
    fn keys(json: &Json, found: &mut Vec<String>) {
        for (key, value) in json.as_object().into_iter().flatten() {
            found.push(key.clone());
            if key != "fields" {
                keys(value, found);
            }
        }
    }
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/captures.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut text = super::to_file(&everything(1, "127.0.0.1:51234", "192.0.2.7:25565"));
    text.push_str(&super::to_file(&super::tables::entries(2, "mine")));
    text.push_str(&super::to_file(&queries(3, "127.0.0.1:51234", "192.0.2.7:25565")));
    for line in text.lines() {
        let mut found = Vec::new();
        keys(&serde_json::from_str(line).unwrap(), &mut found);
        for key in found {
            assert!(page.contains(&format!("`{key}`")), "{key}");
        }
    }
}

#[test]
fn every_key_has_one_type_in_all_lines() {
    fn types(path: &str, json: &Json, found: &mut BTreeMap<String, BTreeSet<&'static str>>) {
        let name = match json {
            Json::Null => return,
            Json::Bool(_) => "bool",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        };
        found.entry(path.to_owned()).or_default().insert(name);
        for (key, value) in json.as_object().into_iter().flatten() {
            if !path.ends_with("fields") {
                types(&format!("{path}.{key}"), value, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    let mut alpha = stage();
    alpha.context.protocol = mitmcraft_protocol::schema::Catalog::embedded().alpha(5).protocol;
    alpha.state(Play, None, false);
    alpha.body(Serverbound, Play, &[0]);
    for entries in [
        everything(1, "127.0.0.1:51234", "192.0.2.7:25565"),
        queries(2, "127.0.0.1:51234", "192.0.2.7:25565"),
        super::tables::entries(3, "mine"),
        alpha.entries,
    ] {
        for line in super::to_file(&entries).lines() {
            types("", &serde_json::from_str(line).unwrap(), &mut found);
        }
    }
    assert!(found.len() > 40, "{found:?}");
    found.retain(|_, types| types.len() > 1);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn light_is_base64_and_encodes_to_its_bytes_without_the_body() {
    let entries = light();
    let shared = Shared::default();
    put(JsonlSink::new(shared.clone()).without_bodies(), &entries);
    let text = String::from_utf8(shared.bytes()).unwrap();
    assert!(text.contains(r#""skyLight":["AQL/"],"blockLight":[]"#), "{text}");
    let (read, errors) = from_jsonl(text.as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), to_jsonl(&entries));
}

proptest! {
    #[test]
    fn any_body_and_any_comment_come_back(
        body in proptest::collection::vec(any::<u8>(), 0..80),
        comment in proptest::option::of(".*"),
        clientbound: bool,
        state in 0..5usize,
        outcome in 0..4usize,
        proxy: bool,
        of in proptest::option::of(any::<u64>()),
    ) {
        let mut stage = stage();
        let direction = if clientbound { Clientbound } else { Serverbound };
        let record = stage.body(direction, mitmcraft_protocol::schema::State::ALL[state], &body);
        record.outcome = Outcome::ALL[outcome];
        record.comment = comment;
        record.of = of;
        if proxy {
            record.packet.set_origin(Origin::Proxy);
        }
        let text = to_jsonl(&stage.entries);
        let (read, errors) = from_jsonl(text.as_bytes());
        prop_assert!(errors.is_empty(), "{:?}", errors);
        prop_assert_eq!(to_jsonl(&read), text);
    }

    #[test]
    fn a_damaged_line_is_an_error_and_no_panic(at: prop::sample::Index, byte: u8) {
        let mut stage = stage();
        stage.open();
        stage.state(Play, Some(256), true);
        stage.body(Clientbound, Play, &[0x00, 0x05]);
        stage.close("over");
        let intact = to_jsonl(&stage.entries);
        let mut text = intact.clone().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        let (read, errors) = from_jsonl(&text);
        // A capture whose first line has another version is refused as a whole.
        if text.starts_with(b"{\"v\":") && text[5].is_ascii_digit() && text[5] != b'2' {
            prop_assert!(read.is_empty() && errors.len() == 1, "{:?}", errors);
            return Ok(());
        }

        // Every line is an entry or an error, and a line that is not JSON is an error.
        let lines = || text.split(|byte| *byte == b'\n').filter(|it| !it.trim_ascii().is_empty());
        // The digits of a duration may become an exponent that no float has: grammar, but no value.
        let broken = lines().filter(|it| serde_json::from_slice::<&RawValue>(it).is_err()).count();
        prop_assert_eq!(read.len() + errors.len(), lines().count(), "{:?}", errors);
        prop_assert!(errors.len() >= broken, "{:?}", errors);
        // A line feed in a line makes two lines of it; no other line is affected.
        prop_assert!(errors.len() <= 2, "{:?}", errors);
        let before = &intact[..intact[..at].rfind('\n').map_or(0, |end| end + 1)];
        prop_assert!(to_jsonl(&read).starts_with(before), "{:?}", errors);
        if byte == intact.as_bytes()[at] {
            prop_assert_eq!(to_jsonl(&read), intact);
        }
    }
}
