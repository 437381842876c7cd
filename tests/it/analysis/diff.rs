use mitmcraft_engine::analysis::{Change, DiffSide, Differ, Difference, Ignore, LegDiffer};
use mitmcraft_engine::capture::{Entry, Outcome};
use mitmcraft_engine::text::LineOptions;
use mitmcraft_protocol::packet::{Origin, RawReason};
use serde_json::json;

use crate::support::samples::*;

fn stage() -> Stage {
    Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565")
}

fn diff(a: &[Entry], b: &[Entry], ignore: Ignore) -> (Vec<Difference>, u64) {
    let mut differ = Differ::new(ignore);
    let mut found = Vec::new();
    for place in 0..a.len().max(b.len()) {
        for (side, entries) in [(DiffSide::A, a), (DiffSide::B, b)] {
            entries.get(place).into_iter().for_each(|entry| differ.push(side, entry));
        }
        found.extend(std::iter::from_fn(|| differ.poll()));
    }
    differ.finish();
    found.extend(std::iter::from_fn(|| differ.poll()));
    (found, differ.equal.same)
}

/// Formats differences as `-3`, `+4` and `~5/6 path path`: packet numbers and differing fields.
fn summary(found: &[Difference]) -> Vec<String> {
    let one = |difference: &Difference| match difference {
        Difference::Removed(record) => format!("-{}", record.packet.seq()),
        Difference::Added(record) => format!("+{}", record.packet.seq()),
        Difference::Changed(a, b, changes) => {
            let paths: Vec<&str> = changes.iter().map(|change| &*change.path).collect();
            format!("~{}/{} {}", a.packet.seq(), b.packet.seq(), paths.join(" "))
        }
    };
    found.iter().map(one).collect()
}

/// Chat messages of the client with these texts.
fn chats(texts: &[&str]) -> Vec<Entry> {
    let mut stage = stage();
    for text in texts {
        stage.packet(Serverbound, Play, "chat", json!({ "message": text }));
    }
    stage.entries
}

#[test]
fn finds_removed_added_and_changed_packets() {
    let a = chats(&["a", "b", "c", "d", "e"]);
    let b = chats(&["a", "c", "x", "e", "f"]);
    let (found, same) = diff(&a, &b, Ignore::default());
    assert_eq!(summary(&found), ["-2", "~4/3 message", "+5"]);
    assert_eq!(same, 3);
    let Difference::Changed(_, _, changes) = &found[1] else { panic!() };
    let change = Change {
        path: "message".into(),
        a: Some("d".into()),
        b: Some("x".into()),
        meanings: [None, None],
    };
    assert_eq!(changes[..], [change]);
}

#[test]
fn what_the_values_mean_stands_behind_them() {
    let changed = |block: i64, data: i64| {
        let mut stage = stage();
        let at = json!({"x": 1, "y": 2, "z": 3});
        let fields = json!({"location": at, "type": block << 4});
        stage.packet(Clientbound, Play, "block_change", fields);
        let fields = json!({"effectId": 2001, "location": at, "data": data, "global": false});
        stage.packet(Clientbound, Play, "world_event", fields);
        stage.entries
    };
    let (found, _) = diff(&changed(1, 1), &changed(3, 3), Ignore::nothing());
    let mut out = String::new();
    found.iter().for_each(|difference| difference.write(&mut out, &LineOptions::default()));
    assert!(out.contains("type: 16 (stone) -> 48 (dirt)\n"), "{out}");
    // By the value of another field.
    assert!(out.contains("data: 1 (stone) -> 3 (dirt)\n"), "{out}");
}

#[test]
fn a_capture_equals_itself_and_its_other_formats() {
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    let (found, same) = diff(&entries, &entries, Ignore::nothing());
    let went = |entry: &&Entry| matches!(entry, Entry::Packet(record) if record.outcome.went());
    let count = entries.iter().filter(went).count() as u64;
    assert_eq!((summary(&found), same), (Vec::new(), count));
    let one = repository_capture("session-1.8.jsonl");
    assert_eq!(diff(&one, &one, Ignore::nothing()).1, 463);
}

