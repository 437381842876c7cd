//! Each field of an expectation, on sessions that meet it and that do not.

use super::*;

#[test]
fn a_packet_is_expected_within_a_time_after_another_one() {
    let expect = "after = 'success'\nwhen = 'keep_alive and clientbound'\nwithin = '5s'";
    for (millis, passes) in [(0, true), (4_999, true), (5_000, true), (5_001, false)] {
        let mut session = Script::open(1, 0);
        let entries = session.wait(100).success().wait(millis).ask(1).close();
        let (passed, failed, reasons) = judged(expect, &entries);
        assert_eq!((passed, failed), (u64::from(passes), u64::from(!passes)), "{millis}");
        if !passes {
            let reason = "no packet matches `keep_alive and clientbound` within 5s: expected >= 1"
                .to_owned();
            assert_eq!(reasons, [reason]);
        }
    }
    // What came before does not count, nor does the packet that begins the judgement.
    let entries = Script::open(1, 0).ask(1).success().close();
    let reason =
        "no packet matches `keep_alive and clientbound` before the session ended: expected >= 1";
    fails(&format!("{expect}\nat_end = 'fail'"), &entries, reason);
    let expect = "after = 'keep_alive'\nwhen = 'keep_alive'\ncount = 0";
    passes(expect, &Script::open(1, 0).ask(1).close());
}

#[test]
fn without_after_the_time_runs_from_the_beginning_of_the_session() {
    let expect = "when = 'keep_alive'\nwithin = '200ms'";
    passes(expect, &Script::open(1, 7_000).wait(200).ask(1).close());
    let reason = "no packet matches `keep_alive` within 200ms: expected >= 1";
    fails(expect, &Script::open(1, 7_000).wait(201).ask(1).close(), reason);
}

#[test]
fn every_packet_that_matches_after_begins_a_judgement() {
    let expect = "after = 'chat'\nwhen = 'keep_alive'\nwithin = '1s'";
    let mut session = Script::open(1, 0);
    session.say("a").wait(500).say("b").ask(1).wait(2_000).say("c").wait(1_500).ask(2);
    let (passed, failed, _) = judged(expect, &session.close());
    assert_eq!((passed, failed), (2, 1));
}

#[test]
fn packets_are_counted() {
    let session = |count: usize| {
        let mut session = Script::open(1, 0);
        (0..count).for_each(|id| {
            session.wait(10).ask(id as i64);
        });
        session.close()
    };
    for (count, numbers) in [
        ("'>= 2'", 2..=9),
        ("'> 1'", 2..=9),
        ("'== 2'", 2..=2),
        ("'2'", 2..=2),
        ("2", 2..=2),
        ("'<= 3'", 0..=3),
        ("'< 4'", 0..=3),
        ("0", 0..=0),
    ] {
        for number in 0..9 {
            let (passed, failed, reasons) =
                judged(&format!("when = 'keep_alive'\ncount = {count}"), &session(number));
            let kept = numbers.contains(&number);
            assert_eq!((passed, failed), (u64::from(kept), u64::from(!kept)), "{count} {number}");
            assert!(reasons.iter().all(|it| it.contains("expected ")), "{reasons:?}");
        }
    }
    // A number that is too large breaks it at once, a number that is too small at the end.
    let all = report("[[expect]]\nwhen = 'keep_alive'\ncount = '<= 1'\n", &session(5));
    let failure = &all.outcomes[0].failures[0];
    assert_eq!(failure.reason, "2 packets match `keep_alive`: expected <= 1");
    assert_eq!(failure.place.at, Timestamp(20_000_000));
    assert_eq!(failure.around.at_fault, Some(1));
}

#[test]
fn never_is_broken_by_the_first_packet() {
    let expect = "after = 'success'\nwhen = 'chat'\nnever = true\nwithin = '1s'";
    passes(expect, &Script::open(1, 0).say("x").success().wait(1_001).say("y").close());
    let entries = Script::open(1, 0).success().wait(10).say("x").say("y").close();
    fails(expect, &entries, "1 packet matches `chat`: expected == 0");
    passes("when = 'chat'\nnever = false", &Script::open(1, 0).say("x").close());
}

#[test]
fn packets_are_expected_in_an_order() {
    let expect = "order = ['success', 'keep_alive and clientbound', 'chat']\nwithin = '1s'";
    passes(expect, &Script::open(1, 0).success().ask(1).answer(1).say("x").close());
    // Later packets of a type that has come do not matter.
    passes(expect, &Script::open(1, 0).success().success().ask(1).success().say("x").close());
    let entries = Script::open(1, 0).success().say("x").ask(1).say("y").close();
    fails(expect, &entries, "`chat` came before `keep_alive and clientbound`");
    let entries = Script::open(1, 0).say("x").success().ask(1).say("y").close();
    fails(expect, &entries, "`chat` came before `success`");
    let entries = Script::open(1, 0).success().ask(1).wait(1_001).say("x").close();
    fails(expect, &entries, "no `chat` came after `keep_alive and clientbound` within 1s");
    let entries = Script::open(1, 0).answer(1).close();
    let reason = "no packet matches `success` before the session ended";
    fails(&format!("{expect}\nat_end = 'fail'"), &entries, reason);
    let after =
        "after = 'chat'\norder = ['keep_alive and clientbound', 'keep_alive and serverbound']";
    passes(after, &Script::open(1, 0).answer(1).say("x").ask(1).answer(1).close());
}

