//! What a peer would disconnect for: every entry of `docs/diagnostics.md`, and that captures keep it.

use std::fs;

use mitmcraft_engine::capture::{CreateOptions, Entry, create_sink, open_capture};
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::{Diagnostic, Diagnostics};
use mitmcraft_protocol::schema::{Catalog, Value};
use serde_json::{Value as Json, json};

use crate::support::samples::{
    Clientbound, Play, Serverbound, Stage, compressed, encode, repository_capture,
};
use crate::support::{Program, root, scratch_file, text};

fn diagnosed(version: i32, serverbound: bool, name: &str, fields: &Json) -> Vec<Diagnostic> {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    let catalog = Catalog::embedded();
    stage.context.protocol = match version {
        ..=6 => catalog.alpha(version).protocol,
        _ => catalog.find(version).unwrap().protocol,
    };
    let direction = if serverbound { Serverbound } else { Clientbound };
    let protocol = &stage.context.protocol;
    let packet = protocol.named(Play, direction, name).unwrap();
    let mut fields = fields.clone();
    // Not every version has every field.
    let known: Vec<String> = protocol.layout(packet, 1).into_iter().map(|it| it.path).collect();
    if let Json::Object(fields) = &mut fields {
        fields.retain(|name, _| known.contains(name));
    }
    let body = protocol.encode(packet, &Value::from_json(&fields)).unwrap();
    let record = stage.body(direction, Play, &body);
    assert_eq!(record.packet.error(), None);
    diagnose(&record.packet).iter().collect()
}

