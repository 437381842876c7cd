//! The embedded tables of every version: their packets and the corrections to them.

use std::sync::Arc;

use hex_literal::hex;
use mitmcraft_protocol::schema::{Catalog, Direction, Match, Protocol, Role, State, Value};
use mitmcraft_protocol::wire::write_varint;

use crate::support::{Program, root};

use Direction::{Clientbound, Serverbound};
use State::{Configuration, Handshaking, Login, Play, Status};

mod compared;
mod items;

#[test]
fn every_version_has_the_packets_that_drive_a_connection() {
    for (version, names) in Catalog::embedded().versions() {
        let protocol = exact(version);
        let mut roles = vec![
            (Handshaking, Serverbound, Role::Handshake),
            (Status, Serverbound, Role::StatusRequest),
            (Status, Clientbound, Role::StatusResponse),
            (Status, Serverbound, Role::Ping),
            (Status, Clientbound, Role::Ping),
            (Login, Serverbound, Role::LoginStart),
            (Login, Clientbound, Role::EncryptionRequest),
            (Login, Serverbound, Role::EncryptionResponse),
            (Login, Clientbound, Role::LoginSuccess),
            (Login, Clientbound, Role::Disconnect),
            (Play, Clientbound, Role::Disconnect),
            (Play, Clientbound, Role::KeepAlive),
            (Play, Serverbound, Role::KeepAlive),
            (Play, Serverbound, Role::Chat),
            (Play, Clientbound, Role::Chat),
        ];
        let plain = version < 1 << 30;
        if version >= 47 {
            roles.push((Login, Clientbound, Role::SetCompression));
        }
        if plain && version >= 764 {
            roles.extend([
                (Login, Serverbound, Role::LoginAcknowledged),
                (Configuration, Clientbound, Role::FinishConfiguration),
                (Configuration, Serverbound, Role::FinishConfiguration),
                (Configuration, Clientbound, Role::Disconnect),
                (Play, Clientbound, Role::StartConfiguration),
                (Play, Serverbound, Role::ConfigurationAcknowledged),
            ]);
        }
        if plain && version >= 766 {
            roles.push((Configuration, Clientbound, Role::Transfer));
            roles.push((Play, Clientbound, Role::Transfer));
        }
        if plain && version >= 761 {
            roles.push((Play, Serverbound, Role::ChatSession));
            roles.push((Play, Clientbound, Role::PlayerChat));
        }
        if plain && version >= 762 {
            roles.push((Play, Clientbound, Role::BundleDelimiter));
        }
        for (state, direction, role) in roles {
            let found = protocol.role(state, direction, role);
            assert!(found.is_some(), "{version} {names:?}: {role:?} in {state} {direction}");
        }
    }
}

#[test]
fn a_slot_ends_with_an_id_below_zero() {
    for version in [4, 5, 47, 76, 107, 110, 210, 316, 340, 351, 393, 401] {
        let slot = decoded(version, "set_slot", &hex!("00 0005 fffe"));
        assert!(slot.get("item").unwrap().get("itemCount").is_none(), "{version}");
        let slot = decoded(version, "set_slot", &hex!("00 0005 ffff"));
        assert!(slot.get("item").unwrap().get("itemCount").is_none(), "{version}");
    }
}

#[test]
fn a_slot_with_components_ends_with_a_count_of_zero_or_less() {
    for version in 766..=777 {
        for empty in [&hex!("00")[..], &hex!("ffffffff0f")] {
            let bytes = [&hex!("00 00 0005"), empty].concat();
            let slot = decoded(version, "set_slot", &bytes);
            assert!(slot.get("item").unwrap().get("itemId").is_none(), "{version}");
        }
        let slot = decoded(version, "set_slot", &hex!("00 00 0005 c801 07 00 00"));
        let count = slot.get("item").unwrap().get("itemCount").unwrap().as_int();
        assert_eq!(count, Some(200), "{version}");
    }
}

