//! Rewrites of every kind of field of protocol 47.

use super::*;

use Direction::{Clientbound, Serverbound};

/// Decodes `json` as that packet, applies `actions`, and compares the JSON of the result.
fn check(direction: Direction, name: &str, came: &str, actions: &str, went: &str) {
    let state = if name == "server_info" { State::Status } else { State::Play };
    let value = Value::from_json(&serde_json::from_str(came).unwrap());
    let packet = packet_at(0, state, direction, name, &value);
    let (mut pipeline, _) =
        rules(&format!("[[rule]]\nwhen = 'pkt.name == \"{name}\"'\n{actions}\n"));
    let judgement = pipeline.apply(&packet);
    assert_eq!(judgement.effects.notes.comments, Vec::<String>::new(), "{name} {actions}");
    let got = json(&after(&packet, &judgement), name, direction, state);
    assert_eq!(got, serde_json::from_str::<serde_json::Value>(went).unwrap(), "{name} {actions}");
}

#[test]
fn numbers_of_every_width() {
    check(
        Clientbound,
        "update_health",
        r#"{"health":20.0,"food":20,"foodSaturation":5.0}"#,
        "set = { health = 0.1, food = '=food - 15', foodSaturation = 3 }",
        r#"{"health":0.1,"food":5,"foodSaturation":3.0}"#,
    );
    check(
        Serverbound,
        "position_look",
        r#"{"x":1.5,"y":2.0,"z":3.0,"yaw":0.0,"pitch":0.0,"onGround":false}"#,
        "set = { x = '=x * 2', y = 64, onGround = true }",
        r#"{"x":3.0,"y":64.0,"z":3.0,"yaw":0.0,"pitch":0.0,"onGround":true}"#,
    );
    check(
        Clientbound,
        "update_time",
        r#"{"age":1,"time":2}"#,
        "set = { age = 0x7fffffffffffffff, time = -6000 }",
        r#"{"age":9223372036854775807,"time":-6000}"#,
    );
    check(
        Clientbound,
        "keep_alive",
        r#"{"keepAliveId":1}"#,
        "set = { keepAliveId = 2097152 }",
        r#"{"keepAliveId":2097152}"#,
    );
    check(
        Clientbound,
        "rel_entity_move",
        r#"{"entityId":1,"dX":1,"dY":2,"dZ":3,"onGround":true}"#,
        "set = { dX = -128 }",
        r#"{"entityId":1,"dX":-128,"dY":2,"dZ":3,"onGround":true}"#,
    );
}

#[test]
fn positions_and_containers() {
    check(
        Clientbound,
        "spawn_position",
        r#"{"location":{"x":8,"y":4,"z":-8}}"#,
        "set = { location.y = 255, 'location.z' = '=location.x - 20' }",
        r#"{"location":{"x":8,"y":255,"z":-12}}"#,
    );
    check(
        Clientbound,
        "spawn_position",
        r#"{"location":{"x":8,"y":4,"z":-8}}"#,
        "set = { location = { x = -1, y = 2, z = 3 } }",
        r#"{"location":{"x":-1,"y":2,"z":3}}"#,
    );
}

const SWORD: &str = r#"{"windowId":0,"slot":36,"item":{"blockId":276,"itemCount":1,"itemDamage":3,
 "nbtData":{"type":"compound","name":"","value":{"display":{"type":"compound","value":{"Name":{"type":"string","value":"Sword"}}},"n":{"type":"short","value":5}}}}}"#;

