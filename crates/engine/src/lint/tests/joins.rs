//! Joins of several versions from which one packet is taken at a time.

use super::planted::body::body;
use super::planted::{chunks, packets};
use super::*;
use crate::analysis::JoinCheck;
use crate::explain::tests::script::Script;

const VERSIONS: [i32; 8] = [47, 340, 754, 758, 762, 765, 769, 777];

/// Packets of a join, of which a client waits for some.
const PARTS: [&str; 5] =
    ["update_health", "spawn_position", "game_state_change", "position", "map_chunk"];

/// A join without one of its packets, and a minute after it.
fn joined(version: i32, missing: &str) -> Script {
    let mut script = Script::joined(version);
    for part in PARTS.into_iter().filter(|part| *part != missing) {
        script = match part {
            "update_health" => script.server(part, body().f32(20.0).varint(20).f32(5.0)),
            "spawn_position" if version < 755 => script.server(part, body().i64(0)),
            "spawn_position" if version < 773 => script.server(part, body().i64(0).f32(0.0)),
            "game_state_change" => script.server(part, body().i8(13).f32(0.0)),
            "position" => script.teleport(1),
            "map_chunk" => (chunks::chunk(version).build)(false).iter().fold(script, Script::sent),
            _ => script,
        };
    }
    (1..=5).fold(script, |script, number| script.wait(8).kept_alive(number))
}

/// What a version waits for of that packet, in words.
fn awaited(version: i32, part: &str) -> Option<&'static str> {
    match part {
        "position" if version < 759 => Some("no position for"),
        "spawn_position" if (761..765).contains(&version) => Some("no spawn position for"),
        "game_state_change" if version >= 765 => {
            Some("no `game_event` 13 (`game_state_change`, `level_chunks_load_start`) for")
        }
        "map_chunk" => Some("no chunk at 0, 0 for"),
        _ => None,
    }
}

#[test]
fn what_a_join_still_waits_for_is_named_and_nothing_else() {
    for version in VERSIONS {
        let joined_game = Script::joined(version).seq;
        for part in PARTS.into_iter().chain(["nothing"]) {
            let script = joined(version, part).close("closed by the client");
            let name = format!("{version} without {part}");
            let expected = awaited(version, part);
            // In a capture, as a finding about Join Game.
            let mut linter = Linter::default();
            script.entries.iter().for_each(|entry| linter.write(entry).unwrap());
            linter.finish().unwrap();
            let report = linter.report();
            let found: Vec<_> =
                report.findings.iter().map(|it| (&*it.rule, seq(it), it.certain)).collect();
            let finding = ("join-incomplete", joined_game, true);
            assert_eq!(
                found,
                Vec::from_iter(expected.is_some().then_some(finding)),
                "{name}\n{}",
                text(&report)
            );
            // While it goes on, as a sentence, as soon as the wait is long enough.
            let mut check = JoinCheck::default();
            let mut stuck = script
                .entries
                .iter()
                .enumerate()
                .filter_map(|(place, it)| Some((place, check.take(it)?)));
            let first = stuck.next();
            assert!(stuck.next().is_none(), "{name}");
            let words = first.map(|(place, stuck)| {
                assert!(script.entries[place].at().since(Timestamp(0)).as_secs() < 10, "{name}");
                stuck.to_string()
            });
            let reason = report.findings.first().map(|it| it.reason.clone());
            for said in [reason, words] {
                assert_eq!(said.is_some(), expected.is_some(), "{name}: {said:?}");
                if let (Some(said), Some(expected)) = (said, &expected) {
                    let said = said.split("its world: ").nth(1).unwrap();
                    assert!(said.starts_with(&**expected), "{name}: {said}");
                    let waits = match (part, version) {
                        ("game_state_change", 773..) | (_, ..761) => "it waits forever",
                        _ => "after 30 s it continues without it",
                    };
                    assert!(said.ends_with(waits), "{name}: {said}");
                }
            }
        }
    }
}

