use mitmcraft_engine::capture::Entry;
use mitmcraft_engine::filter::{Detail, Notes};
use mitmcraft_engine::text::{
    FieldLines, LineAnnotation, LineAnnotator, LineOptions, TimeForm, Verbosity,
    write_annotated_line,
};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, RawReason};
use mitmcraft_protocol::schema::{Catalog, Protocol, State};
use proptest::prelude::*;
use serde_json::json;

use super::{from_jsonl, to_jsonl};
use crate::support::samples::*;

fn stage() -> Stage {
    Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565")
}

/// Returns what the screen shows.
fn printed(entries: &[Entry], options: &LineOptions) -> String {
    let mut out = String::new();
    let mut annotator = LineAnnotator::default().with_entities();
    for entry in entries {
        write_annotated_line(&mut out, entry, &annotator.annotate(entry), options);
    }
    out
}

fn with(verbosity: Verbosity) -> LineOptions {
    LineOptions { verbosity, ..LineOptions::default() }
}

/// A field of each kind.
fn fields() -> Vec<Entry> {
    let mut stage = stage();
    let item = json!({"blockId": 276, "itemCount": 1, "itemDamage": 5, "nbtData": {
        "type": "compound", "name": "", "value": {"Unbreakable": {"type": "byte", "value": 1}}
    }});
    let absent = json!({"blockId": -1});
    stage.packet(
        Clientbound,
        Play,
        "spawn_position",
        json!({"location": {"x": 1, "y": 64, "z": -7}}),
    );
    stage.packet(Clientbound, Play, "set_slot", json!({"windowId": 0, "slot": 36, "item": item}));
    let items = json!({"windowId": 0, "items": [absent, item, absent]});
    stage.packet(Clientbound, Play, "window_items", items);
    stage.packet(
        Clientbound,
        Play,
        "entity_metadata",
        json!({"entityId": 7, "metadata": [
            {"key": 0, "type": 0, "value": 2}, {"key": 6, "type": 3, "value": 20.0}
        ]}),
    );
    stage.packet(
        Serverbound,
        Play,
        "position",
        json!({"x": 1.5, "y": 64.0, "z": -1e300, "onGround": true}),
    );
    stage.packet(Clientbound, Play, "map_chunk", chunk_fields(12_600));
    stage.packet(
        Clientbound,
        Play,
        "chat",
        json!({"message": "\u{1b}]0;x\u{7}\u{202e}\"".repeat(12), "position": 0}),
    );
    stage.entries
}

#[test]
fn a_packet_is_printed_as_the_documented_line() {
    let mut stage = stage();
    let mut fields = chunk_fields(12_600);
    fields["bitMap"] = json!(0xff);
    stage.packet(Clientbound, Play, "map_chunk", fields);
    assert_eq!(
        printed(&stage.entries, &LineOptions::default()),
        "  12:31:04.101 #1 ← play      0x21 map_chunk            x=-9 z=12 groundUp=true \
         bitMap=0x00ff (sections 0-7) chunkData=[12.3 KiB]\n"
    );
}

#[test]
fn a_session_is_printed_line_by_line() {
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    insta::assert_snapshot!("session", printed(&entries, &LineOptions::default()));
}

#[test]
fn fields_are_shortened_on_the_line_and_complete_below_it() {
    insta::assert_snapshot!("fields_main", printed(&fields(), &LineOptions::default()));
    insta::assert_snapshot!("fields_all", printed(&fields()[..6], &with(Verbosity::All)));
}

#[test]
fn a_rules_detail_overrides_the_users_verbosity() {
    for (detail, lines, fields) in [(Detail::Name, 1, false), (Detail::Full, 2, true)] {
        let mut stage = stage();
        stage.body(Serverbound, Play, &[0x01, 2, b'h', b'i']);
        let Some(Entry::Packet(record)) = stage.entries.pop() else { panic!("no packet") };
        let mut notes = Notes::default();
        notes.detail = Some(detail);
        notes.tags = vec!["seen".into()];
        let entry = Entry::Packet(record.noted(notes));
        let shown = printed(&[entry], &LineOptions::default());
        assert_eq!(shown.lines().count(), lines, "{shown}");
        assert_eq!(shown.contains("hi"), fields, "{shown}");
        assert!(shown.contains("// #seen"), "{shown}");
    }
}

