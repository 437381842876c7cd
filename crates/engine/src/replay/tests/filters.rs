use std::collections::HashMap;

use super::*;
use crate::capture::EventKind;
use crate::filter::RuleSet;
use crate::replay::{FilterReplay, Judged};
use mitmcraft_protocol::schema::Direction;

fn rules(text: &str) -> RuleSet {
    let checked = RuleSet::parse(text, Catalog::embedded());
    let faults: Vec<String> = checked.faults.iter().map(|fault| fault.render("f")).collect();
    checked.rules.unwrap_or_else(|| panic!("{}", faults.join("\n")))
}

struct Run {
    replay: FilterReplay,
    entries: Vec<Entry>,
    /// The reported effects on each packet on which a rule acted.
    reports: Vec<String>,
}

fn run(entries: Vec<Entry>, text: &str) -> Run {
    let mut run = Run {
        replay: FilterReplay::new(vec![rules(text)]),
        entries: Vec::new(),
        reports: Vec::new(),
    };
    for entry in entries {
        let judged = run.replay.handle(entry);
        run.note(judged);
    }
    let judged = run.replay.finish();
    run.note(judged);
    run
}

impl Run {
    fn note(&mut self, judged: Judged) {
        for act in judged.acts {
            let effects = act.effects.iter().map(|effect| format!("{effect:?}"));
            self.reports.push(act.rules.into_iter().chain(effects).collect::<Vec<_>>().join(", "));
        }
        self.entries.extend(judged.entries);
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.entries.iter().filter_map(Entry::record)
    }

    fn counts(&self) -> Vec<(u64, u64, u64)> {
        let counts = self.replay.counts();
        counts.iter().map(|count| (count.matched, count.acted, count.failed)).collect()
    }
}

#[test]
fn without_a_match_the_result_is_the_capture() {
    for file in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let entries = capture(file);
        let run = run(entries.clone(), "[[rule]]\nwhen = 'explosion'\ndrop = true\n");
        assert_eq!(run.entries.len(), entries.len(), "{file}");
        for (before, after) in entries.iter().filter_map(Entry::record).zip(run.records()) {
            assert_eq!((before.packet.seq(), marked(before)), (after.packet.seq(), marked(after)));
            assert_eq!(before.packet.body(), after.packet.body());
            assert_eq!(before.of, after.of);
        }
        assert_eq!(run.counts(), [(0, 0, 0)]);
    }
}

#[test]
fn rules_do_offline_what_they_do_live_and_are_counted() {
    let run = run(
        capture("session-1.8.jsonl"),
        r#"
        [[rule]]
        name = "shout"
        when = 'serverbound and chat'
        set = { message = '=upper(message)' }

        [[rule]]
        name = "no waving"
        when = 'arm_animation'
        drop = true
        send = [{ to = "client", packet = "chat", fields = { message = '"no"', position = 0 } }]

        [[rule]]
        name = "lag"
        when = 'update_health'
        delay = "200ms"
        copy = 2

        [[rule]]
        name = "cannot be"
        when = 'settings'
        set = { viewDistance = '=viewDistance * 1000' }

        [[rule]]
        name = "held"
        when = 'success'
        set = { username = "Other" }
        "#,
    );
    assert_eq!(run.counts(), [(3, 3, 0), (1, 1, 0), (1, 1, 0), (1, 0, 1), (1, 1, 0)]);
    let reports: Vec<&str> = run.reports.iter().map(String::as_str).collect();
    assert_eq!(
        reports,
        ["held", "cannot be", "lag, Delayed(200ms)", "no waving", "shout", "shout", "shout"]
    );
    let seqs: Vec<u64> = run.records().map(|record| record.packet.seq()).collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "renumbered");
    let chat: Vec<String> = run
        .records()
        .filter(|record| record.packet.direction() == Direction::Serverbound)
        .filter(|record| name(record) == "chat")
        .map(|record| format!("{} {}", marked(record), text(record, "message")))
        .collect();
    assert_eq!(chat[..2], ["~chat hello from a real client", "+chat HELLO FROM A REAL CLIENT"]);
    let waving: Vec<String> =
        run.records().map(marked).skip_while(|name| name != "-arm_animation").take(2).collect();
    assert_eq!(waving, ["-arm_animation", "+chat"]);
    assert_eq!(run.records().filter(|record| name(record) == "update_health").count(), 3);
    let failed = run.records().find(|record| name(record) == "settings").unwrap();
    assert!(failed.comment.as_ref().unwrap().contains("rule `cannot be` failed"));
    let success = run.records().find(|record| marked(record) == "+success").unwrap();
    assert_eq!(text(success, "username"), "Other");
}