#[test]
fn an_object_has_a_velocity_only_with_data_above_zero() {
    let place = hex!("01 02 00000003 00000004 00000005 06 07");
    for version in [4, 5, 47] {
        for (data, velocity) in
            [(&hex!("00000000")[..], 0), (&hex!("fffffffe"), 0), (&hex!("00000001"), 6)]
        {
            let bytes = [&place, data, &[8; 6][..velocity]].concat();
            decoded(version, "spawn_entity", &bytes);
        }
    }
    let uuid = [9; 16];
    let bytes = [&place[..1], &uuid, &place[1..], &hex!("00000000 0001 0002 0003")].concat();
    let speed = decoded(76, "spawn_entity", &bytes);
    assert_eq!(speed.get("velocity").unwrap().get("z").unwrap().as_int(), Some(3));
}

#[test]
fn a_debug_subscription_is_read_by_its_type() {
    for version in 773..=777 {
        let update = decoded(version, "debug_block_value", &hex!("0000000000000000 06 01 05"));
        let payload = update.get("update").unwrap().get("payload").unwrap();
        assert_eq!(payload.get("id").unwrap().as_int(), Some(5), "{version}");
        decoded(version, "debug_block_value", &hex!("0000000000000000 00"));
    }
}

#[test]
fn a_player_that_appears_has_no_properties_before_1_7_6() {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let rest = hex!("00000001 00000002 00000003 04 05 0006 7f");
    let names = [text("id"), text("Notch")].concat();
    let old = [&hex!("01"), &names[..], &rest].concat();
    assert!(decoded(4, "named_entity_spawn", &old).get("data").is_none());
    let new = [&hex!("01"), &names[..], &hex!("00"), &rest].concat();
    assert!(decoded(5, "named_entity_spawn", &new).get("data").is_some());
}

#[test]
fn the_ids_of_26_2_and_26_3() {
    for (state, direction, name, ids) in [
        (Configuration, Clientbound, "add_resource_pack", [Some(9), Some(9)]),
        (Configuration, Clientbound, "post_effects", [None, Some(10)]),
        (Configuration, Clientbound, "store_cookie", [Some(10), Some(11)]),
        (Configuration, Clientbound, "code_of_conduct", [Some(0x13), Some(0x14)]),
        (Play, Clientbound, "explosion", [Some(0x24), Some(0x24)]),
        (Play, Clientbound, "add_transient_block", [None, Some(0x25)]),
        (Play, Clientbound, "unload_chunk", [Some(0x25), Some(0x26)]),
        (Play, Clientbound, "map_chunk", [Some(0x2d), Some(0x2e)]),
        (Play, Clientbound, "login", [Some(0x31), Some(0x32)]),
        (Play, Clientbound, "post_effects", [None, Some(0x53)]),
        (Play, Clientbound, "respawn", [Some(0x52), Some(0x54)]),
        (Play, Clientbound, "swing_animation", [None, Some(0x7b)]),
        (Play, Clientbound, "system_chat", [Some(0x79), Some(0x7c)]),
        (Play, Clientbound, "show_dialog", [Some(0x8c), Some(0x8f)]),
        (Play, Serverbound, "pong", [Some(0x2d), Some(0x2d)]),
        (Play, Serverbound, "punch", [None, Some(0x2e)]),
        (Play, Serverbound, "recipe_book", [Some(0x2e), Some(0x2f)]),
        (Play, Serverbound, "spectator_action", [Some(0x3e), Some(0x3f)]),
        (Play, Serverbound, "arm_animation", [Some(0x3f), None]),
        (Play, Serverbound, "spectate", [Some(0x40), Some(0x40)]),
        (Play, Serverbound, "custom_click_action", [Some(0x44), Some(0x44)]),
    ] {
        for (version, id) in [776, 777].into_iter().zip(ids) {
            let found = exact(version).named(state, direction, name).map(|packet| packet.id());
            assert_eq!(found, id, "{version} {name}");
        }
    }
}

