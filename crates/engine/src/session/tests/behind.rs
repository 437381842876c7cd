//! What a client sends behind the packet that the session stops at: no rule has judged it, and
//! nobody has verified the player, so the server must not get it.

use std::io::ErrorKind;

use hex_literal::hex;

use super::accounts::{account, client_answers, der, login, material, proved, server_asks, verify};
use super::old_rules::rules;
use super::*;
use crate::auth::AuthError;
use crate::session::{Admitted, AuthMode, ClientLeg};
use mitmcraft_protocol::packet::{Cause, Content};

/// What ends a session, or only the client's part in it.
fn endings() -> Vec<fn(&mut Pair)> {
    vec![
        |pair| pair.input(Input::Closed(Side::Client)),
        |pair| pair.input(Input::Lost(Side::Client, ErrorKind::ConnectionReset.into())),
        |pair| pair.input(Input::Lost(Side::Server, ErrorKind::ConnectionReset.into())),
        |pair| pair.input(Input::Stop(Cause::new("the run ends"))),
        |pair| pair.input(Input::Verified(Err(AuthError::NotJoined { name: "Steve".into() }))),
        |pair| {
            pair.clock += 31_000_000_000;
            pair.input(Input::Timeout);
        },
    ]
}

fn login_start(pair: &mut Pair, name: &str) {
    pair.client_says(State::Login, "login_start", fields([("username", name.into())]));
}

#[test]
fn a_client_that_is_not_verified_gets_nothing_to_the_server_by_ending_its_session() {
    for (size, end) in SIZES.iter().flat_map(|size| endings().into_iter().map(|end| (*size, end))) {
        let mut pair = proved(size, Admitted::Owner, "Steve");
        login_start(&mut pair, "Admin");
        end(&mut pair);
        assert_eq!(pair.server_got.len(), 1, "only the handshake");
        assert!(pair.server.decoder.take_rest().is_empty());
        let mut pair = login(size, verify(Admitted::Owner), "Steve");
        login_start(&mut pair, "Admin");
        end(&mut pair);
        assert_eq!(pair.server_got.len(), 1, "only the handshake");
        assert!(pair.server.decoder.take_rest().is_empty());
    }
}

#[test]
fn the_beginning_of_a_packet_of_a_client_that_is_not_verified_is_recorded_only() {
    for (size, end) in SIZES.iter().flat_map(|size| endings().into_iter().map(|end| (*size, end))) {
        let mut pair = proved(size, Admitted::Owner, "Steve");
        pair.client.encoder.send(&[7; 16]);
        let begun = pair.client.encoder.pending()[..3].to_vec();
        pair.send(Side::Client, &begun);
        end(&mut pair);
        pair.input(Input::Closed(Side::Client));
        pair.input(Input::Verified(Err(AuthError::NotJoined { name: "Steve".into() })));
        assert!(pair.session.is_over());
        assert_eq!(pair.server_got.len(), 1, "only the handshake");
        assert!(pair.server.decoder.take_rest().is_empty());
        assert_eq!(pair.seen().last().unwrap(), "-?", "recorded, not forwarded");
    }
}

#[test]
fn a_client_that_has_to_be_verified_gets_through_neither_as_bytes_nor_as_an_older_game() {
    let auth = || Config { auth: verify(Admitted::Owner), ..Config::default() };
    for size in SIZES {
        for request in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            // A handshake and a login start, the id in two bytes.
            &hex!("10 8000 2f 09 6c6f63616c686f7374 63dd 02 07 00 05 5374657665"),
            // An empty frame between them.
            &hex!("0f 00 2f 09 6c6f63616c686f7374 63dd 02 00 07 00 05 5374657665"),
            &hex!("02 0005 5374657665 01 00000005 0005 5374657665 0000 000000000000000000"),
            &hex!("02 4e 0005 00530074006500760065 0000 00000000"),
            &hex!("01 00000005 0005 5374657665 0000 000000000000000000"),
        ] {
            let mut pair = Pair::with(size, auth(), Pipeline::default());
            pair.client.decoder.set_opaque();
            pair.server.decoder.set_opaque();
            pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
            pair.send(Side::Client, request);
            pair.input(Input::Closed(Side::Client));
            // Since 1.3 the client is asked to prove its name, for which a key is made; then the server hears that
            // the client has closed.
            pair.input(Input::Key(material()));
            pair.input(Input::Closed(Side::Server));
            let got = String::from_utf8_lossy(&pair.got(Side::Server)).into_owned();
            assert!(!got.contains("Steve") && !got.contains("GET"), "{request:02x?}: {got}");
            assert!(!got.contains('S'), "{request:02x?}: {got}");
            assert!(pair.session.is_over(), "{request:02x?}");
        }
    }
}

