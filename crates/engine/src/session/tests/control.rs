//! What people hold, edit and send in a running session, with a simulated clock.

use std::time::Duration;

use super::desk::{Desk, number, plain};
use super::effects::rules;
use super::*;
use crate::link::{Action, CommandError, Decision, Payload, Release, Report, Transmission};

use Direction::{Clientbound, Serverbound};

#[test]
fn later_packets_wait_behind_a_held_one_and_go_in_order() {
    for direction in Direction::ALL {
        let mut desk = Desk::holding(47, "held_item_slot or entity_destroy");
        let side = Side::from(direction).other();
        let got = |desk: &Desk| {
            let pair = &desk.game.pair;
            let got = if side == Side::Client { &pair.client_got } else { &pair.server_got };
            got.iter().rev().take(3).rev().map(number).collect::<Vec<_>>()
        };
        let before = got(&desk);
        for text in [1, 2, 3] {
            plain(&mut desk, direction, text);
        }
        desk.pass(60);
        assert_eq!(got(&desk), before);
        assert_eq!(desk.held(), [1, 2, 3]);
        // The third is decided before its turn, and again.
        desk.decide(3, Decision::Drop);
        desk.decide(1, Decision::Forward);
        desk.decide(3, Decision::Forward);
        assert_eq!(desk.held(), [2, 3]);
        desk.decide(2, Decision::Forward);
        assert_eq!(got(&desk), [1, 2, 3]);
        assert_eq!(desk.released(), [Release::Forwarded; 3]);
        let numbers: Vec<u64> = desk.game.pair.records().iter().map(|it| it.packet.seq()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
        assert!(desk.game.comments().starts_with("held for 60.0 s, then forwarded"));
        let refused = desk.order(Action::Decide { held: vec![2], decision: Decision::Drop });
        assert_eq!(refused, Err(CommandError::NotHeld(2)));
    }
}

#[test]
fn a_held_packet_is_dropped_or_edited_and_its_records_say_so() {
    let mut desk = Desk::holding(47, "chat");
    for text in ["one", "two", "three", "four"] {
        desk.game.plays(Serverbound, "chat", chat(text));
    }
    let edit = |json| Decision::Edit(Payload::Fields(json));
    let wrong = edit(serde_json::json!({ "message": 7 }));
    let wrong = desk.order(Action::Decide { held: vec![1], decision: wrong });
    let Err(CommandError::Encode { path, cause }) = wrong else { panic!("{wrong:?}") };
    assert_eq!(path, "message");
    assert_eq!(cause.to_string(), "message: expected text, found an integer");
    desk.decide(1, Decision::Drop);
    desk.decide(2, edit(serde_json::json!({ "message": "zwei" })));
    desk.decide(3, Decision::Edit(Payload::Body(Bytes::from_static(b"\x01\x01x"))));
    desk.decide(4, Decision::Forward);
    let got = &desk.game.pair.server_got;
    assert_eq!(got[got.len() - 3..], [&b"\x01\x04zwei"[..], b"\x01\x01x", b"\x01\x04four"]);
    assert_eq!(desk.seen("chat"), "-~+~+.");
    let records = desk.game.pair.records();
    assert!(
        records.iter().filter(|it| it.outcome == Outcome::Send).all(|it| {
            it.packet.origin() == Origin::Proxy && it.of == Some(it.packet.seq() - 1)
        })
    );
    assert_eq!(
        desk.released(),
        [Release::Dropped, Release::Edited, Release::Edited, Release::Forwarded]
    );
}

#[test]
fn rules_see_what_is_forwarded_and_not_what_is_edited() {
    let mut desk = Desk::holding(47, "chat");
    let set = "[[rule]]\nwhen = 'chat and serverbound'\nset = { message = 'by rule' }\n";
    desk.game.pair.session.set_pipeline(rules(set));
    for text in ["one", "two"] {
        desk.game.plays(Serverbound, "chat", chat(text));
    }
    let edited = Payload::Fields(serde_json::json!({ "message": "mine" }));
    desk.decide(1, Decision::Forward);
    desk.decide(2, Decision::Edit(edited));
    let got = &desk.game.pair.server_got;
    assert_eq!(got[got.len() - 2..], [&b"\x01\x07by rule"[..], b"\x01\x04mine"]);
}

#[test]
fn a_player_is_paused_for_ten_minutes_in_every_generation() {
    let newest = Catalog::embedded().newest_release().unwrap();
    for (version, direction) in
        [47, 340, 765, newest].into_iter().flat_map(|it| Direction::ALL.map(|way| (it, way)))
    {
        let mut desk = Desk::holding(version, "held_item_slot or entity_destroy");
        plain(&mut desk, direction, 1);
        let interval = if version == 47 { 2 } else { 15 };
        for question in 1..=(600 / interval) as i64 {
            let (client, server) =
                (desk.game.pair.client_got.len(), desk.game.pair.server_got.len());
            desk.keep_alive(Clientbound, State::Play, question);
            let asked = desk.keep_alives(Side::Client, State::Play, client);
            assert_eq!(asked, [question], "{version} {direction}");
            desk.keep_alive(Serverbound, State::Play, question);
            let answered = desk.keep_alives(Side::Server, State::Play, server);
            assert_eq!(answered, [question], "{version} {direction}");
            plain(&mut desk, direction, 2);
            desk.pass(interval);
        }
        assert!(!desk.game.pair.session.is_over());
        assert_eq!(desk.seen("keep_alive").trim_matches('.'), "", "none was made or dropped");
        desk.done(Action::ForwardAll);
        desk.pass(10);
        assert_eq!(desk.held(), [0; 0]);
        let name = if direction == Serverbound { "held_item_slot" } else { "entity_destroy" };
        assert_eq!(desk.seen(name).len(), 1 + (600 / interval) as usize, "nothing is lost");
    }
}

#[test]
fn the_proxy_answers_keep_alives_that_cannot_overtake_a_change_of_the_state() {
    for version in [765, 777] {
        let mut desk = Desk::holding(version, "start_configuration");
        desk.game.plays(Clientbound, "start_configuration", fields([]));
        let (client, server) = (desk.game.pair.client_got.len(), desk.game.pair.server_got.len());
        for question in 1..=40 {
            // The server speaks the configuration already, and still listens to the game.
            desk.keep_alive(Clientbound, State::Configuration, question);
            desk.keep_alive(Serverbound, State::Play, question);
            desk.pass(15);
        }
        let all: Vec<i64> = (1..=40).collect();
        assert_eq!(desk.keep_alives(Side::Server, State::Play, server), all, "{version}: once");
        assert_eq!(desk.keep_alives(Side::Client, State::Play, client), all, "{version}");
        assert_eq!(desk.seen("keep_alive"), "-++-".repeat(40));
        desk.decide(1, Decision::Forward);
        desk.keep_alive(Clientbound, State::Configuration, 41);
        assert_eq!(desk.keep_alives(Side::Client, State::Configuration, client + 41), [41]);
        // The client's side of the change.
        desk.hold("configuration_acknowledged", false);
        desk.game.plays(Serverbound, "configuration_acknowledged", fields([]));
        let server = desk.game.pair.server_got.len();
        desk.keep_alive(Serverbound, State::Configuration, 41);
        assert_eq!(desk.keep_alives(Side::Server, State::Play, server), [41]);
        desk.done(Action::ForwardAll);
        desk.keep_alive(Serverbound, State::Configuration, 42);
        assert_eq!(desk.keep_alives(Side::Server, State::Configuration, server + 2), [42]);
        assert!(desk.game.pair.records().iter().all(|it| it.packet.error().is_none()));
    }
}

#[test]
fn the_proxy_answers_keep_alives_while_a_bundle_is_open() {
    let mut desk = Desk::holding(765, "entity_destroy");
    desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
    plain(&mut desk, Clientbound, 1);
    let server = desk.game.pair.server_got.len();
    for question in 1..=4 {
        desk.keep_alive(Clientbound, State::Play, question);
        desk.pass(15);
    }
    assert_eq!(desk.keep_alives(Side::Server, State::Play, server), [1, 2, 3, 4]);
    desk.done(Action::ForwardAll);
    desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
    for answer in 1..=5 {
        desk.keep_alive(Serverbound, State::Play, answer);
    }
    let answered = desk.keep_alives(Side::Server, State::Play, server);
    assert_eq!(answered, [1, 2, 3, 4, 5], "the answers to the proxy's own are dropped");
}

#[test]
fn a_login_is_released_before_its_server_gives_up() {
    let mut desk = Desk::new(47);
    desk.game.pair = Pair::connected(7);
    desk.hold("login_start or success", false);
    desk.game.pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    desk.pass(10);
    let name = fields([("username", "Steve".into())]);
    desk.game.pair.client_says(State::Login, "login_start", name);
    desk.pass(14);
    assert_eq!((desk.held(), desk.game.pair.server_got.len()), (vec![1], 1));
    desk.pass(1);
    assert_eq!((desk.held(), desk.game.pair.server_got.len()), (vec![], 2));
    assert_eq!(desk.released(), [Release::Impatience]);
    assert!(desk.game.comments().contains("peers wait no longer than 30 s"));
    desk.game.pair.server_says(State::Login, "success", success());
    assert_eq!(desk.game.pair.client_got.len(), 1, "nothing more of this login is held");
}

#[test]
fn a_long_backlog_to_the_server_is_released_slowly() {
    let mut desk = Desk::holding(340, "held_item_slot");
    plain(&mut desk, Serverbound, 0);
    desk.hold("clientbound and entity_destroy", false);
    for text in 0..250 {
        plain(&mut desk, Serverbound, text);
    }
    let before = desk.game.pair.server_got.len();
    desk.done(Action::ForwardAll);
    assert!(desk.game.pair.server_got.len() - before <= 2);
    desk.pass(1);
    let second = desk.game.pair.server_got.len() - before;
    assert!((95..=105).contains(&second), "{second}");
    desk.keep_alive(Serverbound, State::Play, 5);
    let last = desk.game.pair.server_got.len() - 1;
    assert_eq!(desk.keep_alives(Side::Server, State::Play, last), [5], "it overtakes");
    desk.pass(2);
    assert_eq!(desk.game.pair.server_got.len() - before, 252);
    let texts: Vec<u8> = desk.game.pair.server_got[before..].iter().map(number).collect();
    assert_eq!(texts.iter().filter(|it| **it == 249).count(), 1);
    plain(&mut desk, Serverbound, 1);
    assert_eq!(desk.game.pair.server_got.len() - before, 253, "at once again");
}

#[test]
fn a_long_backlog_of_dropped_packets_is_gone_at_once() {
    let mut desk = Desk::holding(340, "held_item_slot");
    for text in 0..250 {
        plain(&mut desk, Serverbound, text);
    }
    let before = desk.game.pair.server_got.len();
    let held = (1..=249).collect();
    desk.done(Action::Decide { held, decision: Decision::Drop });
    desk.done(Action::Decide { held: vec![250], decision: Decision::Forward });
    let got = desk.game.pair.server_got[before..].iter().map(number).collect::<Vec<_>>();
    assert_eq!(got, [249]);
}

#[test]
fn later_packets_overtake_a_held_one_unless_the_game_would_notice() {
    let mut desk = Desk::new(765);
    desk.hold("entity_destroy or player_chat or start_configuration", true);
    let got = desk.game.pair.client_got.len();
    plain(&mut desk, Clientbound, 1);
    desk.keep_alive(Clientbound, State::Play, 3);
    assert_eq!(desk.keep_alives(Side::Client, State::Play, got), [3]);
    plain(&mut desk, Clientbound, 2);
    desk.game.plays(
        Clientbound,
        "unload_chunk",
        fields([("chunkX", 1.into()), ("chunkZ", 2.into())]),
    );
    assert_eq!(desk.game.pair.client_got.len() - got, 2, "the chunk overtakes");
    desk.decide(2, Decision::Forward);
    desk.decide(1, Decision::Drop);
    assert_eq!(desk.seen("entity_destroy"), ".-");
    for bundled in [false, true] {
        if bundled {
            desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
            plain(&mut desk, Clientbound, 4);
        } else {
            let chat = desk.game.player_chat(Some(&[7; 256]));
            desk.game.sends(Clientbound, &chat);
        }
        let got = desk.game.pair.client_got.len();
        desk.game.sends(Clientbound, &[0x7f]);
        assert_eq!(desk.game.pair.client_got.len(), got, "{bundled}: it waits");
        desk.listen();
        let Some(Report::Held { in_order: Some(why), .. }) = desk.reports.last() else { panic!() };
        assert!(why.contains(if bundled { "bundle" } else { "signed" }), "{why}");
        desk.done(Action::ForwardAll);
    }
}

#[test]
fn what_was_overtaken_goes_before_the_state_changes() {
    let mut desk = Desk::new(765);
    desk.hold("entity_destroy", true);
    plain(&mut desk, Clientbound, 1);
    desk.game.plays(Clientbound, "start_configuration", fields([]));
    assert_eq!(desk.released(), [Release::StateChange]);
    let seen = desk.game.pair.seen();
    assert_eq!(seen[seen.len() - 2..], ["entity_destroy", "start_configuration"]);
}

#[test]
fn what_would_end_the_session_is_refused_with_the_reason() {
    let mut desk = Desk::holding(765, "bundle_delimiter or player_chat");
    desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
    let dropped = desk.order(Action::Decide { held: vec![1], decision: Decision::Drop });
    assert!(dropped.unwrap_err().to_string().contains("the connection depends on it"));
    let chat = desk.game.player_chat(Some(&[7; 256]));
    desk.game.sends(Clientbound, &chat);
    let dropped = desk.order(Action::Decide { held: vec![2], decision: Decision::Drop });
    assert!(dropped.unwrap_err().to_string().contains("counted"));
    assert_eq!(desk.held(), [1, 2]);
    let body = desk.game.encode(Clientbound, State::Play, "start_configuration", fields([]));
    let change = Decision::Edit(Payload::Body(body.into()));
    plain(&mut desk, Clientbound, 1);
    let refused = desk.order(Action::Decide { held: vec![1], decision: change });
    assert!(refused.unwrap_err().to_string().contains("changes the connection"));
}

/// Sends a chat message to the server.
fn transmission(packet: &str, fields: serde_json::Value) -> Transmission {
    Transmission {
        direction: Serverbound,
        packet: Some(packet.into()),
        payload: Payload::Fields(fields),
        times: 1,
        interval: Duration::ZERO,
        resent: None,
    }
}

#[test]
fn packets_are_sent_by_hand_once_or_at_an_interval() {
    let mut desk = Desk::new(47);
    let hi = transmission("chat", serde_json::json!({ "message": "hi" }));
    desk.done(Action::Send(hi.clone()));
    assert_eq!(desk.game.pair.server_got.last().unwrap(), &b"\x01\x02hi"[..]);
    let before = desk.game.pair.server_got.len();
    let interval = Duration::from_secs(2);
    desk.done(Action::Send(Transmission { times: 5, interval, ..hi.clone() }));
    for sent in 1..=5 {
        assert_eq!(desk.game.pair.server_got.len() - before, sent);
        desk.pass(2);
    }
    assert_eq!(
        (desk.seen("chat").as_str(), desk.game.pair.session.poll_timeout()),
        ("++++++", None)
    );
    let progress = |report: &Report| match *report {
        Report::Repeating { left, over, .. } => Some((left, over)),
        _ => None,
    };
    let told: Vec<_> = desk.reports.iter().filter_map(progress).collect();
    assert_eq!(told, [(4, false), (3, false), (2, false), (1, false), (0, true)]);
    let again = Transmission {
        packet: None,
        payload: Payload::Body(Bytes::from_static(b"\x01\x03old")),
        resent: Some(4),
        ..hi.clone()
    };
    desk.done(Action::Send(again));
    assert!(desk.game.comments().ends_with("packet 4 again, sent by hand"));
    let record = desk.game.pair.records()[6].clone();
    assert_eq!((record.packet.origin(), record.of), (Origin::Proxy, None));
    for (packet, fields, path, reason) in [
        ("chat", serde_json::json!({}), "message", "expected text, found nothing"),
        ("chad", serde_json::json!({}), "", "no serverbound packet `chad` in state play"),
    ] {
        let why = desk.order(Action::Send(transmission(packet, fields))).unwrap_err();
        let at = if let CommandError::Encode { path, .. } = &why { path } else { "" };
        assert!(at == path && why.to_string().contains(reason), "{at}: {why}");
    }
    let compress = Transmission {
        direction: Clientbound,
        ..transmission("set_compression", serde_json::json!({ "threshold": 5 }))
    };
    let why = desk.order(Action::Send(compress)).unwrap_err();
    assert!(why.to_string().contains("compression"), "{why}");
    assert!(desk.order(Action::Send(Transmission { times: 0, ..hi })).is_err());
}

#[test]
fn packets_that_are_repeated_stop_with_their_state() {
    let mut desk = Desk::new(765);
    let slot = transmission("held_item_slot", serde_json::json!({ "slotId": 3 }));
    let interval = Duration::from_secs(1);
    desk.done(Action::Send(Transmission { times: 9, interval, ..slot }));
    desk.game.plays(Clientbound, "start_configuration", fields([]));
    desk.game.plays(Serverbound, "configuration_acknowledged", fields([]));
    let before = desk.game.pair.server_got.len();
    desk.pass(5);
    assert_eq!(desk.game.pair.server_got.len(), before);
    let [.., Report::Refused { command: 1, error }, over] = &desk.reports[..] else { panic!() };
    assert_eq!(*error, CommandError::StateChanged(8));
    assert!(matches!(over, Report::Repeating { command: 1, left: 8, over: true }), "{over:?}");
}

#[test]
fn a_player_is_kicked_with_a_text() {
    for version in [47, 765] {
        let mut desk = Desk::holding(version, "held_item_slot");
        plain(&mut desk, Serverbound, 1);
        desk.done(Action::Kick("go away".into()));
        assert!(desk.game.pair.session.is_over());
        assert_eq!(desk.game.pair.reason(), Some("ended by hand: go away"));
        let last = desk.game.pair.client_got.last().unwrap();
        assert!(last.windows(7).any(|it| it == b"go away"));
        assert_eq!((desk.seen("held_item_slot").as_str(), desk.held()), ("-", vec![]));
    }
}
