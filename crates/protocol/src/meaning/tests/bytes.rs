//! Meanings of packets written byte by byte.

use std::sync::Arc;

use super::super::{About, SessionMemory, meanings};
use crate::codec::Frame;
use crate::packet::{Content, Context, Packet, Timestamp};
use crate::schema::{Catalog, Direction, Protocol, State};
use Direction::{Clientbound, Serverbound};

/// Makes a packet of its id and the bytes of its fields, in hex with spaces.
fn packet(
    protocol: &Arc<Protocol>,
    state: State,
    direction: Direction,
    name: &str,
    fields: &str,
) -> Packet {
    let kind = protocol.named(state, direction, name);
    let kind = kind.unwrap_or_else(|| panic!("{} has no {name}", protocol.name()));
    let digits: Vec<u8> = fields.bytes().filter(|byte| *byte != b' ').collect();
    let mut body = vec![u8::try_from(kind.id()).unwrap()];
    body.extend(
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()),
    );
    if body[0] >= 0x80 {
        body.insert(1, 1);
    }
    let client = "127.0.0.1:50000".parse().unwrap();
    let context = Context::new(1, Timestamp(0), client, Arc::clone(protocol));
    let content = Content::Frame(Frame::from_body(body.into()));
    let packet = Packet::new(context.into(), 1, Timestamp(0), direction, state, content);
    assert_eq!(packet.error(), None, "{name} {fields}");
    packet
}

/// Returns the meaning of a field; an empty text if it has none.
fn meaning(packet: &Packet, about: Option<About>, path: &str) -> String {
    let all = meanings(packet, about);
    all.into_iter().find(|(it, _)| it == path).map(|(_, text)| text).unwrap_or_default()
}

fn java(version: i32) -> Arc<Protocol> {
    Catalog::embedded().find(version).unwrap().protocol
}

/// Checks fields of packets of play: version, direction, packet, bytes, path, meaning.
fn check(cases: &[(i32, Direction, &str, &str, &str, &str)]) {
    for (version, direction, name, fields, path, expected) in cases {
        let packet = packet(&java(*version), State::Play, *direction, name, fields);
        let found = meaning(&packet, None, path);
        assert_eq!(found, *expected, "{version} {name} {fields}: {path}");
    }
}

#[test]
fn clicks_outside_a_window_and_all_number_keys() {
    let click = |slot: &str, button: &str, mode: &str| format!("00{slot}{button}0001{mode}ffff");
    let cases: Vec<(String, &str)> = vec![
        (click("fc19", "00", "04"), "left click outside the window, holding nothing"),
        (click("fc19", "01", "04"), "right click outside the window, holding nothing"),
        (click("0005", "00", "04"), "drop item"),
        (click("0005", "01", "04"), "drop stack"),
        (click("fc19", "00", "00"), "left click"),
        (click("0005", "06", "02"), "number key 7"),
        (click("0005", "07", "02"), "number key 8"),
        (click("0005", "08", "02"), "number key 9"),
        (click("fc19", "08", "05"), "start middle drag"),
        (click("0005", "09", "05"), "add slot to middle drag"),
        (click("fc19", "0a", "05"), "end middle drag"),
        (click("0005", "28", "02"), "number key"),
    ];
    for (fields, expected) in &cases {
        check(&[(47, Serverbound, "window_click", fields, "mode", expected)]);
    }
    // The key that swaps hands, since 1.16.
    check(&[(
        754,
        Serverbound,
        "window_click",
        "01 0005 28 0001 02 00",
        "mode",
        "swap with the off hand",
    )]);
}