#[test]
fn a_client_that_has_to_be_verified_may_ping() {
    let auth = Config { auth: verify(Admitted::Owner), ..Config::default() };
    let mut pair = Pair::with(7, auth, Pipeline::default());
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 1));
    pair.client_says(State::Status, "ping_start", fields([]));
    assert_eq!(pair.server_got.len(), 2);
}

#[test]
fn what_follows_a_packet_that_a_rule_closes_at_goes_nowhere_and_is_recorded() {
    let rules =
        || rules("[[rule]]\nwhen = 'chat and message == \"bye\"'\ndrop = true\nclose = 'no'\n");
    let said = |text: &str| body(State::Play, Direction::Serverbound, "chat", &chat(text));
    for end in [None, Some(Side::Client)] {
        let mut pair = Pair::with(usize::MAX, Config::default(), rules());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        pair.server_says(State::Login, "success", success());
        let before = pair.server_got.len();
        for text in ["bye", "secret"] {
            pair.client.encoder.send(&said(text));
        }
        pair.run();
        if let Some(side) = end {
            pair.input(Input::Closed(side));
        }
        assert!(pair.session.is_over());
        assert_eq!(pair.server_got.len(), before);
        assert!(pair.server.decoder.take_rest().is_empty());
        let recorded = pair.recorded(Direction::Serverbound);
        assert!(recorded.windows(6).any(|bytes| bytes == b"secret"));
        assert!(pair.seen().iter().filter(|name| name.starts_with('-')).count() >= 2);
    }
}

#[test]
fn a_packet_that_waits_behind_a_delayed_one_is_judged_when_its_sender_is_lost() {
    let file = "[[rule]]\nwhen = 'clientbound and chat'\ndelay = '10s'\n\
                [[rule]]\nwhen = 'play and set_compression'\ncomment = 'judged'\n";
    for size in SIZES {
        let mut pair = Pair::with(size, Config::default(), rules(file));
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        login_start(&mut pair, "Steve");
        pair.server_says(State::Login, "success", success());
        let message = fields([("message", "{}".into()), ("position", 0.into())]);
        pair.server_says(State::Play, "chat", message);
        pair.server_says(State::Play, "set_compression", fields([("threshold", 64.into())]));
        assert!(!pair.comments().contains(&Some("judged")), "it waits");
        pair.input(Input::Lost(Side::Server, ErrorKind::ConnectionReset.into()));
        assert_eq!(pair.comments().last(), Some(&Some("judged")));
        assert_eq!(pair.client_got.last().unwrap()[..], [0x46, 64]);
    }
}

#[test]
fn a_client_that_closes_while_an_account_joins_is_judged_first() {
    let file = "[[rule]]\nwhen = 'chat'\nset = { message = 'judged' }\n";
    for size in SIZES {
        let config = Config { auth: account(ClientLeg::AsServer), ..Config::default() };
        let mut pair = Pair::with(size, config, rules(file));
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        login_start(&mut pair, "Steve");
        server_asks(&mut pair);
        client_answers(&mut pair);
        // Of a client that does not wait for the server's answer.
        pair.client_says(State::Play, "chat", chat("hello"));
        pair.input(Input::Closed(Side::Client));
        assert_eq!(pair.server_got.len(), 2, "the server waits for the session service");
        assert!(!pair.outputs.contains(&Output::Shutdown(Side::Server)));
        pair.input(Input::AccountJoined(Ok(())));
        assert!(pair.outputs.contains(&Output::Shutdown(Side::Server)));
        let raw = pair.records().iter().any(|it| matches!(it.packet.content(), Content::Raw(..)));
        assert!(!raw, "{:?}", pair.seen());
    }
}

#[test]
fn a_server_that_kicks_and_closes_while_a_key_is_made_is_heard_in_order() {
    for size in SIZES {
        let mut pair = login(size, AuthMode::Offline, "Steve");
        let request = fields([
            ("serverId", "".into()),
            ("publicKey", Value::Bytes(der(&key(0)))),
            ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
        ]);
        pair.server_says(State::Login, "encryption_begin", request);
        // Its last words are in the session's hands, or wait to be read.
        let reason = fields([("reason", "{\"text\":\"full\"}".into())]);
        let kick = body(State::Login, Direction::Clientbound, "disconnect", &reason);
        let mut leg = Leg::default();
        leg.encoder.send(&kick);
        pair.input(Input::Received(Side::Server, leg.encoder.pending()));
        pair.input(Input::Closed(Side::Server));
        assert!(pair.client_got.is_empty());
        pair.input(Input::Key(material()));
        assert_eq!(pair.seen()[3..], ["~encryption_begin", "+encryption_begin", "disconnect"]);
        assert_eq!(pair.client_got.len(), 2);
        assert!(pair.outputs.contains(&Output::Shutdown(Side::Client)));
        assert!(!pair.session.is_over(), "the client may still speak");
        pair.input(Input::Closed(Side::Client));
        assert!(pair.reason().unwrap().contains("full"), "{:?}", pair.reason());
    }
}