/// From `test` of wupengabc/node-minecraft-protocol, which recorded them from the game's server.
#[test]
fn packets_of_a_server_of_26_3_are_read_to_their_end() {
    let position =
        hex!("b61b01014018154e3d1bf799c04dca3d70c000004013cd2514ae9c300243a30be80000000000");
    let position = decoded(777, "sync_entity_position", &position);
    assert_eq!(at(&position, &["entityId"]).as_int(), Some(3510));
    assert_eq!(at(&items(&position, &["steps"])[0], &["tickOffset"]).as_int(), Some(2));
    let moved = decoded(777, "rel_entity_move", &hex!("ea0d 01 0356 0555 ffe2"));
    assert_eq!(at(&moved, &["flags", "onGround"]), &Value::Bool(true));
    assert_eq!(at(&moved, &["dY"]).as_int(), Some(0x555));
    let recipe = hex!(
        "01d302010202040600106d696e6563726166743a706c616e6b730600106d696e6563726166743a706c616e6b73"
        "0600106d696e6563726166743a706c616e6b730600106d696e6563726166743a706c616e6b73"
        "0595030100000495030003010400106d696e6563726166743a706c616e6b7300106d696e6563726166743a706c"
        "616e6b7300106d696e6563726166743a706c616e6b7300106d696e6563726166743a706c616e6b730200"
    );
    let recipe = decoded(777, "recipe_book_add", &recipe);
    let entries = items(&recipe, &["entries"]);
    assert_eq!(at(&entries[0], &["recipe", "displayId"]).as_int(), Some(339));
}

#[test]
fn the_changed_layouts_of_26_2_and_26_3() {
    // Texts, visibility, collision, no colour, flags; then one player.
    let team = hex!("0161 00 08000161 08000162 08000163 01 02 00 03 01 0170");
    for version in [776, 777] {
        let team = decoded(version, "teams", &team);
        assert_eq!(at(&team, &["collisionRule"]).as_text(), Some("push_other_teams"));
        assert_eq!(at(&team, &["flags", "see_friendly_invisible"]), &Value::Bool(true));
    }
    // A movement of two steps, in the air.
    let step = hex!("01 0001 0002 0003");
    let moved = decoded(777, "rel_entity_move", &[&hex!("07 04")[..], &step, &step].concat());
    assert_eq!(items(&moved, &["steps"]).len(), 2);
    // Game modes: creative, none before.
    let respawn = hex!("00 0161 0000000000000000 01 00 00 01 00 00 3f 00");
    let respawn = decoded(777, "respawn", &respawn);
    assert_eq!(at(&respawn, &["worldState", "gamemode"]).as_text(), Some("creative"));
    let block = decoded(777, "add_transient_block", &hex!("0000004000001040 09"));
    assert_eq!(at(&block, &["location", "y"]).as_int(), Some(64));
    let swing = decoded(777, "swing_animation", &hex!("2a 01 01 07"));
    assert_eq!(at(&swing, &["animation", "type"]).as_text(), Some("whack"));
    // A byte, not a VarInt: this one has bit 7.
    let animation = decoded(777, "animation", &hex!("2a 81"));
    assert_eq!(at(&animation, &["animation"]).as_int(), Some(0x81));
    // The root of commands, and an argument with the last of the parsers, which 26.2 has as 56.
    for (version, uuid) in [(776, 56), (777, 61)] {
        let commands = [&hex!("02 00 01 01 02 00 0161")[..], &[uuid], &hex!("00")].concat();
        let commands = decoded(version, "declare_commands", &commands);
        let argument = &items(&commands, &["nodes"])[1];
        let parser = at(argument, &["extraNodeData", "parser"]);
        assert_eq!(parser.as_text(), Some("minecraft:uuid"), "{version}");
    }
    // An item with a component of each new layout.
    let sign = hex!("76 080000 080000 080000 080000 00 0f 01");
    let fuel = hex!("55 01 00000005 01 3f800000");
    let pot = hex!("4c 00 00 00 01 01 01 00 00");
    let item = [&hex!("00 00 0001 01 05 03 00")[..], &sign, &fuel, &pot].concat();
    let item = decoded(777, "set_slot", &item);
    assert_eq!(items(&item, &["item", "components"]).len(), 3);
}