#[test]
fn window_properties_depend_on_the_window_that_is_open() {
    // The title is `""` in JSON; the number of a furnace in 1.16.5 is 13, that of a stonecutter 23.
    let text = |kind: &str| {
        let hex = |text: &str| -> String {
            let bytes = text.bytes().map(|byte| format!("{byte:02x}"));
            format!("{:02x}{}", text.len(), bytes.collect::<String>())
        };
        format!("07 {} {} 03", hex(kind), hex("\"\""))
    };
    let old = |number: &str| format!("07 {number} 00 00 01");
    let new = |number: &str| format!("07 {number} 02 2222");
    let property = |number: &str, value: &str| format!("07 {number} {value}");
    for (version, open, number, value, name, expected) in [
        (5, old("02"), "0000", "00c8", "progress", "10 s"),
        (5, old("02"), "0001", "0640", "fuel left", "80 s"),
        (47, text("minecraft:furnace"), "0000", "0640", "fuel left", "80 s"),
        (47, text("minecraft:furnace"), "0001", "0640", "fuel of the item", "80 s"),
        (47, text("minecraft:furnace"), "0002", "0064", "progress", "5 s"),
        (47, text("minecraft:furnace"), "0003", "00c8", "end of the progress", "10 s"),
        (47, text("minecraft:brewing_stand"), "0000", "0190", "time left", "20 s"),
        (47, text("minecraft:enchanting_table"), "0001", "000c", "level of the middle", ""),
        (47, text("minecraft:enchanting_table"), "0003", "1234", "seed", ""),
        (
            47,
            text("minecraft:enchanting_table"),
            "0004",
            "0310",
            "enchantment of the topmost",
            "sharpness, level 3",
        ),
        (
            47,
            text("minecraft:enchanting_table"),
            "0005",
            "ffff",
            "enchantment of the middle",
            "none",
        ),
        (47, text("minecraft:beacon"), "0000", "0003", "levels of the pyramid", "3/4"),
        (47, text("minecraft:beacon"), "0001", "0001", "first effect", "speed"),
        (47, text("minecraft:beacon"), "0002", "0000", "second effect", "none"),
        (47, text("minecraft:anvil"), "0000", "0007", "cost in levels", ""),
        (340, text("minecraft:brewing_stand"), "0001", "0014", "fuel left", "20/20"),
        (
            340,
            text("minecraft:enchanting_table"),
            "0004",
            "0010",
            "enchantment of the topmost",
            "sharpness",
        ),
        (754, new("0d"), "0002", "0064", "progress", "5 s"),
        (754, new("09"), "0003", "0064", "end of the progress", "5 s"),
        (754, new("0c"), "0006", "000b", "enchantment of the bottommost", "soul_speed"),
        (754, new("10"), "0000", "0002", "page", ""),
        (754, new("17"), "0000", "0002", "selected recipe", ""),
        (754, new("11"), "0000", "0002", "selected pattern", ""),
    ] {
        let protocol = java(version);
        let of =
            |name: &str, fields: &str| packet(&protocol, State::Play, Clientbound, name, fields);
        let mut memory = SessionMemory::of_windows();
        let asked = of("craft_progress_bar", &property(number, value));
        // Before a window is opened, the property may be that of any.
        assert_eq!(memory.take(&asked), None);
        assert_eq!(memory.take(&of("open_window", &open)), None);
        let about = memory.take(&asked);
        assert!(about.is_some(), "{version} {open}");
        assert_eq!(meaning(&asked, about, "property"), name, "{version} {open}");
        assert_eq!(meaning(&asked, about, "value"), expected, "{version} {open}");
        // Another window, and another session.
        let other = of("craft_progress_bar", &format!("08 {number} {value}"));
        assert_eq!(memory.take(&other), None);
        memory.forget(1);
        assert_eq!(memory.take(&asked), None);
    }
    let mut memory = SessionMemory::default();
    let protocol = java(47);
    let chest =
        packet(&protocol, State::Play, Clientbound, "open_window", &text("minecraft:chest"));
    let asked = packet(&protocol, State::Play, Clientbound, "craft_progress_bar", "07 0000 0000");
    memory.take(&packet(
        &protocol,
        State::Play,
        Clientbound,
        "open_window",
        &text("minecraft:anvil"),
    ));
    assert_eq!(memory.take(&asked), Some(About::Window("anvil")));
    memory.take(&chest);
    assert_eq!(memory.take(&asked), None, "a chest has no properties");
    check(&[
        (
            5,
            Clientbound,
            "craft_progress_bar",
            "07 0000 0000",
            "property",
            "progress, time left, topmost enchantment, levels or cost",
        ),
        (
            47,
            Clientbound,
            "craft_progress_bar",
            "07 0000 0000",
            "property",
            "fuel left, time left, topmost enchantment, levels or cost",
        ),
    ]);
}