#[test]
fn a_rewritten_packet_shows_both_versions_with_more_verbosity() {
    let mut stage = stage();
    stage.rewrite(Serverbound, Play, &[0x01, 2, b'h', b'i'], &[0x01, 2, b'h', b'o']);
    stage.raw(Clientbound, b"GET / HTTP/1.1\r\n", RawReason::NotMinecraft);
    stage.body(Clientbound, Play, &[0x7f, 1, 2]);
    insta::assert_snapshot!("rewritten_main", printed(&stage.entries, &with(Verbosity::Main)));
    insta::assert_snapshot!("rewritten_all", printed(&stage.entries, &with(Verbosity::All)));
    insta::assert_snapshot!("rewritten_hex", printed(&stage.entries, &with(Verbosity::Hex)));
}

#[test]
fn colour_adds_no_information() {
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    for verbosity in [Verbosity::Main, Verbosity::All] {
        let colored = LineOptions { color: true, ..with(verbosity) };
        let mut text = printed(&entries, &colored);
        while let Some(start) = text.find('\x1b') {
            let end = start + text[start..].find('m').unwrap();
            text.replace_range(start..=end, "");
        }
        assert_eq!(text, printed(&entries, &with(verbosity)));
    }
}

#[test]
fn times_are_in_the_users_time_zone() {
    let mut stage = stage();
    stage.open();
    let options = LineOptions { offset: Box::new(|_| 5 * 3600 + 1800), ..LineOptions::default() };
    assert_eq!(
        printed(&stage.entries, &options),
        "  18:01:04.100 #1 opened 127.0.0.1:51234 → play.example.org:25565\n"
    );
}

#[test]
fn times_have_the_form_that_is_asked_for() {
    let mut stage = stage();
    stage.open();
    for id in [1, 2] {
        stage.body(Clientbound, Play, &[0, id]);
    }
    let packet = "#1 ← play      0x00 keep_alive           keepAliveId=";
    for (time, previous, expected) in [
        (TimeForm::Absolute, None, "12:31:04.101 "),
        (TimeForm::Date, None, "2026-11-20 12:31:04.101 "),
        (TimeForm::Relative, None, "   0.001235 "),
        (TimeForm::Delta, None, "   0.000000 "),
        (TimeForm::Delta, Some(stage.entries[0].at()), "   0.001235 "),
        (TimeForm::Delta, Some(stage.entries[2].at()), "   0.000000 "),
    ] {
        let options = LineOptions { time, previous, ..LineOptions::default() };
        assert_eq!(printed(&stage.entries[1..2], &options), format!("  {expected}{packet}1\n"));
    }
    let options = LineOptions { number: true, ..LineOptions::default() };
    let shown = printed(&stage.entries[2..], &options);
    assert_eq!(
        shown,
        "  12:31:04.102 #1 @2     ← play      0x00 keep_alive           keepAliveId=2\n"
    );
}

#[test]
fn a_protocol_is_named_by_its_newest_version_of_the_game_as_in_all_messages() {
    let mut stage = stage();
    for (number, text) in
        [(47, "protocol 47 (1.8.9)"), (765, "protocol 765 (1.20.4)"), (107, "protocol 107 (1.9)")]
    {
        stage.context.protocol = Catalog::embedded().find(number).unwrap().protocol;
        stage.context.version = Some(number);
        stage.state(Play, None, false);
        let shown = printed(&[stage.entries.pop().unwrap()], &LineOptions::default());
        assert!(shown.contains(text), "{shown}");
    }
    // One that a user has added is named as the user did.
    let ids = json!(["mapper", {"type": "varint", "mappings": {"0x00": "hi"}}]);
    let fields = json!(["switch", {"compareTo": "name", "fields": {"hi": "void"}}]);
    let packet =
        json!(["container", [{"name": "name", "type": ids}, {"name": "params", "type": fields}]]);
    let description = json!({"types": {}, "play": {"toClient": {"types": {"packet": packet}}}});
    let own = Protocol::from_json(47, "mine", &description).unwrap();
    stage.context.protocol = own.into();
    stage.context.version = Some(47);
    stage.state(Play, None, false);
    let shown = printed(&[stage.entries.pop().unwrap()], &LineOptions::default());
    assert!(shown.contains("protocol 47 (mine)"), "{shown}");
}

