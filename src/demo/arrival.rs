//! What the server shows a player who has just come.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use super::item;
use super::message::Message;
use super::scene::{SYSTEM, chat};
use super::status::MAX_PLAYERS;
use super::world::{Column, GROUND, MIDDLE, ORES, World};
use crate::schema::format_uuid;

/// What comes before the player stands in the world.
pub(super) fn opening() -> Vec<Message> {
    vec![
        Message::new(
            "login",
            json!({
                "entityId": PLAYER, "gameMode": 0, "dimension": 0, "difficulty": 1,
                "maxPlayers": MAX_PLAYERS, "levelType": "default", "reducedDebugInfo": false,
            }),
        ),
        Message::brand("mitmcraft demo"),
        Message::new("difficulty", json!({ "difficulty": "easy" })),
        Message::new("spawn_position", json!({ "location": at(MIDDLE, GROUND, MIDDLE) })),
        Message::new("abilities", json!({ "flags": 4, "flyingSpeed": 0.05, "walkingSpeed": 0.1 })),
        Message::new("held_item_slot", json!({ "slot": 0 })),
    ]
}

/// The columns around the player, several at once and the mountain by itself.
pub(super) fn landscape(world: &World) -> Vec<Message> {
    let near = (-REACH..=REACH).flat_map(|z| (-REACH..=REACH).map(move |x| (x, z)));
    let columns: Vec<Column> =
        near.filter(|place| *place != ORES).map(|(x, z)| world.column(x, z)).collect();
    let mut messages: Vec<Message> = columns.chunks(COLUMNS_AT_ONCE).map(bulk).collect();
    messages.push(chunk(world.column(ORES.0, ORES.1)));
    messages
}

/// What a player sees who has just come.
pub(super) fn arrival(player: &str, uuid: u128) -> Vec<Message> {
    let middle = f64::from(MIDDLE) + 0.5;
    let mut hotbar: Vec<Json> = (0..45).map(|_| item::empty()).collect();
    hotbar[36] = item::sword();
    hotbar[37] = item::stack(278, 1, 12);
    hotbar[38] = item::stack(50, 64, 0);
    hotbar[44] = item::book();
    let myself = json!({
        "uuid": format_uuid(uuid), "name": player, "properties": [],
        "gamemode": 0, "ping": 0, "displayName": null,
    });
    vec![
        Message::new(
            "position",
            json!({
                "x": middle, "y": GROUND, "z": middle, "yaw": 0.0, "pitch": 0.0, "flags": 0,
            }),
        ),
        world_border(),
        Message::new("update_time", json!({ "age": 0, "time": MORNING })),
        Message::new("window_items", json!({ "windowId": 0, "items": hotbar })),
        Message::new("set_slot", json!({ "windowId": -1, "slot": -1, "item": item::empty() })),
        Message::new("update_health", json!({ "health": 20.0, "food": 20, "foodSaturation": 5.0 })),
        Message::new(
            "experience",
            json!({ "experienceBar": 0.5, "level": 7, "totalExperience": 112 }),
        ),
        Message::new("player_info", json!({ "action": "add_player", "data": [myself] })),
        others(),
        alex(),
        equipment(),
        Message::new(
            "playerlist_header",
            json!({
                "header": json!({ "text": "mitmcraft", "color": "gold" }).to_string(),
                "footer": json!({ "text": "every byte, both ways", "color": "gray" }).to_string(),
            }),
        ),
        chat(
            &json!({
                "text": "Welcome, ", "color": "yellow",
                "extra": [
                    { "text": player, "color": "aqua", "bold": true },
                    { "text": "! Say ", "color": "yellow" },
                    { "text": "/bye", "color": "red", "underlined": true,
                      "clickEvent": { "action": "run_command", "value": "/bye" } },
                    { "text": " to leave. Grüße, 你好, мир 🎮☃", "color": "gray" },
                ],
            }),
            SYSTEM,
        ),
    ]
}