#[test]
fn slots_with_nbt() {
    check(
        Clientbound,
        "set_slot",
        SWORD,
        "set = { 'item.itemCount' = 64, 'item.nbtData.display.Name' = 'Épée', item.nbtData = { n = -6, new = { deep = 1 } } }",
        r#"{"windowId":0,"slot":36,"item":{"blockId":276,"itemCount":64,"itemDamage":3,
 "nbtData":{"type":"compound","name":"","value":{"display":{"type":"compound","value":{"Name":{"type":"string","value":"Épée"}}},"n":{"type":"short","value":-6},"new":{"type":"compound","value":{"deep":{"type":"int","value":1}}}}}}}"#,
    );
    let empty = r#"{"windowId":0,"slot":36,"item":{"blockId":-1}}"#;
    check(Clientbound, "set_slot", SWORD, "set = { 'item.blockId' = -1 }", empty);
    check(
        Clientbound,
        "set_slot",
        empty,
        "set = { item = { blockId = 1, itemCount = 2, itemDamage = 0 } }",
        r#"{"windowId":0,"slot":36,"item":{"blockId":1,"itemCount":2,"itemDamage":0}}"#,
    );
    check(
        Clientbound,
        "set_slot",
        SWORD,
        "remove = ['item.nbtData']",
        r#"{"windowId":0,"slot":36,"item":{"blockId":276,"itemCount":1,"itemDamage":3}}"#,
    );
    check(
        Clientbound,
        "set_slot",
        SWORD,
        "remove = ['item.nbtData.display']",
        r#"{"windowId":0,"slot":36,"item":{"blockId":276,"itemCount":1,"itemDamage":3,"nbtData":{"type":"compound","name":"","value":{"n":{"type":"short","value":5}}}}}"#,
    );
    check(
        Clientbound,
        "set_slot",
        SWORD,
        "set = { 'item.nbtData' = { type = 'compound', name = '', value = { a = { type = 'byte', value = 1 } } } }",
        r#"{"windowId":0,"slot":36,"item":{"blockId":276,"itemCount":1,"itemDamage":3,"nbtData":{"type":"compound","name":"","value":{"a":{"type":"byte","value":1}}}}}"#,
    );
}

#[test]
fn elements_of_lists() {
    let items = r#"{"windowId":0,"items":[{"blockId":-1},{"blockId":1,"itemCount":2,"itemDamage":0},{"blockId":2,"itemCount":2,"itemDamage":0}]}"#;
    check(
        Clientbound,
        "window_items",
        items,
        "set = { 'items[1].itemCount' = 9, 'items[-1].blockId' = -1, 'items[+]' = { blockId = -1 } }\nremove = ['items[0]']",
        r#"{"windowId":0,"items":[{"blockId":1,"itemCount":9,"itemDamage":0},{"blockId":-1},{"blockId":-1}]}"#,
    );
    check(
        Clientbound,
        "window_items",
        items,
        "set = { 'items[*].blockId' = -1 }",
        r#"{"windowId":0,"items":[{"blockId":-1},{"blockId":-1},{"blockId":-1}]}"#,
    );
    check(
        Clientbound,
        "window_items",
        items,
        "set = { items = [{ blockId = -1 }] }",
        r#"{"windowId":0,"items":[{"blockId":-1}]}"#,
    );
    check(
        Clientbound,
        "entity_destroy",
        r#"{"entityIds":[1,2,3]}"#,
        "set = { 'entityIds[0]' = '=entityIds[2] + 1000' }\nremove = ['entityIds[1]']",
        r#"{"entityIds":[1003,3]}"#,
    );
}

#[test]
fn metadata() {
    check(
        Clientbound,
        "entity_metadata",
        r#"{"entityId":1,"metadata":[{"type":0,"key":0,"value":0},{"type":4,"key":2,"value":"Steve"}]}"#,
        "set = { 'metadata[1].value' = 'Alex', 'metadata[+]' = { type = 3, key = 6, value = 20.0 } }",
        r#"{"entityId":1,"metadata":[{"type":0,"key":0,"value":0},{"type":4,"key":2,"value":"Alex"},{"type":3,"key":6,"value":20.0}]}"#,
    );
}

#[test]
fn byte_arrays() {
    check(
        Serverbound,
        "custom_payload",
        r#"{"channel":"MC|Brand","data":"B3ZhbmlsbGE="}"#,
        "set = { channel = 'x', data = 'AAEC' }",
        r#"{"channel":"x","data":"AAEC"}"#,
    );
}

