//! A redacted capture contains no private text in any form.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mitmcraft_engine::analysis::Redactor;
use mitmcraft_engine::capture::{
    Entry, JsonlReader, JsonlSink, PcapngReader, PcapngSink, Record, Sink,
};
use mitmcraft_protocol::packet::{Content, RawReason};
use mitmcraft_protocol::schema::{Catalog, Direction, Protocol, State, Value, parse_uuid};
use serde_json::{Value as Json, json};

use crate::support::samples::*;
use crate::support::shared::Shared;

const UUID: &str = "f3d28cb0-7225-4cb1-baeb-2dadd2be89ae";

#[test]
fn no_private_text_of_a_real_session_survives() {
    let originals = [
        "Tester",
        "hello",
        "Gr\u{fc}\u{df}e",
        "\u{43c}\u{438}\u{440}",
        "\u{4f60}\u{597d}",
        "see you",
        "Welcome",
        "Steve",
        "\u{c9}p\u{e9}e",
        "127.0.0.1",
        "\u{2603}",
        "payload payload",
        "f3d28cb0-7225-3cb1-baeb-2dadd2be89ae",
        "069a79f4-44e9-4726-a5be-fca90e38aaf5",
    ];
    for file in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let entries = repository_capture(file);
        proves(&entries, &originals);
        // Keys and verify tokens of the key exchange.
        let redacted = redact(&entries, b"seed");
        for record in records(&redacted).filter(|record| name(record) == "encryption_begin") {
            let value = record.packet.value().unwrap();
            for field in ["publicKey", "verifyToken", "sharedSecret"] {
                let bytes = value.get(field).and_then(Value::as_bytes);
                assert!(bytes.is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0)), "{field}");
            }
        }
    }
}

#[test]
fn no_private_text_of_a_generated_session_survives() {
    let entries = everything(1, "198.51.100.77:51234", "192.0.2.7:25565");
    let mut originals = vec!["Notch", "w\u{f6}rld", "play.example.org", "example", "quotes"];
    originals.extend([
        "b50ad385-829d-3141-a216-7e7d7539ba7f",
        "198.51.100.77",
        "192.0.2.7",
        "GET /",
    ]);
    proves(&entries, &originals);
    let before: Vec<&Record> = records(&entries).collect();
    let redacted = redact(&entries, b"seed");
    for (before, after) in before.into_iter().zip(records(&redacted)) {
        if before.packet.error().is_none() {
            continue;
        }
        let error = after.packet.error().unwrap().to_string();
        // What other protocol it is is seen by its first bytes, which are gone.
        let expected = before.packet.error().unwrap().to_string().replace(" but HTTP", "");
        assert_eq!(error, expected);
        assert_eq!(after.packet.id(), before.packet.id());
        let zeros = after.packet.body_or_bytes();
        if let Content::Raw(..) = after.packet.content() {
            assert!(zeros.iter().all(|byte| *byte == 0));
            assert!(after.comment.as_deref().unwrap().contains("redacted: "));
        }
        if before.packet.body().is_ok() || matches!(before.packet.content(), Content::Raw(..)) {
            assert_eq!(zeros.len(), before.packet.size());
        }
    }
}

#[test]
fn no_private_text_of_a_modern_session_survives() {
    let mut entries = modern();
    let raw = stage_of(765).raw(Serverbound, b"Zacharias", RawReason::NotMinecraft).clone();
    entries.push(Entry::Packet(raw));
    let originals = [
        "Zacharias",
        "zacharias",
        "Wilhelmina",
        "rendezvous",
        "lighthouse",
        "warehouse",
        "sherwood",
        "minestadt",
        "203.0.113.45",
        "secretplugin",
        "passphrase",
        "buccaneer",
        UUID,
        "5a5b5c5d-0102-4304-8506-0708090a0b0c",
        "11111111-2222-4333-8444-555555555555",
        "c2lnbmF0dXJlIG9mIHRoZSBza2lu",
    ];
    proves(&entries, &originals);
}

