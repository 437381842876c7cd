//! What the server shows bit by bit while the player is there.

use serde_json::{Value as Json, json};

use super::arrival::{ALEX, ALEX_UUID, PLAYER, REACH, STEFFI_UUID, at, chunk};
use super::item;
use super::message::Message;
use super::mobs::FIRST_MOB;
use super::random::Random;
use super::world::{Column, GROUND, MIDDLE, World};

/// What happens while the player is there, in this order.
pub(super) fn events(seed: u64, world: &World) -> Vec<Message> {
    let mut random = Random::named(seed, "events");
    let sign = at(MIDDLE + 2, GROUND, MIDDLE);
    let spawner = at(MIDDLE + 4, GROUND, MIDDLE - 4);
    let mut events = vec![
        block_change(&sign, 63 << 4 | 4),
        Message::new(
            "update_sign",
            json!({
                "location": sign,
                "text1": r#"{"text":"mitmcraft","color":"dark_blue"}"#,
                "text2": r#"{"text":"sees","bold":true}"#,
                "text3": r#"{"text":"☃ Grüße"}"#,
                "text4": r#""""#,
            }),
        ),
        block_change(&spawner, 52 << 4),
        spawner_data(&spawner),
        particles(36, json!([276, 0])),
        particles(37, json!([2])),
        particles(0, Json::Null),
        Message::new(
            "named_sound_effect",
            json!({
                "soundName": "mob.villager.haggle", "x": 8 * MIDDLE, "y": 8 * GROUND,
                "z": 8 * MIDDLE, "volume": 1.0, "pitch": 63,
            }),
        ),
        chat(&json!({ "translate": "multiplayer.player.joined", "with": ["Steffi"] }), CHAT),
    ];
    events.extend(scoreboard());
    events.extend(title());
    events.extend(things());
    events.push(map_item(&mut random));
    events.extend(damage(&mut random));
    events.push(chunk(world.column(REACH + 1, 0)));
    events.push(unload(REACH + 1, 0));
    events.extend(weather());
    events.extend(leaving());
    events.push(Message::new("statistics", statistics()));
    events
}

/// The answer to a request for statistics.
pub(super) fn statistics() -> Json {
    json!({
        "entries": [
            { "name": "stat.walkOneCm", "value": 4711 },
            { "name": "stat.playOneMinute", "value": 60 },
            { "name": "achievement.openInventory", "value": 1 },
            { "name": "stat.mineBlock.minecraft.stone", "value": i32::MAX },
        ],
    })
}

/// A chat message; the position is [`CHAT`], [`SYSTEM`] or [`ABOVE_HOTBAR`].
pub(super) fn chat(component: &Json, position: i8) -> Message {
    Message::new("chat", json!({ "message": component.to_string(), "position": position }))
}

pub(super) fn block_change(location: &Json, block: i32) -> Message {
    Message::new("block_change", json!({ "location": location, "type": block }))
}

/// A column without sections is taken away; the biomes are there all the same.
fn unload(x: i32, z: i32) -> Message {
    chunk(Column { x, z, bit_map: 0, data: vec![0; 256] })
}

fn spawner_data(location: &Json) -> Message {
    let int = |number: &Json| json!({ "type": "int", "value": number });
    let nbt = json!({
        "type": "compound",
        "name": "",
        "value": {
            "id": { "type": "string", "value": "MobSpawner" },
            "x": int(&location["x"]), "y": int(&location["y"]), "z": int(&location["z"]),
            "EntityId": { "type": "string", "value": "Pig" },
            "Delay": { "type": "short", "value": -1 },
            "SpawnData": { "type": "compound", "value": {
                "Motion": { "type": "list", "value": { "type": "double", "value": [0.0, 0.5] } },
                "Seed": { "type": "long", "value": i64::MIN },
                "Colours": { "type": "intArray", "value": [-1, 0, 1] },
            } },
        },
    });
    let fields = json!({ "location": location, "action": 1, "nbtData": nbt });
    Message::new("tile_entity_data", fields)
}

