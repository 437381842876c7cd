//! Whole sessions in memory, byte by byte: a [`Pair`] is a client and a server with the session
//! between them, its wires cut into pieces of a given size.

mod accounts;
mod effects;
mod later;
mod old_faults;
mod old_rules;
mod timeouts;

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rsa::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};

use super::*;
use crate::capture::{Entry, EventKind, Outcome, Record};
use crate::codec::{KeyLogLine, Leg, Limits, Unit};
use crate::filter::{Effects, Filter, Origin, Packet, Pipeline, RawReason, Timestamp, Verdict};
use crate::schema::{Catalog, Direction, State, Value};

mod old;

/// The sizes of the pieces that the wires carry.
const SIZES: [usize; 3] = [1, 7, usize::MAX];

struct Pair {
    session: Session,
    client: Leg,
    server: Leg,
    /// What each peer has received: bodies, or bytes that are no frame.
    client_got: Vec<Bytes>,
    server_got: Vec<Bytes>,
    entries: Vec<Entry>,
    outputs: Vec<Output>,
    clock: u64,
    size: usize,
}

impl Pair {
    fn new(size: usize) -> Self {
        Self::with(size, Config::default(), Pipeline::default())
    }

    fn with(size: usize, config: Config, pipeline: Pipeline) -> Self {
        let start = Start {
            session: 1,
            at: Timestamp(1_000_000_000),
            client: "127.0.0.1:50000".parse().unwrap(),
            upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
        };
        let session = Session::new(Arc::new(config), start, pipeline).unwrap();
        let leg = || Leg::new(Limits::default());
        let mut pair = Self {
            session,
            client: leg(),
            server: leg(),
            client_got: Vec::new(),
            server_got: Vec::new(),
            entries: Vec::new(),
            outputs: Vec::new(),
            clock: 1_000_000_000,
            size,
        };
        pair.run();
        pair
    }

    fn connected(size: usize) -> Self {
        let mut pair = Self::new(size);
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair
    }

    /// In play, with that threshold.
    fn playing(size: usize, threshold: i32) -> Self {
        let mut pair = Self::connected(size);
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        pair.server_says(State::Login, "compress", fields([("threshold", threshold.into())]));
        pair.client.set_compression(usize::try_from(threshold).ok());
        pair.server.set_compression(usize::try_from(threshold).ok());
        pair.server_says(State::Login, "success", success());
        pair
    }

    fn input(&mut self, input: Input<'_>) {
        self.clock += 1_000_000;
        self.session.handle(Timestamp(self.clock), input);
        self.run();
    }

    fn client_says(&mut self, state: State, name: &str, value: Value) {
        let body = body(state, Direction::Serverbound, name, &value);
        self.client.encoder.send(&body);
        self.run();
    }

    fn server_says(&mut self, state: State, name: &str, value: Value) {
        let body = body(state, Direction::Clientbound, name, &value);
        self.server.encoder.send(&body);
        self.run();
    }

    /// Carries bytes until nothing moves any more.
    fn run(&mut self) {
        loop {
            let moved = self.carry();
            while let Some(output) = self.session.poll_output() {
                self.outputs.push(output);
            }
            self.session.take_entries(&mut self.entries);
            if !moved {
                return;
            }
        }
    }

    fn carry(&mut self) -> bool {
        let mut moved = false;
        for side in Side::ALL {
            let (leg, got) = match side {
                Side::Client => (&mut self.client, &mut self.client_got),
                Side::Server => (&mut self.server, &mut self.server_got),
            };
            let out = leg.encoder.pending();
            if self.session.wants_read(side) && !out.is_empty() {
                let count = out.len().min(self.size);
                self.clock += 1000;
                self.session.handle(Timestamp(self.clock), Input::Received(side, &out[..count]));
                leg.encoder.advance(count);
                moved = true;
            }
            let count = self.session.pending(side).len().min(self.size);
            if count > 0 {
                leg.decoder.receive(&self.session.pending(side)[..count]);
                self.session.advance(side, count);
                moved = true;
            }
            while let Some(unit) = leg.decoder.poll() {
                got.push(match unit {
                    Unit::Frame(frame) => frame.body().unwrap_or_else(|_| frame.wire().clone()),
                    unit => unit.wire().clone(),
                });
            }
        }
        moved
    }

