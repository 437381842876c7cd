//! Clients of 1.19.2 in mode `verify`, with their account's key: a server that may want the key in Login
//! Start is asked first, and the player is verified before it gets an answer.

use super::accounts::{der, material, verify};
use super::*;
use crate::auth::{AuthError, Profile, server_hash};
use mitmcraft_protocol::packet::Cause;
use mitmcraft_protocol::schema::Protocol;

use Direction::{Clientbound, Serverbound};

const SECRET: &[u8; 16] = b"client's secret!";

fn protocol() -> Arc<Protocol> {
    Catalog::embedded().find(760).unwrap().protocol
}

fn packet(direction: Direction, name: &str, value: Value) -> Vec<u8> {
    let protocol = protocol();
    protocol.encode(protocol.named(State::Login, direction, name).unwrap(), &value).unwrap()
}

fn bytes(bytes: &'static [u8]) -> Value {
    Value::Bytes(Bytes::from_static(bytes))
}

fn login_start(name: &str) -> Vec<u8> {
    let key = fields([
        ("timestamp", Value::Int(5)),
        ("publicKey", bytes(b"key")),
        ("signature", bytes(b"sign")),
    ]);
    let id = Value::Uuid(0x1111);
    let start = fields([("username", name.into()), ("signature", key), ("playerUUID", id)]);
    packet(Serverbound, "login_start", start)
}

fn client_says(pair: &mut Pair, body: &[u8]) {
    pair.client.encoder.send(body);
    pair.run();
}

fn server_says(pair: &mut Pair, name: &str, value: Value) {
    pair.server.encoder.send(&packet(Clientbound, name, value));
    pair.run();
}

/// A client that has sent its key.
fn begins(size: usize, name: &str) -> Pair {
    let config = Config { auth: verify(Admitted::Owner), ..Config::default() };
    let mut pair = Pair::with(size, config, Pipeline::default());
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    let Value::Map(mut hello) = handshake("localhost", 2) else { panic!() };
    hello[0].1 = 760.into();
    pair.client_says(State::Handshaking, "set_protocol", Value::Map(hello));
    client_says(&mut pair, &login_start(name));
    pair
}

/// A client whose server has its key, and has not said more.
fn asked(size: usize, enforces: Option<bool>) -> Pair {
    let mut pair = begins(size, "Steve");
    assert_eq!(pair.outputs, [Output::Connect, Output::AskPolicy]);
    assert_eq!(pair.server_got.len(), 1, "the server has heard of nobody");
    pair.input(Input::Policy(enforces));
    assert_eq!(pair.server_got[1][..], login_start("Steve"), "with the key");
    pair
}

fn server_asks(pair: &mut Pair) {
    let request = fields([
        ("serverId", "server".into()),
        ("publicKey", Value::Bytes(der(&key(0)))),
        ("verifyToken", bytes(b"tokn")),
    ]);
    server_says(pair, "encryption_begin", request);
    pair.input(Input::Key(material()));
}

fn signed_response() -> Vec<u8> {
    let public = key(1).to_public_key();
    let sealed = response(&public, SECRET, b"").get("sharedSecret").unwrap().clone();
    let proof = fields([("salt", Value::Int(7)), ("messageSignature", bytes(b"signed"))]);
    let said =
        [("sharedSecret", sealed), ("hasVerifyToken", Value::Bool(false)), ("crypto", proof)];
    packet(Serverbound, "encryption_begin", fields(said))
}

fn client_answers(pair: &mut Pair) {
    client_says(pair, &signed_response());
    pair.client.set_cipher(SECRET);
}

fn steve() -> Profile {
    Profile { name: "Steve".into(), id: 0x1111 }
}

fn has_joined(id: &str) -> Output {
    let server_hash = server_hash(id, SECRET, &der(&key(1)));
    Output::HasJoined { name: "Steve".into(), server_hash }
}

fn told(pair: &Pair) -> String {
    String::from_utf8_lossy(pair.client_got.last().unwrap()).into_owned()
}

