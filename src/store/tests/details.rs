use super::*;
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::{Diagnostic, Diagnostics};

#[test]
fn fields_have_their_bytes_and_a_decoded_field_is_found_from_every_byte() {
    let store = store();
    let mut maker = Maker::new(1);
    let fields = json!({ "message": "{\"text\":\"hi\",\"color\":\"red\"}", "position": 1 });
    let packet = maker.packet(Direction::Clientbound, "chat", &fields);
    store.push(&Entry::Packet(Record::passed(packet)));
    let details = store.snapshot().details(0).unwrap();
    let lines: Vec<_> = details
        .fields
        .iter()
        .map(|line| (line.depth, &*line.name, &*line.path, &*line.value, line.bytes.clone()))
        .collect();
    let length = details.bytes.len();
    assert_eq!(
        lines,
        [
            (0, "message", "message", r#""{\"text\":\"hi\",\"color\":\"red\"}""#, 1..length - 1),
            (0, "position", "position", "1", length - 1..length),
        ]
    );
    let component = details.fields[0].component.as_ref().unwrap();
    assert_eq!(component.plain(), "hi");
    assert_eq!(details.error, None);
}

#[test]
fn lists_containers_and_nbt_are_indented_and_numbers_share_lines() {
    let store = store();
    let mut maker = Maker::new(1);
    let ids: Vec<i32> = (100..120).collect();
    let packet = maker.packet(Direction::Clientbound, "entity_destroy", &json!({"entityIds": ids}));
    store.push(&Entry::Packet(Record::passed(packet)));
    let item = json!({ "blockId": 276, "itemCount": 1, "itemDamage": 0, "nbtData": {
        "type": "compound", "name": "", "value": { "Unbreakable": { "type": "byte", "value": 1 } } } });
    let packet = maker.packet(
        Direction::Clientbound,
        "window_items",
        &json!({ "windowId": 0, "items": [{ "blockId": -1 }, item] }),
    );
    store.push(&Entry::Packet(Record::passed(packet)));
    let snapshot = store.snapshot();
    let lines = |number| -> Vec<String> {
        let fields = snapshot.details(number).unwrap().fields;
        let text = |line: &mitmcraft_engine::text::FieldLine| {
            let indent = "  ".repeat(line.depth);
            format!("{indent}{}: {} {:?} {}", line.name, line.value, line.bytes, line.path)
        };
        fields.iter().map(text).collect()
    };
    assert_eq!(
        lines(0),
        [
            "entityIds: 20 items 1..22 entityIds",
            "  [0..15]: 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 2..18 entityIds[0]",
            "  [16..19]: 116 117 118 119 18..22 entityIds[16]",
        ]
    );
    insta::assert_snapshot!(lines(1).join("\n"));
}

#[test]
fn a_packet_that_does_not_decode_has_its_first_fields_the_reason_and_the_place() {
    let store = store();
    let mut maker = Maker::new(1);
    let packet =
        maker.packet(Direction::Clientbound, "update_time", &json!({ "age": 1, "time": 2 }));
    let body = packet.body().unwrap();
    let cut = Content::Frame(Frame::from_body(body.slice(..12)));
    store.push(&Entry::Packet(Record::passed(maker.content(Direction::Clientbound, cut))));
    let details = store.snapshot().details(0).unwrap();
    let (reason, at) = details.error.unwrap();
    assert!(reason.contains("time"), "{reason}");
    assert_eq!(at, 9);
    assert_eq!(details.fields[0].path, "age");
    assert_eq!(details.fields[0].bytes, 1..9);
    assert_eq!(details.bytes.len(), 12);
}

#[test]
fn what_a_packet_shows_beside_its_bytes_is_kept() {
    let store = store();
    let mut maker = Maker::new(1);
    let late = Diagnostics::from_iter([Diagnostic::KeepAliveLate]);
    let fields = json!({ "keepAliveId": 7 });
    let mut packet = maker.packet(Direction::Serverbound, "keep_alive", &fields);
    packet.note(late);
    store.push(&Entry::Packet(Record::passed(packet)));
    store.push(&maker.chat(&"x".repeat(101)));
    store.push(&maker.chat("x"));
    let found = |row| diagnose(&store.snapshot().details(row).unwrap().record.packet);
    assert_eq!(found(0), late);
    assert_eq!(found(1), Diagnostics::from_iter([Diagnostic::ChatTooLong]));
    assert_eq!(found(2), Diagnostics::NONE);
}

#[test]
fn fields_say_what_their_values_mean_and_chunks_what_is_in_them() {
    let store = store();
    let mut maker = Maker::new(1);
    let fields = json!({ "entityId": 7, "entityStatus": 3 });
    let packet = maker.packet(Direction::Clientbound, "entity_status", &fields);
    store.push(&Entry::Packet(Record::passed(packet)));
    let fields = json!({ "x": 0, "z": 0, "groundUp": true, "bitMap": 0, "chunkData": "" });
    let packet = maker.packet(Direction::Clientbound, "map_chunk", &fields);
    store.push(&Entry::Packet(Record::passed(packet)));
    let details = store.snapshot().details(0).unwrap();
    assert_eq!(details.fields[1].meaning.as_deref(), Some("dead"));
    let details = store.snapshot().details(1).unwrap();
    assert_eq!(details.fields.last().unwrap().value, "contents: chunk 0,0, unloaded");
}

#[test]
fn keys_of_metadata_are_named_by_the_entity_that_an_earlier_row_showed() {
    let store = store();
    let put = |maker: &mut Maker, name: &str, fields: Json| {
        let packet = maker.packet(Direction::Clientbound, name, &fields);
        store.push(&Entry::Packet(Record::passed(packet)));
    };
    let creeper = json!({"entityId": 7, "type": 50, "x": 0, "y": 0, "z": 0, "yaw": 0, "pitch": 0,
        "headPitch": 0, "velocity": {"x": 0, "y": 0, "z": 0}, "metadata": []});
    let powered = json!({"entityId": 7, "metadata": [{"key": 17, "type": 0, "value": 1}]});
    let (mut here, mut elsewhere) = (Maker::new(1), Maker::new(2));
    put(&mut here, "entity_metadata", powered.clone());
    put(&mut here, "spawn_entity_living", creeper);
    put(&mut here, "entity_metadata", powered.clone());
    put(&mut elsewhere, "entity_metadata", powered);
    let furnace = json!({"windowId": 3, "inventoryType": "minecraft:furnace",
        "windowTitle": "\"\"", "slotCount": 3});
    put(&mut here, "open_window", furnace);
    let progress = json!({"windowId": 3, "property": 2, "value": 100});
    put(&mut here, "craft_progress_bar", progress);
    let snapshot = store.snapshot();
    let key = |row| {
        let fields = snapshot.details(row).unwrap().fields;
        fields.into_iter().find(|line| line.name == "key").unwrap().meaning
    };
    assert_eq!(key(0), None);
    assert_eq!(key(2).as_deref(), Some("is_powered"));
    assert_eq!(key(3), None);
    let fields = snapshot.details(5).unwrap().fields;
    let meanings: Vec<Option<&str>> = fields.iter().map(|it| it.meaning.as_deref()).collect();
    assert_eq!(meanings, [None, Some("progress"), Some("5 s")]);
}

#[test]
fn payloads_are_fields_and_an_error_says_what_the_packet_reads_as() {
    let (store, mut maker) = (store(), Maker::new(1));
    let brand = json!({ "channel": "MC|Brand", "data": "B3ZhbmlsbGE=" });
    let brand = maker.packet(Direction::Clientbound, "custom_payload", &brand);
    // Chat of 1.8, compressed, in a stream that is not.
    let text = br#"{"text":"hello"}"#;
    let chat = [&[0, 2, text.len() as u8][..], text, &[0]].concat();
    let chat = Content::Frame(Frame::from_body(chat.into()));
    let chat = maker.content(Direction::Clientbound, chat);
    for packet in [brand, chat] {
        store.push(&Entry::Packet(Record::passed(packet)));
    }
    let snapshot = store.snapshot();
    let fields = snapshot.details(0).unwrap().fields;
    let brand = fields.iter().find(|line| line.path == "payload.brand").unwrap();
    assert_eq!(brand.value, "\"vanilla\"");
    let body = snapshot.details(0).unwrap().bytes;
    assert_eq!(&body[brand.bytes.clone()], b"\x07vanilla");
    let (error, _) = snapshot.details(1).unwrap().error.unwrap();
    assert!(
        error.ends_with("; it reads as `chat` compressed, though no Set Compression came"),
        "{error}"
    );
}
