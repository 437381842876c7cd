//! What the comparison with second witnesses has corrected (`tools/import_tables/compared.rs`). The bytes are made
//! by hand from the witness that the patch names.

use hex_literal::hex;
use mitmcraft_protocol::schema::{Catalog, Direction, Value};

use super::{Play, at, decoded, items, sent};

#[test]
fn a_client_of_1_7_does_not_say_where_it_uses_an_entity() {
    for version in [4, 5] {
        let value = sent(version, Play, "use_entity", &hex!("00000102 02"));
        assert_eq!(at(&value, &["target"]).as_int(), Some(0x102), "{version}");
        assert_eq!(at(&value, &["mouse"]).as_int(), Some(2), "{version}");
    }
}

#[test]
fn the_type_of_metadata_of_1_9_is_a_varint() {
    for version in [107, 340] {
        // Key 5 has the type 6, a bool, in a VarInt of two bytes.
        let value = decoded(version, "entity_metadata", &hex!("07 05 8600 01 ff"));
        let metadata = items(&value, &["metadata"]);
        assert_eq!(at(&metadata[0], &["type"]).as_int(), Some(6), "{version}");
    }
}

#[test]
fn a_whole_map_has_128_columns() {
    for (version, start) in [
        (107, &hex!("00 03 00 00")[..]),
        (340, &hex!("00 03 00 00")),
        (754, &hex!("00 03 00 00 00")),
    ] {
        let value = decoded(version, "map", &[start, &hex!("80 80 00 00 02 0102")].concat());
        assert_eq!(at(&value, &["columns"]).as_int(), Some(128), "{version}");
        assert_eq!(at(&value, &["rows"]).as_int(), Some(128), "{version}");
    }
}

#[test]
fn a_player_looks_at_the_feet_or_eyes_of_an_entity() {
    for version in [393, 754, 764, 765] {
        let place = hex!("3ff0000000000000 4000000000000000 4008000000000000");
        let bytes = [&hex!("01")[..], &place, &hex!("01 ac02 01")].concat();
        let value = decoded(version, "face_player", &bytes);
        assert_eq!(at(&value, &["entityId"]).as_int(), Some(300), "{version}");
        assert_eq!(at(&value, &["entity_feet_eyes"]).as_int(), Some(1), "{version}");
    }
}

#[test]
fn changed_blocks_and_seeds_are_varlongs() {
    for version in [759, 765, 776, 777] {
        let suppressed = if version < 763 { &hex!("00")[..] } else { &[] };
        let bytes =
            [&hex!("0000000000000001")[..], suppressed, &hex!("01 8080808080808001")].concat();
        let value = decoded(version, "multi_block_change", &bytes);
        assert_eq!(items(&value, &["records"])[0].as_int(), Some(1 << 49), "{version}");
    }
    for version in [759, 765] {
        let bytes = hex!(
            "0000000000000000 00 00 00 00 00 00 01 01 01 00 00 00 3f800000 8080808080808001 00"
        );
        let value = sent(version, Play, "update_structure_block", &bytes);
        assert_eq!(at(&value, &["seed"]).as_int(), Some(1 << 49), "{version}");
    }
}

#[test]
fn whether_a_player_is_listed_is_one_byte() {
    for version in [761, 765, 769, 776] {
        let uuid = hex!("00000000000000000000000000000007");
        let value =
            decoded(version, "player_info", &[&hex!("08 01")[..], &uuid, &hex!("01")].concat());
        let players = items(&value, &["data"]);
        assert_eq!(at(&players[0], &["listed"]), &Value::Bool(true), "{version}");
    }
}

#[test]
fn a_player_that_respawns_keeps_attributes_and_metadata() {
    let world = hex!("06 613a62 6f7665 06 613a6f766572");
    let rest = hex!("0000000000000001 00 ff 00 00 03 00");
    let value = decoded(761, "respawn", &[&world[..], &rest].concat());
    assert_eq!(at(&value, &["copyMetadata"]).as_int(), Some(3));
    let rest = hex!("0000000000000001 00 ff 00 00 00 00 03");
    let value = decoded(765, "respawn", &[&world[..], &rest].concat());
    assert_eq!(at(&value, &["copyMetadata"]).as_int(), Some(3));
}

#[test]
fn a_vibration_of_1_20_4_goes_to_a_block_or_an_entity() {
    let start = hex!(
        "2b 00 0000000000000000 0000000000000000 0000000000000000 00000000 00000000 00000000 00000000 00000001"
    );
    let to_block =
        decoded(765, "world_particles", &[&start[..], &hex!("00 0000004000003005 14")].concat());
    assert_eq!(at(&to_block, &["data", "ticks"]).as_int(), Some(20));
    let to_entity =
        decoded(765, "world_particles", &[&start[..], &hex!("01 ac02 3fc00000 14")].concat());
    assert_eq!(at(&to_entity, &["data", "position", "entityId"]).as_int(), Some(300));
    assert_eq!(at(&to_entity, &["data", "ticks"]).as_int(), Some(20));
}