    fn records(&self) -> Vec<&Record> {
        fn record(entry: &Entry) -> Option<&Record> {
            match entry {
                Entry::Packet(record) => Some(record),
                Entry::Event(_) => None,
            }
        }
        self.entries.iter().filter_map(record).collect()
    }

    /// The names of what was seen, with what became of it.
    fn seen(&self) -> Vec<String> {
        let name = |record: &&Record| {
            let packet = &record.packet;
            let name =
                packet.packet().map_or_else(|| "?".into(), |packet| packet.name().to_string());
            let mark = match record.outcome {
                Outcome::Pass => "",
                Outcome::Drop => "-",
                Outcome::Rewrite => "~",
                Outcome::Send => "+",
            };
            format!("{mark}{name}")
        };
        self.records().iter().map(name).collect()
    }

    fn reason(&self) -> Option<&str> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Event(event) => match &event.kind {
                EventKind::Close(summary) => Some(summary.reason.as_str()),
                _ => None,
            },
            Entry::Packet(_) => None,
        })
    }
}

fn body(state: State, direction: Direction, name: &str, value: &Value) -> Vec<u8> {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    protocol.encode(protocol.named(state, direction, name).unwrap(), value).unwrap()
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::map(fields)
}

fn handshake(host: &str, next: i32) -> Value {
    fields([
        ("protocolVersion", 47.into()),
        ("serverHost", host.into()),
        ("serverPort", 25566.into()),
        ("nextState", next.into()),
    ])
}

fn success() -> Value {
    fields([("uuid", "b50ad385-829d-3141-a216-7e7d7539ba7f".into()), ("username", "Steve".into())])
}

fn chat(text: &str) -> Value {
    fields([("message", text.into())])
}

fn key(seed: u8) -> RsaPrivateKey {
    static KEYS: LazyLock<[RsaPrivateKey; 2]> = LazyLock::new(|| {
        [1, 2]
            .map(|seed| RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([seed; 32]), 1024).unwrap())
    });
    KEYS[usize::from(seed)].clone()
}

#[test]
fn relays_a_whole_login_with_compression_and_records_all_of_it() {
    for size in SIZES {
        for threshold in [-1, 0, 1, 64, 256] {
            let mut pair = Pair::playing(size, threshold);
            let long = "a".repeat(300);
            pair.client_says(State::Play, "chat", chat(&long));
            pair.client_says(State::Play, "chat", chat("hi"));
            pair.server_says(State::Play, "keep_alive", fields([("keepAliveId", 7.into())]));
            let expected = [
                "~set_protocol",
                "+set_protocol",
                "login_start",
                "compress",
                "success",
                "chat",
                "chat",
                "keep_alive",
            ];
            assert_eq!(pair.seen(), expected, "size {size}, threshold {threshold}");
            let sent = body(State::Play, Direction::Serverbound, "chat", &chat(&long));
            assert_eq!(pair.server_got[2], sent);
            assert_eq!(pair.client_got.len(), 3);
            assert_eq!(pair.session.context.player.as_deref(), Some("Steve"));
        }
    }
}

#[test]
fn forwards_unchanged_frames_as_the_exact_bytes_received() {
    for size in SIZES {
        let mut pair = Pair::playing(size, 64);
        // A frame that our own encoder would not make: a VarInt longer than it need be, stored
        // although it is long enough to be compressed.
        let mut odd = vec![0x83, 0x81, 0x00, 0x00, 0x02];
        odd.extend_from_slice(&[b'x'; 0x7f + 2]);
        pair.server.encoder.put(&odd);
        pair.server.encoder.put(&[0]);
        pair.run();
        let records = pair.records();
        let last: Vec<&Bytes> =
            records[5..].iter().map(|record| record.packet.frame().unwrap().wire()).collect();
        assert_eq!(last[0][..], odd);
        assert_eq!(last[1][..], [0]);
        assert!(records[5..].iter().all(|record| record.packet.error().is_some()));
    }
}