/// Each direction leaves the configuration by a packet of its own, and both were printed as a change;
/// a rotated capture begins with the events of the sessions that are open.
#[test]
fn an_event_says_only_what_earlier_ones_have_not() {
    let mut one = stage();
    one.open();
    one.state(Login, None, false);
    one.state(Login, None, true);
    one.context.player = Some("Notch".into());
    one.state(Login, Some(256), true);
    one.state(Play, Some(256), true);
    one.state(Play, Some(256), true);
    one.open();
    one.state(Play, Some(256), true);
    one.context.version = Some(47);
    one.context.guess = true;
    one.state(Play, Some(256), true);
    one.close("done");
    one.open();
    one.state(Play, Some(256), false);
    // Another run's session of the same number.
    let mut other = stage();
    other.context.opened = other.at.plus(std::time::Duration::from_secs(60));
    other.state(Play, None, false);
    other.state(Play, None, false);
    let mut annotator = LineAnnotator::default();
    let entries = one.entries.iter().chain(&other.entries);
    let news: Vec<_> = entries.map(|entry| annotator.annotate(entry).news).collect();
    let expected = [
        None,
        None,
        Some("encrypted, not compressed"),
        Some("player Notch; encrypted, compressed from 256 B"),
        Some("now in play"),
        Some(""),
        Some(""),
        Some(""),
        Some("protocol 47 (a guess: 1.8.9)"),
        None,
        None,
        None,
        None,
        Some(""),
    ];
    assert_eq!(news.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
}

#[test]
fn text_from_peers_cannot_control_the_terminal() {
    let mut stage = stage();
    let evil = "\u{1b}[2J\u{9b}31m\u{7}\r\n\u{202e}";
    stage.context.player = Some(evil.to_owned());
    stage.context.upstream = evil.to_owned();
    stage.open();
    stage.state(Play, None, false);
    stage.packet(Serverbound, Play, "chat", json!({"message": evil})).comment = Some(evil.into());
    stage.raw(Serverbound, evil.as_bytes(), RawReason::Opaque(evil.to_owned()));
    stage.close(evil);
    for verbosity in [Verbosity::Main, Verbosity::All, Verbosity::Hex] {
        let text = printed(&stage.entries, &with(verbosity));
        let unfit = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
        assert!(!text.contains(unfit), "{text:?}");
    }
    assert_eq!(printed(&stage.entries, &LineOptions::default()).lines().count(), 5);
}

proptest! {
    #[test]
    fn any_packet_is_one_line_of_bounded_length(
        body in proptest::collection::vec(any::<u8>(), 0..200),
        state in 0..5usize,
        clientbound: bool,
    ) {
        let mut stage = stage();
        let direction = if clientbound { Clientbound } else { Serverbound };
        stage.body(direction, State::ALL[state], &body);
        let text = printed(&stage.entries, &LineOptions::default());
        prop_assert_eq!(text.lines().count(), 1);
        prop_assert!(text.chars().count() < 1500, "{}", text);
        printed(&stage.entries, &with(Verbosity::Hex));
    }
}

#[test]
fn compressed_fields_are_shown_inflated() {
    let mut stage = stage();
    stage.context.protocol = Catalog::embedded().alpha(5).protocol;
    let file: toml::Table = include_str!("../../golden/alpha.toml").parse().unwrap();
    for (id, about) in [(0x3b, "a chest (position"), (0x3b, "no payload"), (0x33, "odd volume")] {
        let packets = file["packet"].as_array().unwrap().iter();
        let mut packets = packets.filter(|it| it["id"].as_integer() == Some(id));
        let cases = packets.next().unwrap()["case"].as_array().unwrap();
        let case = cases.iter().find(|it| it["about"].as_str().unwrap().contains(about)).unwrap();
        let digits = case["hex"].as_str().unwrap().replace(' ', "");
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let body: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        stage.content(Clientbound, Play, Content::Frame(Frame::bare(body.into())));
    }
    insta::assert_snapshot!("inside_all", printed(&stage.entries, &with(Verbosity::All)));
    insta::assert_snapshot!("inside_hex", printed(&stage.entries, &with(Verbosity::Hex)));
}

/// A session of 1.21.1 with registries, a bundle and components.
fn later() -> Vec<Entry> {
    let mut stage = stage();
    stage.context.protocol = Catalog::embedded().find(767).unwrap().protocol;
    let mut say = |state: State, name: &str, fields: serde_json::Value| {
        stage.packet(Clientbound, state, name, fields);
    };
    let entries = json!([{"key": "minecraft:in_fire"}, {"key": "minecraft:cactus"}]);
    let id = "minecraft:damage_type";
    say(State::Configuration, "registry_data", json!({"id": id, "entries": entries}));
    say(Play, "bundle_delimiter", json!({}));
    let content = json!({"type": "compound", "value": {
        "text": {"type": "string", "value": "Hi "},
        "extra": {"type": "list", "value": {"type": "string", "value": ["you", "\u{a7}c!"]}}
    }});
    say(Play, "system_chat", json!({"content": content, "isActionBar": false}));
    say(Play, "bundle_delimiter", json!({}));
    let hurt = json!({"entityId": 7, "sourceTypeId": 1, "sourceCauseId": 0, "sourceDirectId": 0});
    say(Play, "damage_event", hurt);
    let other = json!({"type": "compound", "value": {"lvl": {"type": "short", "value": 5}}});
    say(Play, "system_chat", json!({"content": other, "isActionBar": true}));
    stage.entries
}

#[test]
fn a_component_in_nbt_is_shown_as_plain_text() {
    let lines = printed(&later(), &LineOptions::default());
    assert!(lines.contains("content=\"Hi you!\" isActionBar=false"), "{lines}");
    assert!(lines.contains("content=[NBT, 10 B] isActionBar=true"), "{lines}");
}

#[test]
fn a_bundle_is_shown_as_one() {
    let mut memory = LineAnnotator::default();
    let margins: Vec<LineAnnotation> = later().iter().map(|entry| memory.annotate(entry)).collect();
    let brackets: Vec<_> = margins.iter().map(|margin| margin.bracket).collect();
    assert_eq!(brackets, [None, Some('⎡'), Some('⎢'), Some('⎣'), None, None]);
    let mut out = "before\n".to_owned();
    let annotation = LineAnnotation { bracket: Some('⎢'), ..LineAnnotation::default() };
    write_annotated_line(&mut out, &later()[4], &annotation, &with(Verbosity::All));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[1].starts_with("  ⎢12:") && lines[1].ends_with("damage_event"), "{out}");
    assert!(lines[2].starts_with("    entityId"), "{out}");
}