#[test]
fn bodies_are_checked_by_the_rules_of_their_version() {
    use Diagnostic::{
        ChatTooLong, DimensionInvalid, HeldItemInvalid, JsonInvalid, MetadataMissing,
        PackHashInvalid, PaintingTitleTooLong, PositionOutOfRange, StanceIllegal,
        TeamMemberTooLong,
    };
    let say = |length| json!({"message": "é".repeat(length)});
    let position = |x: Json| json!({"x": x, "y": 64.0, "z": 0.5, "onGround": true});
    let height = |y: Json| json!({"x": 0.5, "y": y, "z": 0.5, "onGround": true});
    let look = |yaw: Json| json!({"yaw": yaw, "pitch": 0.0, "onGround": true});
    let vehicle = |x: Json| json!({"x": x, "y": 64.0, "z": 0.5, "yaw": 0.0, "pitch": 0.0});
    let stance =
        |stance: f64| json!({"x": 1.0, "y": 64.0, "stance": stance, "z": 0.5, "onGround": true});
    let join = |dimension: i32| {
        json!({"entityId": 1, "gameMode": 0, "dimension": dimension, "difficulty": 1,
            "maxPlayers": 8, "levelType": "default", "reducedDebugInfo": false})
    };
    let player = |item: i32, metadata: Json| {
        json!({"entityId": 1, "playerUUID": "b50ad385-829d-3141-a216-7e7d7539ba7f", "x": 0, "y": 0,
            "z": 0, "yaw": 0, "pitch": 0, "currentItem": item, "metadata": metadata})
    };
    let some = json!([{"key": 0, "type": 0, "value": 0}]);
    let painting = |title: &str| {
        json!({"entityId": 1, "title": title,
        "location": {"x": 0, "y": 0, "z": 0}, "direction": 0})
    };
    let team = |member: &str| json!({"team": "red", "mode": 3, "players": ["Steve", member]});
    let pack = |hash: &str| {
        json!({"url": "https://example.org/pack.zip", "hash": hash, "forced": false,
            "promptMessage": null, "uuid": "b50ad385-829d-3141-a216-7e7d7539ba7f"})
    };
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let chat = |text: &str| json!({"message": text, "position": 0});
    let sign = |text: &str| {
        json!({"location": {"x": 0, "y": 0, "z": 0}, "text1": text, "text2": "\"\"", "text3": "\"\"",
            "text4": "\"\""})
    };
    for (version, serverbound, name, fields, expected) in [
        (47, true, "chat", say(100), None),
        (47, true, "chat", say(101), Some(ChatTooLong)),
        (5, true, "chat", say(101), Some(ChatTooLong)),
        (6, true, "chat", say(100), None),
        (6, true, "chat", say(101), Some(ChatTooLong)),
        (340, true, "chat", say(256), None),
        (340, true, "chat", say(257), Some(ChatTooLong)),
        (47, false, "chat", chat("\"hi\""), None),
        (47, false, "chat", chat("{\"text\":\"hi\"}"), None),
        (47, false, "chat", chat("{\"text\":\"hi\""), Some(JsonInvalid)),
        (47, false, "chat", chat("§chello"), Some(JsonInvalid)),
        (47, false, "kick_disconnect", json!({"reason": ""}), Some(JsonInvalid)),
        // Players write signs as components in 1.8, and as plain text since.
        (47, true, "update_sign", sign("\"hi\""), None),
        (47, true, "update_sign", sign("hi"), Some(JsonInvalid)),
        (340, true, "update_sign", sign("hi"), None),
        (
            47,
            false,
            "playerlist_header",
            json!({"header": "\"a\"", "footer": "b c"}),
            Some(JsonInvalid),
        ),
        (47, false, "tab_complete", json!({"matches": ["no JSON"]}), None),
        (47, false, "login", join(-1), None),
        (47, false, "login", join(1), None),
        (47, false, "login", join(2), Some(DimensionInvalid)),
        (47, true, "position", position(json!(3.2e7)), None),
        (47, true, "position", position(json!(-3.3e7)), Some(PositionOutOfRange)),
        (47, true, "position", position(json!("NaN")), Some(PositionOutOfRange)),
        (340, true, "position", position(json!(3.1e7)), Some(PositionOutOfRange)),
        (340, true, "position", position(json!(2.9e7)), None),
        (340, true, "position", height(json!(3.1e7)), Some(PositionOutOfRange)),
        (340, true, "look", look(json!("NaN")), Some(PositionOutOfRange)),
        (340, true, "look", look(json!(1.0e9)), None),
        (340, true, "vehicle_move", vehicle(json!(3.1e7)), None),
        (340, true, "vehicle_move", vehicle(json!("Infinity")), Some(PositionOutOfRange)),
        (47, true, "look", look(json!("NaN")), None),
        (47, true, "position", height(json!(3.3e7)), None),
        (754, true, "position", position(json!(3.1e7)), Some(PositionOutOfRange)),
        (755, true, "position", position(json!(3.1e7)), None),
        (765, true, "position", position(json!("NaN")), Some(PositionOutOfRange)),
        (5, true, "position", stance(65.62), None),
        (5, true, "position", stance(65.66), Some(StanceIllegal)),
        (6, true, "position", stance(65.62), None),
        (6, true, "position", stance(64.05), Some(StanceIllegal)),
        (47, false, "named_entity_spawn", player(0, some.clone()), None),
        (47, false, "named_entity_spawn", player(-1, some), Some(HeldItemInvalid)),
        (47, false, "named_entity_spawn", player(1, json!([])), Some(MetadataMissing)),
        (47, false, "spawn_entity_painting", painting("SkullAndRoses"), None),
        (
            47,
            false,
            "spawn_entity_painting",
            painting("SkullAndRoses2"),
            Some(PaintingTitleTooLong),
        ),
        (47, false, "scoreboard_team", team(&"é".repeat(40)), None),
        (47, false, "scoreboard_team", team(&"é".repeat(41)), Some(TeamMemberTooLong)),
        (754, false, "teams", team(&"x".repeat(41)), Some(TeamMemberTooLong)),
        (755, false, "teams", team(&"x".repeat(41)), None),
        (47, false, "resource_pack_send", pack(hash), None),
        (47, false, "resource_pack_send", pack(""), None),
        (47, false, "resource_pack_send", pack(&hash.to_uppercase()), Some(PackHashInvalid)),
        (47, false, "resource_pack_send", pack(&hash[1..]), Some(PackHashInvalid)),
        (47, false, "resource_pack_send", pack(&format!("{hash}0")), Some(PackHashInvalid)),
        (47, false, "resource_pack_send", pack(&hash.replace('0', "g")), Some(PackHashInvalid)),
        (340, false, "resource_pack_send", pack(&hash.to_uppercase()), None),
        (765, false, "add_resource_pack", pack("none"), Some(PackHashInvalid)),
        (765, false, "add_resource_pack", pack(hash), None),
    ] {
        let found = diagnosed(version, serverbound, name, &fields);
        assert_eq!(found, Vec::from_iter(expected), "{version} {name} {fields}");
    }
}