/// The order of CraftBukkit 1.7 (`PacketPlayInPosition`: x, y, stance, z) and MCProtocolLib 1.7.
#[test]
fn the_feet_of_a_client_of_1_7_come_before_its_eyes() {
    let x_feet_eyes = hex!("3ff0000000000000 4050000000000000 405067ae147ae148");
    let z = hex!("c000000000000000");
    for version in [4, 5] {
        for (name, rest) in
            [("position", &hex!("01")[..]), ("position_look", &hex!("42b40000 c2340000 01"))]
        {
            let position = sent(version, Play, name, &[&x_feet_eyes[..], &z, rest].concat());
            assert_eq!(at(&position, &["y"]), &Value::Float64(64.0), "{version} {name}");
            assert_eq!(at(&position, &["stance"]), &Value::Float64(65.62), "{version} {name}");
        }
    }
}

/// CraftBukkit 1.7 (`PacketPlayInEntityAction`).
#[test]
fn the_action_7_of_an_entity_of_1_7_opens_its_inventory() {
    for version in [4, 5] {
        let action = sent(version, Play, "entity_action", &hex!("00000001 07 00000000"));
        assert_eq!(at(&action, &["actionId"]).as_text(), Some("open_inventory"), "{version}");
    }
}

/// Bytes by the codec in the jar of 26.2, as hyperion's protocol.json has it, and MCProtocolLib.
#[test]
fn a_step_of_a_minecart_has_doubles_and_angles() {
    let steps = hex!(
        "05 01 3ff8000000000000 4050000000000000 c00a000000000000
         3fb999999999999a 0000000000000000 3fc999999999999a 40 f6 3f800000"
    );
    for version in [768, 769, 770, 773, 775, 776, 777] {
        let moved = decoded(version, "move_minecart", &steps);
        let step = &items(&moved, &["steps"])[0];
        assert_eq!(at(step, &["position", "z"]), &Value::Float64(-3.25), "{version}");
        assert_eq!(at(step, &["yaw"]).as_int(), Some(0x40), "{version}");
        assert_eq!(at(step, &["pitch"]).as_int(), Some(-10), "{version}");
        assert_eq!(at(step, &["weight"]), &Value::Float32(1.0), "{version}");
    }
}

/// MCProtocolLib since 1.17, ViaVersion and the codec of 26.2.
#[test]
fn the_time_of_a_world_border_is_a_varlong() {
    // From 10 blocks to 20, in 2^35 ms.
    let sizes = hex!("4024000000000000 4034000000000000 808080808001");
    let center = hex!("3ff0000000000000 4000000000000000");
    let rest = hex!("e0d0ad0e 05 0f");
    for version in [755, 759, 763, 765, 767, 772, 776, 777] {
        let border = decoded(version, "world_border_lerp_size", &sizes);
        assert_eq!(at(&border, &["speed"]).as_int(), Some(1 << 35), "{version}");
        let border = [&center[..], &sizes, &rest].concat();
        decoded(version, "initialize_world_border", &border);
    }
}

/// Metadata of entity 7, key 8, by ViaVersion, MCProtocolLib and the codec of 26.2.
#[test]
fn a_painting_in_metadata() {
    for (bytes, number) in [(hex!("07 08 1a 01 ff"), 1), (hex!("07 08 1a 00 ff"), 0)] {
        let metadata = decoded(766, "entity_metadata", &bytes);
        let variant = &items(&metadata, &["metadata"])[0];
        assert_eq!(at(variant, &["value"]).as_int(), Some(number));
    }
    // 1 x 1, the picture a:b; since 1.21.2 also a title and an author.
    decoded(767, "entity_metadata", &hex!("07 08 1a 00 01 01 03613a62 ff"));
    decoded(768, "entity_metadata", &hex!("07 08 1a 00 01 01 03613a62 00 00 ff"));
    decoded(776, "entity_metadata", &hex!("07 08 22 00 01 01 03613a62 00 00 ff"));
    // A number of the registry has one more.
    decoded(776, "entity_metadata", &hex!("07 08 22 02 ff"));
}