#[test]
fn numbers_have_the_names_that_the_server_has_sent() {
    let (read, errors) = from_jsonl(to_jsonl(&named()).as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    let lines = printed(&read, &LineOptions::default());
    assert!(lines.contains("sourceTypeId=1 (cactus)"), "{lines}");
    assert!(lines.contains("sourceTypeId=2 sourceCauseId"), "{lines}");
    let tree = printed(&read, &with(Verbosity::All));
    assert!(tree.contains("        value: 1 (siamese)\n"), "{tree}");
    // In a registry that was not sent.
    assert!(tree.contains("        value: 1\n"), "{tree}");
    let older = printed(&codec(), &LineOptions::default());
    assert!(older.contains("sourceTypeId=1\n") || older.contains("sourceTypeId=1 "), "{older}");
    let (read, _) = from_jsonl(to_jsonl(&codec()).as_bytes());
    let older = printed(&read, &LineOptions::default());
    assert!(older.contains("sourceTypeId=1 (cactus)"), "{older}");
}

/// A name that a server sent reached the terminal with its control characters.
#[test]
fn the_names_that_a_server_has_sent_are_escaped() {
    let sent = named_as("minecraft:\u{1b}[2J\n\u{202e}");
    let (entries, _) = from_jsonl(to_jsonl(&sent).as_bytes());
    for verbosity in [Verbosity::Main, Verbosity::All] {
        let lines = printed(&entries, &with(verbosity));
        assert!(lines.contains(r" (\u{1b}[2J\n\u{202e})"), "{lines:?}");
        assert!(!lines.contains(['\u{1b}', '\u{202e}']), "{lines:?}");
    }
    let Entry::Packet(hurt) = &entries[2] else { panic!("{:?}", entries[2]) };
    let mut fields = FieldLines::new(&hurt.packet);
    hurt.packet.walk(&mut fields).unwrap();
    let meaning = fields.finish()[1].meaning.clone().unwrap();
    assert_eq!(meaning, r"\u{1b}[2J\n\u{202e}");
}

/// A session whose server numbers damage and cats in its own way.
fn named() -> Vec<Entry> {
    named_as("minecraft:cactus")
}

/// The same with a name for the second kind of damage.
fn named_as(second: &str) -> Vec<Entry> {
    let mut stage = stage();
    stage.context.protocol = Catalog::embedded().find(770).unwrap().protocol;
    for (id, names) in [
        ("minecraft:damage_type", ["minecraft:in_fire", second]),
        ("minecraft:cat_variant", ["minecraft:black", "minecraft:siamese"]),
    ] {
        let entries = names.map(|key| json!({ "key": key }));
        let fields = json!({"id": id, "entries": entries});
        stage.packet(Clientbound, State::Configuration, "registry_data", fields);
    }
    for damage in [1, 2] {
        let hurt =
            json!({"entityId": 7, "sourceTypeId": damage, "sourceCauseId": 0, "sourceDirectId": 0});
        stage.packet(Clientbound, Play, "damage_event", hurt);
    }
    let metadata = json!([{"key": 19, "type": "cat_variant", "value": 1},
        {"key": 20, "type": "frog_variant", "value": 1}]);
    let cat = json!({"entityId": 7, "metadata": metadata});
    stage.packet(Clientbound, Play, "entity_metadata", cat);
    stage.entries
}

/// A session of 1.20.4, where all registries are in one packet.
fn codec() -> Vec<Entry> {
    let mut stage = stage();
    stage.context.protocol = Catalog::embedded().find(765).unwrap().protocol;
    let entry = |id: i32, name: &str| json!({"id": {"type": "int", "value": id}, "name": {"type": "string", "value": name}});
    let entries = [entry(0, "minecraft:in_fire"), entry(1, "minecraft:cactus")];
    let codec = json!({"type": "compound", "value": {"minecraft:damage_type": {"type": "compound",
        "value": {"value": {"type": "list", "value": {"type": "compound", "value": entries}}}}}});
    stage.packet(Clientbound, State::Configuration, "registry_data", json!({"codec": codec}));
    let hurt = json!({"entityId": 7, "sourceTypeId": 1, "sourceCauseId": 0, "sourceDirectId": 0});
    stage.packet(Clientbound, Play, "damage_event", hurt);
    stage.entries
}

/// Light of 1.20.4 was printed as one line per byte: a session of 45 kB gave 2.1 million lines.
#[test]
fn bytes_and_numbers_of_lists_share_lines() {
    let mut stage = stage();
    stage.context.protocol = Catalog::embedded().find(765).unwrap().protocol;
    let light = vec![vec![0x7f; 2048]; 26];
    let fields = json!({
        "chunkX": 1, "chunkZ": 2, "skyLightMask": [7], "blockLightMask": [],
        "emptySkyLightMask": [1], "emptyBlockLightMask": [], "skyLight": light, "blockLight": [[1, 2]],
    });
    stage.packet(Clientbound, Play, "update_light", fields);
    let ids: Vec<i32> = (0..500).collect();
    stage.packet(Clientbound, Play, "entity_destroy", json!({ "entityIds": ids }));
    stage.packet(Clientbound, Play, "entity_destroy", json!({ "entityIds": [1, 2] }));
    let shown = printed(&stage.entries, &with(Verbosity::All));
    assert!(shown.lines().count() < 60, "{shown}");
    assert!(shown.lines().all(|line| line.len() < 150), "{shown}");
    insta::assert_snapshot!("lists_all", shown);
    let hex = printed(&stage.entries[1..2], &with(Verbosity::Hex));
    assert!(hex.contains(" 498 499\n") && hex.contains("    0000  "), "{hex}");
}

#[test]
fn numbers_before_an_error_end_their_line() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &[0x13, 3, 0xac, 0x02, 0xad, 0x02, 0xff]);
    let shown = printed(&stage.entries, &with(Verbosity::All));
    assert!(shown.contains("! entityIds[2]: "), "{shown}");
    assert!(shown.contains("\n        300 301\n    0000  "), "{shown}");
}