#[test]
fn sets_compression_again_during_the_game() {
    for size in SIZES {
        let mut pair = Pair::playing(size, 256);
        pair.server_says(State::Play, "set_compression", fields([("threshold", 16.into())]));
        pair.client.set_compression(Some(16));
        pair.server.set_compression(Some(16));
        pair.client_says(State::Play, "chat", chat("longer than sixteen"));
        pair.server_says(State::Play, "set_compression", fields([("threshold", (-1).into())]));
        pair.client.set_compression(None);
        pair.server.set_compression(None);
        pair.client_says(State::Play, "chat", chat("longer than sixteen"));
        assert_eq!(pair.server_got[2], pair.server_got[3]);
        assert!(pair.records().iter().all(|record| record.packet.error().is_none()));
    }
}

#[test]
fn says_the_upstreams_host_and_port_unless_told_to_keep_the_clients() {
    let sent = |config| {
        let mut pair = Pair::with(usize::MAX, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost\0FML\0", 1));
        (pair.server_got[0].clone(), pair.seen())
    };
    let (body, seen) = sent(Config::default());
    assert_eq!(body[..], *b"\x00\x2f\x13mc.example.org\0FML\0\x63\xdd\x01");
    assert_eq!(seen, ["~set_protocol", "+set_protocol"]);
    let (body, seen) = sent(Config { keep_host: true, ..Config::default() });
    assert_eq!(body[..], *b"\x00\x2f\x0elocalhost\0FML\0\x63\xde\x01");
    assert_eq!(seen, ["set_protocol"]);
}

#[test]
fn relays_a_status_with_its_ping() {
    for size in SIZES {
        let mut pair = Pair::connected(size);
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 1));
        pair.client_says(State::Status, "ping_start", fields([]));
        pair.server_says(State::Status, "server_info", fields([("response", "{}".into())]));
        pair.client_says(State::Status, "ping", fields([("time", Value::Int(i64::MIN))]));
        pair.server_says(State::Status, "ping", fields([("time", Value::Int(i64::MIN))]));
        let expected =
            ["~set_protocol", "+set_protocol", "ping_start", "server_info", "ping", "ping"];
        assert_eq!(pair.seen(), expected);
        assert_eq!(pair.client_got[1], pair.server_got[2]);
    }
}

/// A login with encryption, up to where the client has to answer.
fn encrypting(size: usize) -> (Pair, RsaPublicKey, Bytes) {
    let mut pair = Pair::connected(size);
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    let der = key(0).to_public_key().to_public_key_der().unwrap();
    let request = fields([
        ("serverId", "server".into()),
        ("publicKey", Value::Bytes(Bytes::copy_from_slice(der.as_bytes()))),
        ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
    ]);
    pair.server_says(State::Login, "encryption_begin", request);
    assert_eq!(pair.outputs.last(), Some(&Output::GenerateKey));
    assert!(!pair.session.wants_read(Side::Server));
    let material =
        KeyMaterial { key: key(1), secret: *b"upstream secret!", token: *b"ours", seed: [3; 32] };
    pair.input(Input::Key(Box::new(material)));
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let shown = pair.client_got.last().unwrap();
    let (packet, start) = protocol.identify(State::Login, Direction::Clientbound, shown).unwrap();
    let shown = protocol.decode(packet, shown, start).unwrap();
    assert_eq!(shown.get("serverId").unwrap().as_text(), Some("server"));
    let public =
        RsaPublicKey::from_public_key_der(shown.get("publicKey").unwrap().as_bytes().unwrap());
    let token = shown.get("verifyToken").unwrap().as_bytes().unwrap().clone();
    (pair, public.unwrap(), token)
}

fn response(key: &RsaPublicKey, secret: &[u8], token: &[u8]) -> Value {
    let mut random = ChaCha20Rng::from_seed([9; 32]);
    let mut seal = |plain: &[u8]| {
        Value::Bytes(key.encrypt(&mut random, Pkcs1v15Encrypt, plain).unwrap().into())
    };
    let secret = seal(secret);
    fields([("sharedSecret", secret), ("verifyToken", seal(token))])
}

