//! The dissector in tshark: every packet of some versions, generated from its type tree, must have
//! the same fields there as in a walk.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use mitmcraft_engine::capture::{
    Entry, PcapSink, PcapngSink, Record, Sink as _, Wire, WireKind, WireLeg, open_capture,
};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::meaning::{FieldTracker, SessionMemory};
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::random_body;
use mitmcraft_protocol::schema::{
    Catalog, Direction, Flow, Leaf, Name, PacketType, Protocol, Role, Scalar, State, Visitor,
    format_uuid,
};
use mitmcraft_protocol::wire::write_varint;
use mitmcraft_protocol::wireshark::write_dissector;

/// Field names in a path, as the dissector has them.
const LEVELS: usize = 5;

#[test]
fn the_dissector_has_no_types_of_payloads() {
    let protocol = Catalog::embedded().find(765).unwrap().protocol;
    assert!(protocol.channels().iter().any(|it| **it.name() == *"fml:handshake"));
    let dissector = write_dissector(&[protocol], &[]);
    assert!(dissector.contains("login_plugin_request") && !dissector.contains("S2CModList"));
}

#[test]
fn every_field_in_the_dissector_equals_that_of_the_walk() {
    let catalog = Catalog::embedded();
    let newest = catalog.find((1 << 30) - 1).unwrap().protocol;
    let mut protocols: Vec<Arc<Protocol>> =
        [5, 47, 340, 758, 764].map(|version| catalog.find(version).unwrap().protocol).into();
    protocols.push(newest);
    // The types that no built-in packet has.
    let mut catalog = catalog.clone();
    let own = |kind: &str| (0..200).map(|number| format!("{kind}_{number}")).collect::<Vec<_>>();
    let mut blocks = own("3+4");
    blocks.extend(
        ["@1000", "<0", "gate[open=true,false;half=top,bottom]", "@5000", "\u{e9}nd"]
            .map(Into::into),
    );
    let names = json!({ "item": own("own"), "effect": own("mine"), "block": blocks });
    let text = json!({ "extends": 47, "registries": names, "play": { "toClient": {
        "packets": { "0x70": "text", "0x71": "texts", "0x72": "marked" },
        "types": {
            "packet_text": ["container", [{ "name": "text", "type": "restText" }]],
            "packet_texts": ["container", [{ "name": "texts", "type": "restTexts" }]],
            "packet_marked": ["container", [
                { "name": "first", "type": ["textBetween", { "ends": ["2f2f", "00"] }] },
                { "name": "second", "type": ["textBetween", {
                    "startsWith": "2f2f", "ends": ["00"], "closed": true,
                }] },
            ]],
        },
    } } });
    catalog.add(Some(900), "900", text).unwrap();
    protocols.push(catalog.find(900).unwrap().protocol);
    let folder = folder("every-packet");
    let script = folder.join("minecraft.lua");
    fs::write(&script, write_dissector(&protocols, &[25_565])).unwrap();
    let mut explained = 0;
    for protocol in &protocols {
        let records = recording(protocol);
        let file = folder.join(format!("{}.pcap", protocol.version()));
        let mut sink = PcapSink::new(fs::File::create(&file).unwrap()).unwrap();
        for record in &records {
            sink.write(&Entry::Packet(record.clone())).unwrap();
        }
        sink.finish().unwrap();
        // As tshark and Wireshark read a file: all frames once, then again to show them.
        let twice: &[&[&str]] = if protocol.version() == 47 { &[&[], &["-2"]] } else { &[&[]] };
        for passes in twice {
            let shown = shown(&script, &file, passes);
            assert_eq!(shown.len(), records.len(), "version {}", protocol.version());
            let mut memory = SessionMemory::of_windows();
            for (shown, record) in shown.iter().zip(&records) {
                explained += compare(shown, record, &mut memory);
            }
        }
    }
    assert!(explained > 2000, "{explained} values have a meaning");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn captures_of_real_sessions_have_the_same_fields_in_the_dissector() {
    let folder = folder("captures");
    let script = folder.join("minecraft.lua");
    let java_47 = Catalog::embedded().find(47).unwrap().protocol;
    fs::write(&script, write_dissector(&[java_47], &[])).unwrap();
    for name in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let capture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("captures").join(name);
        let entries = open_capture(&capture, Catalog::embedded()).unwrap();
        let entries: Vec<Entry> = entries.map(Result::unwrap).collect();
        let file = folder.join("capture.pcapng");
        let mut sink = PcapngSink::new(fs::File::create(&file).unwrap()).unwrap();
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        let switches = [Role::EncryptionRequest, Role::EncryptionResponse, Role::SetCompression];
        let streamed = |entry: &Entry| match entry {
            Entry::Packet(record) => {
                let role = record.packet.kind().and_then(PacketType::role);
                let left_out = role.is_some_and(|role| switches.contains(&role));
                (record.outcome.went() && !left_out).then(|| record.clone())
            }
            Entry::Event(_) => None,
        };
        let records: Vec<Record> = entries.iter().filter_map(streamed).collect();
        // Its port is not registered; fields are known in the second of two passes only.
        assert_eq!(shown(&script, &file, &["-2"]).len(), records.len(), "{name}");
        let shown = shown(&script, &file, &[]);
        assert_eq!(shown.len(), records.len(), "{name}");
        assert!(shown.len() > 400, "{name}");
        let mut memory = SessionMemory::of_windows();
        assert!(info(&script, &file).contains("→ chat: hello from a real client"), "{name}");
        let pairs = shown.iter().zip(&records);
        let explained: usize =
            pairs.map(|(shown, record)| compare(shown, record, &mut memory)).sum();
        assert!(explained > 500, "{explained} values of {name} have a meaning");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sessions_from_before_1_7_have_the_same_fields_in_the_dissector() {
    let folder = folder("old");
    let script = folder.join("minecraft.lua");
    // With others of the same encodings, and one of the same number.
    let catalog = Catalog::embedded();
    let mut protocols: Vec<Arc<Protocol>> = catalog.old().collect();
    protocols.retain(|it| it.release().unframed_text().is_some());
    protocols.push(catalog.find(47).unwrap().protocol);
    fs::write(&script, write_dissector(&protocols, &[])).unwrap();
    for (name, said) in [
        ("session-alpha.jsonl", "← chat: Welcome, Steve! Grüße ☃"),
        ("session-beta-1.7.3.jsonl", "→ chat: /tick freeze"),
        ("session-1.6.4.jsonl", "chat: <Steve> first ☃"),
    ] {
        let capture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("captures").join(name);
        let entries = open_capture(&capture, catalog).unwrap();
        let entries: Vec<Entry> = entries.map(Result::unwrap).collect();
        let file = folder.join("capture.pcapng");
        let mut sink = PcapngSink::new(fs::File::create(&file).unwrap()).unwrap();
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        let switches = [Role::EncryptionRequest, Role::EncryptionResponse, Role::EncryptionStarted];
        let records = entries.iter().filter_map(Entry::record).filter(|record| {
            let role = record.packet.kind().and_then(PacketType::role);
            record.outcome.went() && !role.is_some_and(|role| switches.contains(&role))
        });
        let records: Vec<&Record> = records.collect();
        let cut = folder.join("cut.pcapng");
        write_cut(&cut, &records);
        for file in [&file, &cut] {
            let shown = shown(&script, file, &[]);
            assert_eq!(shown.len(), records.len(), "{name}");
            assert!(shown.len() > 30, "{name}: {}", shown.len());
            let mut memory = SessionMemory::default();
            for (shown, record) in shown.iter().zip(&records) {
                compare(shown, record, &mut memory);
            }
        }
        let lines = info(&script, &file);
        assert!(lines.contains(said), "{name}: {lines}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_numbers_mean_stands_behind_them_in_the_tree() {
    let folder = folder("meanings");
    let script = folder.join("minecraft.lua");
    let java_47 = Catalog::embedded().find(47).unwrap().protocol;
    let protocols = [Arc::clone(&java_47)];
    fs::write(&script, write_dissector(&protocols, &[25_565])).unwrap();
    let mut session = Session::new(&java_47, 1);
    session.reach(State::Play);
    for (name, fields) in [
        (
            "set_slot",
            json!({ "windowId": -1, "slot": 5, "item": {
                "blockId": 276, "itemCount": 1, "itemDamage": 0
            } }),
        ),
        ("entity_look", json!({ "entityId": 1, "yaw": 64, "pitch": -32, "onGround": true })),
        ("abilities", json!({ "flags": 5, "flyingSpeed": 0.5, "walkingSpeed": 0.5 })),
        ("block_change", json!({ "location": { "x": 1, "y": 2, "z": 3 }, "type": 19 })),
        (
            "world_event",
            json!({ "effectId": 2001, "location": { "x": 1, "y": 2, "z": 3 }, "data": 3,
                "global": false }),
        ),
        (
            "spawn_entity_living",
            json!({ "entityId": 7, "type": 50, "x": 0, "y": 0, "z": 0, "yaw": 0, "pitch": 0,
                "headPitch": 0, "velocity": { "x": 0, "y": 0, "z": 0 },
                "metadata": [{ "key": 0, "type": 0, "value": 1 }] }),
        ),
    ] {
        let packet = java_47.named(State::Play, Direction::Clientbound, name).unwrap();
        let body =
            java_47.encode(packet, &mitmcraft_protocol::schema::Value::from_json(&fields)).unwrap();
        session.put(packet, body);
    }
    let file = folder.join("meanings.pcap");
    let mut sink = PcapSink::new(fs::File::create(&file).unwrap()).unwrap();
    for record in session.records {
        sink.write(&Entry::Packet(record)).unwrap();
    }
    sink.finish().unwrap();
    let output = Command::new("tshark")
        .env("LC_ALL", "C.UTF-8")
        .args(["-X", &format!("lua_script:{}", script.display()), "-V", "-r"])
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for line in [
        "windowId: -1 (cursor)",
        "key: 0 (shared_flags)",
        "value: 1 (on fire)",
        "blockId: 276 (diamond_sword)",
        "yaw: 64 (90°)",
        "pitch: -32 (-45°)",
        "flags: 5 (invulnerable, allow flying)",
        "type: 19 (stone, data 3)",
        "effectId: 2001 (block break)",
        "data: 3 (dirt)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_info_column_says_what_players_read() {
    let folder = folder("said");
    let script = folder.join("minecraft.lua");
    let catalog = Catalog::embedded();
    let [older, newer] = [758, 765].map(|version| catalog.find(version).unwrap().protocol);
    fs::write(&script, write_dissector(&[Arc::clone(&older), Arc::clone(&newer)], &[])).unwrap();
    let string = |text: &str| json!({ "type": "string", "value": text });
    let compound = |fields: serde_json::Value| json!({ "type": "compound", "value": fields });
    let parts = json!([{ "text": string("Zoë") }, { "": string(" waves") }]);
    let parts = json!({ "type": "list", "value": { "type": "compound", "value": parts } });
    let arguments =
        json!({ "type": "list", "value": { "type": "string", "value": ["Zoë", "Steve"] } });
    let json = |text: &str| json!({ "message": text, "position": 0, "sender": "00000000-0000-0000-0000-000000000000" });
    let nbt = |content| json!({ "content": content, "isActionBar": false });
    for (protocol, name, fields, said) in [
        (
            &older,
            "chat",
            json(
                r#"{"with":[{"text":"Zo\u00eb \ud83c\udfae"},"hi \"you\""],"translate":"chat.type.text"}"#,
            ),
            r#"<Zoë 🎮> hi "you""#,
        ),
        (
            &older,
            "chat",
            json(
                r#"{"translate":"x","fallback":"%2$s, 100%% %1$s","with":["a","b"],"extra":["!"]}"#,
            ),
            "b, 100% a!",
        ),
        (&older, "chat", json(r#"{"text":"broken"#), r#"{"text":"broken"#),
        (
            &newer,
            "system_chat",
            nbt(compound(json!({ "translate": string("death.attack.mob"), "with": arguments }))),
            "death.attack.mob Zoë Steve",
        ),
        (
            &newer,
            "system_chat",
            nbt(compound(json!({ "text": string("* "), "extra": parts }))),
            "* Zoë waves",
        ),
        (&newer, "system_chat", nbt(string("plain")), "plain"),
    ] {
        let mut session = Session::new(protocol, 1);
        session.reach(State::Play);
        let packet = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
        let value = mitmcraft_protocol::schema::Value::from_json(&fields);
        session.put(packet, protocol.encode(packet, &value).unwrap());
        let file = folder.join("said.pcap");
        let mut sink = PcapSink::new(fs::File::create(&file).unwrap()).unwrap();
        for record in session.records {
            sink.write(&Entry::Packet(record)).unwrap();
        }
        sink.finish().unwrap();
        let lines = info(&script, &file);
        assert!(lines.contains(&format!("← {name}: {said} ")), "{said}: {lines}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Writes packets in segments of at most 9 bytes, or of 500 for long ones.
fn write_cut(file: &std::path::Path, records: &[&Record]) {
    let views = "wire".parse().unwrap();
    let mut sink = PcapngSink::with_views(
        fs::File::create(file).unwrap(),
        views,
        mitmcraft_engine::text::write_info,
    )
    .unwrap();
    let wire = |kind| Wire {
        session: 1,
        at: Timestamp(1),
        leg: WireLeg::Client,
        from: "127.0.0.1:51000".parse().unwrap(),
        to: "127.0.0.1:41000".parse().unwrap(),
        kind,
    };
    sink.wire(&wire(WireKind::Open)).unwrap();
    for record in records {
        let body = record.packet.body().unwrap();
        let segment = if body.len() > 500 { 500 } else { 9 };
        for bytes in body.chunks(segment) {
            let bytes = bytes.to_vec().into();
            sink.wire(&wire(WireKind::Bytes(record.packet.direction(), bytes))).unwrap();
        }
    }
    sink.finish().unwrap();
}

/// The lines of the list of packets, which end with the Info column.
fn info(script: &std::path::Path, file: &std::path::Path) -> String {
    let run = Command::new("tshark")
        .env("LC_ALL", "C.UTF-8")
        .args(["-X", &format!("lua_script:{}", script.display()), "-r"])
        .arg(file)
        .output()
        .unwrap();
    String::from_utf8_lossy(&run.stdout).into_owned()
}

/// Every packet a few times; packets that change how the next ones are read are at their places.
fn recording(protocol: &Arc<Protocol>) -> Vec<Record> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Default::default(), rng);
    let mut records = Vec::new();
    for (number, state) in State::ALL.into_iter().enumerate() {
        let mut session = Session::new(protocol, number as u64 + 1);
        session.reach(state);
        let own = protocol.packets().iter().filter(|packet| packet.state() == state);
        for packet in own.filter(|packet| !packet.role().is_some_and(Role::drives)) {
            if state == State::Handshaking {
                continue;
            }
            for length in [0, 30, 300] {
                let choices = vec(any::<u8>(), length..=length);
                let choices = choices.new_tree(&mut runner).unwrap().current();
                session.put(packet, random_body(protocol, packet, &choices));
            }
        }
        records.append(&mut session.records);
    }
    records
}

struct Session {
    protocol: Arc<Protocol>,
    context: Arc<Context>,
    records: Vec<Record>,
}

impl Session {
    fn new(protocol: &Arc<Protocol>, session: u64) -> Self {
        let context = Context {
            server: Some("127.0.0.1:25565".parse().unwrap()),
            upstream: "localhost:25565".into(),
            version: Some(protocol.version()),
            ..Context::new(
                session,
                Timestamp(1),
                format!("127.0.0.1:{}", 50_000 + session).parse().unwrap(),
                Arc::clone(protocol),
            )
        };
        Self { protocol: Arc::clone(protocol), context: Arc::new(context), records: Vec::new() }
    }

    /// Sends the packets that lead to that state.
    fn reach(&mut self, state: State) {
        use {Direction::*, State::*};
        let protocol = Arc::clone(&self.protocol);
        let next = if state == Status { 1 } else { 2 };
        let mut handshake = Vec::new();
        let packet = protocol.role(Handshaking, Serverbound, Role::Handshake).unwrap();
        write_varint(&mut handshake, packet.id());
        write_varint(&mut handshake, protocol.version());
        handshake.extend_from_slice(b"\x09localhost\x63\xdd");
        handshake.push(next);
        self.put(packet, handshake);
        if !matches!(state, Configuration | Play) {
            return;
        }
        let steps = [
            (Login, Clientbound, Role::LoginSuccess, true),
            (Login, Serverbound, Role::LoginAcknowledged, true),
            (Configuration, Clientbound, Role::FinishConfiguration, state == Play),
            (Configuration, Serverbound, Role::FinishConfiguration, state == Play),
        ];
        for (state, direction, role, wanted) in steps {
            if let Some(packet) = protocol.role(state, direction, role).filter(|_| wanted) {
                self.put(packet, random_body(&protocol, packet, &[]));
            }
        }
    }

    fn put(&mut self, packet: &PacketType, body: Vec<u8>) {
        let content = Content::Frame(Frame::from_body(body.into()));
        let (state, direction) = (packet.state(), packet.direction());
        let seq = self.records.len() as u64 + 1;
        let at = Timestamp(seq * 1000);
        let context = Arc::clone(&self.context);
        let packet = Packet::new(context, seq, at, direction, state, content);
        self.records.push(Record::passed(packet));
    }
}

/// A packet as tshark shows it: its name, its fields with values and bytes, and errors.
#[derive(Debug, Default)]
struct Shown {
    name: String,
    state: String,
    direction: String,
    /// Name, value, bytes, and the line in the tree.
    fields: Vec<(String, String, String, String)>,
    complaints: Vec<String>,
}

fn shown(script: &std::path::Path, file: &std::path::Path, options: &[&str]) -> Vec<Shown> {
    let stock = script.with_file_name("stock");
    let run = Command::new("tshark")
        .args(["-X", &format!("lua_script:{}", script.display()), "-r"])
        .arg(file)
        .args(["-T", "pdml"])
        .args(options)
        .env("WIRESHARK_CONFIG_DIR", &stock)
        .env("HOME", &stock)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("install tshark (Debian: apt-get install tshark)");
    let complaints = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{complaints}");
    for line in complaints.lines() {
        assert!(line.contains("This could be dangerous"), "{complaints}");
    }
    let mut all: Vec<Shown> = Vec::new();
    // A value may contain a line feed, but no `<`.
    for line in String::from_utf8_lossy(&run.stdout).split('<') {
        if line.starts_with("proto name=\"minecraft\"") {
            all.push(Shown::default());
            continue;
        }
        if !line.starts_with("field name=\"minecraft.") {
            continue;
        }
        let Some(last) = all.last_mut() else { continue };
        let [name, show, value, tree] =
            ["name", "show", "value", "showname"].map(|key| attribute(line, key));
        match name.as_str() {
            "minecraft.packet" => last.name = show,
            "minecraft.state" => last.state = show,
            "minecraft.direction" => last.direction = show,
            "minecraft.undecoded" | "minecraft.unknown" => last.complaints.push(line.into()),
            "minecraft.id" | "minecraft.length" | "minecraft.inflated" | "minecraft.version" => {}
            _ => last.fields.push((name["minecraft.".len()..].to_owned(), show, value, tree)),
        }
    }
    all
}

fn attribute(line: &str, key: &str) -> String {
    let text = line.split(&format!(" {key}=\"")).nth(1).unwrap_or_default();
    let text = text.split('"').next().unwrap_or_default();
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&apos;", "'").replace("&amp;", "&")
}

/// Compares names, values and meanings. Returns how many values have a meaning.
fn compare(shown: &Shown, record: &Record, memory: &mut SessionMemory) -> usize {
    let packet = &record.packet;
    let name = packet.kind().unwrap().name();
    let what = format!("{} of {} in {shown:?}", name, packet.context().protocol.name());
    let what: String = what.chars().take(3000).collect();
    assert_eq!(shown.name, **name, "{what}");
    assert_eq!(shown.state, packet.state().to_string(), "{what}");
    assert_eq!(shown.direction, packet.direction().to_string(), "{what}");
    assert!(shown.complaints.is_empty(), "{what}");
    let mut seen = Fields::new(name, FieldTracker::new(packet).about(memory.take(packet)));
    packet.walk(&mut seen).unwrap();
    let mut explained = 0;
    // What numbers mean is not known of versions before 1.7.
    let is_old = packet.context().protocol.release().unframed_text().is_some();
    for (index, (expected, found)) in seen.fields.iter().zip(&shown.fields).enumerate() {
        let (path, value, meaning) = expected;
        let suffix = found.0.strip_prefix(path.as_str());
        assert!(
            suffix.is_some_and(|it| it.is_empty() || it.starts_with('_')),
            "field {index}, {expected:?}: {found:?}; {what}"
        );
        assert!(value.is(&found.1, &found.2), "field {index}, {expected:?}: {found:?}; {what}");
        match meaning {
            _ if is_old => {}
            Meaning::Text(text) => {
                let ends = found.3.ends_with(&format!(" ({text})"));
                assert!(ends, "field {index}, {expected:?}: {found:?}; {what}");
                explained += 1;
            }
            Meaning::None => {
                assert!(!found.3.ends_with(')'), "field {index}, {expected:?}: {found:?}; {what}");
            }
            Meaning::Other => {}
        }
    }
    assert_eq!(seen.fields.len(), shown.fields.len(), "{:?}; {what}", seen.fields);
    explained
}

/// What a value should mean in the tree.
#[derive(Debug)]
enum Meaning {
    None,
    Text(String),
    /// It is not compared: text, or what the dissector does not know.
    Other,
}

impl Meaning {
    /// Returns what the value of a field means in the dissector. It does not know what the type of an
    /// entity or the server's registries say, nor the states of blocks, and counts up to 2^53.
    fn of(tracker: &mut FieldTracker, leaf: &Leaf<'_>, path: &str) -> Self {
        let meaning = tracker.leaf(leaf);
        let compares = match leaf.value {
            Scalar::Int(int) => int.unsigned_abs() < 1 << 53,
            Scalar::Float32(float) => float.is_finite(),
            Scalar::Float64(float) => float.is_finite(),
            _ => false,
        };
        if !compares || path.starts_with("nested.") || path.ends_with("metadata.key") {
            return Self::Other;
        }
        let Some(text) = tracker.words(meaning, &leaf.value) else { return Self::None };
        let mut plain = String::new();
        for part in text.split(']') {
            plain.push_str(part.split('[').next().unwrap_or_default());
        }
        Self::Text(plain)
    }
}

/// A field as the dissector should show it.
#[derive(Debug)]
enum Value {
    Node,
    Text(String),
    Bool(bool),
    Float(f64, f64),
    Bytes(String),
}

impl Value {
    fn is(&self, show: &str, value: &str) -> bool {
        match self {
            Self::Node => show.is_empty(),
            Self::Text(text) => show == text,
            Self::Bool(true) => show == "1" || show == "True",
            Self::Bool(false) => show == "0" || show == "False",
            Self::Bytes(hex) => value == hex,
            Self::Float(float, precision) => {
                let shown: f64 = show.trim_start_matches("-nan").parse().unwrap_or(f64::NAN);
                let near = (shown - float).abs() <= float.abs() * precision;
                near || shown == *float || float.is_nan() && shown.is_nan()
            }
        }
    }
}

/// Collects a packet's fields under the names that the dissector gives them.
struct Fields {
    fields: Vec<(String, Value, Meaning)>,
    tracker: FieldTracker,
    /// The open containers and lists: path, name, depth, and whether it is a list.
    open: Vec<(Node, bool)>,
    next: Node,
}

#[derive(Debug, Clone)]
struct Node {
    path: String,
    name: String,
    depth: usize,
}

impl Fields {
    fn new(packet: &Name, tracker: FieldTracker) -> Self {
        let (path, name) = (packet.to_string(), packet.to_string());
        let next = Node { path, name, depth: 0 };
        Self { fields: Vec::new(), tracker, open: Vec::new(), next }
    }

    /// Returns the path and depth of the next value.
    fn here(&self) -> Node {
        match self.open.last() {
            Some((node, true)) => node.clone(),
            _ => self.next.clone(),
        }
    }
}

impl Visitor for Fields {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let path = self.here().path;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let meaning = Meaning::of(&mut self.tracker, leaf, &path);
        let value = match leaf.value {
            Scalar::Absent => return ControlFlow::Continue(()),
            Scalar::Bool(bool) => Value::Bool(bool),
            Scalar::Int(int) => Value::Text(int.to_string()),
            Scalar::Unsigned(int) => Value::Text(int.to_string()),
            Scalar::Float32(float) => Value::Float(float.into(), 1e-5),
            Scalar::Float64(float) => Value::Float(float, 1e-12),
            Scalar::Name(name, _) => Value::Text(name.to_string()),
            Scalar::Uuid(uuid) => Value::Text(format_uuid(uuid)),
            Scalar::Text(bytes, _) | Scalar::Bytes(bytes) | Scalar::CompressedNbt(bytes) => {
                Value::Bytes(hex(bytes))
            }
            Scalar::Nbt { bytes, .. } => Value::Bytes(hex(bytes)),
        };
        self.fields.push((path, value, meaning));
        ControlFlow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.tracker.field(name);
        let (outer, _) = self.open.last().unwrap();
        let (path, depth) = if outer.depth < LEVELS {
            (format!("{}.{name}", outer.path), outer.depth + 1)
        } else {
            (format!("nested.{}.{name}", outer.name), LEVELS)
        };
        self.next = Node { path, name: name.to_string(), depth };
        ControlFlow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        let node = self.here();
        self.tracker.open_map();
        self.fields.push((node.path.clone(), Value::Node, Meaning::Other));
        self.open.push((node, false));
        ControlFlow::Continue(())
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        let node = self.here();
        self.tracker.open_list();
        self.open.push((node, true));
        ControlFlow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        self.open.pop();
        ControlFlow::Continue(())
    }
}

fn folder(name: &str) -> PathBuf {
    let own = format!("mitmcraft-dissector-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(own);
    fs::create_dir_all(&folder).unwrap();
    folder
}
