//! How sessions end, and what a side that is slow or gone costs the other.

use std::io::ErrorKind;
use std::time::Duration;

use super::*;
use mitmcraft_protocol::packet::Cause;

#[test]
fn the_last_packets_before_a_close_arrive() {
    for size in SIZES {
        let mut pair = Pair::playing(size, 64);
        let reason = "{\"text\":\"see you\"}";
        pair.server_says(State::Play, "kick_disconnect", fields([("reason", reason.into())]));
        pair.input(Input::Closed(Side::Server));
        assert_eq!(pair.outputs.last(), Some(&Output::Shutdown(Side::Client)));
        assert!(!pair.session.is_over(), "the client may still speak");
        pair.client_says(State::Play, "chat", chat("last words"));
        pair.input(Input::Closed(Side::Client));
        assert!(pair.session.is_over());
        assert_eq!(pair.client_got.last().unwrap()[..2], [0x40, 0x12]);
        assert_eq!(pair.server_got.last().unwrap()[..2], [0x01, 0x0a]);
        assert_eq!(pair.reason(), Some("disconnected by the server: see you"));
    }
}

#[test]
fn a_client_that_vanishes_ends_the_session_and_is_recorded() {
    let mut pair = Pair::playing(usize::MAX, 64);
    pair.input(Input::Lost(Side::Client, ErrorKind::ConnectionReset.into()));
    assert!(pair.session.is_over());
    assert_eq!(pair.reason(), Some("lost the client: connection reset"));
    assert_eq!(
        pair.outputs[pair.outputs.len() - 2..],
        [Output::Close(Side::Client), Output::Reset(Side::Server)]
    );
}

#[test]
fn a_player_is_told_that_the_upstream_cannot_be_reached() {
    for size in SIZES {
        for early in [true, false] {
            let mut pair = Pair::new(size);
            let refuse =
                |pair: &mut Pair| pair.input(Input::Refused(Cause::new("connection refused")));
            if !early {
                refuse(&mut pair);
            }
            pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
            pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
            if early {
                refuse(&mut pair);
            }
            let told = String::from_utf8(pair.client_got[0].to_vec()).unwrap();
            assert!(told.contains("cannot reach the server: connection refused"), "{told}");
            assert_eq!(pair.seen(), ["-set_protocol", "-login_start", "+disconnect"]);
            assert!(pair.outputs.contains(&Output::Shutdown(Side::Client)));
            pair.input(Input::Closed(Side::Client));
            assert!(pair.session.is_over());
        }
    }
}

#[test]
fn a_status_says_that_the_upstream_cannot_be_reached() {
    let mut pair = Pair::new(7);
    pair.input(Input::Refused(Cause::new("connection refused")));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 1));
    pair.client_says(State::Status, "ping_start", fields([]));
    pair.client_says(State::Status, "ping", fields([("time", Value::Int(5))]));
    let told = String::from_utf8_lossy(&pair.client_got[0]).into_owned();
    assert!(told.contains("connection refused") && told.contains("\"protocol\":47"), "{told}");
    assert_eq!(pair.client_got[1][..], *b"\x01\0\0\0\0\0\0\0\x05");
    pair.client_says(State::Status, "ping", fields([("time", Value::Int(6))]));
    assert_eq!(pair.client_got.len(), 2, "nothing comes after the end");
}

#[test]
fn a_client_that_was_told_to_go_and_stays_is_closed_after_a_while() {
    let mut pair = Pair::new(7);
    pair.input(Input::Refused(Cause::new("connection refused")));
    let stays_for = |seconds, mut pair: Pair| {
        let timeout = Timestamp(pair.clock).plus(Duration::from_secs(seconds));
        assert_eq!(pair.session.poll_timeout(), Some(timeout));
        pair.session.handle(Timestamp(timeout.0 - 1), Input::Timeout);
        assert!(!pair.session.is_over());
        pair.session.handle(timeout, Input::Timeout);
        assert!(pair.session.is_over());
    };
    stays_for(5, pair);
    let mut pair = Pair::new(usize::MAX);
    pair.input(Input::Refused(Cause::new("connection refused")));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    stays_for(1, pair);
}

#[test]
fn a_client_that_is_no_minecraft_is_recorded_without_a_server() {
    let mut pair = Pair::new(7);
    pair.input(Input::Refused(Cause::new("connection refused")));
    pair.send(Side::Client, b"GET / HTTP/1.1\r\n");
    assert_eq!(pair.recorded(Direction::Serverbound), b"GET / HTTP/1.1\r\n");
}