#[test]
fn what_the_document_of_1_8_says_of_its_numbers() {
    let harp = "0000000000000000";
    check(&[
        // Potions: level, duration and form are bits.
        (
            47,
            Clientbound,
            "world_event",
            "000007d2 0000000000000000 00004001 00",
            "data",
            "regeneration, splash",
        ),
        (
            47,
            Clientbound,
            "world_event",
            "000007d2 0000000000000000 00004062 00",
            "data",
            "speed, II, extended, splash",
        ),
        (
            47,
            Clientbound,
            "world_event",
            "000007d2 0000000000000000 00000010 00",
            "data",
            "awkward",
        ),
        (47, Clientbound, "world_event", "000007d2 0000000000000000 00000000 00", "data", "water"),
        (
            47,
            Clientbound,
            "set_slot",
            "00 0024 0175 01 2022 00",
            "item.itemDamage",
            "speed, II, drinkable",
        ),
        (47, Clientbound, "set_slot", "00 0024 0114 01 2022 00", "item.itemDamage", ""),
        // The bytes of a block action come before the block.
        (47, Clientbound, "block_action", &format!("{harp} 04 0c 19"), "byte1", "bass"),
        (47, Clientbound, "block_action", &format!("{harp} 04 0c 19"), "byte2", "12 semitones"),
        (47, Clientbound, "block_action", &format!("{harp} 01 04 1d"), "byte1", "retract"),
        (47, Clientbound, "block_action", &format!("{harp} 00 04 21"), "byte1", "extend"),
        (47, Clientbound, "block_action", &format!("{harp} 00 04 21"), "byte2", "west"),
        (
            47,
            Clientbound,
            "block_action",
            &format!("{harp} 01 02 36"),
            "byte1",
            "players who look inside",
        ),
        (47, Clientbound, "block_action", &format!("{harp} 01 02 36"), "byte2", "2 players"),
        (47, Clientbound, "block_action", &format!("{harp} 01 01 8201"), "byte2", "1 player"),
        (47, Clientbound, "block_action", &format!("{harp} 01 00 34"), "byte1", "delay set back"),
        (
            47,
            Clientbound,
            "block_action",
            &format!("{harp} 01 00 8a01"),
            "byte1",
            "beam recalculated",
        ),
        (47, Clientbound, "block_action", &format!("{harp} 01 00 01"), "byte1", ""),
        // Items and blocks of particles.
        (47, Clientbound, "world_particles", &particle("24", "8802 03"), "data[0]", "diamond"),
        (47, Clientbound, "world_particles", &particle("24", "8802 03"), "data[1]", ""),
        (47, Clientbound, "world_particles", &particle("25", "8120"), "data[0]", "stone, data 1"),
        // Health, food and saturation.
        (47, Clientbound, "update_health", "bf800000 12 40a00000", "health", "dead"),
        (47, Clientbound, "update_health", "00000000 12 40a00000", "health", "dead"),
        (47, Clientbound, "update_health", "41a00000 12 40a00000", "health", "full"),
        (47, Clientbound, "update_health", "41200000 12 40a00000", "health", ""),
        (47, Clientbound, "update_health", "41200000 12 40a00000", "food", "18/20"),
        (47, Clientbound, "update_health", "41200000 12 40a00000", "foodSaturation", "5/20"),
        // Jumps of horses, steering, enchanting, view distance.
        (47, Serverbound, "entity_action", "07 05 28", "jumpBoost", "40 %"),
        (47, Serverbound, "entity_action", "07 00 00", "jumpBoost", ""),
        (5, Serverbound, "entity_action", "00000007 06 00000064", "jumpBoost", "100 %"),
        (47, Serverbound, "steer_vehicle", "3f800000 bf800000 00", "sideways", "left"),
        (47, Serverbound, "steer_vehicle", "bf000000 3f800000 00", "sideways", "right"),
        (47, Serverbound, "steer_vehicle", "00000000 3f800000 00", "sideways", "straight"),
        (47, Serverbound, "steer_vehicle", "3f800000 3f800000 00", "forward", "forward"),
        (47, Serverbound, "steer_vehicle", "3f800000 bf800000 00", "forward", "backward"),
        (47, Serverbound, "enchant_item", "01 00", "enchantment", "topmost"),
        (47, Serverbound, "enchant_item", "01 02", "enchantment", "bottommost"),
        (47, Serverbound, "settings", "00 0a 00 01 7f", "viewDistance", "10 chunks"),
        // A chunk that is unloaded.
        (
            47,
            Clientbound,
            "map_chunk",
            "00000001 00000002 01 0000 00",
            "bitMap",
            "no sections, unloads the chunk",
        ),
        (47, Clientbound, "map_chunk", "00000001 00000002 00 0000 00", "bitMap", "no sections"),
        // Metadata.
        (47, Clientbound, "entity_metadata", "07 21 012c 7f", "metadata[0].type", "short"),
        (47, Clientbound, "entity_metadata", "07 21 012c 7f", "metadata[0].value", "15 s"),
        (47, Clientbound, "entity_metadata", "07 82 00 7f", "metadata[0].type", "text"),
        (
            47,
            Clientbound,
            "spawn_entity_living",
            "07 32 00000000 00000000 00000000 00 00 00 0000 0000 0000 21 012c 7f",
            "metadata[0].value",
            "15 s",
        ),
        (
            47,
            Clientbound,
            "named_entity_spawn",
            "07 00000000000000000000000000000007 00000000 00000000 00000000 00 00 0000 21 012c 7f",
            "metadata[0].value",
            "15 s",
        ),
        // Maps: the type is in the upper four bits, as decompilations of 1.8 read it.
        (
            47,
            Clientbound,
            "map",
            "01 02 01 49 00 00 00",
            "icons[0].directionAndType",
            "target x, direction 9",
        ),
        (
            47,
            Clientbound,
            "map",
            "01 02 01 1f 00 00 00",
            "icons[0].directionAndType",
            "frame, direction 15",
        ),
        (
            47,
            Clientbound,
            "map",
            "01 02 01 80 00 00 00",
            "icons[0].directionAndType",
            "mansion, direction 0",
        ),
        (47, Clientbound, "set_compression", "ffffffff0f", "threshold", "no compression"),
        (47, Clientbound, "set_compression", "8002", "threshold", ""),
    ]);
    let login = packet(&java(47), State::Login, Clientbound, "compress", "ffffffff0f");
    assert_eq!(meaning(&login, None, "threshold"), "no compression");
    for direction in Direction::ALL {
        let ping = |time: &str| packet(&java(47), State::Status, direction, "ping", time);
        let time = |time: &str| meaning(&ping(time), None, "time");
        assert_eq!(time("0000014a2762e47b"), "2014-12-08T00:53:20.123Z");
        assert_eq!(time("0000000005265c00"), "", "milliseconds since the computer was started");
    }
}