#[test]
fn relays_an_encrypted_and_compressed_login_with_a_secret_of_its_own_on_each_leg() {
    for size in SIZES {
        let (mut pair, public, token) = encrypting(size);
        assert_eq!(public, key(1).to_public_key());
        let secret = *b"client's secret!";
        pair.client_says(State::Login, "encryption_begin", response(&public, &secret, &token));
        pair.client.set_cipher(&secret);
        let answered = pair.server_got.last().unwrap().clone();
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let (packet, start) =
            protocol.identify(State::Login, Direction::Serverbound, &answered).unwrap();
        let answered = protocol.decode(packet, &answered, start).unwrap();
        let open = |name| {
            let sealed = answered.get(name).unwrap().as_bytes().unwrap();
            key(0).decrypt(Pkcs1v15Encrypt, sealed).unwrap()
        };
        assert_eq!(open("sharedSecret"), b"upstream secret!");
        assert_eq!(open("verifyToken"), b"tokn");
        pair.server.set_cipher(b"upstream secret!");
        let key_log = [
            KeyLogLine::new(b"ours", *b"client's secret!"),
            KeyLogLine::new(b"tokn", *b"upstream secret!"),
        ];
        let logged: Vec<_> =
            pair.outputs.iter().filter(|output| matches!(output, Output::LogKey(_))).collect();
        assert_eq!(logged, [&Output::LogKey(key_log[0]), &Output::LogKey(key_log[1])]);

        pair.server_says(State::Login, "compress", fields([("threshold", 64.into())]));
        pair.client.set_compression(Some(64));
        pair.server.set_compression(Some(64));
        pair.server_says(State::Login, "success", success());
        pair.client_says(State::Play, "chat", chat(&"secret ".repeat(40)));
        pair.server_says(State::Play, "keep_alive", fields([("keepAliveId", 7.into())]));
        let expected = [
            "~set_protocol",
            "+set_protocol",
            "login_start",
            "~encryption_begin",
            "+encryption_begin",
            "~encryption_begin",
            "+encryption_begin",
            "compress",
            "success",
            "chat",
            "keep_alive",
        ];
        assert_eq!(pair.seen(), expected);
        assert!(pair.records().iter().all(|record| record.packet.error().is_none()));
        assert_eq!(pair.client_got.len(), 4);
    }
}

#[test]
fn turns_every_wrong_encryption_response_away_alike() {
    let garbage = fields([
        ("sharedSecret", Value::Bytes(Bytes::from_static(&[1; 128]))),
        ("verifyToken", Value::Bytes(Bytes::new())),
    ]);
    let mut told = Vec::new();
    for kind in 0..3 {
        let (mut pair, public, token) = encrypting(usize::MAX);
        let wrong = match kind {
            0 => response(&public, b"client's secret!", b"else"),
            1 => response(&public, b"short", &token),
            _ => garbage.clone(),
        };
        pair.client_says(State::Login, "encryption_begin", wrong);
        assert!(pair.session.is_over());
        assert_eq!(pair.seen().last().unwrap(), "+disconnect");
        told.push((pair.client_got.last().unwrap().clone(), pair.reason().unwrap().to_owned()));
    }
    assert!(told.iter().all(|it| *it == told[0]), "{told:?}");
}