#[test]
fn two_runs_of_one_scenario_differ_only_in_their_configuration() {
    let (a, b) = (
        repository_capture("session-1.8.jsonl"),
        repository_capture("session-1.8-encrypted.pcapng"),
    );
    let (found, _) = diff(&a, &b, Ignore::default());
    let mut text = String::new();
    found.iter().for_each(|difference| difference.write(&mut text, &LineOptions::default()));
    insta::assert_snapshot!("two_runs", text);
}

#[test]
fn directions_may_interleave_differently() {
    let build = |order: &[bool]| {
        let (mut stage, mut serverbound, mut clientbound) = (stage(), 0, 0);
        for is_serverbound in order {
            let count = if *is_serverbound { &mut serverbound } else { &mut clientbound };
            *count += 1;
            let fields = json!({ "message": format!("{count}"), "position": 0 });
            if *is_serverbound {
                stage.packet(Serverbound, Play, "chat", json!({ "message": format!("{count}") }))
            } else {
                stage.packet(Clientbound, Play, "chat", fields)
            };
        }
        stage.entries
    };
    let a = build(&[true, false, true, false, true, false]);
    let b = build(&[false, false, false, true, true, true]);
    assert_eq!(summary(&diff(&a, &b, Ignore::nothing()).0), Vec::<String>::new());
}

#[test]
fn entity_ids_may_differ_if_they_correspond_consistently() {
    let build = |ids: &[i32]| {
        let mut stage = stage();
        for (place, id) in ids.iter().enumerate() {
            let look = json!({ "entityId": id, "headYaw": place });
            stage.packet(Clientbound, Play, "entity_head_rotation", look);
        }
        stage.packet(Clientbound, Play, "entity_destroy", json!({ "entityIds": ids }));
        stage.entries
    };
    let a = build(&[1, 2, 1]);
    assert_eq!(summary(&diff(&a, &build(&[7, 5, 7]), Ignore::default()).0), Vec::<String>::new());
    let (found, _) = diff(&a, &build(&[7, 5, 5]), Ignore::default());
    assert_eq!(summary(&found), ["~3/3 entityId", "~4/4 entityIds[2]"]);
    assert_eq!(diff(&a, &build(&[7, 5, 7]), Ignore::nothing()).0.len(), 4);
}

#[test]
fn values_that_differ_between_runs_are_ignored_by_default() {
    let build = |number: i32| {
        let mut stage = stage();
        let time = json!({ "age": number, "time": number });
        stage.packet(Clientbound, Play, "update_time", time);
        stage.packet(Clientbound, Play, "keep_alive", json!({ "keepAliveId": number }));
        let transaction = json!({ "windowId": 0, "action": number, "accepted": true });
        stage.packet(Clientbound, Play, "transaction", transaction);
        if number == 2 {
            stage.packet(Clientbound, Play, "keep_alive", json!({ "keepAliveId": 3 }));
        }
        stage.entries
    };
    let (a, b) = (build(1), build(2));
    assert_eq!(summary(&diff(&a, &b, Ignore::default()).0), Vec::<String>::new());
    let (found, _) = diff(&a, &b, Ignore::nothing());
    assert_eq!(summary(&found), ["~1/1 age time", "~2/2 keepAliveId", "~3/3 action", "+4"]);
    let mut ignore = Ignore::nothing();
    for rule in ["update_time.*", "keep_*", "*.action"] {
        ignore.add(rule).unwrap();
    }
    assert_eq!(summary(&diff(&a, &b, ignore).0), Vec::<String>::new());
}