/// A session in which entity 7 appears, changes, goes, and its number becomes another's.
fn entities(version: i32, creeper: i32, cow: i32) -> Vec<Entry> {
    let mut stage = stage();
    stage.context.protocol = Catalog::embedded().find(version).unwrap().protocol;
    let spawn = |id: i32, kind: i32| {
        json!({"entityId": id, "objectUUID": "00000000-0000-0000-0000-000000000007", "type": kind,
            "x": 0.0, "y": 64.0, "z": 0.0, "pitch": 0, "yaw": 0, "headPitch": 0, "objectData": 0,
            "velocity": {"x": 0, "y": 0, "z": 0}})
    };
    let metadata = |id: i32| json!({"entityId": id, "metadata": [{"key": 0, "type": "byte", "value": 0}, {"key": 17, "type": "boolean", "value": true}]});
    stage.packet(Clientbound, Play, "entity_metadata", metadata(7));
    stage.packet(Clientbound, Play, "spawn_entity", spawn(7, creeper));
    stage.packet(Clientbound, Play, "spawn_entity", spawn(8, creeper));
    stage.packet(Clientbound, Play, "entity_metadata", metadata(7));
    stage.packet(Clientbound, Play, "entity_destroy", json!({"entityIds": [6, 7]}));
    stage.packet(Clientbound, Play, "entity_metadata", metadata(7));
    stage.packet(Clientbound, Play, "entity_metadata", metadata(8));
    stage.packet(Clientbound, Play, "spawn_entity", spawn(8, cow));
    stage.packet(Clientbound, Play, "entity_metadata", metadata(8));
    stage.close("the client left");
    stage.packet(Clientbound, Play, "entity_metadata", metadata(8));
    stage.entries
}