#[test]
fn uuids_names_of_numbers_and_optional_fields() {
    let came = r#"{"action":"add_player","data":[{"uuid":"069a79f4-44e9-4726-a5be-fca90e38aaf5","name":"Steve","properties":[],"gamemode":0,"ping":42}]}"#;
    check(
        Clientbound,
        "player_info",
        came,
        "set = { 'data[0].displayName' = '{\"text\":\"S\"}', 'data[*].ping' = 1, 'data[0].uuid' = '00000000-0000-0000-0000-000000000001', 'data[0].properties[+]' = { name = 'a', value = 'b' } }",
        r#"{"action":"add_player","data":[{"uuid":"00000000-0000-0000-0000-000000000001","name":"Steve","properties":[{"name":"a","value":"b"}],"gamemode":0,"ping":1,"displayName":"{\"text\":\"S\"}"}]}"#,
    );
    let with = r#"{"action":"update_display_name","data":[{"uuid":"069a79f4-44e9-4726-a5be-fca90e38aaf5","displayName":"\"x\""}]}"#;
    check(
        Clientbound,
        "player_info",
        with,
        "remove = ['data[0].displayName']",
        r#"{"action":"update_display_name","data":[{"uuid":"069a79f4-44e9-4726-a5be-fca90e38aaf5"}]}"#,
    );
}

#[test]
fn text_that_holds_json() {
    let status = r#"{"response":"{\"version\":{\"name\":\"1.8.8\",\"protocol\":47},\"players\":{\"max\":20,\"online\":0},\"description\":\"hi\"}"}"#;
    check(
        Clientbound,
        "server_info",
        status,
        "set = { 'response#/players/online' = '=pkt.size - 30', 'response#/players/sample' = [{ name = 'x' }], 'response#/players/sample/-' = { name = 'y' } , 'response#/description' = { text = 'changed' } }\nremove = ['response#/version']",
        r#"{"response":"{\"players\":{\"max\":20,\"online\":65,\"sample\":[{\"name\":\"x\"},{\"name\":\"y\"}]},\"description\":{\"text\":\"changed\"}}"}"#,
    );
    check(
        Clientbound,
        "chat",
        r#"{"message":"{\"text\":\"hi\",\"extra\":[{\"text\":\"a\"}]}","position":0}"#,
        "set = { 'message#/extra/0/text' = '=upper(text(message))', position = 1 }",
        r#"{"message":"{\"text\":\"hi\",\"extra\":[{\"text\":\"HIA\"}]}","position":1}"#,
    );
}

#[test]
fn an_element_counted_from_the_end_is_the_one_before_anything_is_appended() {
    check(
        Clientbound,
        "entity_destroy",
        r#"{"entityIds":[1,2]}"#,
        "set = { 'entityIds[-1]' = 5, 'entityIds[+]' = 7 }",
        r#"{"entityIds":[1,5,7]}"#,
    );
    check(
        Clientbound,
        "player_info",
        r#"{"action":"add_player","data":[{"uuid":"069a79f4-44e9-4726-a5be-fca90e38aaf5","name":"Steve","properties":[{"name":"a","value":"b"}],"gamemode":0,"ping":42}]}"#,
        "set = { 'data[0].properties[+]' = { name = 'c', value = 'd' } }",
        r#"{"action":"add_player","data":[{"uuid":"069a79f4-44e9-4726-a5be-fca90e38aaf5","name":"Steve","properties":[{"name":"a","value":"b"},{"name":"c","value":"d"}],"gamemode":0,"ping":42}]}"#,
    );
}

#[test]
fn all_elements_of_a_list_are_removed() {
    check(
        Clientbound,
        "entity_destroy",
        r#"{"entityIds":[1,2,3]}"#,
        "remove = ['entityIds[*]']",
        r#"{"entityIds":[]}"#,
    );
}