/// The fields of a `world_particles` of 1.8.
fn particle(number: &str, data: &str) -> String {
    let floats = "00000000".repeat(7);
    format!("000000{number} 00 {floats} 00000001 {data}")
}

#[test]
fn attributes_have_a_default_and_a_range() {
    let attribute = |name: &str, value: &str| {
        let bytes = name.bytes().map(|byte| format!("{byte:02x}"));
        format!("07 00000001 {:02x}{} {value} 00", name.len(), bytes.collect::<String>())
    };
    let value = "4034000000000000";
    for (name, expected) in [
        ("generic.maxHealth", "default 20, 0 to 1024"),
        ("generic.followRange", "default 32, 0 to 2048"),
        ("generic.knockbackResistance", "default 0, 0 to 1"),
        ("generic.movementSpeed", "default 0.7, 0 to 1024"),
        ("generic.attackDamage", "default 2, 0 to 2048"),
        ("horse.jumpStrength", "default 0.7, 0 to 2"),
        ("zombie.spawnReinforcements", "default 0, 0 to 1"),
        ("somebody.else", ""),
    ] {
        let fields = attribute(name, value);
        let path = "properties[0].value";
        check(&[(47, Clientbound, "update_attributes", &fields, path, expected)]);
        // A value that is no integer, and the second of two attributes.
        let fields = format!(
            "07 00000002 {} {}",
            &attribute("x", value)[12..],
            &attribute(name, "3fe6666666666666")[12..]
        );
        let path = "properties[1].value";
        check(&[(47, Clientbound, "update_attributes", &fields, path, expected)]);
    }
    check(&[
        (
            754,
            Clientbound,
            "entity_update_attributes",
            &attribute("minecraft:generic.max_health", value),
            "properties[0].value",
            "default 20, 1 to 1024",
        ),
        // By number since 1.20.5.
        (
            769,
            Clientbound,
            "entity_update_attributes",
            "07 01 00 4034000000000000 00",
            "properties[0].value",
            "default 0, 0 to 30",
        ),
        (
            775,
            Clientbound,
            "entity_update_attributes",
            "07 01 08 4010000000000000 00",
            "properties[0].value",
            "default 4, 0 to 32",
        ),
    ]);
}