#[test]
fn keys_of_metadata_are_named_by_the_entity_that_earlier_packets_showed() {
    let entries = entities(765, 20, 19);
    let text = printed(&entries, &with(Verbosity::All));
    let keys: Vec<&str> = text.lines().filter(|line| line.contains("key: 17")).collect();
    let [before, of_7, gone, of_8, cow, closed] = &*keys else { panic!("{text}") };
    for unknown in [before, gone, cow, closed] {
        assert!(unknown.ends_with("key: 17"), "{unknown}");
    }
    for creeper in [of_7, of_8] {
        assert!(creeper.ends_with("key: 17 (is_powered)"), "{creeper}");
    }
    assert_eq!(text.matches("key: 0 (shared_flags)").count(), 6);
}

#[test]
fn a_window_property_is_that_of_the_window_that_is_open() {
    let mut stage = stage();
    let property = json!({"windowId": 7, "property": 2, "value": 100});
    let window = json!({"windowId": 7, "inventoryType": "minecraft:furnace",
        "windowTitle": "\"\"", "slotCount": 3});
    stage.packet(Clientbound, Play, "craft_progress_bar", property.clone());
    stage.packet(Clientbound, Play, "open_window", window);
    stage.packet(Clientbound, Play, "craft_progress_bar", property);
    let shown = printed(&stage.entries, &LineOptions::default());
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].contains("property=2 (progress, bottommost enchantment"), "{shown}");
    assert!(lines[0].ends_with("value=100"), "{shown}");
    assert!(lines[2].ends_with("property=2 (progress) value=100 (5 s)"), "{shown}");
}