#[test]
fn fields_are_compared_inside_lists_and_nbt() {
    let item = |count: i32, name: &str| {
        let name = json!({ "type": "string", "value": name });
        let display = json!({ "type": "compound", "value": { "Name": name } });
        let nbt = json!({ "type": "compound", "name": "", "value": { "display": display } });
        json!({ "blockId": 1, "itemCount": count, "itemDamage": 0, "nbtData": nbt })
    };
    let build = |items: serde_json::Value| {
        let mut stage = stage();
        let fields = json!({ "windowId": 0, "items": items });
        stage.packet(Clientbound, Play, "window_items", fields);
        stage.entries
    };
    let a = build(json!([item(1, "a"), item(2, "b")]));
    let b = build(json!([item(1, "a"), item(3, "c"), { "blockId": -1 }]));
    let (found, _) = diff(&a, &b, Ignore::nothing());
    let expected = "~1/1 items[1].itemCount items[1].nbtData.display.Name items[2]";
    assert_eq!(summary(&found), [expected]);
}

#[test]
fn packets_with_equal_values_and_other_bytes_are_counted_or_found() {
    let session = |text: &[u8]| {
        let mut stage = stage();
        stage.open();
        stage.body(Serverbound, Play, text);
        stage.close("over");
        stage.entries
    };
    // The length 2 in one byte, and in two.
    let (short, long) = (session(b"\x01\x02hi"), session(b"\x01\x82\x00hi"));
    let differ = |bytes| {
        let mut differ = Differ::new(Ignore::default());
        differ.equal.bytes = bytes;
        short.iter().for_each(|entry| differ.push(DiffSide::A, entry));
        long.iter().for_each(|entry| differ.push(DiffSide::B, entry));
        differ.finish();
        let found: Vec<_> = std::iter::from_fn(|| differ.poll()).collect();
        (differ.equal.same, differ.equal.recoded, found)
    };
    let (same, recoded, found) = differ(false);
    assert_eq!((same, recoded, found.len()), (1, 1, 0));
    let (same, recoded, found) = differ(true);
    assert_eq!((same, recoded, found.len()), (0, 0, 1));
    let json = found[0].json();
    assert_eq!(json["changes"][0]["path"], "(bytes)");
    assert_eq!(
        (&json["changes"][0]["a"], &json["changes"][0]["b"]),
        (&"AQJoaQ==".into(), &"AYIAaGk=".into())
    );
}

#[test]
fn undecodable_packets_are_compared_as_bytes() {
    let build = |bytes: &[u8]| {
        let mut stage = stage();
        stage.body(Clientbound, Play, &[0x7f, 1, 2]);
        stage.body(Clientbound, Play, bytes);
        stage.raw(Serverbound, bytes, RawReason::NotMinecraft);
        stage.entries
    };
    let (found, same) = diff(&build(&[0x7f, 1]), &build(&[0x7f, 3]), Ignore::default());
    assert_eq!((summary(&found), same), (vec!["~2/2 (bytes)".into(), "~3/3 (bytes)".into()], 1));
}

#[test]
fn long_captures_are_aligned_in_a_window() {
    let texts: Vec<String> = (0..30_000).map(|place| format!("message {place}")).collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let a = chats(&texts);
    // 1,000 are missing, 1,000 occur again later, one differs, and one is new.
    let mut other = texts.clone();
    other.insert(25_000, "new");
    other[20_000] = "other";
    other.splice(12_000..12_000, texts[5_000..6_000].iter().copied());
    other.drain(3_000..4_000);
    let (found, same) = diff(&a, &chats(&other), Ignore::default());
    let count = |sign| summary(&found).iter().filter(|it| it.starts_with(sign)).count();
    assert_eq!((count('-'), count('+'), count('~'), same), (1000, 1001, 1, 28_999));
}

#[test]
fn missing_packets_are_found_among_frequent_equal_ones() {
    let mut state = 1u32;
    let words: Vec<String> = (0..20_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{}", state >> 28)
        })
        .collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let mut other = words.clone();
    other.drain(4_000..7_000);
    let (found, same) = diff(&chats(&words), &chats(&other), Ignore::default());
    let removed = found.iter().filter(|it| matches!(it, Difference::Removed(_))).count();
    assert_eq!((found.len(), removed, same), (3_000, 3_000, 17_000));
}

