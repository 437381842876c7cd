use std::time::Duration;

use super::*;

#[test]
fn a_client_that_says_nothing_is_let_go_after_the_login_timeout() {
    let mut pair = Pair::connected(usize::MAX);
    let at = pair.session.poll_timeout().unwrap();
    assert_eq!(at, Timestamp(1_000_000_000).plus(Duration::from_secs(120)));
    pair.session.handle(Timestamp(at.0 - 1), Input::Timeout);
    assert!(!pair.session.is_over());
    pair.session.handle(at, Input::Timeout);
    pair.run();
    let reason_given = "nothing came for 120 s (timeout `login`)".to_owned();
    let told = Output::Notice(Notice::TimedOut { session: 1, reason: reason_given });
    assert!(pair.outputs.contains(&told), "{:?}", pair.outputs);
    assert_eq!(reason(&pair), "nothing came for 120 s (timeout `login`)");
}

#[test]
fn every_byte_of_either_side_puts_the_timeout_off() {
    let mut pair = Pair::connected(usize::MAX);
    pair.clock += 100_000_000_000;
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    let heard = pair.session.poll_timeout().unwrap();
    assert!(heard > Timestamp(200_000_000_000));
    pair.clock += 100_000_000_000;
    pair.server_says(State::Login, "compress", fields([("threshold", 256.into())]));
    assert!(pair.session.poll_timeout().unwrap() > heard.plus(Duration::from_secs(99)));
}

#[test]
fn a_player_who_waits_for_the_login_is_told_why_it_ends() {
    let mut pair = Pair::connected(7);
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    let at = pair.session.poll_timeout().unwrap();
    pair.session.handle(at, Input::Timeout);
    pair.run();
    let said = String::from_utf8_lossy(pair.client_got.last().unwrap()).into_owned();
    assert!(said.contains("nothing came for 120 s"), "{said}");
    assert_eq!(reason(&pair), "nothing came for 120 s (timeout `login`)");
}

#[test]
fn silence_in_the_game_ends_nothing_unless_asked_to() {
    let pair = Pair::playing(usize::MAX, 256);
    assert_eq!(pair.session.poll_timeout(), None);
    let mut pair = Pair::connected(usize::MAX);
    pair.input(Input::Received(Side::Client, b"GET / HTTP/1.1\r\n\r\n"));
    assert_eq!(pair.session.poll_timeout(), None, "what is no Minecraft may wait too");
}

#[test]
fn an_idle_timeout_ends_a_silent_game() {
    let idle = Some(Duration::from_secs(600));
    let timeouts = Timeouts { idle, ..Timeouts::default() };
    let config = Config { timeouts, ..Config::default() };
    let mut pair = Pair::with(usize::MAX, config, Pipeline::default());
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    pair.server_says(State::Login, "success", success());
    let at = pair.session.poll_timeout().unwrap();
    pair.session.handle(at, Input::Timeout);
    pair.run();
    assert_eq!(reason(&pair), "nothing came for 600 s (timeout `idle`)");
}

#[test]
fn without_timeouts_nothing_is_waited_for() {
    let timeouts = Timeouts { connect: None, login: None, idle: None };
    let config = Config { timeouts, ..Config::default() };
    let pair = Pair::with(usize::MAX, config, Pipeline::default());
    assert_eq!(pair.session.poll_timeout(), None);
}

fn reason(pair: &Pair) -> String {
    pair.entries
        .iter()
        .find_map(|entry| match entry {
            Entry::Event(event) => match &event.kind {
                EventKind::Close(summary) => Some(summary.reason.clone()),
                _ => None,
            },
            Entry::Packet(_) => None,
        })
        .unwrap()
}
