//! Values that a version does not have, in front of data whose layout depends on them.

use hex_literal::hex;
use serde_json::{Value as Json, json};

use super::odd::protocol;
use crate::schema::{Catalog, DecodeError, Direction, JsonVisitor, Protocol, State, Value};
use crate::wire::write_varint;

/// A container with a number or name, and a value that depends on it.
fn choice(kind: Json, cases: Json) -> Protocol {
    let value = json!(["switch", { "compareTo": "kind", "fields": cases }]);
    let fields = json!([{ "name": "kind", "type": kind }, { "name": "value", "type": value }]);
    let list = json!(["array", { "count": 2, "type": ["container", fields] }]);
    protocol(json!(["container", [{ "name": "items", "type": list }]])).unwrap()
}

/// Decodes the fields of the only packet. Returns the error, its offset among the fields, and what is shown.
fn ends(protocol: &Protocol, fields: &[u8]) -> (String, usize, Json) {
    let (error, shown) = walk(protocol, "it", fields);
    let error = error.expect_err("an unknown value");
    (error.to_string(), error.at - 1, shown)
}

fn walk(protocol: &Protocol, name: &str, fields: &[u8]) -> (Result<usize, DecodeError>, Json) {
    let packet = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
    let mut body = Vec::new();
    write_varint(&mut body, packet.id());
    let start = body.len();
    body.extend_from_slice(fields);
    let mut out = Vec::new();
    let mut visitor = JsonVisitor::new(&mut out);
    let walked = protocol.walk(packet, &body, start, &mut visitor);
    visitor.finish();
    (walked, serde_json::from_slice(&out).unwrap())
}

const TEXT: &str = "pstring";

#[test]
fn a_number_without_a_case_ends_the_decoding_at_its_field() {
    let protocol = choice(json!("varint"), json!({ "1": "u8", "2": "void" }));
    let (error, at, shown) = ends(&protocol, &hex!("01 07 c801 01 02"));
    let words = "is not known in this version, so that what follows has no layout";
    assert_eq!(error, format!("items[1].kind: 200 {words}"));
    assert_eq!(at, 2);
    assert_eq!(shown, json!({ "items": [{ "kind": 1, "value": 7 }, { "kind": 200 }] }));
}

#[test]
fn a_name_without_a_case_ends_the_decoding_even_if_it_is_no_valid_text() {
    let kind = json!([TEXT, { "countType": "varint" }]);
    let protocol = choice(kind, json!({ "a": "u8", "b": "void" }));
    let (error, at, shown) = ends(&protocol, &hex!("01 62 03 6d3a78 01 02"));
    assert!(error.starts_with("items[1].kind: `m:x` is not known in this version"), "{error}");
    assert_eq!(at, 2);
    assert_eq!(shown, json!({ "items": [{ "kind": "b" }, { "kind": "m:x" }] }));
    let (error, ..) = ends(&protocol, &hex!("02 61ff 01"));
    assert!(error.starts_with("items[0].kind: `a\u{fffd}` is not known"), "{error}");
    // What a server makes up is not repeated at any length.
    let long = [&[0xac, 0x02][..], &[b'x'; 300]].concat();
    let (error, ..) = ends(&protocol, &long);
    assert!(error.len() < 250, "{error}");
}

#[test]
fn a_mapped_number_with_a_name_is_known_without_a_case() {
    let names = json!({ "0": "a", "1": "b" });
    let kind = json!(["mapper", { "type": "varint", "mappings": names }]);
    let protocol = choice(kind, json!({ "a": "u8" }));
    let (walked, shown) = walk(&protocol, "it", &hex!("00 07 01"));
    assert_eq!(walked, Ok(4));
    assert_eq!(shown, json!({ "items": [{ "kind": "a", "value": 7 }, { "kind": "b" }] }));
    let (error, at, shown) = ends(&protocol, &hex!("01 05 00 07"));
    assert!(error.starts_with("items[1].kind: 5 is not known"), "{error}");
    assert_eq!((at, shown), (1, json!({ "items": [{ "kind": "b" }, { "kind": 5 }] })));
}