#[test]
fn redacted_packets_still_decode_and_equal_texts_stay_equal() {
    for entries in [repository_capture("session-1.8.jsonl"), modern()] {
        let redacted = redact(&entries, b"seed");
        assert_eq!(entries.len(), redacted.len());
        for (before, after) in records(&entries).zip(records(&redacted)) {
            assert_eq!(after.packet.error(), None, "{}", name(before));
            assert_eq!(name(before), name(after));
            assert_eq!(before.packet.wire_size(), after.packet.wire_size());
            assert_eq!(after.comment.as_deref().filter(|it| it.contains("redacted")), None);
        }
        assert_eq!(jsonl(&redacted), jsonl(&redact(&entries, b"seed")));
        assert_ne!(jsonl(&redacted), jsonl(&redact(&entries, b"other")));
    }
    let mut entries = everything(1, "198.51.100.77:51234", "192.0.2.7:25565");
    entries.extend(queries(2, "198.51.100.77:51234", "192.0.2.7:25565"));
    let redacted = redact(&entries, b"seed");
    for (before, after) in records(&entries).zip(records(&redacted)) {
        let well = |record: &Record| record.packet.error().is_none();
        assert!(!well(before) || well(after), "packet {}: {}", before.packet.seq(), name(before));
    }
    let redacted = redact(&repository_capture("session-1.8.jsonl"), b"seed");
    let text = |packet: &str, field: &str| {
        let record = records(&redacted).find(|record| name(record) == packet).unwrap();
        record.packet.value().unwrap().get(field).unwrap().as_text().unwrap().to_owned()
    };
    let player = text("login_start", "username");
    assert_eq!(player, text("success", "username"));
    let context = &redacted.last().unwrap().context();
    assert_eq!(context.player.as_deref(), Some(&*player));
    let bold = format!(r#"\"text\":\"{player}\",\"bold\":true"#);
    assert!(jsonl(&redacted).contains(&bold), "the welcome greets the player");
    assert_eq!(text("custom_payload", "channel"), "MC|Brand");
}

/// Each packet of some sessions, cut at every byte, and with every byte inverted.
#[test]
fn a_packet_that_does_not_decode_keeps_its_fault_and_nothing_private() {
    let mut kept = 0;
    let mut lost = Vec::new();
    for entries in [repository_capture("session-1.8.jsonl"), modern()] {
        let mut packets: Vec<Record> = Vec::new();
        for record in records(&entries) {
            if !packets.iter().any(|known| name(known) == name(record)) {
                packets.push(record.clone());
            }
        }
        for record in packets {
            let Ok(body) = record.packet.body() else { continue };
            for at in 1..body.len().min(80) {
                let mut inverted = body.to_vec();
                inverted[at] ^= 0xff;
                for damaged in [body.slice(..at), inverted.into()] {
                    let mut record = record.clone();
                    record.packet.replace_body(damaged.clone());
                    let Some(error) = record.packet.error() else { continue };
                    let [Entry::Packet(after)] =
                        &redact(&[Entry::Packet(record.clone())], b"s")[..]
                    else {
                        panic!("a packet stays a packet")
                    };
                    let other = after.packet.error().expect("it does not decode to something else");
                    let same = (after.packet.id(), other.at(), other.to_string())
                        == (record.packet.id(), error.at(), error.to_string());
                    kept += usize::from(same);
                    if !same {
                        assert!(matches!(after.packet.content(), Content::Raw(..)));
                        assert!(other.to_string().contains(&error.to_string()), "{error}: {other}");
                        lost.push(format!("{}, byte {at}: {error}", name(&record)));
                    }
                    assert_eq!(after.packet.size(), damaged.len());
                }
            }
        }
    }
    assert!(kept > 1000 && lost.len() * 20 < kept, "{kept}, {}: {lost:#?}", lost.len());
}

#[test]
fn a_frame_that_does_not_inflate_keeps_its_fault_and_its_id() {
    let body =
        encode(Serverbound, Play, "chat", &json!({"message": "a secret of mine ".repeat(5)}));
    let whole = compressed(&body, 16);
    let mut faults = BTreeSet::new();
    for at in 3..whole.wire().len() {
        let mut wire = whole.wire().to_vec();
        wire[at] ^= 0x40;
        let mut stage = Stage::new(1, "198.51.100.77:51234", "192.0.2.7:25565");
        let frame = received(&wire, 16, 1000);
        let Err(error) = frame.body() else { continue };
        stage.content(Serverbound, Play, Content::Frame(frame));
        let after = redact(&stage.entries, b"seed");
        let after = records(&after).next().unwrap();
        let before = records(&stage.entries).next().unwrap();
        assert_eq!(
            after.packet.error().unwrap().to_string(),
            error.to_string(),
            "byte {at}, id {:?}",
            before.packet.id()
        );
        assert_eq!(after.packet.id(), before.packet.id());
        let threshold = |record: &Record| record.packet.frame().unwrap().threshold();
        assert_eq!(threshold(after), threshold(before));
        assert!(
            !format!("{:?}", views(std::slice::from_ref(&Entry::Packet(after.clone()))))
                .contains("secret")
        );
        faults.insert(error.to_string().split(" at ").next().unwrap().to_owned());
    }
    assert!(faults.len() > 1, "{faults:?}");
}

/// Each is blanked by some thousand attempts. Many of them must not occupy the log.
#[test]
fn attempts_to_blank_frames_that_do_not_inflate_are_bounded_and_then_nothing_of_them_stays() {
    let body =
        encode(Serverbound, Play, "chat", &json!({"message": "a secret of mine ".repeat(40)}));
    let mut wire = compressed(&body, 16).wire().to_vec();
    let middle = wire.len() / 2;
    wire[middle..].iter_mut().for_each(|byte| *byte ^= 0x55);
    let mut stage = Stage::new(1, "198.51.100.77:51234", "192.0.2.7:25565");
    for _ in 0..5_000 {
        stage.content(Serverbound, Play, Content::Frame(received(&wire, 16, 1000)));
    }
    let after = redact(&stage.entries, b"seed");
    let zeros = records(&after).filter(|it| matches!(it.packet.content(), Content::Raw(..)));
    let (zeros, remarked) = zeros.fold((0, 0), |(zeros, remarked), record| {
        let is_remarked = record.comment.as_deref().is_some_and(|it| it.contains("zeros"));
        assert!(record.packet.body_or_bytes().iter().all(|byte| *byte == 0));
        (zeros + 1, remarked + u32::from(is_remarked))
    });
    assert!(zeros == remarked && zeros > 1_000, "{zeros}, {remarked}");
    assert_eq!(records(&after).count(), 5_000);
}

#[test]
fn both_formats_of_a_redacted_capture_hold_the_same() {
    let everything = everything(1, "198.51.100.77:51234", "192.0.2.7:25565");
    let queries = queries(2, "198.51.100.77:51234", "192.0.2.7:25565");
    for entries in [modern(), everything, queries] {
        let redacted = redact(&entries, b"seed");
        let (lines, blocks) = (jsonl(&redacted), pcapng(&redacted));
        let read = PcapngReader::new(&*blocks, Catalog::embedded()).map(|entry| entry.unwrap());
        assert_eq!(jsonl(&read.collect::<Vec<_>>()), lines);
    }
}

/// Fails unless each original is in the capture, and in no view of the redacted one.
fn proves(entries: &[Entry], originals: &[&str]) {
    let redacted = redact(entries, b"seed");
    let (before, after) = (views(entries), views(&redacted));
    for original in originals {
        let forms = forms(original);
        let found = |views: &[Vec<u8>]| {
            let finds = |form: &&Vec<u8>| views.iter().any(|view| contains(view, form));
            forms.iter().find(finds).map(|form| String::from_utf8_lossy(form).into_owned())
        };
        assert!(found(&before).is_some(), "`{original}` is not in the capture at all");
        assert_eq!(found(&after), None, "`{original}` survives");
    }
}

/// All contents of a capture's files: the bytes of JSONL and pcapng, and each packet's body, as
/// it is and with its gzip decompressed.
fn views(entries: &[Entry]) -> Vec<Vec<u8>> {
    let lines = jsonl(entries);
    let reread = JsonlReader::new(lines.as_bytes(), Catalog::embedded());
    let reread: Vec<Entry> = reread.map(|entry| entry.unwrap()).collect();
    let mut bodies = Vec::new();
    for record in records(&reread) {
        match (record.packet.body(), record.packet.content()) {
            (Ok(body), _) => bodies.extend_from_slice(&body),
            (Err(_), Content::Raw(bytes, _)) => bodies.extend_from_slice(bytes),
            (Err(_), Content::Frame(frame)) => bodies.extend_from_slice(frame.wire()),
        }
        bodies.push(0xff);
        bodies.extend_from_slice(format!("{:?}", record.packet.value()).as_bytes());
    }
    let unescaped = lines.replace("\\\"", "\"").replace("\\u00a7", "\u{a7}");
    vec![lines.clone().into_bytes(), unescaped.into_bytes(), pcapng(entries), bodies]
}

/// The forms in which a text can occur: UTF-8, UTF-16 in both byte orders, base64 at each of three
/// offsets; for a UUID with and without hyphens, and its bytes.
fn forms(original: &str) -> BTreeSet<Vec<u8>> {
    let mut plain = vec![original.as_bytes().to_vec()];
    for unit in [u16::to_be_bytes, u16::to_le_bytes] {
        plain.push(original.encode_utf16().flat_map(unit).collect());
    }
    if let Some(uuid) = parse_uuid(original) {
        plain.push(original.replace('-', "").into_bytes());
        plain.push(original.to_uppercase().into_bytes());
        plain.push(uuid.to_be_bytes().to_vec());
        plain.push(uuid.to_be_bytes()[..8].to_vec());
        plain.push(uuid.to_be_bytes()[8..].to_vec());
    }
    if let Ok(address) = original.parse::<std::net::Ipv4Addr>() {
        // As in an IP header.
        plain.push(address.octets().to_vec());
    }
    let mut forms: BTreeSet<Vec<u8>> = plain.iter().cloned().collect();
    for bytes in plain.iter().filter(|bytes| bytes.len() >= 5) {
        for offset in 0..3 {
            let padded = [&vec![0; offset][..], bytes].concat();
            let encoded = STANDARD.encode(&padded);
            // Without the characters that encode bits of the neighbouring bytes too.
            let begin = (offset * 8).div_ceil(6);
            let end = padded.len() * 8 / 6;
            forms.insert(encoded.as_bytes()[begin..end].to_vec());
        }
    }
    forms
}

fn contains(view: &[u8], form: &[u8]) -> bool {
    let pattern: String = form.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    regex::bytes::Regex::new(&format!("(?-u){pattern}")).unwrap().is_match(view)
}

fn redact(entries: &[Entry], seed: &[u8]) -> Vec<Entry> {
    let mut redactor = Redactor::new(seed);
    entries.iter().map(|entry| redactor.redact(entry.clone())).collect()
}

fn records(entries: &[Entry]) -> impl Iterator<Item = &Record> {
    entries.iter().filter_map(Entry::record)
}

fn name(record: &Record) -> String {
    record.packet.kind().map(|packet| packet.name().to_string()).unwrap_or_default()
}

fn jsonl(entries: &[Entry]) -> String {
    String::from_utf8(written(entries, |shared| Box::new(JsonlSink::new(shared)))).unwrap()
}

fn pcapng(entries: &[Entry]) -> Vec<u8> {
    written(entries, |shared| Box::new(PcapngSink::new(shared).unwrap()))
}

fn written(entries: &[Entry], sink: impl FnOnce(Shared) -> Box<dyn Sink>) -> Vec<u8> {
    let shared = Shared::default();
    let mut sink = sink(shared.clone());
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    shared.bytes()
}

fn protocol(version: i32) -> Arc<Protocol> {
    Catalog::embedded().find(version).unwrap().protocol
}

fn stage_of(version: i32) -> Stage {
    let mut stage = Stage::new(1, "203.0.113.45:50000", "203.0.113.45:25565");
    stage.context.upstream = "minestadt.example:25565".to_owned();
    stage.context.player = Some("Zacharias".to_owned());
    stage.context.version = Some(version);
    stage.context.protocol = protocol(version);
    stage
}

/// A session of 1.20.4 with everything that can identify the player or reveal messages.
fn modern() -> Vec<Entry> {
    let mut stage = stage_of(765);
    let protocol = protocol(765);
    stage.event(mitmcraft_engine::capture::EventKind::Open);
    let mut put = |direction: Direction, state: State, name: &str, fields: Json| {
        let packet = protocol.named(state, direction, name).unwrap();
        let body = protocol.encode(packet, &Value::from_json(&fields));
        stage.body(direction, state, &body.unwrap_or_else(|error| panic!("{name}: {error}")));
    };
    let text = |text: &str| json!({ "type": "string", "value": text });
    let component = |plain: &str| {
        let extra = json!({ "type": "compound", "value": [{ "text": text("rendezvous"), "color": text("red") }] });
        let extra = json!({ "type": "list", "value": extra });
        json!({ "type": "compound", "value": { "text": text(plain), "extra": extra } })
    };
    put(
        Serverbound,
        Handshaking,
        "set_protocol",
        json!({
            "protocolVersion": 765, "serverHost": "minestadt.example\0FML3\0", "serverPort": 25565, "nextState": 2
        }),
    );
    put(Serverbound, Login, "login_start", json!({ "username": "Zacharias", "playerUUID": UUID }));
    let texture =
        STANDARD.encode(format!("{{\"profileId\":\"{UUID}\",\"profileName\":\"Zacharias\"}}"));
    let property = json!({ "name": "textures", "value": texture, "signature": "c2lnbmF0dXJlIG9mIHRoZSBza2lu" });
    put(
        Clientbound,
        Login,
        "success",
        json!({
            "uuid": UUID, "username": "Zacharias", "properties": [property]
        }),
    );
    put(
        Serverbound,
        State::Configuration,
        "custom_payload",
        json!({
            "channel": "minecraft:brand", "data": STANDARD.encode("\u{7}vanilla")
        }),
    );
    let action = json!({ "add_player": true });
    let player = json!({ "name": "Wilhelmina", "properties": [property] });
    put(
        Clientbound,
        Play,
        "player_info",
        json!({
            "action": action,
            "data": [{ "uuid": "11111111-2222-4333-8444-555555555555", "player": player }]
        }),
    );
    put(
        Clientbound,
        Play,
        "system_chat",
        json!({ "content": component("<Wilhelmina> lighthouse"), "isActionBar": false }),
    );
    put(
        Serverbound,
        Play,
        "chat_message",
        json!({
            "message": "at the warehouse, zacharias", "timestamp": 1, "salt": 2, "offset": 0, "acknowledged": "AAAA"
        }),
    );
    put(
        Serverbound,
        Play,
        "chat_command",
        json!({
            "command": "login passphrase", "timestamp": 1, "salt": 2, "argumentSignatures": [],
            "messageCount": 0, "acknowledged": "AAAA"
        }),
    );
    put(
        Serverbound,
        Play,
        "edit_book",
        json!({ "hand": 0, "pages": ["in sherwood"], "title": "buccaneer" }),
    );
    put(
        Clientbound,
        Play,
        "custom_payload",
        json!({
            "channel": "plugin:data", "data": STANDARD.encode("secretplugin says hi to 203.0.113.45")
        }),
    );
    let ints = json!({ "type": "intArray", "value": [0x5a5b_5c5du32.cast_signed(), 0x0102_4304, 0x8506_0708u32.cast_signed(), 0x090a_0b0c] });
    let lines = json!({ "type": "list", "value": { "type": "string", "value": ["{\"text\":\"lighthouse\"}", "\"sherwood\""] } });
    put(
        Clientbound,
        Play,
        "tile_entity_data",
        json!({
            "location": { "x": 1, "y": 64, "z": 1 }, "action": 7,
            "nbtData": { "type": "compound", "value": { "Owner": ints, "messages": lines, "Zacharias": { "type": "byte", "value": 1 } } }
        }),
    );
    put(
        Clientbound,
        Play,
        "teams",
        json!({
            "team": "sherwood", "mode": 3, "players": ["Zacharias", "Wilhelmina"]
        }),
    );
    let response = json!({
        "version": { "name": "1.20.4", "protocol": 765 },
        "players": { "max": 20, "online": 1, "sample": [{ "name": "Wilhelmina", "id": UUID }] },
        "description": { "text": "minestadt: the lighthouse" }, "favicon": "data:image/png;base64,AAAA"
    });
    put(Clientbound, Status, "server_info", json!({ "response": response.to_string() }));
    stage.close("disconnected by the server: {\"text\":\"rendezvous\"}");
    stage.entries
}

#[test]
fn the_proxys_own_text_stays_and_its_quotations_are_redacted() {
    let mut stage = stage_of(765);
    stage.body(Serverbound, Play, &[0x15]).comment =
        Some("host and port are the upstream's".into());
    stage.body(Serverbound, Play, &[0x15]).comment = Some("Wilhelmina's rule".into());
    let several = "map_chunk: its body was left out to save memory; rule `Wilhelmina`; \
                   key and token are the proxy's; the server asks for an account";
    stage.body(Serverbound, Play, &[0x15]).comment = Some(several.into());
    stage.close("disconnected by the server: Wilhelmina");
    let lines = jsonl(&redact(&stage.entries, b"seed"));
    assert!(lines.contains("\"host and port are the upstream's"), "{lines}");
    assert!(lines.contains("\"map_chunk: its body was left out to save memory; "), "{lines}");
    assert!(
        lines.contains("; key and token are the proxy's; the server asks for an account\""),
        "{lines}"
    );
    assert!(lines.contains("\"disconnected by the server: "), "{lines}");
    assert!(!lines.contains("Wilhelmina"), "{lines}");
    assert!(!format!("{:?}", Redactor::new(b"hidden")).contains("hidden"));
}
