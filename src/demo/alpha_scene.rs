//! What the server shows a player of Alpha, and what such a player does.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value as Json, json};

use super::message::Message;

/// What comes before the player stands in the world.
pub(super) fn opening(player: &str) -> Vec<Message> {
    let place = json!({ "x": 8.5, "stance": 65.62, "y": 64.0, "z": 8.5, "yaw": 0.0, "pitch": 0.0, "onGround": false });
    let chunk = json!({ "x": 0, "y": 0, "z": 0, "sizeX": 15, "sizeY": 127, "sizeZ": 15 });
    vec![
        Message::new(
            "login",
            json!({ "entityId": PLAYER, "serverName": "", "motd": "", "mapSeed": -9, "dimension": 0 }),
        ),
        Message::new("spawn_position", json!({ "location": { "x": 8, "y": 64, "z": 8 } })),
        Message::new("update_time", json!({ "time": 1000 })),
        Message::new("pre_chunk", json!({ "x": 0, "z": 0, "mode": true })),
        Message::new("map_chunk", chunk).with_bytes("compressedChunkData", landscape()),
        sign(),
        inventory(-1, 36, &[(0, 278, 1, 12), (1, 50, 64, 0)]),
        inventory(-2, 4, &[]),
        inventory(-3, 4, &[]),
        Message::new("update_health", json!({ "health": 20 })),
        Message::new("position_look", place),
        Message::new("chat", json!({ "message": format!("§eWelcome, {player}! Grüße ☃") })),
    ]
}

/// What happens while the player is there.
pub(super) fn scene() -> Vec<Message> {
    let zombie = 7;
    let moved = |x: i8, z: i8| {
        Message::new("rel_entity_move", json!({ "entityId": zombie, "dX": x, "dY": 0, "dZ": z }))
    };
    vec![
        Message::new(
            "named_entity_spawn",
            json!({
                "entityId": 2, "playerName": "Alex", "x": 160, "y": 2048, "z": 352,
                "yaw": -96, "pitch": 5, "currentItem": 276,
            }),
        ),
        Message::new(
            "spawn_entity_living",
            json!({
                "entityId": zombie, "type": 54, "x": 64, "y": 2048, "z": 64, "yaw": 32, "pitch": 0,
            }),
        ),
        moved(16, 16),
        Message::new(
            "entity_velocity",
            json!({ "entityId": zombie, "velocity": { "x": 800, "y": -640, "z": 0 } }),
        ),
        moved(-16, 4),
        Message::new("entity_status", json!({ "entityId": zombie, "entityStatus": 2 })),
        Message::new(
            "pickup_spawn",
            json!({
                "entityId": 9, "itemId": 4, "itemCount": 3, "x": 256, "y": 2080, "z": 256,
                "rotation": 1, "pitch": 2, "roll": 3,
            }),
        ),
        Message::new("collect", json!({ "collectedEntityId": 9, "collectorEntityId": PLAYER })),
        Message::new("add_to_inventory", json!({ "itemId": 4, "itemCount": 3, "life": 0 })),
        Message::new(
            "block_change",
            json!({ "location": { "x": 8, "y": 63, "z": 9 }, "type": 4, "metadata": 0 }),
        ),
        Message::new(
            "multi_block_change",
            json!({
                "chunkX": 0, "chunkZ": 0, "types": [51, 51], "metadata": [0, 15],
                "coordinates": [{ "x": 3, "z": 4, "y": 64 }, { "x": 15, "z": 0, "y": 64 }],
            }),
        ),
        Message::new("entity_destroy", json!({ "entityId": zombie })),
        Message::new("update_time", json!({ "time": 1040 })),
    ]
}

/// What a player does.
pub(super) fn script() -> Vec<Message> {
    let dig = |status: i8| {
        let location = json!({ "x": 8, "y": 63, "z": 9 });
        Message::new("block_dig", json!({ "status": status, "location": location, "face": 1 }))
    };
    vec![
        inventory(-1, 36, &[(0, 278, 1, 12)]),
        chat("Hello from Alpha! ☃"),
        Message::new("flying", json!({ "onGround": true })),
        Message::new(
            "position",
            json!({ "x": 8.5, "y": 64.0, "stance": 65.62, "z": 9.0, "onGround": true }),
        ),
        Message::new("look", json!({ "yaw": 90.0, "pitch": -12.5, "onGround": true })),
        Message::new("arm_animation", json!({ "entityId": PLAYER, "animation": true })),
        dig(0),
        dig(3),
        Message::new("held_item_slot", json!({ "unused": 0, "itemId": 50 })),
        Message::new(
            "block_place",
            json!({ "itemId": 50, "location": { "x": 8, "y": 63, "z": 8 }, "direction": 1 }),
        ),
        Message::new("use_entity", json!({ "user": PLAYER, "target": 7, "punching": true })),
    ]
}

pub(super) fn chat(text: &str) -> Message {
    Message::new("chat", json!({ "message": text }))
}

/// An inventory of so many slots with these items: slot, id, count and damage.
fn inventory(kind: i32, slots: usize, filled: &[(usize, i16, i8, i16)]) -> Message {
    let items: Vec<Json> = (0..slots)
        .map(|slot| match filled.iter().find(|(place, ..)| *place == slot) {
            Some((_, id, count, damage)) => {
                json!({ "itemId": id, "itemCount": count, "itemDamage": damage })
            }
            None => json!({ "itemId": -1 }),
        })
        .collect();
    Message::new("player_inventory", json!({ "type": kind, "items": items }))
}

fn sign() -> Message {
    let text = |text: &str| json!({ "type": "string", "value": text });
    let int = |int: i32| json!({ "type": "int", "value": int });
    let tree = json!({
        "id": text("Sign"), "x": int(8), "y": int(64), "z": int(10),
        "Text1": text("mitmcraft"), "Text2": text("Alpha 1.2.3"), "Text3": text("☃"), "Text4": text(""),
    });
    let nbt = json!({ "type": "compound", "name": "", "value": tree });
    let location = json!({ "x": 8, "y": 64, "z": 10 });
    Message::new("tile_entity_data", json!({ "location": location, "nbtData": nbt }))
}

/// 16 x 128 x 16 blocks of stone and grass: ids, then nibbles of metadata, light and sky light.
fn landscape() -> Vec<u8> {
    let (grass, dirt, stone, sign) = (2, 3, 1, 63);
    let mut data = Vec::with_capacity(BLOCKS * 5 / 2);
    for x in 0..16 {
        for z in 0..16 {
            data.extend((0..128).map(|y| match (x, y, z) {
                (8, 64, 10) => sign,
                (_, 64.., _) => 0,
                (_, 63, _) => grass,
                (_, 60.., _) => dirt,
                _ => stone,
            }));
        }
    }
    data.extend(std::iter::repeat_n(0, BLOCKS));
    data.extend(std::iter::repeat_n(0xff, BLOCKS / 2));
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(&data);
    encoder.finish().unwrap_or_default()
}

/// The player's entity id.
const PLAYER: i32 = 1;

/// Of a chunk.
const BLOCKS: usize = 16 * 128 * 16;
