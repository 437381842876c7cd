use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::{Sample, with_protocol_900};
use crate::filter::{Expr, Formula};
use crate::schema::{Catalog, Direction, State, Value};
use crate::wire::{Compound, Nbt, Tag};

fn catalog() -> Catalog {
    with_protocol_900(&[
        (
            "system_chat",
            json!([
                {"name": "content", "type": "anonymousNbt"},
                {"name": "isActionBar", "type": "bool"},
                {"name": "sender", "type": ["option", "UUID"]}
            ]),
        ),
        (
            "set_player_inventory",
            json!([
                {"name": "slot", "type": "varint"},
                {"name": "items", "type": ["array", {"countType": "varint", "type": ["container", [
                    {"name": "itemId", "type": "varint"},
                    {"name": "old", "type": "compressedNbt"}
                ]]}]},
                // Elsewhere text.
                {"name": "message", "type": "i32"}
            ]),
        ),
    ])
}

fn sample(catalog: &Catalog, name: &str, value: &Value) -> Sample {
    let protocol = catalog.find(900).unwrap().protocol;
    let packet = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
    let body = protocol.encode(packet, value).unwrap();
    Sample { protocol, ..Sample::new(State::Play, Direction::Clientbound, body) }
}

fn parse(text: &str, catalog: &Catalog) -> Expr {
    Expr::parse(text, catalog).unwrap_or_else(|error| panic!("{}", error.render(text))).0
}

#[test]
fn a_name_that_only_other_versions_have_is_a_warning_for_this_one() {
    let catalog = catalog();
    let java_47 = super::java_47();
    let other = catalog.find(900).unwrap().protocol;
    let text = "items[*].itemId == 264 or system_chat or set_slot.item.blockId == 1";
    let expr = parse(text, &catalog);
    let warnings = |protocol: &Arc<_>| {
        let warnings = expr.warnings_for(protocol);
        warnings.iter().map(|warning| warning.render(text)).collect::<Vec<_>>()
    };
    let carets =
        |at: usize, count: usize| format!("\n  {text}\n  {}{}", " ".repeat(at), "^".repeat(count));
    assert_eq!(
        warnings(&java_47),
        [
            format!(
                "no packet of protocol 47 (1.8) has a field `items[*].itemId`{}",
                carets(0, 15)
            ),
            format!("protocol 47 (1.8) has no packet `system_chat`{}", carets(26, 11)),
        ]
    );
    assert_eq!(
        warnings(&other),
        [format!(
            "no packet of protocol 900 (9.0) has a field `set_slot.item.blockId`{}",
            carets(41, 21)
        )]
    );
    assert!(Expr::parse(text, &Catalog::embedded().only(&[47])).is_err());
    let formula = Formula::parse("items[0].itemId", &catalog).unwrap();
    assert_eq!(formula.warnings_for(&java_47).len(), 1);
    assert_eq!(formula.warnings_for(&other).len(), 0);
}

#[test]
fn a_comparison_that_fits_some_version_is_no_fault() {
    let catalog = catalog();
    assert!(Expr::parse("message > 3", &Catalog::embedded().only(&[47])).is_err());
    let number = parse("message > 3", &catalog);
    let value = Value::map([
        ("slot", Value::Int(1)),
        ("items", Value::List(vec![])),
        ("message", Value::Int(4)),
    ]);
    assert!(number.matches(&sample(&catalog, "set_player_inventory", &value)));
    // There it is text, of which no number is greater.
    assert!(!number.matches(&super::golden("play serverbound chat 0")));
    let text = parse("message contains \"game\"", &catalog);
    assert!(text.matches(&super::golden("play serverbound chat 0")));
    assert!(!text.matches(&sample(&catalog, "set_player_inventory", &value)));
}

