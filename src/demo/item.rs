use serde_json::{Value as Json, json};

/// A slot with nothing in it.
pub(super) fn empty() -> Json {
    json!({ "blockId": -1 })
}

/// A stack without NBT.
pub(super) fn stack(id: i16, count: i8, damage: i16) -> Json {
    json!({ "blockId": id, "itemCount": count, "itemDamage": damage })
}

/// A sword with two enchantments, a name and two lines of lore.
pub(super) fn sword() -> Json {
    let text = |text: &str| json!({ "type": "string", "value": text });
    let short = |number: i16| json!({ "type": "short", "value": number });
    let mut item = stack(276, 1, 3);
    item["nbtData"] = json!({
        "type": "compound",
        "name": "",
        "value": {
            "ench": {
                "type": "list",
                "value": {
                    "type": "compound",
                    "value": [
                        { "id": short(16), "lvl": short(5) },
                        { "id": short(34), "lvl": short(3) },
                    ],
                },
            },
            "display": {
                "type": "compound",
                "value": {
                    "Name": text("§bÉpée d'Alex ⚔"),
                    "Lore": {
                        "type": "list",
                        "value": { "type": "string", "value": ["§7Found on the wire", "§78 bits"] },
                    },
                },
            },
            "Unbreakable": { "type": "byte", "value": 1 },
            "RepairCost": { "type": "int", "value": 7 },
        },
    });
    item
}

/// A written book; its pages are long enough to be worth compressing.
pub(super) fn book() -> Json {
    let page =
        |number: u8| format!(r#"{{"text":"{} {number}"}}"#, "What goes over the wire. ".repeat(6));
    let mut item = stack(387, 1, 0);
    item["nbtData"] = json!({
        "type": "compound",
        "name": "",
        "value": {
            "title": { "type": "string", "value": "Packets" },
            "author": { "type": "string", "value": "Alex" },
            "generation": { "type": "int", "value": 0 },
            "pages": {
                "type": "list",
                "value": { "type": "string", "value": [page(1), page(2), page(3)] },
            },
        },
    });
    item
}
