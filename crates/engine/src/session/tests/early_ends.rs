//! Clients whose stream ends while the upstream is still being connected.

use std::io::ErrorKind;

use hex_literal::hex;

use super::old::{login, unconnected};
use super::old_pings::{ANSWERS, LONGEST_FORM};
use super::old_rules::rules;
use super::*;
use mitmcraft_protocol::packet::Cause;

/// Connecting takes this long, in nanoseconds.
const CONNECT: u64 = 29_000_000_000;

/// The first bytes of clients that send all they have to say at once.
fn requests() -> Vec<Vec<u8>> {
    vec![
        modern(2),
        modern(1),
        hex!("fe").to_vec(),
        hex!("fe 01").to_vec(),
        LONGEST_FORM.to_vec(),
        [&hex!("02 0005 5374657665")[..], &login(5)].concat(),
    ]
}

/// A handshake, and a login or a status request.
fn modern(next: i32) -> Vec<u8> {
    let mut leg = Leg::default();
    let from_client = |state, name, value: &Value| body(state, Direction::Serverbound, name, value);
    leg.encoder.send(&from_client(State::Handshaking, "set_protocol", &handshake("local", next)));
    leg.encoder.send(&match next {
        1 => from_client(State::Status, "ping_start", &fields([])),
        _ => from_client(State::Login, "login_start", &fields([("username", "Steve".into())])),
    });
    leg.encoder.pending().to_vec()
}

/// A client that has sent `request` and closed, before its server is connected.
fn closed(size: usize, request: &[u8], pipeline: Pipeline) -> Pair {
    let mut pair = unconnected(size, pipeline);
    pair.send(Side::Client, request);
    pair.input(Input::Closed(Side::Client));
    assert!(pair.outputs.iter().all(|output| !matches!(output, Output::Shutdown(_))));
    pair.clock += CONNECT;
    assert!(pair.session.poll_timeout().is_none_or(|at| at.0 > pair.clock), "it still connects");
    pair
}

fn connect(pair: &mut Pair) {
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
}

/// A client that sends `request` and closes when its server is connected already.
fn on_time(request: &[u8], pipeline: Pipeline) -> Pair {
    let mut pair = unconnected(usize::MAX, pipeline);
    connect(&mut pair);
    pair.send(Side::Client, request);
    pair.input(Input::Closed(Side::Client));
    pair
}

#[test]
fn what_a_client_sent_before_it_closed_is_decoded_and_rewritten_once_the_server_is_there() {
    for (request, size) in requests().iter().flat_map(|it| SIZES.map(|size| (it, size))) {
        let mut on_time = on_time(request, Pipeline::default());
        let mut early = closed(size, request, Pipeline::default());
        connect(&mut early);
        assert_eq!(early.got(Side::Server), on_time.got(Side::Server), "{request:02x?}");
        assert_eq!(early.seen(), on_time.seen(), "{request:02x?}");
        assert!(!early.seen().contains(&"?".to_owned()), "{:?}", early.seen());
        assert!(early.outputs.contains(&Output::Shutdown(Side::Server)));
        assert!(!early.session.is_over(), "the server may still answer");
        for pair in [&mut early, &mut on_time] {
            pair.send(Side::Server, ANSWERS[0]);
            pair.input(Input::Closed(Side::Server));
            assert!(pair.session.is_over());
        }
        assert_eq!(early.reason(), on_time.reason());
        assert!(!early.got(Side::Client).is_empty());
        assert_eq!(early.got(Side::Client), on_time.got(Side::Client));
    }
}

#[test]
fn rules_are_asked_about_what_a_client_sent_before_it_closed() {
    let first = "login_start or ping_start or legacy_server_list_ping or handshake";
    for (request, size) in requests().iter().flat_map(|it| SIZES.map(|size| (it, size))) {
        for action in ["drop = true", "close = 'no'", "drop = true\nclose = 'no'"] {
            let rules = || rules(&format!("[[rule]]\nwhen = '{first}'\n{action}\n"));
            let on_time = on_time(request, rules());
            let mut early = closed(size, request, rules());
            connect(&mut early);
            assert_eq!(early.got(Side::Server), on_time.got(Side::Server), "{request:02x?}");
            assert_eq!(early.seen(), on_time.seen(), "{request:02x?} {action}");
            assert_eq!(early.reason(), on_time.reason(), "{request:02x?} {action}");
            assert_eq!(early.comments(), on_time.comments(), "{request:02x?} {action}");
            assert!(early.seen().iter().any(|it| it.starts_with('-')), "{:?}", early.seen());
            if action.contains("close") {
                assert_eq!(early.reason(), Some("closed by a rule: no"));
            }
        }
    }
}

