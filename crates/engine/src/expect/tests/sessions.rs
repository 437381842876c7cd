//! Sessions: several at once, such that end early or never, and packets that rules touched.

use super::*;

const ANSWERED: &str = "[[expect]]\nname = 'answered'\nafter = 'keep_alive and clientbound'\n\
                        when = 'keep_alive and serverbound'\nwithin = '15s'\n";

#[test]
fn sessions_at_the_same_time_are_judged_each_for_itself() {
    let one = Script::open(1, 0).ask(1).wait(20_000).answer(1).close();
    let two = Script::open(2, 10).ask(2).wait(10).answer(2).close();
    let mut entries = [one, two].concat();
    entries.sort_by_key(Entry::at);
    let report = report(ANSWERED, &entries);
    let outcome = &report.outcomes[0];
    assert_eq!((outcome.passed, outcome.failed), (1, 1));
    assert_eq!(outcome.failures[0].place.context.session, 1);
    assert_eq!(outcome.failures[0].place.at, Timestamp(15_000_000_000));
}

#[test]
fn what_is_open_and_not_late_when_a_session_ends_is_judged_as_the_file_says() {
    let entries = Script::open(1, 0).ask(1).wait(10).close();
    let ended =
        "no packet matches `keep_alive and serverbound` before the session ended: expected >= 1";
    let answered = &ANSWERED["[[expect]]\n".len()..];
    let [skipped, passed, failed] =
        ["skip", "pass", "fail"].map(|word| format!("{answered}at_end = '{word}'"));
    let at_most = "when = 'keep_alive'\nwithin = '1h'\ncount = '<= 1'";
    // Also if the capture ends without the end of the session.
    for entries in [&entries[..], &entries[..entries.len() - 1]] {
        assert_eq!(judged(answered, entries), (0, 0, vec![]));
        assert_eq!(judged(&skipped, entries), (0, 0, vec![]));
        assert_eq!(judged(&passed, entries), (1, 0, vec![]));
        fails(&failed, entries, ended);
        passes(at_most, entries);
    }
    // Broken bounds are broken, and what is late has failed.
    let often = Script::open(1, 0).ask(1).ask(2).close();
    assert_eq!(judged(at_most, &often).1, 1);
    let late = Script::open(1, 0).ask(1).wait(15_000).close();
    let reason = "no packet matches `keep_alive and serverbound` within 15s: expected >= 1";
    fails(answered, &late, reason);
    // What only the session ends is judged with it.
    let open = "after = 'keep_alive and clientbound'\nwhen = 'keep_alive and serverbound'";
    fails(open, &entries, ended);
}

#[test]
fn a_packet_ends_a_judgement_and_does_not_count() {
    let rule = "after = 'keep_alive'\nuntil = 'keep_alive'\nwhen = 'chat'\ncount = '<= 1'";
    let session = |between: usize| {
        let mut script = Script::open(1, 0);
        script.ask(1);
        (0..between).for_each(|_| {
            script.say("x");
        });
        script.ask(2).say("y");
        script.close()
    };
    assert_eq!(judged(rule, &session(1)), (2, 0, vec![]));
    let reason = "2 packets match `chat`: expected <= 1".to_owned();
    assert_eq!(judged(rule, &session(2)), (1, 1, vec![reason]));
    let least = "after = 'keep_alive'\nuntil = 'keep_alive'\nwhen = 'chat'";
    let reason = "no packet matches `chat` until `keep_alive`: expected >= 1".to_owned();
    assert_eq!(judged(least, &session(0)), (1, 1, vec![reason]));
    // The packet itself is not among those that are counted, and an order ends there too.
    let own = "after = 'success'\nuntil = 'chat'\nwhen = 'chat'\nnever = true";
    assert_eq!(judged(own, &Script::open(1, 0).success().say("x").close()), (1, 0, vec![]));
    let order = "order = ['success', 'chat']\nuntil = 'keep_alive'";
    let reason = "no `chat` came after `success` until `keep_alive`".to_owned();
    let late = Script::open(1, 0).success().ask(1).say("x").close();
    assert_eq!(judged(order, &late), (0, 1, vec![reason]));
    // Without the packet, it is open at the end.
    let open = Script::open(1, 0).ask(1).close();
    assert_eq!(judged(least, &open), (0, 0, vec![]));
    assert_eq!(judged(&format!("{least}\nat_end = 'fail'"), &open).1, 1);
}

#[test]
fn a_number_that_is_used_again_is_another_session() {
    let first = Script::open(1, 0).ask(1).close();
    let entries = [&first[..first.len() - 1], &Script::open(1, 50).answer(1).close()].concat();
    let report = report(ANSWERED, &entries);
    // Neither has an answer, and neither is late.
    assert_eq!((report.outcomes[0].passed, report.outcomes[0].failed), (0, 0));
}