#[test]
fn a_chunk_elsewhere_is_not_that_of_the_player_and_a_world_that_follows_is_waited_for_again() {
    for version in [47, 769, 777] {
        let far = body().f64(800.0).f64(70.0).f64(-8.5);
        let far = match version {
            47 => far.f32(0.0).f32(0.0).i8(0),
            _ => body()
                .varint(1)
                .f64(800.0)
                .f64(70.0)
                .f64(-8.5)
                .raw(&[0; 24])
                .f32(0.0)
                .f32(0.0)
                .i32(0),
        };
        let mut script = Script::joined(version).server("position", far);
        if version >= 765 {
            script = script.server("game_state_change", body().i8(13).f32(0.0));
        }
        let chunk = (chunks::chunk(version).build)(false);
        let script = chunk.iter().fold(script, Script::sent).wait(25).kept_alive(9);
        let report = lint(script.entries.iter().filter_map(|entry| entry.record().cloned()));
        let [finding] = &*report.findings else { panic!("{version}\n{}", text(&report)) };
        assert!(finding.reason.contains("no chunk at 50, -1 for"), "{version}: {}", finding.reason);
    }
    // The wait for one world ends when the next begins.
    let script = joined(769, "game_state_change");
    let (first, mut script) = (Script::joined(769).seq, script);
    for _ in 0..2 {
        script = script.sent(&packets::joined(769)).teleport(2);
    }
    let report = lint(
        script.wait(30).kept_alive(9).entries.iter().filter_map(|entry| entry.record().cloned()),
    );
    let found: Vec<_> = report.findings.iter().map(|it| (&*it.rule, it.count)).collect();
    assert_eq!(
        (found, seq(&report.findings[0])),
        (vec![("join-incomplete", 2)], first),
        "{}",
        text(&report)
    );
}

/// Registries are large, and many clients can wait in the configuration.
#[test]
fn joins_that_are_too_large_to_keep_together_are_not_judged() {
    let mut check = JoinCheck::default();
    let large = |session: u64| {
        let mut script = Script::new(777);
        let context = Context { session, ..Context::clone(&script.context) };
        script.context = Arc::new(context);
        let script = script.bytes(Direction::Clientbound, State::Configuration, vec![7; 1 << 20]);
        let close = script.clone().close("lost").entries.pop().unwrap();
        (script.entries.into_iter().next_back().unwrap(), close)
    };
    let entries: Vec<_> = (1..=40).map(large).collect();
    assert!(entries.iter().all(|(packet, _)| check.take(packet).is_none()));
    let later = Timestamp(60_000_000_000);
    let stuck =
        |check: &JoinCheck| (1..=41).filter(|it| check.missing(*it, later).is_some()).count();
    assert_eq!(stuck(&check), 31);
    // What ends makes room.
    check.take(&entries[0].1);
    check.take(&large(41).0);
    assert_eq!(stuck(&check), 31);
    assert!(check.missing(41, later).is_some());
    // So does a session of which packets are missing.
    let mut gap = Script::new(777);
    (gap.context, gap.seq) = (Arc::clone(entries[1].0.context()), 7);
    let gap = gap.bytes(Direction::Clientbound, State::Configuration, vec![7]);
    check.take(gap.entries.last().unwrap());
    assert_eq!(stuck(&check), 30);
    check.take(&large(42).0);
    assert!(check.missing(42, later).is_some());
}