#[test]
fn relays_what_is_not_minecraft_and_records_its_bytes() {
    for size in SIZES {
        let mut pair = Pair::connected(size);
        pair.client.encoder.put(b"GET / HTTP/1.1\r\n\r\n");
        pair.client.decoder.set_opaque();
        pair.server.decoder.set_opaque();
        pair.run();
        pair.server.encoder.put(b"HTTP/1.1 200 OK\r\n\r\n");
        pair.run();
        assert_eq!(pair.server_got.concat(), b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(pair.client_got.concat(), b"HTTP/1.1 200 OK\r\n\r\n");
        let bytes = |direction| -> Vec<u8> {
            let records = pair.records();
            let records = records.iter().filter(|record| record.packet.direction == direction);
            let content = records.map(|record| match &record.packet.content {
                crate::filter::Content::Raw(bytes, RawReason::NotMinecraft) => bytes.clone(),
                content => panic!("{content:?}"),
            });
            content.collect::<Vec<_>>().concat()
        };
        assert_eq!(bytes(Direction::Serverbound), b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(bytes(Direction::Clientbound), b"HTTP/1.1 200 OK\r\n\r\n");
    }
}

#[test]
fn relays_a_server_that_speaks_first() {
    let mut pair = Pair::connected(7);
    pair.client.decoder.set_opaque();
    pair.server.encoder.put(b"220 mail.example.org\r\n");
    pair.run();
    assert_eq!(pair.client_got.concat(), b"220 mail.example.org\r\n");
}

#[test]
fn forwards_and_records_packets_that_do_not_decode() {
    for size in SIZES {
        let mut pair = Pair::playing(size, 64);
        for body in [
            &b"\x7f unknown id"[..],
            b"\x02\x05ab",
            b"\x00\x01 left over",
            b"\xff\xff\xff\xff\xff\x01",
        ] {
            pair.server.encoder.send(body);
            pair.client.encoder.send(body);
        }
        pair.run();
        assert_eq!(pair.client_got[2..], pair.server_got[2..]);
        let failed = pair.records().iter().filter(|it| it.packet.error().is_some()).count();
        assert_eq!(failed, 8);
        assert!(!pair.session.is_over());
    }
}

#[test]
fn a_length_that_is_no_varint_makes_only_that_direction_opaque() {
    for size in SIZES {
        let mut pair = Pair::playing(size, -1);
        pair.client.decoder.set_opaque();
        pair.server.encoder.put(b"\xff\xff\xff\xff\xff\xff garbage");
        pair.run();
        pair.client_says(State::Play, "chat", chat("still here"));
        assert_eq!(pair.client_got[2..].concat(), b"\xff\xff\xff\xff\xff\xff garbage");
        assert_eq!(pair.seen().iter().filter(|name| *name == "chat").count(), 1);
        assert!(!pair.session.is_over());
    }
}

#[test]
fn a_frame_beyond_the_limit_streams_through_in_pieces() {
    let limits = Limits { frame: 1000, ..Limits::default() };
    for size in SIZES {
        let config = Config { limits, ..Config::default() };
        let mut pair = Pair::with(size, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        let big = vec![0x5a; 5000];
        pair.client.encoder.send(&big);
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        assert_eq!(pair.server_got[1], big);
        assert_eq!(pair.seen().last().unwrap(), "login_start");
        let records = pair.records();
        let pieces: usize = records[2..records.len() - 1]
            .iter()
            .map(|record| match &record.packet.content {
                crate::filter::Content::Raw(bytes, RawReason::Oversize { frame: 5000, .. }) => {
                    bytes.len()
                }
                content => panic!("{content:?}"),
            })
            .sum();
        assert_eq!(pieces, 5002);
    }
}

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
        assert!(pair.reason().unwrap().contains("see you"), "{:?}", pair.reason());
    }
}

#[test]
fn a_frame_that_never_became_whole_is_forwarded_and_recorded() {
    for size in SIZES {
        let mut pair = Pair::playing(size, -1);
        pair.client.encoder.put(b"\x20\x01only a part");
        pair.run();
        pair.input(Input::Closed(Side::Client));
        pair.server.decoder.set_opaque();
        while let Some(unit) = pair.server.decoder.poll() {
            pair.server_got.push(unit.wire().clone());
        }
        assert_eq!(pair.server_got[2..].concat(), b"\x20\x01only a part");
        let records = pair.records();
        let last = &records.last().unwrap().packet.content;
        assert!(matches!(last, crate::filter::Content::Raw(_, RawReason::CutOff)), "{last:?}");
    }
}

#[test]
fn a_client_that_vanishes_ends_the_session_and_is_recorded() {
    let mut pair = Pair::playing(usize::MAX, 64);
    pair.input(Input::Lost(Side::Client, "connection reset".into()));
    assert!(pair.session.is_over());
    assert_eq!(pair.reason(), Some("lost the client: connection reset"));
    assert_eq!(
        pair.outputs[pair.outputs.len() - 2..],
        [Output::Close(Side::Client), Output::Close(Side::Server)]
    );
}

#[test]
fn a_player_is_told_that_the_upstream_cannot_be_reached() {
    for size in SIZES {
        for early in [true, false] {
            let mut pair = Pair::new(size);
            let refuse = |pair: &mut Pair| pair.input(Input::Refused("connection refused".into()));
            if !early {
                refuse(&mut pair);
            }
            pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
            pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
            if early {
                refuse(&mut pair);
            }
            let told = String::from_utf8(pair.client_got[0].to_vec()).unwrap();
            assert!(
                told.contains("cannot reach mc.example.org:25565: connection refused"),
                "{told}"
            );
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
    pair.input(Input::Refused("connection refused".into()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 1));
    pair.client_says(State::Status, "ping_start", fields([]));
    pair.client_says(State::Status, "ping", fields([("time", Value::Int(5))]));
    let told = String::from_utf8_lossy(&pair.client_got[0]).into_owned();
    assert!(told.contains("connection refused") && told.contains("\"protocol\":47"), "{told}");
    assert_eq!(pair.client_got[1][..], *b"\x01\0\0\0\0\0\0\0\x05");
}

#[test]
fn a_client_that_was_told_to_go_and_stays_is_closed_after_a_while() {
    let mut pair = Pair::new(7);
    pair.input(Input::Refused("connection refused".into()));
    let timeout = pair.session.poll_timeout().unwrap();
    pair.session.handle(Timestamp(timeout.0 - 1), Input::Timeout);
    assert!(!pair.session.is_over());
    pair.session.handle(timeout, Input::Timeout);
    assert!(pair.session.is_over());
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

struct Shout;

impl Filter for Shout {
    fn name(&self) -> &str {
        "shout"
    }

    fn apply(&mut self, packet: &mut Packet, _effects: &mut Effects) -> Verdict {
        let Some(ty) = packet.packet().filter(|it| **it.name() == *"chat") else {
            return Verdict::Pass;
        };
        let value = packet.value().unwrap();
        let text = value.get("message").unwrap().as_text().unwrap();
        match text {
            "drop me" => Verdict::Drop,
            text => {
                let value = chat(&text.to_uppercase());
                Verdict::Replace(packet.context.protocol.encode(ty, &value).unwrap().into())
            }
        }
    }
}

#[test]
fn filters_drop_and_rewrite_and_both_versions_are_recorded() {
    for size in SIZES {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(Shout));
        let mut pair = Pair::with(size, Config::default(), pipeline);
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        pair.server_says(State::Login, "success", success());
        pair.client_says(State::Play, "chat", chat("hello"));
        pair.client_says(State::Play, "chat", chat("drop me"));
        assert_eq!(pair.server_got.last().unwrap()[..], *b"\x01\x05HELLO");
        assert_eq!(pair.seen()[4..], ["~chat", "+chat", "-chat"]);
        let records = pair.records();
        let [came, went] = [records[4], records[5]];
        assert_eq!(went.of, Some(came.packet.seq));
        assert_eq!(came.packet.origin, Origin::Client);
        assert_eq!(went.packet.origin, Origin::Proxy);
    }
}

#[test]
fn an_unknown_version_is_read_by_the_nearest_description_and_marked() {
    let mut pair = Pair::connected(usize::MAX);
    let value = fields([
        ("protocolVersion", 100_000.into()),
        ("serverHost", "localhost".into()),
        ("serverPort", 25566.into()),
        ("nextState", 1.into()),
    ]);
    pair.client_says(State::Handshaking, "set_protocol", value);
    assert!(pair.session.context.guess);
    assert_eq!(pair.session.context.version, Some(100_000));
}

#[test]
fn every_byte_that_came_is_in_the_records_whatever_the_bytes_are() {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    for round in 0..200 {
        let mut pair = if round % 2 == 0 { Pair::connected(7) } else { Pair::playing(7, 16) };
        let before = pair.records().len();
        let garbage: Vec<u8> =
            (0..usize::from(random())).map(|_| random() >> (round % 5)).collect();
        pair.client.encoder.put(&garbage);
        pair.run();
        pair.input(Input::Closed(Side::Client));
        pair.input(Input::Closed(Side::Server));
        assert!(pair.session.is_over());
        let came: Vec<u8> = pair.records()[before..]
            .iter()
            .filter(|record| record.outcome.came())
            .flat_map(|record| match &record.packet.content {
                crate::filter::Content::Frame(frame) => frame.wire().to_vec(),
                crate::filter::Content::Raw(bytes, _) => bytes.to_vec(),
            })
            .collect();
        assert_eq!(came, garbage, "round {round}");
    }
}