#[test]
fn the_page_lists_every_diagnostic_with_its_source() {
    let page = fs::read_to_string(root().join("docs/diagnostics.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), Diagnostic::ALL.len());
    for (row, diagnostic) in rows.iter().zip(Diagnostic::ALL) {
        let [name, description, packets, section] = row[..] else { panic!("{row:?}") };
        assert_eq!(name, format!("`{diagnostic}`"));
        assert_eq!(description, diagnostic.description());
        assert!(!packets.is_empty());
        // What no document states is behaviour of the game.
        let is_document = section.starts_with("1.8, ") || section.starts_with("Alpha, ");
        assert!(is_document || section == "the game", "{section}");
    }
}

/// A session with a packet that is compressed too early, one that is not compressed, an answer that came
/// too late, a message that is too long, and one without a fault.
fn faulty() -> Vec<Entry> {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.open();
    stage.state(Play, Some(256), false);
    let short = encode(Serverbound, Play, "chat", &json!({"message": "hi"}));
    let frame = |threshold| {
        let wire = compressed(&short, threshold);
        mitmcraft_protocol::packet::Content::Frame(crate::support::samples::received(
            wire.wire(),
            256,
            1 << 20,
        ))
    };
    stage.content(Serverbound, Play, frame(1));
    stage.content(Serverbound, Play, frame(1000));
    let answer = stage.packet(Serverbound, Play, "keep_alive", json!({"keepAliveId": 7}));
    answer.packet.note(Diagnostics::from_iter([Diagnostic::KeepAliveLate]));
    stage.packet(Serverbound, Play, "chat", json!({"message": "x".repeat(101)}));
    stage.close("the client closed the connection");
    stage.entries
}

fn names(entries: &[Entry]) -> Vec<String> {
    let records = entries.iter().filter_map(Entry::record);
    let names = |found: Diagnostics| found.iter().map(Diagnostic::name).collect::<Vec<_>>();
    records.map(|record| names(diagnose(&record.packet)).join(",")).collect()
}

#[test]
fn captures_keep_what_the_bytes_of_a_packet_do_not_show() {
    let entries = faulty();
    let expected = ["compressed-below-threshold", "", "keep-alive-late", "chat-too-long"];
    assert_eq!(names(&entries), expected);
    for ending in ["jsonl", "pcapng"] {
        let file = scratch_file(&format!("faulty.{ending}"));
        let mut sink = create_sink(&file, &CreateOptions::default()).unwrap();
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        let back: Vec<Entry> =
            open_capture(&file, Catalog::embedded()).unwrap().map(Result::unwrap).collect();
        assert_eq!(names(&back), expected, "{ending}");

        let shown = Program::mitmcraft(&["show", "-Y", "pkt.diagnostic", text(&file)]).succeed();
        let marks: Vec<&str> =
            shown.lines().map(|line| line.rsplit_once(" !! ").unwrap().1).collect();
        assert_eq!(marks, ["compressed-below-threshold", "keep-alive-late", "chat-too-long"]);
        let late = "pkt.diagnostic == \"keep-alive-late\" or pkt.diagnostic matches \"^chat\"";
        let columns = ["show", "-Y", late, "--fields", "pkt.n,pkt.diagnostic", text(&file)];
        let shown = Program::mitmcraft(&columns).succeed();
        assert_eq!(shown, "3\tkeep-alive-late\n4\tchat-too-long\n", "{ending}");
        let stats = Program::mitmcraft(&["stats", "--json", text(&file)]).succeed();
        let stats: Json = serde_json::from_str(&stats).unwrap();
        let counts = stats["diagnostics"].as_array().unwrap();
        assert_eq!(counts.len(), 3, "{stats}");
        assert_eq!(counts[0]["first"], json!({"session": 1, "seq": 1}));
        let table = Program::mitmcraft(&["stats", text(&file)]).succeed();
        assert!(table.contains("→ chat-too-long: a message or command is longer"), "{table}");
        let tree = Program::mitmcraft(&["show", "-v", "-Y", "chat", text(&file)]).succeed();
        assert!(tree.contains("    !! chat-too-long: a message or command is longer"), "{tree}");
    }
}

#[test]
fn annotated_jsonl_has_all_diagnostics_and_captures_of_real_sessions_have_none() {
    let file = scratch_file("diagnosed.jsonl");
    let mut sink = create_sink(&file, &CreateOptions::default()).unwrap();
    faulty().iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    let annotated = scratch_file("diagnosed-annotated.jsonl");
    Program::mitmcraft(&["convert", "--annotate", text(&file), text(&annotated)]).succeed();
    assert!(!fs::read_to_string(&file).unwrap().contains("chat-too-long"));
    let lines = fs::read_to_string(&annotated).unwrap();
    let lines: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<&Json> = lines.iter().filter_map(|line| line.get("diagnostic")).collect();
    let expected = [
        json!(["compressed-below-threshold"]),
        json!(["keep-alive-late"]),
        json!(["chat-too-long"]),
    ];
    assert_eq!(found, expected.iter().collect::<Vec<_>>());
    for capture in ["session-1.8.jsonl", "session-alpha.jsonl", "session-26.3.jsonl"] {
        let entries = repository_capture(capture);
        let faults: Vec<String> = names(&entries).into_iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(faults, [""; 0], "{capture}");
    }
}
