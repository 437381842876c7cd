//! Observed sessions: what a recording of a connection tells.

use super::*;
use mitmcraft_protocol::codec::KeyRing;

const SECRET: [u8; 16] = *b"0123456789abcdef";

/// A recorded login up to the client's Encryption Response, which is not in it.
fn observed(config: Config, keys: &[[u8; 16]]) -> (Session, Leg, Leg) {
    let mut ring = KeyRing::default();
    for secret in keys {
        ring.add(KeyLogLine::new(b"tokn", *secret));
    }
    let start = Start {
        session: 1,
        at: Timestamp(1),
        client: "127.0.0.1:50000".parse().unwrap(),
        upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
    };
    let server = "127.0.0.1:25565".parse().unwrap();
    let mut session = Session::observe(Arc::new(config), start, server, Arc::new(ring)).unwrap();
    let (mut client, mut server) = (Leg::default(), Leg::default());
    let name = fields([("username", "Steve".into())]);
    for (state, packet, value) in [
        (State::Handshaking, "set_protocol", handshake("localhost", 2)),
        (State::Login, "login_start", name),
    ] {
        client.encoder.send(&body(state, Direction::Serverbound, packet, &value));
    }
    hear(&mut session, Side::Client, &mut client);
    let request = fields([
        ("serverId", "".into()),
        ("publicKey", Value::Bytes(Bytes::from_static(b"key"))),
        ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
    ]);
    let request = body(State::Login, Direction::Clientbound, "encryption_begin", &request);
    server.encoder.send(&request);
    hear(&mut session, Side::Server, &mut server);
    (session, client, server)
}

fn hear(session: &mut Session, side: Side, leg: &mut Leg) {
    let bytes = leg.encoder.pending().to_vec();
    leg.encoder.advance(bytes.len());
    session.handle(Timestamp(2), Input::Received(side, &bytes));
    assert!(Side::ALL.iter().all(|side| session.pending(*side).is_empty()), "nothing is sent");
}

/// The client answers, and both encrypt.
fn answer(session: &mut Session, client: &mut Leg, server: &mut Leg, secret: &[u8; 16]) {
    let answer = fields([
        ("sharedSecret", Value::Bytes(Bytes::new())),
        ("verifyToken", Value::Bytes(Bytes::new())),
    ]);
    let answer = body(State::Login, Direction::Serverbound, "encryption_begin", &answer);
    client.encoder.send(&answer);
    hear(session, Side::Client, client);
    client.set_cipher(secret);
    server.set_cipher(secret);
}

fn names(session: &mut Session) -> Vec<String> {
    let mut entries = Vec::new();
    session.take_entries(&mut entries);
    let name =
        |it: &Record| it.packet.kind().map_or_else(|| "?".into(), |it| it.name().to_string());
    entries.iter().filter_map(Entry::record).map(name).collect()
}

fn why(session: &Session) -> &str {
    match session.relayed() {
        Some(RawReason::Opaque(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_observed_session_is_recorded_as_it_was_whatever_the_settings_are() {
    for (keep_host, follow_transfers) in [(false, false), (false, true), (true, true)] {
        let config = Config { keep_host, follow_transfers, ..Config::default() };
        let (mut session, mut client, mut server) = observed(config, &[SECRET]);
        assert!(session.config.keep_host && !session.config.follow_transfers);
        answer(&mut session, &mut client, &mut server, &SECRET);
        let success = body(State::Login, Direction::Clientbound, "success", &success());
        server.encoder.send(&success);
        hear(&mut session, Side::Server, &mut server);
        let expected =
            ["set_protocol", "login_start", "encryption_begin", "encryption_begin", "success"];
        assert_eq!(names(&mut session), expected);
    }
}

#[test]
fn a_secret_fits_if_the_first_packet_is_one_of_a_login_of_up_to_64_kib() {
    let (mut session, mut client, mut server) = observed(Config::default(), &[SECRET]);
    answer(&mut session, &mut client, &mut server, &SECRET);
    let reason = Value::from("x".repeat((64 << 10) - 4).as_str());
    let largest =
        body(State::Login, Direction::Clientbound, "disconnect", &fields([("reason", reason)]));
    assert_eq!(largest.len(), 64 << 10);
    server.encoder.send(&largest);
    hear(&mut session, Side::Server, &mut server);
    assert_eq!(names(&mut session).last().unwrap(), "disconnect");

    let (mut session, mut client, mut server) = observed(Config::default(), &[SECRET]);
    answer(&mut session, &mut client, &mut server, &SECRET);
    server.encoder.put(b"\x81\x80\x04\x02more than 64 KiB follow");
    hear(&mut session, Side::Server, &mut server);
    assert!(why(&session).contains("none of the key log's secrets"), "it is not waited for");
}

#[test]
fn more_than_1_mib_is_not_held_for_the_end_of_a_key_exchange() {
    let (mut session, _, mut server) = observed(Config::default(), &[SECRET]);
    server.encoder.put(&vec![0xff; 1 << 20]);
    hear(&mut session, Side::Server, &mut server);
    assert_eq!(session.relayed(), None);
    server.encoder.put(&[0xff]);
    hear(&mut session, Side::Server, &mut server);
    assert_eq!(why(&session), "the key exchange has no end");
}

#[test]
fn a_missing_answer_is_taken_as_given_and_a_missing_first_packet_of_the_server_is_not() {
    for missing in [Side::Client, Side::Server] {
        let (mut session, mut client, mut server) = observed(Config::default(), &[SECRET]);
        if missing == Side::Client {
            session.handle(Timestamp(2), Input::Missing(Side::Client, 10));
            server.set_cipher(&SECRET);
            let success = body(State::Login, Direction::Clientbound, "success", &success());
            server.encoder.send(&success);
            hear(&mut session, Side::Server, &mut server);
            assert_eq!(names(&mut session).last().unwrap(), "success");
        } else {
            answer(&mut session, &mut client, &mut server, &SECRET);
            session.handle(Timestamp(2), Input::Missing(Side::Server, 10));
            let expected = "encrypted, and bytes are missing that would tell by which secret";
            assert_eq!(why(&session), expected);
        }
    }
}