#[test]
fn a_server_that_wants_the_players_key_gets_it_and_the_players_own_signature() {
    for (size, enforces) in SIZES.into_iter().zip([Some(true), None, Some(true)]) {
        let mut pair = asked(size, enforces);
        server_asks(&mut pair);
        assert!(pair.client_got.last().unwrap().ends_with(b"tokn"), "the server's own token");
        client_answers(&mut pair);
        assert_eq!(pair.outputs.last(), Some(&has_joined("server")));
        assert_eq!(pair.server_got.len(), 2, "no answer before the player is verified");
        pair.input(Input::Verified(Ok(steve())));
        assert!(matches!(pair.outputs.last(), Some(Output::Join { lent: None, .. })));
        assert_eq!(pair.server_got.len(), 2, "nor before the account has joined");
        pair.input(Input::AccountJoined(Ok(())));
        assert!(pair.server_got[2].ends_with(b"\x06signed"));
        pair.server.set_cipher(SECRET);
        let success = [("uuid", Value::Uuid(0x1111)), ("username", "Steve".into())];
        let success = success.into_iter().chain([("properties", Value::List(Vec::new()))]);
        server_says(&mut pair, "success", Value::map(success));
        let seen = [
            "login_start",
            "~encryption_begin",
            "+encryption_begin",
            "~encryption_begin",
            "+encryption_begin",
            "success",
        ];
        assert_eq!(pair.seen()[2..], seen);
    }
}

#[test]
fn a_server_that_wants_no_key_hears_of_nobody_before_the_player_is_verified() {
    for (name, policy) in [("Steve", Some(Input::Policy(Some(false)))), ("Alex", None)] {
        let mut pair = begins(7, name);
        if let Some(policy) = policy {
            pair.input(policy);
        }
        assert_eq!(pair.outputs.last(), Some(&Output::GenerateKey));
        pair.input(Input::Key(material()));
        assert!(pair.client_got.last().unwrap().ends_with(b"ours"));
        client_answers(&mut pair);
        assert!(matches!(pair.outputs.last(), Some(Output::HasJoined { .. })));
        assert_eq!(pair.server_got.len(), 1);
        pair.input(Input::Verified(Ok(steve())));
        assert_eq!(
            pair.server_got[1][..],
            [b"\x00\x05Steve\x00\x01", &0x1111_u128.to_be_bytes()[..]].concat()
        );
    }
}

/// A client that a server, which did not say that it is in offline mode, lets in at once.
fn let_in(size: usize) -> Pair {
    let mut pair = asked(size, None);
    server_says(&mut pair, "compress", fields([("threshold", 64.into())]));
    assert_eq!(pair.outputs.last(), Some(&Output::GenerateKey));
    pair.input(Input::Key(material()));
    assert!(pair.client_got.last().unwrap().ends_with(b"ours"), "the proxy's own request");
    pair.server.set_compression(Some(64));
    let success = [("uuid", Value::Uuid(0x1111)), ("username", "Steve".into())];
    let success = success.into_iter().chain([("properties", Value::List(Vec::new()))]);
    server_says(&mut pair, "success", Value::map(success));
    pair
}