#[test]
fn a_default_cases_without_data_and_booleans_leave_nothing_unknown() {
    let fields = |switch: Json| {
        let kind = json!({ "name": "kind", "type": "u8" });
        protocol(json!(["container", [kind, { "name": "value", "type": switch }]])).unwrap()
    };
    let given =
        json!(["switch", { "compareTo": "kind", "fields": { "1": "u8" }, "default": "void" }]);
    assert_eq!(walk(&fields(given), "it", &hex!("09")).0, Ok(2));
    let empty = json!(["switch", { "compareTo": "kind", "fields": { "1": "void" } }]);
    assert_eq!(walk(&fields(empty), "it", &hex!("09")).0, Ok(2));
    let bool = choice(json!("bool"), json!({ "true": "u8" }));
    assert_eq!(walk(&bool, "it", &hex!("00 01 07")).0, Ok(4));
}

#[test]
fn the_field_at_fault_is_that_of_the_container_that_has_it() {
    let switch = |on: &str| json!(["switch", { "compareTo": on, "fields": { "1": "u8" } }]);
    let outer = |more: Json| {
        let kind = json!({ "name": "kind", "type": "u8" });
        let body = json!(["container", [kind, more]]);
        let list = json!(["array", { "countType": "varint", "type": body }]);
        protocol(json!(["container", [{ "name": "all", "type": list }]])).unwrap()
    };
    // In a container of its own, in a list, behind an option, and merged into the outer container.
    let inner = json!(["container", [{ "name": "value", "type": switch("../kind") }]]);
    let list = json!(["array", { "count": 1, "type": ["option", inner] }]);
    let (error, at, _) =
        ends(&outer(json!({ "name": "list", "type": list })), &hex!("01 09 01 05"));
    assert!(error.starts_with("all[0].kind: 9 is not known"), "{error}");
    assert_eq!(at, 1);
    let rest =
        json!(["switch", { "compareTo": "kind", "fields": { "2": "void" }, "default": inner }]);
    let (error, ..) = ends(&outer(json!({ "anon": true, "type": rest })), &hex!("01 09 05"));
    assert!(error.starts_with("all[0].kind: 9 is not known"), "{error}");
    let merged = json!({ "anon": true, "type": ["switch", {
        "compareTo": "kind",
        "fields": { "1": ["container", [{ "name": "value", "type": "u8" }]] },
    }] });
    let (error, ..) = ends(&outer(merged), &hex!("02 01 07 09 05"));
    assert!(error.starts_with("all[1].kind: 9 is not known"), "{error}");
    // An error of what follows keeps its own place.
    let (walked, _) =
        walk(&outer(json!({ "name": "value", "type": switch("kind") })), "it", &[1, 1]);
    assert!(walked.unwrap_err().to_string().starts_with("all[0].value: "));
}

#[test]
fn part_of_a_number_can_be_unknown() {
    let bits = json!(["bitfield", [
        { "name": "unused", "size": 6, "signed": false },
        { "name": "kind", "size": 2, "signed": false },
    ]]);
    let switch = json!(["switch", { "compareTo": "flags/kind", "fields": { "1": "u8" } }]);
    let fields = json!([{ "name": "flags", "type": bits }, { "name": "value", "type": switch }]);
    let protocol = protocol(json!(["container", fields])).unwrap();
    let (error, at, shown) = ends(&protocol, &hex!("fe 07"));
    assert!(error.starts_with("flags.kind: 2 is not known"), "{error}");
    assert_eq!((at, shown), (0, json!({ "flags": { "unused": 63, "kind": 2 } })));
}

#[test]
fn a_value_without_a_layout_does_not_encode() {
    let protocol = choice(json!("varint"), json!({ "1": "u8" }));
    let packet = &protocol.packets()[0];
    let value = |kind: i32| {
        let known = json!({ "kind": 1, "value": 7 });
        Value::from_json(&json!({ "items": [known, { "kind": kind, "value": 7 }] }))
    };
    assert_eq!(protocol.encode(packet, &value(1)).unwrap(), hex!("00 01 07 01 07"));
    let error = protocol.encode(packet, &value(9)).unwrap_err().to_string();
    assert_eq!(error, "items[1].value: no layout for this `kind` in this version");
}