#[test]
fn several_changed_blocks_of_alpha_have_their_names() {
    let mut stage = stage();
    stage.context.protocol = Catalog::embedded().alpha(6).protocol;
    let at = json!({"x": 1, "z": 2, "y": 3});
    let fields = json!({"chunkX": 0, "chunkZ": 0, "coordinates": [at, at], "types": [59, 1],
        "metadata": [7, 0]});
    stage.packet(Clientbound, Play, "multi_block_change", fields);
    let shown = printed(&stage.entries, &with(Verbosity::All));
    for line in ["[0]: 59 (wheat)", "[1]: 1 (stone)", "[0]: 7 (stage 8 of 8, ripe)"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn times_arrows_and_names_are_in_columns_whatever_is_marked() {
    let mut entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    entries.extend(later());
    for (verbosity, gutter) in [(Verbosity::Main, 2), (Verbosity::All, 3)] {
        let shown = printed(&entries, &with(verbosity));
        let lines: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
        let packets = lines.iter().filter(|it| it.contains(&'#') && !it.starts_with(&[' '; 4]));
        for line in packets {
            let text: String = line.iter().collect();
            assert!(line[gutter..].starts_with(&['1', '2', ':']), "{text}");
            if matches!(line[gutter + 16], '→' | '←') && line[gutter + 15] == ' ' {
                let id: String = line[gutter + 28..gutter + 30].iter().collect();
                assert!(id == "0x" || id == "--", "{text}");
            }
        }
    }
    for mark in ["~ ", "✗ ", "+ ", "! "] {
        let shown = printed(&entries, &LineOptions::default());
        assert!(shown.lines().any(|line| line.starts_with(mark)), "{mark}: {shown}");
    }
}

#[test]
fn a_narrow_line_keeps_its_remark_and_cuts_its_fields() {
    let mut stage = stage();
    stage.body(Serverbound, Play, &[0x01, 2, b'h', b'i']);
    let Some(Entry::Packet(mut record)) = stage.entries.pop() else { panic!("no packet") };
    record.comment = Some("rule `shout`".into());
    let entry = Entry::Packet(record);
    let options = |width| LineOptions { width, ..LineOptions::default() };
    let whole = printed(std::slice::from_ref(&entry), &options(None));
    assert!(whole.ends_with("message=\"hi\"  // rule `shout`\n"), "{whole}");
    let cut = printed(std::slice::from_ref(&entry), &options(Some(78)));
    assert_eq!(cut.trim_end_matches('\n').chars().count(), 78);
    assert!(cut.ends_with("mess…  // rule `shout`\n"), "{cut}");
    let annotation = LineAnnotation { suffix: "  ×20/s".into(), ..LineAnnotation::default() };
    let mut out = String::new();
    write_annotated_line(&mut out, &entry, &annotation, &options(Some(78)));
    assert!(out.ends_with("…  // rule `shout`  ×20/s\n"), "{out}");
}

#[test]
fn short_lists_of_texts_are_printed_and_numbers_are_short() {
    let mut stage = stage();
    stage.packet(Clientbound, Play, "tab_complete", json!({"matches": ["Steve", "Alex"]}));
    let names: Vec<String> = (0..40).map(|it| format!("player{it}")).collect();
    stage.packet(Clientbound, Play, "tab_complete", json!({"matches": names}));
    let uuid = "b50ad385-829d-3141-a216-7e7d7539ba7f";
    let player = |name: &str| {
        let properties = json!([{"name": "textures", "value": "x"}]);
        json!({"uuid": uuid, "name": name, "properties": properties, "gamemode": 0, "ping": 0})
    };
    let list = |action: &str, data| json!({"action": action, "data": data});
    let players = json!([player("Steve"), player("Alex")]);
    stage.packet(Clientbound, Play, "player_info", list("add_player", players));
    let latency = json!([{"uuid": uuid, "ping": 5}]);
    stage.packet(Clientbound, Play, "player_info", list("update_latency", latency));
    let position = |x: f64, z: f64| json!({"x": x, "y": 64.0, "z": z, "onGround": true});
    stage.packet(Serverbound, Play, "position", position(9.099_999_999_999_998, 0.000_4));
    stage.packet(Serverbound, Play, "position", position(-1.2345, 1e-7));
    stage.packet(Clientbound, Play, "update_time", json!({"age": 0, "time": 1000}));
    let shown = printed(&stage.entries, &LineOptions::default());
    let fields: Vec<&str> = shown.lines().map(|line| line[57..].trim()).collect();
    assert_eq!(
        fields,
        [
            "matches=[\"Steve\" \"Alex\"]",
            "matches=[40 items]",
            "action=add_player data=[\"Steve\" \"Alex\"]",
            "action=update_latency data=[1 item]",
            "x=9.1 y=64.0 z=0.0004 onGround=true",
            "x=-1.234 y=64.0 z=1e-7 onGround=true",
            "age=0 time=1000 (07:00)",
        ]
    );
    let all = printed(&stage.entries, &with(Verbosity::All));
    assert!(all.contains("9.099999999999998"), "{all}");
}