#[test]
fn a_client_that_has_closed_is_told_that_the_upstream_cannot_be_reached() {
    for (request, size) in requests().iter().flat_map(|it| SIZES.map(|size| (it, size))) {
        let mut pair = closed(size, request, Pipeline::default());
        pair.input(Input::Refused(Cause::new("connection refused")));
        let told = told(&pair);
        assert!(told.contains("connection refused"), "{request:02x?}: {told}");
        assert!(pair.session.is_over());
        let seen = pair.seen();
        let (ours, theirs): (Vec<_>, Vec<_>) = seen.iter().partition(|it| it.starts_with('+'));
        assert_eq!(ours.len(), 1, "{seen:?}");
        assert!(theirs.iter().all(|it| it.starts_with('-') && *it != "-?"), "{seen:?}");
        assert_eq!(pair.recorded(Direction::Serverbound), *request);
    }
}

#[test]
fn a_client_is_told_that_the_session_ends_before_there_is_a_server() {
    for (request, size) in requests().iter().flat_map(|it| SIZES.map(|size| (it, size))) {
        for (reason, stops) in [("the run ends", true), ("nothing came for 120 s", false)] {
            let mut pair = unconnected(size, Pipeline::default());
            pair.send(Side::Client, request);
            if stops {
                pair.input(Input::Stop(Cause::new(reason)));
            } else {
                pair.clock = pair.session.poll_timeout().unwrap().0;
                pair.input(Input::Timeout);
            }
            assert!(pair.session.is_over());
            assert!(told(&pair).contains(reason), "{request:02x?}: {}", told(&pair));
            assert_eq!(pair.recorded(Direction::Serverbound), *request);
            assert!(!pair.seen().iter().any(|it| it.contains('?')), "{:?}", pair.seen());
        }
    }
}

/// What the client can read of what it was sent.
fn told(pair: &Pair) -> String {
    let got = pair.got(Side::Client);
    got.iter().filter(|byte| **byte != 0).map(|it| char::from(*it)).collect()
}

#[test]
fn what_a_client_sent_before_it_was_lost_arrives_once_the_server_is_connected() {
    for (request, size) in requests().iter().flat_map(|it| SIZES.map(|size| (it, size))) {
        let mut pair = unconnected(size, Pipeline::default());
        pair.send(Side::Client, request);
        pair.input(Input::Lost(Side::Client, ErrorKind::ConnectionReset.into()));
        assert!(!pair.session.is_over(), "{request:02x?}");
        connect(&mut pair);
        assert!(pair.session.is_over(), "{request:02x?}");
        assert_eq!(pair.got(Side::Server), on_time(request, Pipeline::default()).got(Side::Server));
        assert_eq!(pair.recorded(Direction::Serverbound), *request);
        assert_eq!(pair.outputs.last(), Some(&Output::Reset(Side::Server)));
        assert_eq!(pair.reason(), Some("lost the client: connection reset"));
    }
}

#[test]
fn a_run_that_ends_does_not_wait_for_the_server_of_a_client_that_was_lost() {
    for request in requests() {
        let mut pair = unconnected(usize::MAX, Pipeline::default());
        pair.send(Side::Client, &request);
        pair.input(Input::Lost(Side::Client, ErrorKind::ConnectionReset.into()));
        pair.input(Input::Stop(Cause::new("the end")));
        assert!(pair.session.is_over(), "{request:02x?}");
        assert_eq!(pair.recorded(Direction::Serverbound), request);
    }
}

#[test]
fn what_a_client_sent_before_it_was_lost_is_recorded_if_there_is_no_server() {
    for (request, size) in requests().iter().flat_map(|it| SIZES.map(|size| (it, size))) {
        for refused_first in [true, false] {
            let mut pair = unconnected(size, Pipeline::default());
            let refused = || Input::Refused(Cause::new("connection refused"));
            if refused_first {
                pair.input(refused());
            }
            pair.send(Side::Client, request);
            pair.input(Input::Lost(Side::Client, ErrorKind::ConnectionReset.into()));
            if !refused_first {
                pair.input(refused());
            }
            assert!(pair.session.is_over());
            assert_eq!(pair.recorded(Direction::Serverbound), *request);
            let seen = pair.seen();
            assert!(!seen.iter().any(|it| it.contains('?')), "{request:02x?}: {seen:?}");
        }
    }
}