/// Particles 36, 37 and 38 have data, the others none.
fn particles(id: i32, data: Json) -> Message {
    let mut fields = json!({
        "particleId": id, "longDistance": id == 0, "x": 8.5, "y": f64::from(GROUND) + 1.5,
        "z": 10.5, "offsetX": 0.5, "offsetY": 0.25, "offsetZ": 0.5, "particleData": 0.1,
        "particles": 12,
    });
    if !data.is_null() {
        fields["data"] = data;
    }
    Message::new("world_particles", fields)
}

fn scoreboard() -> Vec<Message> {
    vec![
        Message::new(
            "scoreboard_objective",
            json!({ "name": "packets", "action": 0, "displayText": "§6Packets", "type": "integer" }),
        ),
        Message::new(
            "scoreboard_score",
            json!({ "itemName": "Alex", "action": 0, "scoreName": "packets", "value": 1080 }),
        ),
        Message::new(
            "scoreboard_score",
            json!({ "itemName": "Steffi", "action": 0, "scoreName": "packets", "value": -1 }),
        ),
        Message::new("scoreboard_display_objective", json!({ "position": 1, "name": "packets" })),
        Message::new(
            "scoreboard_team",
            json!({
                "team": "red", "mode": 0, "name": "Red", "prefix": "§c", "suffix": "§r",
                "friendlyFire": 1, "nameTagVisibility": "always", "color": 12,
                "players": ["Alex", "Steffi"],
            }),
        ),
        Message::new(
            "scoreboard_score",
            json!({ "itemName": "Steffi", "action": 1, "scoreName": "packets" }),
        ),
    ]
}

