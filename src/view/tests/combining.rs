//! Conditions that are added to filters of every form, in every interface: what is listed then follows from what the
//! parts match.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};

use super::cases::CasePacket;
use super::{Driver, store};
use crate::store::{Snapshot, Store};
use crate::view::{
    Combination, PickedField, next_rule, packet_expression, packet_rule, rule_choices,
};
use mitmcraft_engine::filter::{Effects, Filter, RuleSet};
use mitmcraft_engine::lang::{Expr, Subject};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::Direction::{Clientbound, Serverbound};
use mitmcraft_protocol::schema::{Catalog, State, Value};
use mitmcraft_protocol::wire::is_unseen;

const PACKETS: &[CasePacket] = &[
    (1, Serverbound, "settings", "en_GB"),
    (1, Serverbound, "chat", "a or b"),
    (1, Clientbound, "chat", "hello Steve"),
    (2, Serverbound, "chat_command", "say \"hello\" && 'bye'"),
    (1, Serverbound, "chat", "\" or \"\\"),
    (1, Clientbound, "update_health", ""),
    (1, Serverbound, "chat", "a\tb\r\nc\u{1b}[31m\u{7f}"),
    (1, Serverbound, "chat", "\u{202e}not \\u{41}"),
    (2, Clientbound, "update_health", ""),
    (1, Serverbound, "settings", "(x"),
];

/// The fields of these packets that a filter can name.
const FIELDS: [&str; 9] = [
    "message",
    "position",
    "locale",
    "viewDistance",
    "chatColors",
    "command",
    "health",
    "food",
    "foodSaturation",
];

#[test]
fn a_rule_for_packets_like_one_is_valid_and_matches_it_whatever_a_peer_says() {
    let catalog = Catalog::embedded();
    let texts = [
        "a\u{1b}[31mb",
        "a\rb",
        "a\nb\tc",
        "\u{7f}",
        "\u{202e}evil\u{200b}",
        "\u{9b}1m",
        "\0",
        "\u{e0041}",
        "it's '''quoted'''",
        "\"'\\\"\"\"",
    ];
    for text in texts {
        let store = store([(0, (1, Serverbound, "chat", text), None)]);
        let snapshot = store.snapshot();
        let packet = snapshot.record(0).unwrap().packet;
        let condition = packet_expression(&packet, catalog).unwrap().condition;
        let rule = packet_rule("chat", &condition, 1, None);
        assert!(condition.to_string().contains("message == "), "{condition}");
        assert!(!rule.replace('\n', "").contains(is_unseen), "{rule:?}");
        let checked = RuleSet::parse(&rule, catalog);
        let rules = checked.rules.unwrap_or_else(|| panic!("{rule}: {:?}", checked.faults));
        let mut effects = Effects::default();
        rules.filter().apply(&packet, &mut effects);
        assert_eq!(effects.notes.tags, ["seen"], "{rule}");
        assert_eq!(next_rule("chat", &rule), 2);
    }
}

/// A rule with values that are others in every packet never matched again.
#[test]
fn a_rule_for_packets_like_one_leaves_out_what_is_unique_to_it_and_offers_what_it_can_do() {
    let catalog = Catalog::embedded();
    let protocol = catalog.find(765).unwrap().protocol;
    let packet = |name: &str, fields: Json| {
        let kind = protocol.named(State::Play, Serverbound, name).unwrap();
        let body = protocol.encode(kind, &Value::from_json(&fields)).unwrap();
        let context = Context {
            version: Some(765),
            ..Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), Arc::clone(&protocol))
        };
        let content = Content::Frame(Frame::from_body(body.into()));
        Packet::new(context.into(), 1, Timestamp(0), Serverbound, State::Play, content)
    };
    let said = |message: &str, number: u64| {
        packet(
            "chat_message",
            json!({ "message": message, "timestamp": number, "salt": number, "signature": null,
                "offset": number, "acknowledged": "AAAA" }),
        )
    };
    let walked = packet(
        "position_look",
        json!({ "x": 1.5, "y": 2, "z": 3, "yaw": 1, "pitch": 2, "onGround": true }),
    );
    let found = |packet: &Packet| packet_expression(packet, catalog).unwrap();
    let like = found(&said("m 1", 7));
    let told = like.condition.clone();
    assert_eq!(told.to_string(), "serverbound and chat_message and message == \"m 1\"");
    let (expr, _) = Expr::parse(&told.to_string(), catalog).unwrap();
    assert!(expr.matches(Subject::from(&said("m 1", 8))), "it matches the next one");
    assert!(!expr.matches(Subject::from(&said("m 2", 8))));
    assert_eq!(found(&walked).condition.to_string(), "serverbound and position_look and onGround");
    assert_eq!(
        found(&packet("keep_alive", json!({ "keepAliveId": 5 }))).condition.to_string(),
        "serverbound and keep_alive"
    );
    // Whatever a person takes the comment from is a rule.
    let rule = packet_rule("chat_message", &told, 1, None) + &rule_choices(&like, None);
    for line in ["drop  = true", "set   = { message = \"m 1\" }", "delay = \"1s\""] {
        let text = rule.replacen("tag  = \"seen\"\n", "", 1);
        let text = text.replacen(&format!("# {line}"), line, 1);
        assert!(text.contains(&format!("\n{line}\n")), "{rule}");
        let checked = RuleSet::parse(&text, catalog);
        assert!(checked.rules.is_some(), "{text}: {:?}", checked.faults);
    }
}

/// What a person does to the filter, with the packet at a place of the list.
#[derive(Debug, Clone)]
enum Addition {
    Field(Index, Index, Combination),
    Type(Index, bool),
}

