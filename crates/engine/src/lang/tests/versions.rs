use bytes::Bytes;
use serde_json::json;

use super::{Sample, with_protocol_900};
use crate::lang::{Expr, Formula, Vocabulary};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use mitmcraft_protocol::wire::{Compound, Nbt, Tag};

fn catalog() -> Catalog {
    with_protocol_900(&[
        (
            "news",
            json!([
                {"name": "headline", "type": "anonymousNbt"},
                {"name": "isActionBar", "type": "bool"},
                {"name": "sender", "type": ["option", "UUID"]}
            ]),
        ),
        (
            "crate",
            json!([
                {"name": "slot", "type": "varint"},
                {"name": "items", "type": ["array", {"countType": "varint", "type": ["container", [
                    {"name": "thingId", "type": "varint"},
                    {"name": "old", "type": "compressedNbt"}
                ]]}]},
                // In the other version it is text.
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
fn a_name_is_checked_only_against_the_versions_of_the_catalog() {
    let catalog = catalog();
    let text = "items[*].thingId == 264 or news or set_slot.item.blockId == 1";
    assert!(Expr::parse(text, &catalog).is_ok());
    assert!(Expr::parse(text, &Catalog::embedded().only(&[47])).is_err());
    assert!(Formula::parse("items[0].thingId", &catalog).is_ok());
}

#[test]
fn a_comparison_valid_in_some_version_is_not_an_error() {
    let catalog = catalog();
    assert!(Expr::parse("message > 3", Catalog::embedded()).is_err());
    let number = parse("message > 3", &catalog);
    let value = Value::map([
        ("slot", Value::Int(1)),
        ("items", Value::List(vec![])),
        ("message", Value::Int(4)),
    ]);
    assert!(number.matches(&sample(&catalog, "crate", &value).packet()));
    // There it is text, which is never greater than a number.
    assert!(!number.matches(&super::golden("play serverbound chat 0").packet()));
    let text = parse("message contains \"game\"", &catalog);
    assert!(text.matches(&super::golden("play serverbound chat 0").packet()));
    assert!(!text.matches(&sample(&catalog, "crate", &value).packet()));
}

#[test]
fn one_expression_serves_sessions_of_several_versions() {
    let catalog = catalog();
    let expr = parse("clientbound and (isActionBar or chat.position == 2 or slot == 1)", &catalog);
    let bar = |bar| {
        Value::map([
            ("headline", Value::Nbt(Box::new(Nbt { name: None, root: Tag::text("hi") }))),
            ("isActionBar", Value::Bool(bar)),
            ("sender", Value::Absent),
        ])
    };
    for _ in 0..2 {
        assert!(expr.matches(&sample(&catalog, "news", &bar(true)).packet()));
        assert!(!expr.matches(&sample(&catalog, "news", &bar(false)).packet()));
        assert!(!expr.matches(&super::golden("play clientbound chat 0").packet()));
        assert!(!expr.matches(&super::golden("play serverbound chat 0").packet()));
        assert!(!expr.matches(&super::golden("play clientbound set_slot 0").packet()));
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
        let headline = Nbt { name: None, root: Tag::Compound(root.clone()) };
        Value::map([
            ("headline", Value::Nbt(Box::new(headline))),
            ("isActionBar", Value::Bool(false)),
            ("sender", sender),
        ])
    };
    let some = sample(&catalog, "news", &value(Value::Uuid(7)));
    let none = sample(&catalog, "news", &value(Value::Absent));
    for (text, with, without) in [
        ("text(headline) == \"Hello \"", true, true),
        ("headline.color == \"red\"", true, true),
        ("upper(headline.color) matches \"^RED$\"", true, true),
        ("headline contains \"Hel\" and headline matches \"o $\"", true, true),
        ("headline contains \"red\" or headline == \"Hello \"", false, false),
        ("sender.exists", true, false),
        ("sender == \"00000000-0000-0000-0000-000000000007\"", true, false),
        ("sender != \"00000000-0000-0000-0000-000000000008\"", true, false),
        ("not isActionBar and news", true, true),
    ] {
        let expr = parse(text, &catalog);
        assert_eq!(
            (expr.matches(&some.packet()), expr.matches(&none.packet())),
            (with, without),
            "{text}"
        );
    }
}

#[test]
fn gzipped_nbt_is_addressed_by_path() {
    let catalog = catalog();
    let root = Compound { entries: vec![(Bytes::from_static(b"lvl"), Tag::Short(5))] };
    let nbt = Nbt { name: Some(Bytes::new()), root: Tag::Compound(root) };
    let item = |id, old| Value::map([("thingId", Value::Int(id)), ("old", old)]);
    let items = vec![item(264, Value::Absent), item(1, Value::Nbt(Box::new(nbt)))];
    let value = Value::map([
        ("slot", Value::Int(1)),
        ("items", Value::List(items)),
        ("message", Value::Int(4)),
    ]);
    let sample = sample(&catalog, "crate", &value);
    for (text, holds) in [
        ("items[1].old.lvl == 5", true),
        ("items[*].old.lvl == 5", true),
        ("items[0].old.lvl != 5", false),
        ("items[0].old.exists", false),
        ("items[-1].old.exists and items[*].thingId == 264", true),
    ] {
        assert_eq!(parse(text, &catalog).matches(&sample.packet()), holds, "{text}");
    }
}

#[test]
fn a_name_of_some_versions_is_a_warning_that_suggests_its_role() {
    let vocabulary = Vocabulary::new(Catalog::embedded());
    let hints = |text: &str| -> Vec<Option<String>> {
        let (expr, _) = Expr::parse_in(text, &vocabulary).unwrap();
        expr.version_warnings(&vocabulary).into_iter().map(|warning| warning.hint).collect()
    };
    assert_eq!(
        hints("chat_message"),
        [Some("others have `chat`; `role.chat` matches all of them".to_owned())]
    );
    // No other name has it, either.
    assert_eq!(hints("transfer"), [None]);
    assert_eq!(hints("disguised_chat"), [None]);
    for text in [
        "role.chat",
        "role.chat and serverbound",
        "level_chunk_with_light",
        "chat and pkt.protocol >= 735",
        "chat and pkt.version == \"1.8\"",
    ] {
        assert_eq!(hints(text), [], "{text}");
    }
}

#[test]
fn the_examples_of_the_manual_are_valid() {
    let catalog = Catalog::embedded();
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
        let (_, warnings) = Expr::parse(text, catalog).unwrap();
        assert_eq!(warnings, [], "{text}");
    }
    Formula::parse("upper(message)", catalog).unwrap();
}
