//! What a peer would disconnect for, where the packets before it or the form of its frame tell.

use super::later::Game;
use super::*;
use Direction::{Clientbound, Serverbound};
use mitmcraft_protocol::packet::{Diagnostic, Diagnostics};

/// A keep-alive or a Disconnect: seconds after the one before, the direction, the number, and what is
/// wrong with it.
type Step = (u64, Direction, Option<i64>, &'static [Diagnostic]);

fn play(version: i32, steps: &[Step]) {
    let mut game = Game::new(version, "");
    for (place, (seconds, direction, number, expected)) in steps.iter().enumerate() {
        game.pair.clock += seconds * 1_000_000_000;
        let (name, value) = match number {
            Some(number) => ("keep_alive", fields([("keepAliveId", Value::Int(*number))])),
            None => ("kick_disconnect", fields([("reason", "\"Timed out\"".into())])),
        };
        game.says(*direction, State::Play, name, value);
        let records = game.pair.records();
        let noted: Vec<_> = records.last().unwrap().packet.noted().iter().collect();
        assert_eq!(noted, *expected, "{version}, step {place}");
    }
}

#[test]
fn keep_alives_are_timed_by_the_rules_of_their_version() {
    use Diagnostic::{KeepAliveLate, KeepAliveOverdue, KeepAliveUnanswered, KeepAliveUnasked};
    play(
        47,
        &[
            // Not asked, but 1.8 does not mind.
            (0, Serverbound, Some(7), &[]),
            (1, Clientbound, Some(1), &[]),
            (2, Serverbound, Some(1), &[]),
            (17, Clientbound, Some(2), &[]),
            (1, Clientbound, Some(3), &[]),
            (28, Serverbound, Some(2), &[]),
            (3, Serverbound, Some(3), &[KeepAliveLate]),
            (1, Clientbound, Some(4), &[KeepAliveOverdue]),
            (19, Clientbound, Some(5), &[]),
            (12, Clientbound, Some(6), &[KeepAliveUnanswered]),
        ],
    );
    play(
        340,
        &[
            (0, Serverbound, Some(7), &[KeepAliveUnasked]),
            (0, Clientbound, Some(1), &[]),
            (14, Serverbound, Some(1), &[]),
            (0, Serverbound, Some(1), &[KeepAliveUnasked]),
            (15, Clientbound, Some(2), &[]),
            (14, Clientbound, Some(3), &[]),
            (2, Serverbound, Some(2), &[KeepAliveLate]),
            (31, Clientbound, Some(4), &[KeepAliveUnanswered, KeepAliveOverdue]),
        ],
    );
    play(340, &[(0, Clientbound, Some(1), &[]), (15, Clientbound, None, &[KeepAliveUnanswered])]);
    play(340, &[(0, Clientbound, Some(1), &[]), (14, Clientbound, None, &[])]);
}

#[test]
fn a_keep_alive_that_does_not_come_is_missed() {
    let overdue = Diagnostics::from_iter([Diagnostic::KeepAliveOverdue]);
    for (version, limit) in [(47, 20), (107, 30), (765, 30)] {
        for (direction, name) in [
            (Clientbound, "keep_alive"),
            (Clientbound, "update_health"),
            (Serverbound, "held_item_slot"),
            (Clientbound, "kick_disconnect"),
        ] {
            if (version, name) == (765, "kick_disconnect") {
                continue;
            }
            for late in [false, true] {
                let mut game = Game::new(version, "");
                let mut say = |seconds: u64, direction, name: &str| {
                    game.pair.clock += seconds * 1_000_000_000;
                    let value = match name {
                        "keep_alive" => fields([("keepAliveId", Value::Int(7))]),
                        "kick_disconnect" => fields([("reason", "\"Timed out\"".into())]),
                        "held_item_slot" => fields([("slotId", Value::Int(1))]),
                        _ => fields([
                            ("health", Value::Float32(20.0)),
                            ("food", Value::Int(20)),
                            ("foodSaturation", Value::Float32(5.0)),
                        ]),
                    };
                    game.says(direction, State::Play, name, value);
                    game.pair.records().last().unwrap().packet.noted()
                };
                // The game begins with its first packet.
                assert_eq!(say(0, Clientbound, "update_health"), Diagnostics::NONE, "{version}");
                let found = say(if late { limit + 1 } else { limit - 1 }, direction, name);
                let expected = if late { overdue } else { Diagnostics::NONE };
                assert_eq!(found, expected, "{version} {name}, late: {late}");
                // Once is enough, but the late one is marked too.
                if late && name == "update_health" {
                    assert_eq!(say(1, Serverbound, "held_item_slot"), Diagnostics::NONE);
                    assert_eq!(say(1, Clientbound, "keep_alive"), overdue);
                    assert_eq!(say(1, Clientbound, "update_health"), Diagnostics::NONE);
                    assert_eq!(say(limit, Clientbound, "update_health"), overdue);
                }
            }
        }
    }
}

#[test]
fn of_many_unanswered_keep_alives_the_last_ones_are_known() {
    let asked = (1..=70).map(|number| (0, Clientbound, Some(number), &[][..]));
    let answered = (7..=70).map(|number| (0, Serverbound, Some(number), &[][..]));
    play(340, &asked.chain(answered).collect::<Vec<Step>>());
}

#[test]
fn compression_is_checked_against_the_threshold() {
    let mut pair = Pair::playing(usize::MAX, 64);
    let long = body(State::Play, Serverbound, "chat", &chat(&"a".repeat(62)));
    let short = body(State::Play, Serverbound, "chat", &chat("hi"));
    assert_eq!(long.len(), 64);
    for (threshold, body, expected) in [
        (64, &long, Diagnostics::NONE),
        (64, &short, Diagnostics::NONE),
        (1, &short, Diagnostics::from_iter([Diagnostic::CompressedBelowThreshold])),
        (1000, &long, Diagnostics::from_iter([Diagnostic::UncompressedAboveThreshold])),
    ] {
        pair.client.set_compression(Some(threshold));
        pair.client.encoder.send(body);
        pair.run();
        let records = pair.records();
        assert_eq!(records.last().unwrap().packet.noted(), expected, "{threshold}");
    }
    assert_eq!(pair.server_got.iter().filter(|got| got.as_ref() == short).count(), 2);
}

#[test]
fn keep_alives_are_timed_also_if_nobody_records_the_packets_between_them() {
    let rules = "[[rule]]\nname = \"late\"\nwhen = 'keep_alive and serverbound and pkt.diagnostic'\n\
                 drop = true";
    for recorded in [true, false] {
        let mut pair = Pair::playing(usize::MAX, 64);
        let rules = RuleSet::parse(rules, Catalog::embedded()).rules.unwrap();
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(rules.filter()));
        pair.session.set_pipeline(pipeline);
        if !recorded {
            pair.session.start_tally();
        }
        let value = |number| fields([("keepAliveId", Value::Int(number))]);
        let before = pair.server_got.len();
        for (number, wait) in [(1, 1), (2, 31), (3, 1)] {
            pair.server_says(State::Play, "keep_alive", value(number));
            pair.clock += wait * 1_000_000_000;
            pair.client_says(State::Play, "keep_alive", value(number));
        }
        assert_eq!(pair.server_got.len() - before, 2, "recorded: {recorded}");
    }
}