#[test]
fn a_place_in_metadata_has_a_dimension_and_a_position() {
    for (version, number) in [(759, 21), (760, 21), (761, 22), (762, 23), (765, 23)] {
        let place = hex!("01 03613a62 0000004000003005 ff");
        let value = decoded(version, "entity_metadata", &[&[7, 8, number][..], &place].concat());
        let metadata = items(&value, &["metadata"]);
        let height = at(&metadata[0], &["value", "location", "y"]).as_int();
        assert_eq!(height, Some(5), "{version}");
    }
    // The variants of a cat, a frog and a painting.
    decoded(759, "entity_metadata", &hex!("07 08 13 01 09 14 02 0a 16 03 ff"));
}

#[test]
fn a_particle_in_metadata_of_1_20_4_has_data() {
    let value = decoded(765, "entity_metadata", &hex!("07 08 11 02 09 ff"));
    let metadata = items(&value, &["metadata"]);
    let block = at(&metadata[0], &["value", "data", "blockState"]).as_int();
    assert_eq!(block, Some(9));
}

#[test]
fn the_place_of_a_player_in_the_list_comes_before_its_hat() {
    for version in [769, 774, 776, 777] {
        let uuid = hex!("00000000000000000000000000000007");
        let of = |bytes: &[&[u8]]| {
            let value = decoded(version, "player_info", &bytes.concat());
            items(&value, &["data"])[0].clone()
        };
        let listed = of(&[&hex!("40 01"), &uuid, &hex!("ac02")]);
        assert_eq!(at(&listed, &["listPriority"]).as_int(), Some(300), "{version}");
        let both = of(&[&hex!("c0 01"), &uuid, &hex!("ac02 01")]);
        assert_eq!(at(&both, &["listPriority"]).as_int(), Some(300), "{version}");
        assert_eq!(at(&both, &["showHat"]), &Value::Bool(true), "{version}");
    }
}

#[test]
fn the_sound_of_an_explosion_of_1_20_4_is_a_name() {
    let place = hex!("3ff0000000000000 4000000000000000 4008000000000000 40800000 00");
    let effects = hex!("00000000 00000000 00000000 01 00 00");
    for (version, number) in [(765, &[][..]), (766, &[0])] {
        let bytes = [&place[..], &effects, number, &hex!("03613a62 01 41800000")].concat();
        let sound = decoded(version, "explosion", &bytes);
        let name = if number.is_empty() {
            &["sound", "soundName"][..]
        } else {
            &["sound", "data", "soundName"]
        };
        assert_eq!(at(&sound, name).as_text(), Some("a:b"), "{version}");
    }
}

#[test]
fn a_click_on_a_button_has_varints_since_1_20_5() {
    for version in [766, 767, 774, 776] {
        let click = sent(version, Play, "enchant_item", &hex!("8001 8201"));
        assert_eq!(at(&click, &["windowId"]).as_int(), Some(128), "{version}");
        assert_eq!(at(&click, &["enchantment"]).as_int(), Some(130), "{version}");
    }
}

#[test]
fn a_spectator_of_1_21_5_teleports_with_the_id_0x3c() {
    let protocol = Catalog::embedded().find(770).unwrap().protocol;
    for (name, id) in
        [("spectate", 0x3c), ("test_instance_block_action", 0x3d), ("block_place", 0x3e)]
    {
        let packet = protocol.named(Play, Direction::Serverbound, name).unwrap();
        assert_eq!(packet.id(), id, "{name}");
    }
}

#[test]
fn the_mode_of_a_click_in_a_window_is_a_varint_since_1_9() {
    for (version, bytes) in [
        (107, &hex!("00 0001 00 0002 8600 ffff")[..]),
        (754, &hex!("00 0001 00 0002 8600 00")),
        (755, &hex!("00 0001 00 8600 00 00")),
    ] {
        let value = sent(version, Play, "window_click", bytes);
        assert_eq!(at(&value, &["mode"]).as_int(), Some(6), "{version}");
    }
}

#[test]
fn a_villager_of_1_19_can_have_128_trades() {
    let trade = hex!("00 00 00 00 00000001 00000002 00000003 00000004 3f800000 00000005");
    let bytes = [&hex!("01 8001")[..], &trade.repeat(128), &hex!("02 03 00 01")].concat();
    let value = decoded(759, "trade_list", &bytes);
    assert_eq!(items(&value, &["trades"]).len(), 128);
    assert_eq!(at(&value, &["experience"]).as_int(), Some(3));
}

#[test]
fn an_event_of_goals_has_a_list_of_them() {
    for version in [773, 777] {
        let value = decoded(version, "debug_event", &hex!("04 02 07 01 0161 08 00 0162"));
        let goals = items(&value, &["event", "value"]);
        assert_eq!(at(&goals[1], &["priority"]).as_int(), Some(8), "{version}");
    }
}
