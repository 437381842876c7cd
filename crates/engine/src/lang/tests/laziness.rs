use super::{Sample, expr, golden, java_47};
use crate::lang::attribute::asked;
use crate::lang::predicate::Predicate;
use mitmcraft_protocol::schema::{Direction, State};

/// Counts how often an evaluation reads the packet, the body and the error.
fn asks(sample: &Sample, text: &str) -> [usize; 3] {
    let (expr, packet) = (expr(text), sample.packet());
    asked::take();
    let _ = expr.matches(&packet);
    asked::take()
}

#[test]
fn an_expression_without_fields_neither_inflates_nor_decodes() {
    let sample = golden("play clientbound map_chunk 0");
    for text in [
        "clientbound and play",
        "state.login or serverbound",
        "pkt.size > 40 and pkt.wire < 100000",
        "pkt.time < 10 and pkt.n == 42 and session.player == \"Notch\"",
        "pkt.origin == \"server\" and pkt.verdict == \"pass\" and pkt.protocol == 47",
        "not clientbound",
        "true",
    ] {
        assert_eq!(asks(&sample, text), [0, 0, 0], "{text}");
    }
    for text in ["map_chunk", "pkt.id == 0x21", "pkt.name contains \"chunk\"", "entity_*"] {
        assert_eq!(asks(&sample, text), [1, 0, 0], "{text}");
    }
}

#[test]
fn a_result_known_without_the_body_does_not_read_it() {
    let sample = golden("play clientbound map_chunk 0");
    for text in [
        "message == \"x\"",
        "message.exists or metadata[*].value == 3",
        "chat.message contains \"x\"",
        "x == 3 and chat",
        "serverbound and x == 1",
        "map_chunk or x == 1",
        "pkt.id == 0x22 and pkt.body contains :ff",
    ] {
        let [packets, bodies, errors] = asks(&sample, text);
        assert!(packets <= 1 && bodies == 0 && errors == 0, "{text}");
    }
    // Tests without cost are evaluated first, wherever they are written.
    for text in ["x == 3 and pkt.size < 5", "x == 3 or clientbound", "pkt.error and pkt.n == 0"] {
        assert_eq!(asks(&sample, text), [0, 0, 0], "{text}");
    }
}

#[test]
fn the_error_is_evaluated_last() {
    let sample = golden("play clientbound map_chunk 0");
    assert_eq!(asks(&sample, "pkt.error"), [1, 0, 1]);
    assert_eq!(asks(&sample, "pkt.error and chat"), [1, 0, 0]);
    assert_eq!(asks(&sample, "pkt.error or x.exists"), [1, 1, 0]);
    assert_eq!(asks(&sample, "x.exists"), [1, 1, 0]);
}

#[test]
fn decoding_stops_after_the_last_field_needed() {
    // Everything after the second field is cut off, so a walk that continued would fail, but its
    // earlier results would remain. So the list's count before it is damaged.
    let mut sample = golden("play clientbound window_items 0");
    assert!(sample.matches("windowId == 0"));
    sample.body.truncate(4);
    assert!(sample.matches("windowId == 0"));
    // The list claims more items than there are: its length is known, and no item decodes.
    assert!(!sample.matches("items[0].blockId.exists"));
    let visited = |text: &str| {
        let sample = golden("play clientbound position 0");
        visits(&sample, text)
    };
    assert_eq!(visited("x == 1"), 1);
    assert_eq!(visited("y == 1 and x == 1"), 2);
    assert_eq!(visited("flags == 1"), 6);
    let visited = |text: &str| visits(&golden("play clientbound entity_destroy 0"), text);
    assert_eq!(visited("entityIds[0] == 1"), 1);
    assert_eq!(visited("entityIds[-5] == 1"), 2);
    assert_eq!(visited("entityIds[*] == 1"), 6);
    let visited = |text: &str| visits(&golden("play clientbound set_slot 2"), text);
    // The item up to its first field.
    assert_eq!(visited("item.blockId == 1"), 3);
    assert_eq!(visited("item.nbtData.ench[0].id == 1"), 6);
}