fn title() -> Vec<Message> {
    vec![
        Message::new("title", json!({ "action": 2, "fadeIn": 10, "stay": 40, "fadeOut": 10 })),
        Message::new("title", json!({ "action": 1, "text": r#"{"text":"a demo of"}"# })),
        Message::new(
            "title",
            json!({ "action": 0, "text": r#"{"text":"mitmcraft","color":"gold","bold":true}"# }),
        ),
    ]
}

/// Items, arrows, orbs, a painting: what is spawned and is not alive.
fn things() -> Vec<Message> {
    let position =
        |off: i32| json!({ "x": 32 * (MIDDLE + off), "y": 32 * GROUND, "z": 32 * MIDDLE });
    let object = |id: i32, kind: i8, data: i32| {
        let mut fields = position(id - THING);
        fields["entityId"] = id.into();
        fields["type"] = kind.into();
        fields["pitch"] = 0.into();
        fields["yaw"] = 64.into();
        fields["objectData"] = data.into();
        if data > 0 {
            fields["velocity"] = json!({ "x": 400, "y": 1600, "z": -400 });
        }
        Message::new("spawn_entity", fields)
    };
    let mut orb = position(3);
    orb["entityId"] = (THING + 3).into();
    orb["count"] = 5.into();
    vec![
        object(THING, 2, 1),
        Message::new(
            "entity_metadata",
            json!({
                "entityId": THING,
                "metadata": [{ "type": 5, "key": 10, "value": item::stack(264, 3, 0) }],
            }),
        ),
        object(THING + 1, 78, 0),
        Message::new(
            "entity_metadata",
            json!({
                "entityId": THING + 1,
                "metadata": [
                    { "type": 0, "key": 10, "value": 4 },
                    { "type": 7, "key": 11, "value": { "pitch": 10.0, "yaw": -20.5, "roll": 0.0 } },
                ],
            }),
        ),
        Message::new("spawn_entity_experience_orb", orb),
        Message::new(
            "spawn_entity_painting",
            json!({
                "entityId": THING + 4, "title": "SkullAndRoses",
                "location": at(MIDDLE - 5, GROUND + 1, MIDDLE), "direction": 2,
            }),
        ),
        Message::new(
            "entity_velocity",
            json!({ "entityId": THING, "velocity": { "x": -800, "y": 2400, "z": 32767 } }),
        ),
        Message::new("collect", json!({ "collectedEntityId": THING, "collectorEntityId": ALEX })),
        Message::new("entity_destroy", json!({ "entityIds": [THING, THING + 3] })),
        Message::new(
            "attach_entity",
            json!({ "entityId": FIRST_MOB + 2, "vehicleId": ALEX, "leash": true }),
        ),
    ]
}

/// A map of 128 x 128 pixels.
fn map_item(random: &mut Random) -> Message {
    let colours: Vec<u8> = (0..128 * 128).map(|_| 4 + random.below(40) as u8).collect();
    let fields = json!({
        "itemDamage": 0, "scale": 0, "columns": -128, "rows": -128, "x": 0, "y": 0,
        "icons": [{ "directionAndType": 0, "x": 0, "z": 0 }],
    });
    Message::new("map", fields).with_bytes("data", colours)
}

/// Alex is hurt by an explosion, and gets over it.
fn damage(random: &mut Random) -> Vec<Message> {
    let mut off = || json!({ "x": random.around(3), "y": random.around(2), "z": random.around(3) });
    let offsets: Vec<Json> = (0..24).map(|_| off()).collect();
    let records: Vec<Json> = (0..9u8)
        .map(|at| json!({ "horizontalPos": 16 * (at / 3) + at % 3, "y": GROUND - 1, "blockId": 0 }))
        .collect();
    vec![
        Message::new("animation", json!({ "entityId": ALEX, "animation": 0 })),
        Message::new(
            "explosion",
            json!({
                "x": 0.5, "y": GROUND, "z": 0.5, "radius": 3.0, "affectedBlockOffsets": offsets,
                "playerMotionX": 0.0, "playerMotionY": 0.05, "playerMotionZ": -0.0,
            }),
        ),
        Message::new("multi_block_change", json!({ "chunkX": 0, "chunkZ": 0, "records": records })),
        Message::new("entity_status", json!({ "entityId": ALEX, "entityStatus": 2 })),
        Message::new(
            "update_attributes",
            json!({
                "entityId": PLAYER,
                "properties": [{
                    "key": "generic.movementSpeed", "value": 0.1,
                    "modifiers": [{
                        "uuid": "662a6b8d-da3e-4c1c-8813-96ea6097278d",
                        "amount": 0.3, "operation": 2,
                    }],
                }],
            }),
        ),
        Message::new(
            "entity_effect",
            json!({
                "entityId": ALEX, "effectId": 10, "amplifier": 1, "duration": 600,
                "hideParticles": false,
            }),
        ),
        Message::new("remove_entity_effect", json!({ "entityId": ALEX, "effectId": 10 })),
        Message::new("combat_event", json!({ "event": 1, "duration": 40, "entityId": ALEX })),
        Message::new("update_health", json!({ "health": 17.5, "food": 19, "foodSaturation": 0.0 })),
        Message::new(
            "block_break_animation",
            json!({
                "entityId": ALEX, "location": at(MIDDLE - 1, GROUND - 1, MIDDLE + 3),
                "destroyStage": 4,
            }),
        ),
        Message::new(
            "world_event",
            json!({
                "effectId": 2001, "location": at(MIDDLE - 1, GROUND - 1, MIDDLE + 3), "data": 2,
                "global": false,
            }),
        ),
    ]
}

fn weather() -> Vec<Message> {
    let lightning =
        json!({ "entityId": THING + 9, "type": 1, "x": -640, "y": 32 * GROUND, "z": 1280 });
    vec![
        Message::new("game_state_change", json!({ "reason": "start_raining", "gameMode": 0.0 })),
        Message::new("spawn_entity_weather", lightning),
        Message::new("game_state_change", json!({ "reason": "stop_raining", "gameMode": 0.0 })),
        chat(&json!({ "text": "It rained.", "italic": true, "color": "blue" }), ABOVE_HOTBAR),
    ]
}

/// Steffi leaves.
fn leaving() -> Vec<Message> {
    let alex = json!({ "uuid": ALEX_UUID, "ping": 57 });
    vec![
        Message::new("player_info", json!({ "action": "update_latency", "data": [alex] })),
        Message::new(
            "player_info",
            json!({ "action": "remove_player", "data": [{ "uuid": STEFFI_UUID }] }),
        ),
        chat(&json!({ "translate": "multiplayer.player.left", "with": ["Steffi"] }), CHAT),
    ]
}

/// Positions of a chat message.
pub(super) const CHAT: i8 = 0;
pub(super) const SYSTEM: i8 = 1;
const ABOVE_HOTBAR: i8 = 2;

/// Entity id of the first lifeless thing.
const THING: i32 = 300;