/// Every kind of data that is read by a number or name in front of it, in one version or more.
#[test]
fn nothing_is_made_up_after_what_a_version_does_not_have() {
    let text = |text: &str| [&[text.len() as u8][..], text.as_bytes()].concat();
    let place = [0; 40];
    let mixing =
        [&hex!("02")[..], &text("create:mixing"), &text("create:a"), &[1, 2, 3, 4]].concat();
    let argument = |parser: &[u8]| {
        [&hex!("03 00 01 01 06 00 01 61")[..], parser, &hex!("01 00 05 00 00")].concat()
    };
    let mut failures = Vec::new();
    for (version, name, fields, place) in [
        // Metadata of entities.
        (110, "entity_metadata", hex!("05 08 66 01 09 00 01 ff").to_vec(), "metadata[0].type: 102"),
        (340, "entity_metadata", hex!("05 08 66 01 09 00 01 ff").to_vec(), "metadata[0].type: 102"),
        (404, "entity_metadata", hex!("05 08 66 01 09 00 01 ff").to_vec(), "metadata[0].type: 102"),
        (754, "entity_metadata", hex!("05 08 66 01 09 00 01 ff").to_vec(), "metadata[0].type: 102"),
        (763, "entity_metadata", hex!("05 08 66 01 09 00 01 ff").to_vec(), "metadata[0].type: 102"),
        (769, "entity_metadata", hex!("05 08 66 01 09 00 01 ff").to_vec(), "metadata[0].type: 102"),
        (776, "entity_metadata", hex!("05 08 66 01 09 00 01 ff").to_vec(), "metadata[0].type: 102"),
        // A particle in the metadata, which has more after it.
        (
            498,
            "entity_metadata",
            hex!("05 08 0f ac02 09 02 01 ff").to_vec(),
            "metadata[0].value.particleId: 300",
        ),
        (
            763,
            "entity_metadata",
            hex!("05 08 11 ac02 09 02 01 ff").to_vec(),
            "metadata[0].value.particleId: 300",
        ),
        (
            769,
            "entity_metadata",
            hex!("05 08 11 ac02 09 02 01 ff").to_vec(),
            "metadata[0].value.type: 300",
        ),
        // Particles.
        (
            763,
            "world_particles",
            [&hex!("ac02 00")[..], &place, &hex!("00000001")].concat(),
            "particleId: 300",
        ),
        (
            766,
            "world_particles",
            [&hex!("00")[..], &place, &hex!("00000001 ac02")].concat(),
            "particle.type: 300",
        ),
        (
            774,
            "world_particles",
            [&hex!("00 00")[..], &place, &hex!("00000001 ac02")].concat(),
            "particle.type: 300",
        ),
        // Recipes.
        (
            404,
            "declare_recipes",
            [&hex!("01")[..], &text("create:a"), &text("create:mixing"), &[1, 2]].concat(),
            "recipes[0].type: `create:mixing`",
        ),
        (754, "declare_recipes", mixing.clone(), "recipes[0].type: `create:mixing`"),
        (765, "declare_recipes", mixing, "recipes[0].type: `create:mixing`"),
        (
            767,
            "declare_recipes",
            [&hex!("01")[..], &text("a:b"), &hex!("40 01 02")].concat(),
            "recipes[0].type: 64",
        ),
        // Parsers of commands.
        (
            404,
            "declare_commands",
            argument(&text("forge:enum")),
            "nodes[1].extraNodeData.parser: `forge:enum`",
        ),
        (
            754,
            "declare_commands",
            argument(&text("forge:enum")),
            "nodes[1].extraNodeData.parser: `forge:enum`",
        ),
        (763, "declare_commands", argument(&hex!("37")), "nodes[1].extraNodeData.parser: 55"),
        (776, "declare_commands", argument(&hex!("5a")), "nodes[1].extraNodeData.parser: 90"),
        // Components of items.
        (
            766,
            "set_slot",
            hex!("00 00 0005 01 07 01 00 e707 01").to_vec(),
            "item.components[0].type: 999",
        ),
        (
            774,
            "set_slot",
            hex!("00 00 0005 01 07 01 00 e707 01").to_vec(),
            "item.components[0].type: 999",
        ),
        // Displays of recipes and slots.
        (
            769,
            "recipe_book_add",
            hex!("01 00 63 01 00 00 00 00").to_vec(),
            "entries[0].recipe.display.type: 99",
        ),
        (769, "craft_recipe_response", hex!("00 63 01").to_vec(), "recipeDisplay.type: 99"),
        (
            774,
            "craft_recipe_response",
            hex!("00 02 63 01").to_vec(),
            "recipeDisplay.data.ingredient.type: 99",
        ),
        // Players, and where the game's own enumerations end.
        (
            754,
            "player_info",
            hex!("09 01 00000000000000000000000000000000 00").to_vec(),
            "action: 9",
        ),
    ] {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let (walked, shown) = walk(&protocol, name, &fields);
        let error = walked.map_or_else(|error| error.to_string(), |_| "none".to_owned());
        if !error.starts_with(&format!("{place} is not known in this version")) {
            failures.push(format!("{version} {name}: {error}, {shown}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
