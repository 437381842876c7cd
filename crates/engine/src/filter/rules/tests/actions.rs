use std::time::Duration;

use super::*;
use crate::filter::{Delay, Detail, Injection, Ring};

fn judge(rule: &str, packet: &Packet) -> Judgement {
    let (mut pipeline, _) = rules(&format!("[[rule]]\nwhen = 'chat'\n{rule}\n"));
    pipeline.apply(packet)
}

fn message(rule: &str, text: &str) -> String {
    let packet = chat(text);
    let judgement = judge(rule, &packet);
    assert_eq!(judgement.effects.notes.comments, Vec::<String>::new());
    after(&packet, &judgement).get("message").unwrap().as_text().unwrap().to_owned()
}

#[test]
fn a_value_is_set_literally_or_computed() {
    assert_eq!(message(r#"set = { message = "other" }"#, "hi"), "other");
    assert_eq!(message(r#"set = { message = "=upper(message)" }"#, "hi"), "HI");
    assert_eq!(message(r#"set = { message = "==x" }"#, "hi"), "=x");
}

#[test]
fn setting_a_field_to_its_value_is_not_a_rewrite() {
    assert_eq!(judge(r#"set = { message = "hi" }"#, &chat("hi")).verdict, Verdict::Pass);
}

#[test]
fn a_dropped_packet_ends_the_pipeline_and_its_effects_stay() {
    let text = "[[rule]]\nwhen = 'chat'\ndrop = true\ncomment = 'no'\n[[rule]]\ntag = 'never'\n";
    let (mut pipeline, set) = rules(text);
    let judgement = pipeline.apply(&chat("hi"));
    assert_eq!(judgement.verdict, Verdict::Drop);
    assert_eq!(judgement.effects.notes.comments, ["no"]);
    let matched: Vec<u64> = set.counts().iter().map(|count| count.matched).collect();
    assert_eq!(matched, [1, 0]);
}

#[test]
fn the_next_rule_sees_the_result_of_the_previous_one() {
    let text = r#"
[[rule]]
when = 'chat and serverbound'
set = { message = "two" }
[[rule]]
when = 'message == "two"'
set = { message = '=message + "!"' }
"#;
    let (mut pipeline, _) = rules(text);
    let packet = chat("one");
    let judgement = pipeline.apply(&packet);
    assert_eq!(after(&packet, &judgement), Value::map([("message", "two!".into())]));
}

#[test]
fn the_rules_that_change_a_packet_are_named() {
    let rule =
        |name: &str, action: &str| format!("[[rule]]\nname = '{name}'\nwhen = 'chat'\n{action}\n");
    let (set, same) = ("set = { message = '=message + \"!\"' }", "set = { message = '=message' }");
    for (actions, named) in [
        (vec![("a", set)], vec!["a"]),
        (vec![("a", set), ("b", "comment = 'x'"), ("c", same), ("d", set)], vec!["a", "d"]),
        (vec![("a", set), ("b", "drop = true")], vec!["b"]),
        (vec![("a", "comment = 'x'"), ("b", "copy = 1")], vec![]),
    ] {
        let text: String = actions.iter().map(|(name, action)| rule(name, action)).collect();
        let (mut pipeline, _) = rules(&text);
        let effects = pipeline.apply(&chat("hi")).effects;
        assert_eq!(effects.notes.rules, named, "{text}");
        let copied = if text.contains("copy") { vec!["b"] } else { vec![] };
        assert_eq!(effects.copied_by, copied, "{text}");
    }
}

#[test]
fn log_sets_how_a_packet_is_shown() {
    let notes = |rule: &str| judge(rule, &chat("hi")).effects.notes;
    let hidden = notes("log = false");
    assert!(hidden.hidden && hidden.unrecorded);
    let hidden = notes("show = false");
    assert!(hidden.hidden && !hidden.unrecorded);
    let hidden = notes("record = false");
    assert!(!hidden.hidden && hidden.unrecorded);
    let hidden = notes("log = false\nshow = true");
    assert!(!hidden.hidden && hidden.unrecorded);
    for (word, detail) in [("name", Detail::Name), ("full", Detail::Full), ("hex", Detail::Hex)] {
        assert_eq!(notes(&format!("log = \"{word}\"")).detail, Some(detail));
    }
}

#[test]
fn comments_tags_and_the_ring_are_noted() {
    let text = "comment = '=message + \" seen\"'\ntag = ['a', 'b', 'a']\nwrite = 'flush'\n[capture]\nfile = 'x.jsonl'\nring = '30s'";
    let notes = judge(text, &chat("hi")).effects.notes;
    assert_eq!(notes.comments, ["hi seen"]);
    assert_eq!(notes.tags, ["a", "b"]);
    assert_eq!(notes.ring, Some(Ring::Flush));
}

#[test]
fn a_whole_packet_is_replaced_by_fields_or_bytes() {
    assert_eq!(message(r#"replace = { fields = { message = "=message + message" } }"#, "a"), "aa");
    assert_eq!(message(r#"replace = { hex = "01 02 6869" }"#, "a"), "hi");
    let packet = chat("a");
    let judgement =
        judge(r#"replace = { packet = "keep_alive", fields = { keepAliveId = 5 } }"#, &packet);
    assert_eq!(after(&packet, &judgement), Value::map([("keepAliveId", 5.into())]));
}

#[test]
fn packets_are_sent_to_either_side() {
    let text = r#"send = [
  { to = "client", packet = "chat", fields = { message = '{"text":"pong"}', position = 0 } },
  { to = "server", place = "before", hex = "01 02 6869" },
  { to = "client", raw = "ff" },
]"#;
    let text = text.replace('\n', " ");
    let sends = judge(&text, &chat("hi")).effects.sends;
    let made = |direction, before, body: &[u8], framed| Injection {
        direction,
        before,
        body: body.to_vec().into(),
        framed,
        rule: Some("rule 1".into()),
    };
    assert_eq!(
        sends,
        [
            made(Direction::Clientbound, false, b"\x02\x0f{\"text\":\"pong\"}\0", true),
            made(Direction::Serverbound, true, b"\x01\x02hi", true),
            made(Direction::Clientbound, false, b"\xff", false),
        ]
    );
}

#[test]
fn delays_add_up_and_keep_the_order_unless_all_rules_reorder() {
    let delay = |text: &str| judge(text, &chat("hi")).effects.delay.unwrap();
    let millis = Duration::from_millis;
    assert_eq!(delay("delay = '200ms'"), Delay { by: millis(200), reorder: false });
    assert_eq!(delay("delay = '1s'\nreorder = true"), Delay { by: millis(1000), reorder: true });
    let both = delay("delay = '1s'\nreorder = true\n[[rule]]\ndelay = '1s'");
    assert_eq!(both, Delay { by: millis(2000), reorder: false });
}

#[test]
fn jitter_stays_within_its_bounds_and_repeats_with_its_seed() {
    let run = |seed: u64| -> Vec<Duration> {
        let (mut pipeline, _) =
            rules(&format!("[[rule]]\nwhen='chat'\ndelay = '200ms ± 50ms'\nseed = {seed}\n"));
        (0..200).map(|_| pipeline.apply(&chat("x")).effects.delay.unwrap().by).collect()
    };
    let one = run(1);
    let (low, high) = (Duration::from_millis(150), Duration::from_millis(250));
    assert!(one.iter().all(|by| (low..=high).contains(by)));
    assert!(one.iter().any(|by| *by < Duration::from_millis(170)));
    assert!(one.iter().any(|by| *by > Duration::from_millis(230)));
    assert_eq!(one, run(1));
    assert_ne!(one, run(2));
}

#[test]
fn a_throttled_direction_passes_its_rate_in_bytes_per_second() {
    let (mut pipeline, _) = rules("[[rule]]\nwhen='chat'\nthrottle = '1kB/s'\n");
    let text = "x".repeat(125);
    let mut delays = Vec::new();
    for at in [0, 0, 0, 10_000] {
        let packet = chat_at(at, &text);
        assert_eq!(packet.wire_size(), 128);
        delays.push(pipeline.apply(&packet).effects.delay.unwrap().by.as_millis());
    }
    assert_eq!(delays, [125, 250, 375, 125]);
}

#[test]
fn copies_and_a_reason_to_close_are_passed_on() {
    assert_eq!(judge("copy = 3", &chat("hi")).effects.copies, 3);
    let effects = judge("close = '=\"bye \" + session.player'", &chat("hi")).effects;
    assert_eq!(effects.close.as_deref(), Some("bye Steve"));
}

#[test]
fn faults_are_injected_on_purpose() {
    let packet = chat("hello");
    let Verdict::Replace(body) = judge("truncate = 3", &packet).verdict else { panic!() };
    assert_eq!(body[..], *b"\x01\x05h");
    let Verdict::Replace(body) = judge("corrupt = 2\nseed = 1", &packet).verdict else { panic!() };
    let came = packet.body().unwrap();
    let other = body.iter().zip(&came[..]).filter(|(a, b)| a != b).count();
    assert!((1..=2).contains(&other) && body.len() == came.len() && body[0] == came[0]);
    let Verdict::Replace(again) = judge("corrupt = 2\nseed = 1", &packet).verdict else { panic!() };
    assert_eq!(body, again);
}

#[test]
fn a_rule_that_fails_changes_nothing_and_reports_why() {
    let text = r#"
[[rule]]
name = "too long for a byte"
when = 'held_item_slot and serverbound'
set = { slotId = "=slotId * 1000" }
tag = "never"
copy = 1
"#;
    let (mut pipeline, set) = rules(text);
    let value = Value::map([("slotId", 300.into())]);
    let packet = packet_at(0, State::Play, Direction::Serverbound, "held_item_slot", &value);
    let judgement = pipeline.apply(&packet);
    assert_eq!(judgement.verdict, Verdict::Pass);
    assert_eq!((judgement.effects.copies, judgement.effects.notes.tags.len()), (0, 0));
    assert_eq!(
        judgement.effects.notes.comments,
        ["rule `too long for a byte` failed: slotId: 300000 is out of range (-32768 to 32767)"]
    );
    let count = &set.counts()[0];
    assert_eq!((count.matched, count.acted, count.failed), (1, 0, 1));
}

#[test]
fn a_text_that_gets_too_long_is_a_failure_with_its_reason() {
    let text = r#"
[[rule]]
name = "louder"
when = 'role.chat'
set = { message = '=replace(message, "a", "{}")' }
"#
    .replace("{}", &"b".repeat(400));
    let (mut pipeline, _) = rules(&text);
    let value = Value::map([("message", "a".repeat(100).as_str().into())]);
    let packet = packet_at(0, State::Play, Direction::Serverbound, "chat", &value);
    let judgement = pipeline.apply(&packet);
    assert_eq!(judgement.verdict, Verdict::Pass);
    let [comment] = &judgement.effects.notes.comments[..] else { panic!("{judgement:?}") };
    assert!(comment.ends_with(": a field is absent, or the result is too large"), "{comment}");
}

#[test]
fn sending_a_packet_unknown_to_the_sessions_version_is_a_counted_failure() {
    let (mut pipeline, set) = rules(
        "[[rule]]\nwhen='chat or ping_start'\nsend=[{to='client', packet='server_info', fields={response='{}'}}]\n",
    );
    let judgement = pipeline.apply(&chat("hi"));
    assert_eq!(judgement.effects.sends, []);
    let comment = &judgement.effects.notes.comments[0];
    assert!(comment.contains("no clientbound packet `server_info` in state play"), "{comment}");
    assert_eq!(set.counts()[0].failed, 1);
}

#[test]
fn packets_that_no_rule_can_match_are_not_judged() {
    let (pipeline, _) = rules("[[rule]]\nwhen='chat and message == \"x\"'\ndrop=true\n");
    assert!(pipeline.wants(&chat("hi")));
    let value = Value::map([("keepAliveId", 1.into())]);
    let other = packet_at(0, State::Play, Direction::Serverbound, "keep_alive", &value);
    assert!(!pipeline.wants(&other));
}

#[test]
fn counts_continue_after_a_reload() {
    let text = "[[rule]]\nname='a'\nwhen='chat'\ntag='t'\n";
    let (mut pipeline, old) = rules(text);
    pipeline.apply(&chat("hi"));
    let mut new = RuleSet::parse(text, Catalog::embedded()).rules.unwrap();
    new.carry_over(&old);
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(new.filter()));
    pipeline.apply(&chat("hi"));
    assert_eq!(new.counts()[0].acted, 2);
    assert_eq!(new.removed_counts(), []);
}

#[test]
fn a_rule_that_a_reload_removes_keeps_its_counts_until_it_comes_back() {
    let apply = |set: &RuleSet| {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(set.filter()));
        pipeline.apply(&chat("hi"));
    };
    let rule = |name: &str| format!("[[rule]]\nname='{name}'\nwhen='chat'\ntag='t'\n");
    let mut sets: Vec<RuleSet> = Vec::new();
    for text in [rule("a"), rule("b"), rule("c"), rule("a")] {
        let mut set = RuleSet::parse(&text, Catalog::embedded()).rules.unwrap();
        if let Some(old) = sets.last() {
            set.carry_over(old);
        }
        apply(&set);
        sets.push(set);
    }
    let told = |counts: Vec<RuleCount>| -> Vec<(String, u64)> {
        counts.into_iter().map(|it| (it.name, it.acted)).collect()
    };
    assert_eq!(told(sets[2].counts()), [("c".to_owned(), 1)]);
    assert_eq!(told(sets[2].removed_counts()).len(), 2);
    assert_eq!(told(sets[3].counts()), [("a".to_owned(), 2)]);
    assert_eq!(told(sets[3].removed_counts()), [("c".to_owned(), 1), ("b".to_owned(), 1)]);
}

fn raw(state: State, direction: Direction, body: &'static [u8]) -> Packet {
    let content = Content::Frame(Frame::from_body(bytes::Bytes::from_static(body)));
    Packet::new(Arc::new(context()), 1, Timestamp(0), direction, state, content)
}

#[test]
fn faults_are_injected_into_packets_that_do_not_decode_or_have_no_fields() {
    let broken = raw(State::Play, Direction::Serverbound, b"\x01\x7fhi");
    let Verdict::Replace(body) = judge("truncate = 2", &broken).verdict else { panic!() };
    assert_eq!(body[..], *b"\x01\x7f");
    let empty = raw(State::Status, Direction::Serverbound, b"\0");
    let (mut pipeline, _) = rules("[[rule]]\nwhen = 'ping_start'\ncorrupt = 1\n");
    assert_eq!(pipeline.apply(&empty).verdict, Verdict::Pass);
}

#[test]
fn a_corrupted_byte_is_always_another() {
    let (mut pipeline, _) = rules("[[rule]]\nwhen = 'chat'\ncorrupt = 1\n");
    let packet = chat("hello");
    let came = packet.body().unwrap();
    for _ in 0..3000 {
        let Verdict::Replace(body) = pipeline.apply(&packet).verdict else { panic!() };
        assert_eq!(body.iter().zip(&came[..]).filter(|(a, b)| a != b).count(), 1);
    }
}

#[test]
fn one_packet_is_sent_without_a_list() {
    let sends = judge("send = { to = 'server', hex = '01 02 6869' }", &chat("hi")).effects.sends;
    assert_eq!(sends.len(), 1);
    assert_eq!(sends[0].body[..], *b"\x01\x02hi");
}

#[test]
fn packets_with_an_unknown_id_match_by_state_and_direction() {
    let all = || State::ALL.into_iter().flat_map(|state| Direction::ALL.map(|it| (state, it)));
    let file: String = all()
        .map(|(state, direction)| {
            format!(
                "[[rule]]\nwhen = 'state.{state} and {direction}'\ntag = '{state} {direction}'\n"
            )
        })
        .collect();
    let (mut pipeline, _) = rules(&file);
    for (state, direction) in all() {
        let tags = pipeline.apply(&raw(state, direction, b"\x7f")).effects.notes.tags;
        assert_eq!(tags, [format!("{state} {direction}")]);
    }
}

#[test]
fn a_set_of_rules_has_a_name_and_the_capture_that_they_write() {
    let file = "[capture]\nfile = 'x.jsonl'\nring = '30s'\n[[rule]]\nname = 'a'\n";
    let (_, set) = rules(file);
    let capture = set.capture().unwrap();
    assert_eq!((capture.file.as_str(), capture.bytes), ("x.jsonl", 64 << 20));
    assert_eq!(capture.ring, Duration::from_secs(30));
    assert_eq!(set.filter().name(), "rules");
    assert_eq!(format!("{set:?}"), r#"["a"]"#);
    assert!(rules("").1.capture().is_none());
}

#[test]
fn a_sent_packet_is_found_by_its_official_name() {
    let fields = "fields = { health = 1.0, food = 2, foodSaturation = 0.0 }";
    let send = |name: &str| {
        judge(&format!("send = {{ to = 'client', packet = '{name}', {fields} }}"), &chat("hi"))
    };
    let (official, own) = (send("set_health"), send("update_health"));
    assert_eq!(official.effects.sends.len(), 1);
    assert_eq!(official.effects.sends[0].body, own.effects.sends[0].body);
}