#[test]
fn bytes_that_came_before_there_is_a_server_are_recorded_if_the_run_ends() {
    let mut pair = Pair::new(7);
    pair.send(Side::Client, &[0x0f, 0x00]);
    pair.input(Input::Stop(Cause::new("stopped")));
    assert_eq!(pair.recorded(Direction::Serverbound), [0x0f, 0x00]);
}

#[test]
fn a_client_is_read_until_64_kib_wait_for_the_server() {
    let mut pair = Pair::new(usize::MAX);
    let mut feed = |bytes: &[u8]| {
        pair.input(Input::Received(Side::Client, bytes));
        pair.session.wants_read(Side::Client)
    };
    assert!(feed(&[0xff; (64 << 10) - 1]));
    assert!(!feed(&[0xff]));
}

#[test]
fn a_side_is_read_until_more_than_256_kib_wait_for_the_other() {
    let mut pair = Pair::playing(usize::MAX, -1);
    let mut leg = Leg::default();
    let mut feed = |size| {
        leg.encoder.send(&vec![0x3f; size]);
        let bytes = leg.encoder.pending().to_vec();
        leg.encoder.advance(bytes.len());
        pair.session.handle(Timestamp(pair.clock), Input::Received(Side::Server, &bytes));
        (pair.session.pending(Side::Client).len(), pair.session.wants_read(Side::Server))
    };
    assert_eq!(feed((256 << 10) - 3), (256 << 10, true));
    assert_eq!(feed(1), ((256 << 10) + 2, false));
}

#[test]
fn a_side_is_not_read_while_the_other_is_slow() {
    let mut pair = Pair::playing(usize::MAX, -1);
    let body = vec![0x3f; 100_000];
    let mut leg = Leg::default();
    let mut fed = 0;
    while pair.session.wants_read(Side::Server) {
        leg.encoder.send(&body);
        let bytes = leg.encoder.pending().to_vec();
        leg.encoder.advance(bytes.len());
        pair.session.handle(Timestamp(pair.clock), Input::Received(Side::Server, &bytes));
        fed += bytes.len();
    }
    assert!((256 << 10..512 << 10).contains(&fed), "{fed}");
    assert!(pair.session.wants_read(Side::Client));
    let waiting = pair.session.pending(Side::Client).len();
    pair.session.advance(Side::Client, waiting);
    assert!(pair.session.wants_read(Side::Server));
}

#[test]
fn players_are_not_told_where_the_server_is() {
    let mut pair = Pair::new(7);
    let why = "no addresses for mc.example.org";
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    pair.input(Input::Refused(Cause::new(why)));
    let told = String::from_utf8_lossy(pair.client_got.last().unwrap()).into_owned();
    assert!(told.contains("cannot reach the server: no addresses for its host"), "{told}");
    let refused = pair.records().into_iter().find_map(|it| it.comment.clone()).unwrap();
    assert_eq!(refused, format!("cannot reach mc.example.org:25565: {why}"));
}

#[test]
fn players_in_the_game_and_in_the_login_are_told_that_the_proxy_ends() {
    let mut login = Pair::connected(7);
    login.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    login.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    for (mut pair, name) in [(login, "+disconnect"), (Pair::playing(7, 256), "+kick_disconnect")] {
        pair.input(Input::Stop(Cause::new("stopped by the user")));
        let told = String::from_utf8_lossy(pair.client_got.last().unwrap()).into_owned();
        assert!(told.contains("The proxy is shutting down"), "{told}");
        assert_eq!(pair.seen().last().unwrap(), name);
        assert_eq!(pair.reason(), Some("stopped by the user"));
    }
}

#[test]
fn a_player_whom_the_server_has_dismissed_is_not_dismissed_again() {
    let mut pair = Pair::playing(7, 256);
    pair.server_says(
        State::Play,
        "kick_disconnect",
        fields([("reason", r#"{"text":"Bye"}"#.into())]),
    );
    let told = pair.client_got.len();
    pair.input(Input::Stop(Cause::new("stopped by the user")));
    assert_eq!(pair.client_got.len(), told);
    assert_eq!(pair.seen().last().unwrap(), "kick_disconnect");
    assert_eq!(pair.reason(), Some("disconnected by the server: Bye"));
}

#[test]
fn a_stop_keeps_the_reason_of_a_session_that_is_ending_already() {
    let mut pair = Pair::playing(usize::MAX, -1);
    pair.input(Input::Closed(Side::Client));
    pair.input(Input::Stop(Cause::new("stopped by the user")));
    assert_eq!(pair.reason(), Some("closed by the client"));
}