#[test]
fn later_versions_have_events_block_entities_potions_and_enchantments() {
    let event = |number: &str, data: &str| format!("{number} 0000000000000000 {data} 00");
    let at = "0000000000000000";
    let (named, nbt) = ("0a0000 00", "0a00");
    check(&[
        (
            755,
            Clientbound,
            "world_event",
            &event("000003ed", "00000000"),
            "effectId",
            "iron door opens",
        ),
        (
            755,
            Clientbound,
            "world_event",
            &event("00000bba", "00000000"),
            "effectId",
            "electric spark",
        ),
        (
            765,
            Clientbound,
            "world_event",
            &event("000003f3", "00000000"),
            "effectId",
            "stop record",
        ),
        (
            769,
            Clientbound,
            "world_event",
            &event("00000bc9", "00000000"),
            "effectId",
            "vault ejects item",
        ),
        (
            775,
            Clientbound,
            "world_event",
            &event("000007db", "00000000"),
            "effectId",
            "bees grow plant",
        ),
        (765, Clientbound, "world_event", &event("000007d1", "00000001"), "data", "stone"),
        (765, Clientbound, "world_event", &event("000007d2", "00385dc6"), "data", "#385dc6"),
        (765, Clientbound, "world_event", &event("000007d7", "00f82423"), "data", "#f82423"),
        (765, Clientbound, "world_event", &event("000003f2", "00000001"), "data", "stone"),
        (765, Clientbound, "world_event", &event("000007d0", "00000002"), "data", "north"),
        (765, Clientbound, "world_event", &event("000005dc", "00000001"), "data", "filled"),
        (
            107,
            Clientbound,
            "world_event",
            &event("000007d2", "00000010"),
            "data",
            "strong_swiftness",
        ),
        (757, Clientbound, "tile_entity_data", &format!("{at} 07 {named}"), "action", "sign"),
        (
            761,
            Clientbound,
            "tile_entity_data",
            &format!("{at} 08 {named}"),
            "action",
            "hanging_sign",
        ),
        (
            765,
            Clientbound,
            "tile_entity_data",
            &format!("{at} 2a {nbt}"),
            "action",
            "trial_spawner",
        ),
        (
            769,
            Clientbound,
            "tile_entity_data",
            &format!("{at} 0a {nbt}"),
            "action",
            "creaking_heart",
        ),
        (
            775,
            Clientbound,
            "tile_entity_data",
            &format!("{at} 30 {nbt}"),
            "action",
            "copper_golem_statue",
        ),
        (
            766,
            Clientbound,
            "set_slot",
            "00 00 00 00 01 01 01 00 09 01 0d 03 01",
            "item.components[0].data.enchantments[0].id",
            "sharpness",
        ),
        (776, Clientbound, "tile_entity_data", &format!("{at} 19 {nbt}"), "action", "conduit"),
        (47, Clientbound, "tile_entity_data", &format!("{at} 06 00"), "action", "banner"),
        (754, Clientbound, "entity_status", "00000007 35", "entityStatus", "slides down honey"),
        (765, Clientbound, "entity_status", "00000007 3f", "entityStatus", "sniffer digs, sound"),
        (775, Clientbound, "entity_status", "00000007 45", "entityStatus", "ravager roars"),
        (
            765,
            Clientbound,
            "map",
            "01 02 00 01 01 1b 00 00 03 00 00",
            "icons[0].type",
            "desert village",
        ),
        (
            769,
            Clientbound,
            "map",
            "01 02 00 01 01 22 00 00 03 00 00",
            "icons[0].type",
            "trial chambers",
        ),
        (754, Clientbound, "block_action", "0000000000000000 01 02 5d", "byte1", "retract"),
        (754, Clientbound, "block_action", "0000000000000000 01 03 a505", "byte1", "rings"),
    ]);
}