/// Expressions as a person may type them.
fn filter() -> impl Strategy<Value = String> {
    let leaf = select(&LEAVES[..]).prop_map(str::to_owned);
    leaf.prop_recursive(3, 8, 2, |inner| {
        let pair = (inner.clone(), select(&OPERATORS[..]), inner.clone());
        prop_oneof![
            4 => pair.prop_map(|(a, operator, b)| format!("{a}{operator}{b}")),
            1 => inner.clone().prop_map(|it| format!("({it})")),
            1 => inner.clone().prop_map(|it| format!("!({it})")),
            1 => inner.prop_map(|it| format!("not\t{it}")),
        ]
    })
}

const LEAVES: [&str; 12] = [
    "chat",
    "clientbound",
    "settings.chatColors",
    "update_health or chat_command",
    "chat&&clientbound",
    "not serverbound",
    "chat.message == \" or \"",
    "chat.message != r\" or \\\"",
    "chat.message contains \"\\\"\"",
    "pkt.n in {1, 3..5}",
    "session.id != 1",
    "chat.message matches \"(?s)^a.*\\u{1b}\"",
];

const OPERATORS: [&str; 10] =
    [" or ", "||", " ||\t", "\tor\t", "\nor\n", " and ", "&&", "\t&& ", "\tand\t", "\r\nand "];

fn addition() -> impl Strategy<Value = Addition> {
    let how = select(vec![
        Combination::And,
        Combination::And,
        Combination::Or,
        Combination::Or,
        Combination::Not,
        Combination::Not,
        Combination::Only,
    ]);
    prop_oneof![
        3 => (any::<Index>(), any::<Index>(), how).prop_map(|(a, b, how)| Addition::Field(a, b, how)),
        1 => (any::<Index>(), proptest::bool::weighted(0.2)).prop_map(|(a, only)| Addition::Type(a, only)),
    ]
}

/// Returns the rows whose packets match an expression.
fn matching(snapshot: &Snapshot, text: &str, catalog: &Catalog) -> Result<BTreeSet<u64>, String> {
    let (expr, _) = Expr::parse(text, catalog).map_err(|error| error.render(text))?;
    let rows = snapshot.first()..snapshot.end();
    Ok(rows.filter(|row| snapshot.record(*row).is_some_and(|it| expr.matches(&it))).collect())
}

/// Returns what matches a filter and a condition that is added to it; `None` is no filter.
fn joined(
    rows: Option<&BTreeSet<u64>>,
    how: Combination,
    more: &BTreeSet<u64>,
    all: &BTreeSet<u64>,
) -> BTreeSet<u64> {
    match (how, rows) {
        (Combination::Not, _) => rows.unwrap_or(all) - more,
        (Combination::Only, _) | (_, None) => more.clone(),
        (Combination::And, Some(rows)) => rows & more,
        (Combination::Or, Some(rows)) => rows | more,
    }
}

/// Adds random conditions to random filters in an interface.
pub(super) fn run<I: Driver>(create: impl Fn(Arc<Store>, Arc<Catalog>) -> I) {
    let catalog = Arc::new(Catalog::embedded().only(&[47, 766]));
    let packets = (0..).zip(PACKETS.iter().copied());
    let store = store(packets.map(|(row, packet)| (row, packet, None)));
    let snapshot = store.snapshot();
    let all: BTreeSet<u64> = (snapshot.first()..snapshot.end()).collect();
    let mut runner =
        TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let cases = (proptest::option::weighted(0.8, filter()), vec(addition(), 1..4));
    let outcome = runner.run(&cases, |(filter, additions)| {
        let matching =
            |text: &str| matching(&snapshot, text, &catalog).map_err(TestCaseError::fail);
        let mut interface = create(Arc::clone(&store), Arc::clone(&catalog));
        let mut expected = None;
        if let Some(filter) = filter {
            expected = Some(matching(&filter)?);
            interface.filter(&filter);
        }
        let sorted = |rows: &Option<BTreeSet<u64>>| -> Vec<u64> {
            rows.as_ref().unwrap_or(&all).iter().copied().collect()
        };
        for addition in additions {
            let listed = interface.rows();
            prop_assert_eq!(&listed, &sorted(&expected));
            let (Addition::Field(place, ..) | Addition::Type(place, _)) = &addition;
            if listed.is_empty() {
                return Ok(());
            }
            let row = *place.get(&listed);
            interface.select(row);
            let details = snapshot.details(row).unwrap();
            match addition {
                Addition::Field(_, field, how) => {
                    let known = (0..details.fields.len())
                        .filter(|place| FIELDS.contains(&&*details.fields[*place].path));
                    let place = *field.get(&known.collect::<Vec<_>>());
                    let picked = PickedField::new(&details, place, &catalog).unwrap();
                    let part = matching(&picked.condition.to_string())?;
                    prop_assert!(part.contains(&row), "{}", picked.condition);
                    expected = Some(joined(expected.as_ref(), how, &part, &all));
                    interface.filter_by(&picked.path, how);
                }
                Addition::Type(_, only) => {
                    let name = snapshot.kind(row).unwrap().name();
                    let named = |row: &u64| snapshot.kind(*row).is_some_and(|it| it.name() == name);
                    let part = all.iter().copied().filter(named).collect();
                    let how = if only { Combination::Only } else { Combination::Not };
                    expected = Some(joined(expected.as_ref(), how, &part, &all));
                    interface.filter_type(only);
                }
            }
        }
        prop_assert_eq!(interface.rows(), sorted(&expected));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
