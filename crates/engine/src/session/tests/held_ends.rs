//! What becomes of packets that people hold when their session ends or changes, or memory runs out.

use super::desk::{Desk, plain};
use super::effects::rules;
use super::later::Game;
use super::*;
use crate::link::{Action, Decision, NetworkError, Release};
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::packet::Cause;

use Direction::{Clientbound, Serverbound};

#[test]
fn nothing_that_is_held_is_lost_when_a_side_closes() {
    for (version, direction) in [47, 765].into_iter().flat_map(|it| Direction::ALL.map(|d| (it, d)))
    {
        let mut desk = Desk::holding(version, "held_item_slot or entity_destroy");
        let from = Side::from(direction);
        for text in [1, 2] {
            plain(&mut desk, direction, text);
        }
        // The front of a packet that never becomes whole.
        let leg = if from == Side::Client {
            &mut desk.game.pair.client
        } else {
            &mut desk.game.pair.server
        };
        leg.encoder.put(&[9, 1]);
        desk.game.pair.run();
        desk.game.pair.input(Input::Closed(from));
        assert!(!desk.game.pair.outputs.contains(&Output::Shutdown(from.other())));
        desk.decide(1, Decision::Forward);
        assert!(!desk.game.pair.outputs.contains(&Output::Shutdown(from.other())));
        desk.decide(2, Decision::Forward);
        assert_eq!(desk.game.pair.outputs.last(), Some(&Output::Shutdown(from.other())));
        let seen = desk.game.pair.seen();
        assert_eq!(seen[seen.len() - 1], "?", "what was not whole comes last: {seen:?}");
        // Held when both are closed: nobody waits any longer.
        let mut desk = Desk::holding(version, "held_item_slot or entity_destroy");
        plain(&mut desk, direction, 1);
        for side in Side::ALL {
            desk.game.pair.input(Input::Closed(side));
        }
        assert!(desk.game.pair.session.is_over());
        assert_eq!(desk.released(), [Release::Ended]);
        assert!(desk.game.pair.seen().iter().all(|it| !it.starts_with('-')));
    }
}

#[test]
fn what_is_held_for_a_peer_that_is_lost_is_recorded_as_dropped() {
    for lost in Side::ALL {
        let mut desk = Desk::holding(765, "held_item_slot or entity_destroy");
        for direction in Direction::ALL {
            plain(&mut desk, direction, 1);
            plain(&mut desk, direction, 2);
        }
        desk.hold("chat_message", false);
        let error = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        desk.game.pair.input(Input::Lost(lost, NetworkError(error.into())));
        assert!(desk.game.pair.session.is_over());
        let (dropped, passed) = match lost {
            Side::Client => ("entity_destroy", "held_item_slot"),
            Side::Server => ("held_item_slot", "entity_destroy"),
        };
        assert_eq!((desk.seen(dropped).as_str(), desk.seen(passed).as_str()), ("--", ".."));
        assert_eq!(desk.held(), [0; 0]);
    }
}

#[test]
fn what_is_held_goes_before_the_proxy_says_goodbye() {
    let mut desk = Desk::holding(765, "entity_destroy or held_item_slot or start_configuration");
    plain(&mut desk, Serverbound, 1);
    plain(&mut desk, Clientbound, 2);
    desk.game.plays(Clientbound, "start_configuration", fields([]));
    desk.game.pair.input(Input::Stop(Cause::new("stopped by hand")));
    let seen = desk.game.pair.seen();
    assert!(desk.game.pair.session.is_over());
    assert_eq!(seen, ["held_item_slot", "entity_destroy", "start_configuration", "+disconnect"]);
}

#[test]
fn a_rule_that_closes_drops_what_is_held() {
    let mut desk = Desk::holding(47, "held_item_slot");
    plain(&mut desk, Serverbound, 1);
    let close = "[[rule]]\nwhen = 'keep_alive'\nclose = 'enough'\n";
    desk.game.pair.session.set_pipeline(rules(close));
    desk.keep_alive(Clientbound, State::Play, 1);
    assert_eq!(desk.game.pair.reason(), Some("closed by a rule: enough"));
    assert_eq!(desk.seen("held_item_slot"), "-");
}