/// A column by itself.
pub(super) fn chunk(column: Column) -> Message {
    let Column { x, z, bit_map, data } = column;
    let fields = json!({ "x": x, "z": z, "groundUp": true, "bitMap": bit_map });
    Message::new("map_chunk", fields).with_bytes("chunkData", data)
}

/// A block, as JSON.
pub(super) fn at(x: i32, y: i32, z: i32) -> Json {
    json!({ "x": x, "y": y, "z": z })
}

fn bulk(columns: &[Column]) -> Message {
    let meta: Vec<Json> = columns
        .iter()
        .map(|column| json!({ "x": column.x, "z": column.z, "bitMap": column.bit_map }))
        .collect();
    let data: Vec<u8> = columns.iter().flat_map(|column| &column.data).copied().collect();
    let message = Message::new("map_chunk_bulk", json!({ "skyLightSent": true, "meta": meta }));
    message.with_bytes("data", data)
}

fn world_border() -> Message {
    Message::new(
        "world_border",
        json!({
            "action": 3, "x": 8.5, "z": 8.5, "old_radius": 512.0, "new_radius": 256.0,
            "speed": 60_000, "portalBoundary": 29_999_984, "warning_time": 15,
            "warning_blocks": 5,
        }),
    )
}

fn others() -> Message {
    let skin = r#"{"textures":{"SKIN":{"url":"http://textures.example.org/alex"}}}"#;
    let skin = BASE64_STANDARD.encode(skin);
    let alex = json!({
        "uuid": ALEX_UUID, "name": "Alex", "gamemode": 1, "ping": 42,
        "properties": [
            { "name": "textures", "value": skin, "signature": "c2ln".repeat(100) },
            { "name": "cape", "value": "none", "signature": null },
        ],
        "displayName": r#"{"text":"Alex","color":"red"}"#,
    });
    let steffi = json!({
        "uuid": STEFFI_UUID, "name": "Steffi", "gamemode": 0, "ping": 250,
        "properties": [], "displayName": null,
    });
    Message::new("player_info", json!({ "action": "add_player", "data": [alex, steffi] }))
}

fn alex() -> Message {
    Message::new(
        "named_entity_spawn",
        json!({
            "entityId": ALEX, "playerUUID": ALEX_UUID,
            "x": 32 * (MIDDLE - 3), "y": 32 * GROUND, "z": 32 * (MIDDLE + 3),
            "yaw": -96, "pitch": 5, "currentItem": 276,
            "metadata": [
                { "type": 0, "key": 0, "value": 0 },
                { "type": 1, "key": 1, "value": 300 },
                { "type": 4, "key": 2, "value": "Alex" },
                { "type": 3, "key": 6, "value": 18.5 },
                { "type": 2, "key": 7, "value": 0x0033_6699 },
                { "type": 0, "key": 10, "value": 127 },
                { "type": 3, "key": 17, "value": 0.0 },
                { "type": 2, "key": 18, "value": 42 },
            ],
        }),
    )
}

fn equipment() -> Message {
    let fields = json!({ "entityId": ALEX, "slot": 0, "item": item::sword() });
    Message::new("entity_equipment", fields)
}

/// Entity ids of the player and of Alex.
pub(super) const PLAYER: i32 = 1;
pub(super) const ALEX: i32 = 2;

pub(super) const ALEX_UUID: &str = "61699b2e-d327-4a01-9f1e-0ea8c3f06bc6";
pub(super) const STEFFI_UUID: &str = "8667ba71-b85a-4004-af54-457a9734eed7";

/// The time of day at which the demo begins.
pub(super) const MORNING: i64 = 1000;

/// Columns in each direction from the player's own.
pub(super) const REACH: i32 = 2;

/// As many columns as the game's server puts into a packet.
const COLUMNS_AT_ONCE: usize = 10;