#[test]
fn comparing_captures_with_nothing_in_common_terminates() {
    let texts = |word: &str| (0..10_000).map(|place| format!("{word} {place}")).collect::<Vec<_>>();
    let (a, b) = (texts("this"), texts("that"));
    let slices = |texts: &[String]| chats(&texts.iter().map(|it| &**it).collect::<Vec<_>>());
    let (found, same) = diff(&slices(&a), &slices(&b), Ignore::default());
    assert_eq!((found.len(), same), (10_000, 0));
    let (found, _) = diff(&slices(&a), &[], Ignore::default());
    assert_eq!(found.len(), 10_000);
}

#[test]
fn sessions_are_compared_in_the_order_in_which_they_begin() {
    let session = |id: u64, text: &str| {
        let mut stage = Stage::new(id, "127.0.0.1:51234", "192.0.2.7:25565");
        stage.open();
        stage.packet(Serverbound, Play, "chat", json!({ "message": text }));
        stage.close("over");
        stage.entries
    };
    let a = [session(3, "one"), session(4, "two")].concat();
    let b = [session(1, "one"), session(2, "three")].concat();
    let (found, same) = diff(&a, &b, Ignore::default());
    assert_eq!((summary(&found), same), (vec!["~1/1 message".into()], 1));
    let mut differ = Differ::new(Ignore::default());
    differ.sessions = Some((4, 1));
    a.iter().for_each(|entry| differ.push(DiffSide::A, entry));
    b.iter().for_each(|entry| differ.push(DiffSide::B, entry));
    differ.finish();
    assert_eq!((differ.seen(DiffSide::A), differ.seen(DiffSide::B)), (1, 1));
    let Some(Difference::Changed(a, ..)) = differ.poll() else { panic!() };
    assert_eq!(a.packet.context().session, 4);
}

#[test]
fn the_legs_of_a_capture_differ_by_the_proxys_changes() {
    let mut stage = stage();
    stage.packet(Serverbound, Play, "chat", json!({ "message": "same" }));
    stage.packet(Serverbound, Play, "chat", json!({ "message": "no" })).outcome = Outcome::Drop;
    let chat = |text: &str| encode(Serverbound, Play, "chat", &json!({ "message": text }));
    stage.rewrite(Serverbound, Play, &chat("shout"), &chat("SHOUT"));
    stage.rewrite(Serverbound, Play, &chat("shout"), &[0x00, 5]);
    let made = stage.packet(Serverbound, Play, "chat", json!({ "message": "made" }));
    made.outcome = Outcome::Send;
    made.packet.set_origin(Origin::Proxy);
    stage.body(Serverbound, Play, &chat("lost")).outcome = Outcome::Rewrite;
    let mut differ = LegDiffer::new(Ignore::nothing());
    stage.entries.iter().for_each(|entry| differ.push(entry));
    differ.finish();
    let found: Vec<_> = std::iter::from_fn(|| differ.poll()).collect();
    let expected = ["-2", "~3/4 message", "~5/6 (packet) message keepAliveId", "+7", "-8"];
    assert_eq!((summary(&found), differ.equal.same), (expected.map(str::to_owned).to_vec(), 1));
}

#[test]
fn differences_are_written_as_lines_and_json() {
    let mut a = chats(&["gone", "hello world"]);
    let mut b = chats(&["hello there"]);
    let mut stage = stage();
    stage.content(
        Clientbound,
        Play,
        mitmcraft_protocol::packet::Content::Frame(mitmcraft_protocol::codec::Frame::from_body(
            chunk(300).into(),
        )),
    );
    a.extend(stage.entries.clone());
    let mut fields = chunk_fields(300);
    fields["x"] = json!(-8);
    fields["chunkData"] = json!("AAAA");
    stage.entries.clear();
    stage.packet(Clientbound, Play, "map_chunk", fields);
    b.extend(stage.entries);
    let (found, _) = diff(&a, &b, Ignore::default());
    let mut text = String::new();
    for difference in &found {
        difference.write(&mut text, &LineOptions::default());
        text.push_str(&format!("{}\n", difference.json()));
    }
    let color = LineOptions { color: true, ..LineOptions::default() };
    found.iter().for_each(|difference| difference.write(&mut text, &color));
    insta::assert_snapshot!("lines", text.replace('\x1b', "ESC"));
}