#[test]
fn a_server_that_asks_for_no_encryption_waits_until_the_player_is_verified() {
    for size in SIZES {
        let mut pair = let_in(size);
        client_answers(&mut pair);
        assert_eq!(pair.outputs.last(), Some(&has_joined("")));
        assert_eq!(pair.client_got.len(), 1, "the client has only been asked who it is");
        assert!(!pair.session.wants_read(Side::Server));
        pair.client.encoder.send(b"\x05\x02hi\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        pair.run();
        assert_eq!(pair.server_got.len(), 2, "the server has the Login Start alone");
        pair.input(Input::Verified(Ok(steve())));
        let names = pair.seen()[3..].to_vec();
        assert_eq!(names[..3], ["+encryption_begin", "-encryption_begin", "compress"]);
        assert_eq!(names[3..].iter().filter(|name| *name == "success").count(), 1, "{names:?}");
        assert_eq!(names.len(), 5, "and what the client said meanwhile");
    }
}

#[test]
fn nobody_gets_anything_of_a_player_who_is_not_verified() {
    let endings: [fn(&mut Pair); 7] = [
        |pair| pair.input(Input::Closed(Side::Client)),
        |pair| pair.input(Input::Lost(Side::Client, std::io::ErrorKind::ConnectionReset.into())),
        |pair| pair.input(Input::Closed(Side::Server)),
        |pair| pair.input(Input::Lost(Side::Server, std::io::ErrorKind::ConnectionReset.into())),
        |pair| pair.input(Input::Stop(Cause::new("the run ends"))),
        |pair| pair.input(Input::Verified(Err(AuthError::NotJoined { name: "Steve".into() }))),
        |pair| pair.input(Input::Verified(Ok(Profile { name: "Alex".into(), id: 0x2222 }))),
    ];
    let stages: [fn(usize) -> Pair; 6] = [
        |size| begins(size, "Steve"),
        |size| asked(size, None),
        |size| {
            let mut pair = asked(size, Some(true));
            server_asks(&mut pair);
            pair
        },
        |size| {
            let mut pair = asked(size, Some(true));
            server_asks(&mut pair);
            client_answers(&mut pair);
            pair
        },
        let_in,
        |size| {
            let mut pair = let_in(size);
            client_answers(&mut pair);
            pair
        },
    ];
    for (size, (stage, end)) in SIZES.into_iter().flat_map(|size| {
        let pairs =
            stages.iter().enumerate().flat_map(|stage| endings.iter().map(move |end| (stage, end)));
        pairs.map(move |both| (size, both))
    }) {
        let (stage, begin) = stage;
        let mut pair = begin(size);
        let (sent, shown) = (pair.server_got.len(), pair.client_got.len());
        pair.client.encoder.send(&[7; 40]);
        pair.run();
        end(&mut pair);
        pair.input(Input::Closed(Side::Client));
        pair.input(Input::Closed(Side::Server));
        pair.input(Input::Policy(None));
        pair.clock += 31_000_000_000;
        pair.input(Input::Timeout);
        assert!(pair.session.is_over(), "stage {stage}");
        // A Login Start whose policy becomes known late may still go out.
        let allowed = if stage == 0 { 2 } else { sent };
        assert!(pair.server_got.len() <= allowed, "stage {stage}: {:?}", pair.seen());
        assert!(pair.server.decoder.take_rest().is_empty(), "stage {stage}");
        for got in &pair.client_got[shown..] {
            let text = String::from_utf8_lossy(got);
            assert!(
                text.contains("mitmcraft: ") || text.contains("not been verified"),
                "stage {stage}: {text}"
            );
        }
        let names = pair.seen();
        let starts = names.iter().filter(|name| name.ends_with("login_start")).count();
        assert_eq!(starts, 1, "stage {stage}: {names:?}");
        if stage >= 4 {
            assert_eq!(names.iter().filter(|name| *name == "-compress").count(), 1, "{names:?}");
        }
        if stage == 3 {
            assert_eq!(
                names.iter().filter(|name| *name == "-encryption_begin").count(),
                1,
                "{names:?}"
            );
        }
    }
}

#[test]
fn a_client_that_says_something_else_before_it_is_verified_is_turned_away() {
    for said in [login_start("Steve"), signed_response(), b"\x02\x00\x00".to_vec()] {
        let mut pair = asked(7, Some(true));
        client_says(&mut pair, &said);
        assert!(pair.session.is_over());
        assert_eq!(pair.server_got.len(), 2);
        assert!(told(&pair).contains("has not been verified"), "{}", told(&pair));
    }
    // An answer to a question that nobody has asked.
    let config = Config { auth: verify(Admitted::Owner), ..Config::default() };
    let mut pair = Pair::with(7, config, Pipeline::default());
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    let public = key(1).to_public_key();
    pair.client_says(State::Login, "encryption_begin", response(&public, SECRET, b"ours"));
    assert!(pair.session.is_over());
    assert_eq!(pair.server_got.len(), 1);
}

#[test]
fn a_server_that_does_not_wait_for_the_players_answer_ends_the_login() {
    let mut pair = asked(7, Some(true));
    server_asks(&mut pair);
    server_says(&mut pair, "compress", fields([("threshold", 64.into())]));
    assert!(told(&pair).contains("has not waited"), "{}", told(&pair));
    assert!(pair.session.is_over());
}