#[test]
fn enchantments_in_the_nbt_of_items_are_named() {
    // `ench` with sharpness 3 and unbreaking 1, and `StoredEnchantments` with flame 1.
    let level = |id: &str, level: &str| format!("02 0002 6964 {id} 02 0003 6c766c {level} 00");
    let ench =
        format!("09 0004 656e6368 0a 00000002 {}{}", level("0010", "0003"), level("0022", "0001"));
    let stored = format!(
        "09 0012 53746f726564456e6368616e746d656e7473 0a 00000001 {}",
        level("0032", "0001")
    );
    let item = |version: i32, nbt: &str| {
        packet(
            &java(version),
            State::Play,
            Clientbound,
            "set_slot",
            &format!("00 0024 0114 01 0000 0a 0000 {nbt} 00"),
        )
    };
    let path = "item.nbtData";
    for version in [47, 340] {
        assert_eq!(meaning(&item(version, &ench), None, path), "sharpness 3, unbreaking 1");
        assert_eq!(meaning(&item(version, &stored), None, path), "flame 1");
        assert_eq!(
            meaning(&item(version, &format!("{ench}{stored}")), None, path),
            "sharpness 3, unbreaking 1, flame 1"
        );
        // No list of enchantments, and one of something else.
        assert_eq!(meaning(&item(version, ""), None, path), "");
        assert_eq!(meaning(&item(version, "09 0004 656e6368 02 00000001 0010"), None, path), "");
    }
    // 9 is frost walker only since 1.9.
    let frost = format!("09 0004 656e6368 0a 00000001 {}", level("0009", "0002"));
    assert_eq!(meaning(&item(340, &frost), None, path), "frost_walker 2");
    assert_eq!(meaning(&item(47, &frost), None, path), "");
}

#[test]
fn alpha_says_whether_a_chunk_is_unloaded() {
    let protocol = Catalog::embedded().alpha(6).protocol;
    for (mode, expected) in [("00", "unload"), ("01", "initialize")] {
        let kind = protocol.named(State::Play, Clientbound, "pre_chunk").unwrap();
        let byte = u8::from_str_radix(mode, 16).unwrap();
        let body = [&[u8::try_from(kind.id()).unwrap()][..], &[0; 8], &[byte]].concat();
        let client = "127.0.0.1:50000".parse().unwrap();
        let context = Context::new(1, Timestamp(0), client, Arc::clone(&protocol));
        let content = Content::Frame(Frame::bare(body.into()));
        let packet =
            Packet::new(context.into(), 1, Timestamp(0), Clientbound, State::Play, content);
        assert_eq!(meaning(&packet, None, "mode"), expected);
    }
}