/// Returns the number of leaves that the collector visits.
fn visits(sample: &Sample, text: &str) -> usize {
    use crate::lang::Vocabulary;
    use crate::lang::checker::Checker;
    use crate::lang::collector::Collector;
    use crate::lang::parser::parse;
    use mitmcraft_protocol::schema::{Catalog, Flow, Leaf, Name, Visitor};

    struct Counting<'c>(Collector<'c>, usize);

    impl Visitor for Counting<'_> {
        fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
            self.1 += 1;
            self.0.leaf(leaf)
        }

        fn field(&mut self, name: &Name) -> Flow {
            self.0.field(name)
        }

        fn open_map(&mut self, at: usize) -> Flow {
            self.0.open_map(at)
        }

        fn open_list(&mut self, at: usize, count: Option<usize>) -> Flow {
            self.0.open_list(at, count)
        }

        fn close(&mut self, at: usize) -> Flow {
            self.0.close(at)
        }
    }

    let vocabulary = Vocabulary::new(Catalog::embedded());
    let mut checker = Checker::new(&vocabulary);
    checker.predicate(&parse(text).unwrap()).unwrap();
    let fields = checker.fields;
    let mut slots: Vec<_> = fields.iter().map(|_| Default::default()).collect();
    let live: Vec<usize> = (0..fields.len()).collect();
    let mut counting = Counting(Collector::new(&fields, &live, &mut slots, None), 0);
    let (packet, start) = sample.identify().unwrap();
    sample.protocol.walk(packet, &sample.body, start, &mut counting).unwrap();
    counting.1
}

/// Returns the condition as reduced for a known packet type.
#[derive(Debug, PartialEq)]
enum Rest {
    Never,
    Always,
    Depends { body: bool },
}

#[test]
fn the_plan_for_a_packet_type_has_everything_known_evaluated() {
    let protocol = java_47();
    let rest = |text: &str, name: Option<&str>| {
        let (state, direction) = (State::Play, Direction::Clientbound);
        let kind = name.map(|name| protocol.named(state, direction, name).unwrap());
        let expr = expr(text);
        let can_match = expr.decide(&protocol, state, direction, kind) != Some(false);
        let rest = expr.with_plan(&protocol, state, direction, kind, |plan| match plan.predicate {
            Predicate::Constant(false) => Rest::Never,
            Predicate::Constant(true) => Rest::Always,
            _ => Rest::Depends { body: plan.reads.body },
        });
        assert_eq!(can_match, rest != Rest::Never, "{text} {name:?}");
        rest
    };
    let (never, always) = (&Rest::Never, &Rest::Always);
    let (body, other) = (&Rest::Depends { body: true }, &Rest::Depends { body: false });
    for (text, name, expected) in [
        ("chat", "chat", always),
        ("chat", "map_chunk", never),
        ("serverbound and chat", "chat", never),
        ("message == \"x\"", "chat", body),
        ("message == \"x\"", "map_chunk", never),
        ("not (message == \"x\")", "map_chunk", always),
        ("pkt.size > 3", "chat", other),
        ("chat and pkt.size > 3", "map_chunk", never),
        ("pkt.id == 0x02", "chat", always),
        ("pkt.name in {\"chat\", \"title\"}", "chat", always),
        ("pkt.name matches \"^c\"", "chat", always),
        ("pkt.name contains \"c\" and clientbound", "chat", always),
        ("pkt.protocol >= 47", "chat", other),
        ("pkt.version == \"1.9\"", "chat", never),
        ("pkt.error", "chat", other),
        ("pkt.body contains :ff", "chat", body),
        ("chat and play or title.text.exists", "title", body),
        ("upper(pkt.name) == \"CHAT\"", "chat", other),
    ] {
        assert_eq!(rest(text, Some(name)), *expected, "{text} {name}");
    }
    let unknown = |text: &str| rest(text, None);
    assert_eq!(unknown("chat or x == 1 or pkt.name == \"x\""), *never);
    assert_eq!(unknown("pkt.id == 0x7f"), *other);
    assert_eq!(unknown("not chat"), *always);
}