/// The codec in the jar: a length, then NBT or one zero byte.
#[test]
fn the_data_of_a_click_has_a_length() {
    for version in [771, 772, 773, 775, 776, 777] {
        for state in [Configuration, Play] {
            let none = sent(version, state, "custom_click_action", &hex!("03613a62 01 00"));
            assert_eq!(at(&none, &["nbt"]), &Value::Absent, "{version}");
            let some = sent(version, state, "custom_click_action", &hex!("03613a62 02 0a00"));
            assert!(matches!(at(&some, &["nbt"]), Value::Nbt(_)), "{version}");
        }
    }
}

/// T-L12: each component has its length in front of it. What is not exactly a value of that length is bytes.
#[test]
fn components_of_items_from_clients_are_read_within_their_length() {
    for version in [770, 772, 773, 774, 775, 776, 777] {
        let head = hex!("0001 01 05 05 00");
        let components = hex!("01 01 10  00 02 0a00  03 8100 07  03 02 07 00  03 01 80");
        let sent = sent(version, Play, "set_creative_slot", &[&head[..], &components].concat());
        let components = items(&sent, &["item", "components"]);
        let types = components.iter().map(|it| at(it, &["type"]).as_text().unwrap());
        let types: Vec<_> = types.collect();
        assert_eq!(types, ["max_stack_size", "custom_data", "damage", "damage", "damage"]);
        let [stack, custom, damage, too_long, cut] = components else { panic!() };
        assert_eq!(at(stack, &["data"]).plain(), &Value::Int(16), "{version}");
        assert!(matches!(at(custom, &["data"]).plain(), Value::Nbt(_)), "{version}");
        assert_eq!(at(damage, &["data"]).plain(), &Value::Int(7), "{version}");
        for (component, bytes) in [(too_long, &[7, 0][..]), (cut, &[0x80])] {
            let Value::Bytes(data) = at(component, &["data"]).plain() else { panic!("{version}") };
            assert_eq!(data[..], *bytes, "{version}");
        }
    }
}

#[test]
fn the_operation_of_a_modifier_is_a_varint() {
    // Armor of entity 7, base 2, one modifier a:b of 0.5 that multiplies, and one of a later version.
    let head = hex!("07 01 00 4000000000000000 01 03613a62 3fe0000000000000");
    for version in [776, 777] {
        for operation in [&hex!("02")[..], &hex!("8001")] {
            decoded(version, "entity_update_attributes", &[&head, operation].concat());
        }
    }
}

#[test]
fn particles_of_trial_spawners_have_the_names_of_the_game() {
    for (version, number) in [(766, 102), (769, 104), (775, 108)] {
        for (number, name) in
            [(number, "trial_spawner_detection"), (number + 1, "trial_spawner_detection_ominous")]
        {
            let always_shown = usize::from(version >= 769);
            let place = [0; 1 + 24 + 16 + 4];
            let bytes = [&[0][..always_shown], &place, &[number]].concat();
            let particle = decoded(version, "world_particles", &bytes);
            assert_eq!(at(&particle, &["particle", "type"]).as_text(), Some(name), "{version}");
        }
    }
}

/// Returns the field at a path.
fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().fold(value, |value, name| value.get(name).unwrap())
}

fn items<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    let Value::List(items) = at(value, path) else { panic!("{path:?}") };
    items
}

/// Decodes the fields of a clientbound packet of the game, and encodes them again.
fn decoded(version: i32, name: &str, fields: &[u8]) -> Value {
    read_back(version, Play, Clientbound, name, fields)
}

/// Decodes the fields of a serverbound packet, and encodes them again.
fn sent(version: i32, state: State, name: &str, fields: &[u8]) -> Value {
    read_back(version, state, Serverbound, name, fields)
}