#[test]
fn values_are_expected_to_be_equal() {
    // The packets of a judgement have the values of the one that began it.
    let expect = "after = 'keep_alive and clientbound'\nwhen = 'keep_alive and serverbound'\n\
                  same = ['keepAliveId']\nwithin = '15s'";
    passes(expect, &Script::open(1, 0).ask(1).ask(2).answer(2).answer(1).close());
    let entries = Script::open(1, 0).ask(1).answer(1).ask(2).answer(3).close();
    let reason = "no packet matches `keep_alive and serverbound` before the session ended \
                  (1 with another `keepAliveId`): expected >= 1";
    fails(&format!("{expect}\nat_end = 'fail'"), &entries, reason);
    let never = "after = 'keep_alive and clientbound'\nwhen = 'keep_alive and clientbound'\n\
                 same = ['keepAliveId']\nnever = true";
    passes(never, &Script::open(1, 0).ask(1).ask(2).close());
    let reason = "1 packet matches `keep_alive and clientbound`: expected == 0";
    fails(never, &Script::open(1, 0).ask(1).ask(2).ask(1).close(), reason);
    // Without such a packet, they have those of the first one.
    let expect = "when = 'chat'\nsame = ['message', 'len(message)']";
    passes(expect, &Script::open(1, 0).say("x").ask(1).say("x").close());
    let entries = Script::open(1, 0).say("x").say("yy").close();
    let reason = "`message` is yy and was x, `len(message)` is 2 and was 1";
    fails(expect, &entries, reason);
    // What lacks a value neither counts nor begins a judgement.
    let expect = "after = 'clientbound'\nwhen = 'serverbound'\nsame = ['keepAliveId']";
    let (passed, failed, _) =
        judged(expect, &Script::open(1, 0).success().ask(4).say("x").answer(4).close());
    assert_eq!((passed, failed), (1, 0));
    let order = "order = ['keep_alive and clientbound', 'keep_alive and serverbound']\n\
                 same = ['keepAliveId']";
    passes(order, &Script::open(1, 0).ask(1).answer(7).answer(1).close());
    let reason = "no `keep_alive and serverbound` came after `keep_alive and clientbound` before the \
                  session ended (1 with another `keepAliveId`)";
    fails(order, &Script::open(1, 0).ask(1).answer(7).close(), reason);
}

#[test]
fn the_bytes_of_packets_are_bounded() {
    let expect = "when = 'chat'\nbytes = '<= 20'";
    passes(expect, &Script::open(1, 0).close());
    passes(expect, &Script::open(1, 0).say("12345678").say("12345678").close());
    let entries = Script::open(1, 0).say("12345678").say("123456789").close();
    fails(expect, &entries, "`chat` has 21 bytes: expected <= 20");
    let expect = "when = 'chat'\nbytes = '>= 0.5k'\nwithin = '1s'\nat_end = 'fail'";
    passes(expect, &Script::open(1, 0).say(&"x".repeat(99)).say(&"x".repeat(411)).close());
    let reason = "`chat` has 12 bytes before the session ended: expected >= 0.5k";
    fails(expect, &Script::open(1, 0).say("1234567890").close(), reason);
    let both = "when = 'chat'\nbytes = '<= 20'\ncount = '>= 1'";
    let reason = "no packet matches `chat` before the session ended: expected >= 1";
    fails(both, &Script::open(1, 0).close(), reason);
}

#[test]
fn the_rate_of_packets_is_bounded_in_every_second() {
    let every = |millis: u64, count: usize| {
        let mut session = Script::open(1, 0);
        (0..count).for_each(|id| {
            session.wait(millis).ask(id as i64);
        });
        session
    };
    let most = "when = 'keep_alive'\nrate = '<= 4/s'";
    passes(most, &every(250, 40).close());
    let reason = "`keep_alive` has 5 packets in a second: expected <= 4/s";
    fails(most, &every(249, 40).close(), reason);
    // A burst counts, whatever the mean is.
    fails(most, &every(0, 5).wait(60_000).close(), reason);
    let least = "when = 'keep_alive'\nrate = '>= 4/s'";
    passes(least, &every(250, 40).close());
    let reason = "`keep_alive` has 2 packets in a second: expected >= 4/s";
    fails(least, &every(250, 40).wait(1).ask(0).wait(999).close(), reason);
    let reason = "`keep_alive` has 0 packets in a second: expected >= 4/s";
    fails(least, &Script::open(1, 0).wait(1_000).close(), reason);
    // No second has passed.
    passes(least, &Script::open(1, 0).wait(999).close());
    let bytes = "when = 'chat'\nrate = '<= 20B/s'";
    passes(bytes, &Script::open(1, 0).say("12345678").wait(1_000).say("123456789").close());
    let reason = "`chat` has 21 bytes in a second: expected <= 20B/s";
    fails(bytes, &Script::open(1, 0).say("12345678").wait(999).say("123456789").close(), reason);
}

#[test]
fn an_expectation_of_a_run_sees_all_sessions() {
    let one = Script::open(1, 0).ask(1).close();
    let two = Script::open(2, 100).ask(2).close();
    let entries = [one, two].concat();
    passes("when = 'keep_alive'\ncount = 2\nper = 'run'", &entries);
    let (passed, failed, _) = judged("when = 'keep_alive'\ncount = 2", &entries);
    assert_eq!((passed, failed), (0, 2));
    passes("when = 'keep_alive and keepAliveId == 2'\nper = 'run'\nwithin = '100ms'", &entries);
    let reason = "no packet matches `chat` before the run ended: expected >= 1";
    fails("when = 'chat'\nper = 'run'", &entries, reason);
    passes("after = 'keepAliveId == 1'\nwhen = 'keepAliveId == 2'\nper = 'run'", &entries);
}
