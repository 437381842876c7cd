//! What the player does, in this order.

use serde_json::{Value as Json, json};

use super::arrival::{ALEX, PLAYER};
use super::item;
use super::message::Message;
use super::random::Random;
use super::world::{GROUND, MIDDLE};

/// What a client says as soon as it is in the game.
pub(super) fn greeting() -> Vec<Message> {
    vec![Message::brand("vanilla"), settings(8)]
}

/// The script proper.
pub(super) fn acts(seed: u64) -> Vec<Message> {
    let mut random = Random::named(seed, "acts");
    let dirt = json!({ "x": MIDDLE + 1, "y": GROUND - 1, "z": MIDDLE });
    let nowhere = json!({ "x": -1, "y": -1, "z": -1 });
    vec![
        chat("Hello from the demo!"),
        Message::new("held_item_slot", json!({ "slotId": 3 })),
        Message::new("arm_animation", json!({})),
        complete("/", &Json::Null),
        dig(0, &dirt),
        dig(2, &dirt),
        place(&dirt, 1, item::sword()),
        chat("Grüße, 你好, мир, مرحبا ☃"),
        action("start_sneaking"),
        use_item(&nowhere, item::stack(50, 64, 0)),
        action("stop_sneaking"),
        complete("Al", &dirt),
        Message::new(
            "use_entity",
            json!({ "target": ALEX, "mouse": 2, "x": 0.1, "y": 1.5, "z": -0.1 }),
        ),
        Message::new("use_entity", json!({ "target": ALEX, "mouse": 1 })),
        action("start_sprinting"),
        chat("🎮🧱 emoji, too 👋🏽"),
        Message::new("client_command", json!({ "payload": "open_inventory_achievement" })),
        Message::new(
            "window_click",
            json!({
                "windowId": 0, "slot": 36, "mouseButton": 0, "action": 1, "mode": 0,
                "item": item::sword(),
            }),
        ),
        Message::new("close_window", json!({ "windowId": 0 })),
        Message::new("client_command", json!({ "payload": "request_stats" })),
        Message::plugin("mitmcraft|empty", Vec::new()),
        Message::plugin("mitmcraft|text", "plugin channels carry what they like ".repeat(20)),
        Message::plugin("mitmcraft|random", random.bytes(2000)),
        action("stop_sprinting"),
        Message::new("held_item_slot", json!({ "slotId": 0 })),
        Message::new("abilities", json!({ "flags": 0, "flyingSpeed": 0.05, "walkingSpeed": 0.1 })),
        settings(12),
        chat("/help"),
        Message::new("arm_animation", json!({})),
    ]
}

pub(super) fn chat(text: &str) -> Message {
    Message::new("chat", json!({ "message": text }))
}

fn settings(view_distance: i8) -> Message {
    Message::new(
        "settings",
        json!({
            "locale": "en_GB", "viewDistance": view_distance, "chatFlags": 0,
            "chatColors": true, "skinParts": 127,
        }),
    )
}

fn complete(text: &str, block: &Json) -> Message {
    Message::new("tab_complete", json!({ "text": text, "block": block }))
}

fn dig(status: i32, location: &Json) -> Message {
    Message::new("block_dig", json!({ "status": status, "location": location, "face": 1 }))
}

fn place(location: &Json, direction: i8, item: Json) -> Message {
    Message::new(
        "block_place",
        json!({
            "location": location, "direction": direction, "heldItem": item,
            "cursorX": 8, "cursorY": 15, "cursorZ": 8,
        }),
    )
}

/// Placing a block at no block is how 1.8 uses an item.
fn use_item(nowhere: &Json, item: Json) -> Message {
    place(nowhere, -1, item)
}

fn action(name: &str) -> Message {
    let fields = json!({ "entityId": PLAYER, "actionId": name, "jumpBoost": 0 });
    Message::new("entity_action", fields)
}