fn read_back(version: i32, state: State, side: Direction, name: &str, fields: &[u8]) -> Value {
    let protocol = exact(version);
    let packet = protocol.named(state, side, name).unwrap();
    let mut body = Vec::new();
    write_varint(&mut body, packet.id());
    let start = body.len();
    body.extend_from_slice(fields);
    let value = protocol.decode(packet, &body, start);
    let value = value.unwrap_or_else(|error| panic!("{version} {name}: {error}"));
    assert_eq!(protocol.encode(packet, &value), Ok(body), "{version} {name}");
    value
}

fn exact(version: i32) -> Arc<Protocol> {
    let Match { protocol, exact, .. } = Catalog::embedded().find(version).unwrap();
    assert!(exact, "{version}");
    protocol
}

/// The order of ViaLegacy (`r1_7_6_10tor1_8`, `BlockChangeRecordArrayType`): a short of x, z and y, then a
/// short of the block's number and its data.
#[test]
fn changed_blocks_of_1_7_begin_with_their_place() {
    for version in [4, 5] {
        let bytes = hex!("00000002 ffffffff 0002 00000008 b340 0015 0fff 1234");
        let changes = decoded(version, "multi_block_change", &bytes);
        for (place, block) in [("x", [11, 0]), ("z", [3, 15]), ("y", [0x40, 0xff])] {
            for (record, value) in block.into_iter().enumerate() {
                let found = at(&changes, &["records"]);
                let Value::List(records) = found else { panic!("{found:?}") };
                assert_eq!(
                    at(&records[record], &[place]).as_int(),
                    Some(value),
                    "{version} {place}"
                );
            }
        }
        let Value::List(records) = at(&changes, &["records"]) else { panic!("no list") };
        let of = |record: usize| {
            ["blockId", "metadata"].map(|name| at(&records[record], &[name]).as_int().unwrap())
        };
        assert_eq!((of(0), of(1)), ([1, 5], [0x123, 4]), "{version}");
    }
}

#[test]
fn the_page_on_the_login_has_the_ids_of_the_tables() {
    let page = std::fs::read_to_string(root().join("docs/login.md")).unwrap();
    let versions = [47, 765, 769, 777].map(exact);
    let (mut state, mut compared) = (None, 0);
    for line in page.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (&words[..], state) {
            ([name, "1.8", "1.20.4", "1.21.4", "26.3"], _) => state = name.parse::<State>().ok(),
            ([arrow @ ("→" | "←"), name, ids @ ..], Some(state)) => {
                let direction = if *arrow == "→" { Serverbound } else { Clientbound };
                for (protocol, id) in versions.iter().zip(ids).filter(|(_, id)| **id != ".") {
                    let packet = protocol.named(state, direction, name).map(|it| it.id());
                    let stated =
                        id.strip_prefix("0x").map(|id| i32::from_str_radix(id, 16).unwrap());
                    assert_eq!(packet, stated, "{line}");
                    compared += 1;
                }
            }
            _ => {}
        }
    }
    assert_eq!(compared, 121);
}

#[test]
fn the_page_lists_every_version_before_1_7_as_the_program_does() {
    let page = std::fs::read_to_string(root().join("docs/versions.md")).unwrap();
    let begin = "<!-- compared by a test: -->\n\n";
    let table = page.split_once(begin).unwrap().1.split_once("\n<!-- up to here -->").unwrap().0;
    let catalog = Catalog::embedded();
    let mut fresh = String::from("| protocol | name | games |\n| ---: | --- | --- |\n");
    let listed = Program::mitmcraft(&["protocols"]).succeed();
    let mut numbers = (1..=6).chain(catalog.legacy_versions());
    for line in listed.lines().map(str::trim) {
        let (name, games) = line.split_once("  ").unwrap();
        if matches!(name, "legacy-ping" | "query") {
            continue;
        }
        let Some(number) = numbers.next() else { break };
        fresh += &format!("| {number} | `{name}` | {games} |\n");
    }
    assert!(numbers.next().is_none(), "{listed}");
    assert_eq!(table, fresh.trim_end(), "docs/versions.md");
}