#[test]
fn one_expression_serves_sessions_of_several_versions() {
    let catalog = catalog();
    let expr = parse("clientbound and (isActionBar or chat.position == 2 or slot == 1)", &catalog);
    let bar = |bar| {
        Value::map([
            ("content", Value::Nbt(Box::new(Nbt { name: None, root: Tag::text("hi") }))),
            ("isActionBar", Value::Bool(bar)),
            ("sender", Value::Absent),
        ])
    };
    for _ in 0..2 {
        assert!(expr.matches(&sample(&catalog, "system_chat", &bar(true))));
        assert!(!expr.matches(&sample(&catalog, "system_chat", &bar(false))));
        assert!(!expr.matches(&super::golden("play clientbound chat 0")));
        assert!(!expr.matches(&super::golden("play serverbound chat 0")));
        assert!(!expr.matches(&super::golden("play clientbound set_slot 0")));
    }
}

#[test]
fn components_in_nbt_and_optional_uuids_are_read() {
    let catalog = catalog();
    let key = |text: &'static str| Bytes::from_static(text.as_bytes());
    let root = Compound {
        entries: vec![(key("text"), Tag::text("§lHello ")), (key("color"), Tag::text("red"))],
    };
    let value = |sender| {
        let content = Nbt { name: None, root: Tag::Compound(root.clone()) };
        Value::map([
            ("content", Value::Nbt(Box::new(content))),
            ("isActionBar", Value::Bool(false)),
            ("sender", sender),
        ])
    };
    let some = sample(&catalog, "system_chat", &value(Value::Uuid(7)));
    let none = sample(&catalog, "system_chat", &value(Value::Absent));
    for (text, with, without) in [
        ("text(content) == \"Hello \"", true, true),
        ("content.color == \"red\"", true, true),
        ("upper(content.color) matches \"^RED$\"", true, true),
        ("content contains \"red\"", false, false),
        ("sender.exists", true, false),
        ("sender == \"00000000-0000-0000-0000-000000000007\"", true, false),
        ("sender != \"00000000-0000-0000-0000-000000000008\"", true, false),
        ("not isActionBar and system_chat", true, true),
    ] {
        let expr = parse(text, &catalog);
        assert_eq!((expr.matches(&some), expr.matches(&none)), (with, without), "{text}");
    }
}

#[test]
fn nbt_in_gzip_is_addressed_by_path_too() {
    let catalog = catalog();
    let root = Compound { entries: vec![(Bytes::from_static(b"lvl"), Tag::Short(5))] };
    let nbt = Nbt { name: Some(Bytes::new()), root: Tag::Compound(root) };
    let item = |id, old| Value::map([("itemId", Value::Int(id)), ("old", old)]);
    let items = vec![item(264, Value::Absent), item(1, Value::Nbt(Box::new(nbt)))];
    let value = Value::map([
        ("slot", Value::Int(1)),
        ("items", Value::List(items)),
        ("message", Value::Int(4)),
    ]);
    let sample = sample(&catalog, "set_player_inventory", &value);
    for (text, holds) in [
        ("items[1].old.lvl == 5", true),
        ("items[*].old.lvl == 5", true),
        ("items[0].old.lvl != 5", false),
        ("items[0].old.exists", false),
        ("items[-1].old.exists and items[*].itemId == 264", true),
    ] {
        assert_eq!(parse(text, &catalog).matches(&sample), holds, "{text}");
    }
}

#[test]
fn the_examples_of_the_manual_are_expressions() {
    let catalog = catalog();
    for text in [
        "chat and serverbound and message matches \"(?i)hello\"",
        "play and pkt.id in {0x15, 0x17..0x19} and not (pkt.size < 40)",
        "map_chunk.x == -9 or items[*].itemId == 264",
        "session.player == \"Notch\" and clientbound and entity_* and not entity_velocity",
        "pkt.error or pkt.name contains \"window\"",
        "update_time",
        "serverbound and chat and message matches \"^!\"",
        "spawn_entity_living and type == 50",
        "serverbound and chat and message == \"!ping\"",
    ] {
        let (_, warnings) = Expr::parse(text, &catalog).unwrap();
        assert_eq!(warnings, [], "{text}");
    }
    Formula::parse("upper(message)", &catalog).unwrap();
}