#[test]
fn a_login_without_an_answer_is_the_fault_of_the_side_that_owes_it() {
    for version in [47, 769, 777] {
        let asked = Script::login(version).wait(21).close("closed by the client");
        let owed = |script: &Script, side| {
            let mut linter = Linter::new(side);
            script.entries.iter().for_each(|entry| linter.write(entry).unwrap());
            linter.finish().unwrap();
            linter
                .report()
                .findings
                .iter()
                .map(|it| (it.rule.to_string(), it.reason.clone()))
                .collect::<Vec<_>>()
        };
        let reason = "the server has not let the client in for 21 s after this packet".to_owned();
        assert_eq!(owed(&asked, LintSide::Server), [("join-incomplete".to_owned(), reason)]);
        assert_eq!(owed(&asked, LintSide::Client), []);
        if version >= 764 {
            let silent = Script::configured(version, &[]).wait(21).close("closed by the client");
            let reason = "the client has not answered for 21 s after this packet".to_owned();
            let joins = |side| {
                let found = owed(&silent, side).into_iter();
                found.filter(|(rule, _)| rule == "join-incomplete").collect::<Vec<_>>()
            };
            assert_eq!(joins(LintSide::Client), [("join-incomplete".to_owned(), reason)]);
            assert_eq!(joins(LintSide::Server), []);
        }
    }
}

/// Returns a session with an upstream whose status names 1.8.8, and that sends `undecoded` packets that are no
/// packets of 1.21.4.
fn of_another_version(upstream: &str, undecoded: usize) -> Vec<Entry> {
    let mut script = Script::new(769);
    let context = Context { upstream: upstream.to_owned(), ..Context::clone(&script.context) };
    script.context = Arc::new(context);
    let status =
        "{\"version\":{\"name\":\"1.8.8\",\"protocol\":47},\"players\":{\"max\":1,\"online\":0}}";
    script = script.server_in(State::Status, "server_info", body().text(status));
    script.entries.push(script.clone().close("both sides closed").entries.pop().unwrap());
    script.seq = 0;
    for _ in 0..undecoded {
        script = script.bytes(Direction::Clientbound, State::Login, vec![0x21, 1, 2, 3]);
    }
    script.close("closed by the client").entries
}

/// What does not decode because the server's version is another, as its status says, is one finding.
#[test]
fn a_server_that_answers_another_version_than_its_status_names_is_one_finding() {
    let mut linter = Linter::default();
    of_another_version("a", 14).iter().for_each(|entry| linter.write(entry).unwrap());
    linter.finish().unwrap();
    let report = linter.report();
    let [finding] = &*report.findings else { panic!("{}", text(&report)) };
    assert_eq!((&*finding.rule, finding.count, seq(finding)), ("version-differs", 1, 1));
    assert!(
        finding.reason.ends_with("its status says `1.8.8` (protocol 47)"),
        "{}",
        finding.reason
    );
}

#[test]
fn the_version_of_a_server_explains_nothing_about_another_server() {
    let known = |linter: &mut Linter, upstream, undecoded| {
        let entries = of_another_version(upstream, undecoded);
        entries.iter().for_each(|entry| linter.write(entry).unwrap());
    };
    let rules = |linter: &Linter| {
        let report = linter.report();
        report.findings.iter().map(|it| it.rule.to_string()).collect::<Vec<_>>()
    };
    let mut linter = Linter::default();
    known(&mut linter, "a", 14);
    known(&mut linter, "b", 2);
    assert_eq!(rules(&linter), ["id-unknown", "version-differs"]);
    // A second server of another version has a finding of its own.
    known(&mut linter, "b", 14);
    assert_eq!(rules(&linter), ["version-differs"]);
    // Nor about what is counted together with what it explains.
    let mut both = Linter::default();
    known(&mut both, "a", 2);
    known(&mut both, "b", 2);
    known(&mut both, "c", 1);
    known(&mut both, "a", 14);
    let report = both.report();
    let found: Vec<_> = report.findings.iter().map(|it| (&*it.rule, it.count)).collect();
    assert_eq!(found, [("id-unknown", 3), ("version-differs", 1)]);
    // The sessions of another capture are of other servers.
    linter.begin("another capture");
    known(&mut linter, "a", 2);
    assert_eq!(rules(&linter), ["id-unknown", "version-differs"]);
}