#[test]
fn typed_tags_and_tags_called_type() {
    let tags = |tags: &str| {
        format!(
            r#"{{"windowId":0,"slot":36,"item":{{"blockId":276,"itemCount":1,"itemDamage":3,"nbtData":{{"type":"compound","name":"","value":{tags}}}}}}}"#
        )
    };
    let came = tags(r#"{"n":{"type":"short","value":5}}"#);
    check(
        Clientbound,
        "set_slot",
        &came,
        "set = { 'item.nbtData' = { type = 'x' } }",
        &tags(r#"{"n":{"type":"short","value":5},"type":{"type":"string","value":"x"}}"#),
    );
    for (typed, made) in [
        ("{ type = 'long', value = 7 }", r#"{"type":"long","value":7}"#),
        ("{ type = 'double', value = 0.5 }", r#"{"type":"double","value":0.5}"#),
        ("{ type = 'string', value = 'x' }", r#"{"type":"string","value":"x"}"#),
        ("{ type = 'intArray', value = [1, 2] }", r#"{"type":"intArray","value":[1,2]}"#),
        (
            "{ type = 'compound', value = { a = { type = 'byte', value = 1 } } }",
            r#"{"type":"compound","value":{"a":{"type":"byte","value":1}}}"#,
        ),
    ] {
        let set = format!("set = {{ 'item.nbtData.n' = {typed} }}");
        check(Clientbound, "set_slot", &came, &set, &tags(&format!(r#"{{"n":{made}}}"#)));
    }
}

#[test]
fn members_and_elements_of_json_are_removed_and_appended() {
    let message = |json: &str| serde_json::json!({ "message": json, "position": 0 }).to_string();
    let came = message(r#"{"extra":[{"text":"a","bold":true},{"text":"b"}],"z":{"y":1}}"#);
    check(
        Clientbound,
        "chat",
        &came,
        "remove = ['message#/extra/0/bold', 'message#/extra/1', 'message#/z/y', 'message#/no/such']",
        &message(r#"{"extra":[{"text":"a"}],"z":{}}"#),
    );
    check(
        Clientbound,
        "chat",
        &came,
        "set = { 'message#/extra/2' = 'c' }",
        &message(r#"{"extra":[{"text":"a","bold":true},{"text":"b"},"c"],"z":{"y":1}}"#),
    );
    for (action, index) in [
        ("remove = ['message#/extra/2']", 2),
        ("remove = ['message#/extra/2/text']", 2),
        ("set = { 'message#/extra/3' = 'c' }", 3),
    ] {
        let value = Value::from_json(&serde_json::from_str(&came).unwrap());
        let packet = packet_at(0, State::Play, Clientbound, "chat", &value);
        let (mut pipeline, _) = rules(&format!("[[rule]]\nwhen = 'chat'\n{action}\n"));
        let comment = pipeline.apply(&packet).effects.notes.comments.remove(0);
        let expected = format!("no element `{index}` in the JSON's list");
        assert!(comment.contains(&expected), "{action}: {comment}");
    }
}

#[test]
fn numbers_by_the_names_of_what_they_stand_for() {
    check(
        Serverbound,
        "set_creative_slot",
        r#"{"slot":36,"item":{"blockId":1,"itemCount":1,"itemDamage":0,"nbtData":null}}"#,
        "set = { 'item.blockId' = 'diamond_sword' }",
        r#"{"slot":36,"item":{"blockId":276,"itemCount":1,"itemDamage":0}}"#,
    );
    check(
        Clientbound,
        "respawn",
        r#"{"dimension":0,"difficulty":0,"gamemode":0,"levelType":"flat"}"#,
        "set = { dimension = 'nether', gamemode = 'creative', levelType = 'default' }",
        r#"{"dimension":-1,"difficulty":0,"gamemode":1,"levelType":"default"}"#,
    );
    check(
        Clientbound,
        "block_change",
        r#"{"location":{"x":1,"y":2,"z":3},"type":16}"#,
        "set = { type = 'minecraft:dirt' }",
        r#"{"location":{"x":1,"y":2,"z":3},"type":48}"#,
    );
}