#[test]
fn each_capture_is_a_run_of_its_own() {
    let set = set("[[expect]]\nwhen = 'keep_alive'\nper = 'run'\n");
    let mut judge = Judge::new([("tests.toml", &set)]);
    for (name, entries) in
        [("a.jsonl", Script::open(1, 0).ask(1).close()), ("b.jsonl", Script::open(1, 0).close())]
    {
        judge.begin(name);
        entries.iter().for_each(|entry| judge.write(entry).unwrap());
    }
    judge.finish().unwrap();
    let report = judge.report();
    let outcome = &report.outcomes[0];
    assert_eq!((outcome.passed, outcome.failed), (1, 1));
    assert_eq!(outcome.failures[0].place.session(), "b.jsonl, session 1 (Steve)");
}

#[test]
fn what_was_never_judged_is_skipped_and_only_skipped_is_not_passed() {
    let skipped = report(ANSWERED, &Script::open(1, 0).close());
    assert_eq!(skipped.outcomes[0].verdict(), Verdict::Skipped);
    assert!(!skipped.passed());
    let text = format!("{ANSWERED}[[expect]]\nwhen = 'chat'\n");
    let report = report(&text, &Script::open(1, 0).say("x").close());
    assert!(report.passed());
    assert_eq!(report.summary(), "2 expectations: 1 passed, 0 failed, 1 skipped");
}

#[test]
fn packets_count_as_their_sender_sent_them() {
    let mut session = Script::open(1, 0);
    session.say("a");
    let rewritten = session.seq;
    let set = |script: &mut Script, fate, of, origin| {
        let Some(Entry::Packet(record)) = script.entries.last_mut() else { unreachable!() };
        (record.outcome, record.of) = (fate, of);
        record.packet.set_origin(origin);
    };
    set(&mut session, Fate::Rewrite, None, Origin::Client);
    session.say("A");
    set(&mut session, Fate::Send, Some(rewritten), Origin::Proxy);
    session.say("b");
    set(&mut session, Fate::Drop, None, Origin::Client);
    session.say("c");
    set(&mut session, Fate::Send, None, Origin::Proxy);
    let entries = session.close();
    passes("when = 'chat'\ncount = 3", &entries);
    passes("when = 'chat and message == \"A\"'\nnever = true", &entries);
    // The packet as it came is shown, though its line on the screen is that of its replacement.
    let never = report("[[expect]]\nwhen = 'chat and message == \"a\"'\nnever = true\n", &entries);
    let mut text = String::new();
    never.write_text(&mut text, &LineOptions::default());
    assert!(text.contains("\n      >   00:00:00.000 #1 → play      0x01 chat "), "{text}");
}

#[test]
fn open_judgements_are_limited_and_failures_that_are_kept_too() {
    let mut session = Script::open(1, 0);
    (0..1_020).for_each(|id| {
        session.ask(id);
    });
    let report = report(&format!("{ANSWERED}at_end = 'fail'\n"), &session.close());
    let outcome = &report.outcomes[0];
    assert_eq!((outcome.passed, outcome.failed, outcome.failures.len()), (0, 1_020, 10));
    let reason = "more than 1000 judgements are open: limit them with `within`, or `after`";
    assert_eq!(outcome.failures[0].reason, reason);
}

/// The entries of running sessions and those read back from captures of them get the same judgement.
#[test]
fn live_entries_and_their_captures_are_judged_equally() {
    use crate::capture::{CreateOptions, create_sink, open_capture};
    let text = "
        [[expect]]
        after = 'success'
        when = 'position and clientbound'
        within = '200ms'
        [[expect]]
        when = 'chat and serverbound'
        count = '<= 1'
        [[expect]]
        order = ['login and clientbound', 'spawn_position', 'chat']
        [[expect]]
        when = 'clientbound'
        rate = '<= 50/s'
        bytes = '<= 60k'
        [[expect]]
        after = 'clientbound'
        when = 'serverbound'
        within = '5ms'
        [[expect]]
        when = 'success'
        per = 'run'
        [[expect]]
        when = 'keep_alive'
        same = ['keepAliveId']
        [[expect]]
        when = 'pkt.diagnostic or pkt.error'
        never = true
    ";
    let folder = tempfile::tempdir().unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let (mut judged, mut failed) = (0, 0);
    for name in [
        "session-1.8.jsonl",
        "session-1.12.2.jsonl",
        "session-26.3.jsonl",
        "session-1.8-encrypted.pcapng",
        "session-alpha.jsonl",
        "status-1.8.jsonl",
        "query.jsonl",
    ] {
        let read = |path: &std::path::Path| -> Vec<Entry> {
            open_capture(path, Catalog::embedded()).unwrap().map(Result::unwrap).collect()
        };
        let live = read(&root.join(name));
        let expected = report(text, &live).json();
        judged += expected["passed"].as_u64().unwrap() + expected["failed"].as_u64().unwrap();
        failed += expected["failed"].as_u64().unwrap();
        for file in ["again.jsonl", "again.pcapng", "again.jsonl.zst"] {
            let path = folder.path().join(format!("{name}-{file}"));
            let mut sink = create_sink(&path, &CreateOptions::default()).unwrap();
            live.iter().for_each(|entry| sink.write(entry).unwrap());
            sink.finish().unwrap();
            assert_eq!(report(text, &read(&path)).json(), expected, "{name} {file}");
        }
    }
    assert!(judged > 30 && failed > 5, "{judged} {failed}");
}