#[test]
fn the_proxys_own_replacements_stay_and_those_of_rules_are_judged_again() {
    let first = run(
        capture("session-1.8.jsonl"),
        r#"
        [[rule]]
        when = 'serverbound and chat'
        set = { message = "first" }
        [[rule]]
        when = 'arm_animation'
        drop = true
        "#,
    );
    let handshake: Vec<String> = first.records().map(marked).take(2).collect();
    assert_eq!(handshake, ["~set_protocol", "+set_protocol"]);
    let second = run(
        first.entries,
        "[[rule]]\nwhen = 'chat and message contains \"bye\"'\nset = { message = 'second' }\n",
    );
    assert_eq!(second.counts(), [(1, 1, 0)], "the chat is as it came");
    let names: Vec<String> = second.records().map(marked).collect();
    assert_eq!(names[..2], handshake);
    assert!(names.contains(&"arm_animation".to_owned()));
    let sent: Vec<String> = second
        .records()
        .filter(|record| marked(record) == "+chat")
        .map(|record| text(record, "message"))
        .collect();
    assert_eq!(sent, ["second"]);
    assert_eq!(second.records().nth(1).unwrap().of, Some(1));
}

#[test]
fn each_packet_has_what_rules_did_with_it_also_if_it_waited_for_the_next() {
    let mut replay = FilterReplay::new(vec![rules(
        r#"
        rule = [
            { name = "up", when = 'serverbound', delay = "40ms" },
            { name = "down", when = 'clientbound', delay = "120ms" },
        ]
        "#,
    )]);
    let mut acts = Vec::new();
    let mut entries = Vec::new();
    for entry in capture("session-alpha.jsonl") {
        let judged = replay.handle(entry);
        acts.extend(judged.acts);
        entries.extend(judged.entries);
    }
    acts.extend(replay.finish().acts);
    let directions: HashMap<u64, Direction> = entries
        .iter()
        .filter_map(Entry::record)
        .map(|record| (record.packet.seq(), record.packet.direction()))
        .collect();
    assert!(acts.len() > 20, "{}", acts.len());
    for act in acts {
        let rule = match directions.get(&act.seq) {
            Some(Direction::Serverbound) => "up",
            Some(Direction::Clientbound) => "down",
            None => panic!("no packet {}", act.seq),
        };
        assert_eq!(act.rules, [rule], "packet {}", act.seq);
    }
}

#[test]
fn chance_decides_the_same_each_time() {
    let decided = || {
        let text = "[[rule]]\nwhen = 'rel_entity_move'\nchance = 0.5\ndrop = true\n";
        let run = run(capture("session-1.8.jsonl"), text);
        run.records().filter(|record| record.outcome == Outcome::Drop).count()
    };
    let dropped = decided();
    assert!((50..150).contains(&dropped), "{dropped} of 200");
    assert_eq!(decided(), dropped);
}

#[test]
fn a_rule_that_closes_ends_the_session() {
    let run = run(
        capture("session-1.8.jsonl"),
        "[[rule]]\nwhen = 'serverbound and chat'\nclose = 'enough'\n",
    );
    assert_eq!(run.counts(), [(1, 1, 0)]);
    let last = run.records().last().unwrap();
    assert_eq!(marked(last), "+kick_disconnect");
    assert_eq!(text(last, "reason"), r#"{"text":"enough"}"#);
    let Some(Entry::Event(event)) = run.entries.last() else { panic!() };
    let EventKind::Close(summary) = &event.kind else { panic!("{event:?}") };
    assert_eq!(summary.reason, "closed by a rule: enough");
    assert!(run.reports[0].contains("Closed"), "{:?}", run.reports);
}

#[test]
fn connection_packets_stay_whatever_the_rules() {
    let entries = capture("session-1.8-encrypted.pcapng");
    let before: Vec<String> =
        entries.iter().filter_map(Entry::record).take(9).map(marked).collect();
    let run = run(entries, "[[rule]]\nwhen = 'not play'\ndrop = true\n");
    let after: Vec<String> = run.records().take(9).map(marked).collect();
    assert_eq!(before[..2], after[..2]);
    assert_eq!((&*before[2], &*after[2]), ("login_start", "-login_start"));
    assert_eq!(before[3..], after[3..]);
    let compress = run.records().find(|record| name(record) == "compress").unwrap();
    assert!(compress.comment.as_ref().unwrap().contains("because the connection depends on it"));
}