#[test]
fn what_is_held_counts_against_the_memory_and_goes_on_when_none_is_left() {
    // Half of it, so that as much is left for others.
    let memory = MemoryBudget::new(2 << 20);
    let config = Config { memory: memory.clone(), ..Config::default() };
    let mut desk = Desk::new(47);
    desk.game = Game::with(47, "", config, fields([]));
    desk.hold("serverbound and chat", false);
    desk.game.plays(Serverbound, "chat", chat("stop"));
    let body = vec![0x70; 100_000];
    for _ in 0..8 {
        desk.game.sends(Serverbound, &body);
    }
    assert!(memory.used() > 800_000 && desk.held() == [1]);
    for _ in 0..4 {
        desk.game.sends(Serverbound, &body);
    }
    assert_eq!(desk.released(), [Release::Memory]);
    assert_eq!(desk.game.pair.server_got.iter().filter(|it| it.len() == 100_000).count(), 12);
    assert_eq!(memory.used(), 0);
}

#[test]
fn rules_delay_what_was_held_and_a_change_of_compression_waits_for_it() {
    let mut desk = Desk::holding(47, "entity_destroy or set_compression");
    let delay = "[[rule]]\nwhen = 'entity_destroy'\ndelay = '50ms'\n";
    desk.game.pair.session.set_pipeline(rules(delay));
    plain(&mut desk, Clientbound, 1);
    desk.game.plays(Clientbound, "set_compression", fields([("threshold", 1.into())]));
    desk.game.pair.server.set_compression(Some(1));
    plain(&mut desk, Clientbound, 2);
    let got = desk.game.pair.client_got.len();
    desk.done(Action::ForwardAll);
    assert_eq!(desk.game.pair.client_got.len(), got);
    let at = desk.game.pair.session.poll_timeout().unwrap();
    desk.game.pair.clock = at.0;
    desk.game.pair.session.handle(at, Input::Timeout);
    desk.game.pair.client.set_compression(None);
    desk.game.pair.run();
    assert_eq!(desk.game.pair.client_got.len(), got + 2);
    desk.game.pair.client.set_compression(Some(1));
    assert_eq!(desk.held(), [3], "only now it can be read");
    desk.pass(60);
    assert_eq!(desk.released()[2..], [Release::Forwarded; 0], "keep-alives overtake it");
    desk.done(Action::ForwardAll);
    desk.pass(1);
    assert_eq!(desk.game.pair.client_got.len(), got + 3);
}

#[test]
fn a_held_change_of_the_compression_in_the_game_is_released_in_time() {
    let mut desk = Desk::holding(47, "set_compression");
    desk.game.plays(Clientbound, "set_compression", fields([("threshold", 1.into())]));
    desk.pass(24);
    assert_eq!(desk.held(), [1]);
    desk.pass(1);
    assert_eq!(desk.released(), [Release::Impatience]);
}

#[test]
fn a_login_is_held_at_every_packet_and_goes_through() {
    for size in SIZES {
        let mut desk = Desk::new(47);
        desk.game.pair = Pair::connected(size);
        desk.hold("serverbound or clientbound", false);
        let pair = &mut desk.game.pair;
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        assert_eq!((desk.held(), desk.game.pair.server_got.len()), (vec![1], 0));
        desk.decide(1, Decision::Forward);
        desk.decide(2, Decision::Forward);
        assert_eq!(desk.game.pair.server_got.len(), 2);
        let threshold = fields([("threshold", 64.into())]);
        desk.game.pair.server_says(State::Login, "compress", threshold);
        desk.game.pair.server.set_compression(Some(64));
        desk.game.pair.server_says(State::Login, "success", success());
        assert_eq!(desk.held(), [3]);
        desk.decide(3, Decision::Forward);
        desk.game.pair.client.set_compression(Some(64));
        desk.decide(4, Decision::Forward);
        assert_eq!(desk.game.pair.client_got.len(), 2);
        plain(&mut desk, Clientbound, 3);
        assert_eq!(desk.held(), [5]);
        assert!(desk.game.pair.records().iter().all(|it| it.packet.error().is_none()));
    }
}
