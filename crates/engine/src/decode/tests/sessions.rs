//! The content of streams: encryption, legacy pings, Alpha, transfers, Query.

use etherparse::PacketBuilder;
use serde_json::json;

use super::*;
use crate::query::{Kind, Request};
use mitmcraft_protocol::codec::{KeyLogLine, KeyRing};

#[test]
fn an_encrypted_session_is_decrypted_with_the_matching_secret_of_its_token() {
    let plain = undisturbed();
    let token = [0xde, 0xad, 0xbe, 0xef];
    for others in [vec![], vec![[1; 16], [2; 16]]] {
        for mss in [1, 50, 1400] {
            let mut keys = KeyRing::default();
            for secret in others.iter().chain([&[9; 16]]) {
                keys.add(KeyLogLine::new(&token, *secret));
            }
            let (words, notices) = read(
                Talk::whole(mss, Some([9; 16])).packets(),
                TrafficOptions { keys, ..default() },
            );
            assert_eq!(notices, []);
            let rest: Vec<_> =
                words.iter().filter(|it| !it.contains("encryption_begin")).cloned().collect();
            assert_eq!(words.len() - rest.len(), 2);
            // One more state event: encrypted.
            assert_eq!(rest.len(), plain.len() + 1, "{rest:?}");
            let packets = |words: &[String]| -> Vec<String> {
                words.iter().filter(|it| !it.ends_with(" state")).cloned().collect()
            };
            assert_eq!(packets(&rest), packets(&plain));
        }
    }
}

#[test]
fn without_its_key_both_directions_are_opaque_and_the_token_is_named() {
    for (keys, why) in [
        (KeyRing::default(), "encrypted, and no key log has the verify token `deadbeef`"),
        (
            {
                let mut keys = KeyRing::default();
                keys.add(KeyLogLine::new(&[0xde, 0xad, 0xbe, 0xef], [1; 16]));
                keys
            },
            "encrypted, and none of the key log's secrets for its token fits",
        ),
    ] {
        let packets = Talk::whole(1400, Some([9; 16])).packets();
        let (words, notices) = read(packets, TrafficOptions { keys, ..default() });
        let (connection, reason) = (first_connection(), RawReason::Opaque(why.to_owned()));
        assert_eq!(notices, [DecodeNotice::Opaque { connection, reason }]);
        let response = words.iter().position(|it| it.contains("> encryption_begin")).unwrap();
        let after = &words[response + 1..words.len() - 1];
        assert!(after.len() > 40);
        assert!(after.iter().all(|it| it.ends_with(why)), "{after:?}");
    }
}

#[test]
fn packets_before_encryption_begins_are_plain() {
    let mut talk = Talk::new(1400);
    talk.greet();
    talk.ask_for_encryption();
    let reason = json!({"reason": "\"Took too long\""});
    talk.says(Side::Server, State::Login, "disconnect", reason);
    talk.put(Side::Server, "FA", &[]);
    talk.put(Side::Client, "FA", &[]);
    let (words, notices) = read(talk.packets(), default());
    assert_eq!(notices, []);
    assert!(words.iter().any(|it| it.starts_with("1 < disconnect")), "{words:?}");
}

#[test]
fn a_ping_before_1_7_is_detected_by_its_answer() {
    for request in [&b"\xfe"[..], b"\xfe\x01"] {
        let mut talk = Talk::new(1400);
        talk.ports = (50_000, 4000);
        talk.put(Side::Client, "PA", request);
        let answer: Vec<u8> = "A server§3§20".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let answer = [&b"\xff\x00\x0d"[..], &answer].concat();
        talk.put(Side::Server, "PA", &answer);
        talk.end();
        let (words, notices) = read(talk.packets(), default());
        assert_eq!(notices, []);
        let packets: Vec<_> =
            words.iter().filter(|it| it.contains(" > ") || it.contains(" < ")).collect();
        assert_eq!(packets.len(), 2, "{words:?}");
        assert!(packets[0].starts_with("1 > ") && !packets[0].contains('!'), "{words:?}");
        assert!(packets[1].contains("A server§3§20"), "{words:?}");
    }
}

#[test]
fn the_login_of_an_alpha_session_determines_its_version() {
    let mut talk = Talk::new(3);
    for (side, bytes) in [
        (Side::Client, &b"\x02\x00\x05Steve"[..]),
        (Side::Server, b"\x02\x00\x01-"),
        (Side::Client, b"\x01\x00\x00\x00\x02\x00\x05Steve\x00\x00"),
        (Side::Server, b"\x01\x00\x00\x00\x07\x00\x00\x00\x00"),
        (Side::Server, b"\x00\x03\x00\x02hi"),
    ] {
        for piece in bytes.chunks(3) {
            talk.put(side, "PA", piece);
        }
    }
    talk.end();
    let (words, notices) = read(talk.packets(), default());
    assert_eq!(notices, []);
    let packets: Vec<_> =
        words.iter().filter(|it| it.contains(" > ") || it.contains(" < ")).collect();
    assert_eq!(packets.len(), 6, "{words:?}");
    assert!(packets.iter().all(|it| !it.contains('!')), "{words:?}");
    assert!(packets[5].contains("hi"), "{words:?}");
}

#[test]
fn a_transfer_keeps_the_servers_target() {
    let mut talk = Talk::new(1400);
    talk.version = 766;
    talk.greet();
    let player = json!({"username": "Steve", "playerUUID": "069a79f4-44e9-4726-a5be-fca90e38aaf5"});
    talk.says(Side::Client, State::Login, "login_start", player);
    let success = json!({
        "uuid": "069a79f4-44e9-4726-a5be-fca90e38aaf5", "username": "Steve", "properties": [],
        "strictErrorHandling": false,
    });
    talk.says(Side::Server, State::Login, "success", success);
    talk.says(Side::Client, State::Login, "login_acknowledged", json!({}));
    let elsewhere = json!({"host": "there", "port": 4000});
    talk.says(Side::Server, State::Configuration, "transfer", elsewhere);
    talk.end();
    let (words, _) = read(talk.packets(), default());
    let transfers = words.iter().filter(|it| it.contains("< transfer"));
    let transfers: Vec<_> = transfers.collect();
    assert_eq!(transfers, ["1 < transfer {\"host\":\"there\",\"port\":4000}"], "{words:?}");
}

#[test]
fn a_key_exchange_without_an_end_has_bounded_memory() {
    let mut talk = Talk::new(1400);
    talk.greet();
    talk.ask_for_encryption();
    for _ in 0..40 {
        talk.put(Side::Server, "PA", &[0; 60_000]);
    }
    let (words, notices) = read(talk.packets(), default());
    let reason = RawReason::Opaque("the key exchange has no end".to_owned());
    let connection = first_connection();
    assert_eq!(notices, [DecodeNotice::Opaque { connection, reason }]);
    assert!(words.len() > 20);
}

#[test]
fn query_is_decoded() {
    let (client, server) = ("192.0.2.1:4000", "192.0.2.2:25565");
    let udp = |from: &str, to: &str, payload: &[u8]| {
        let [from, to] = [from, to].map(|it| it.parse::<std::net::SocketAddrV4>().unwrap());
        let mut out = Vec::new();
        PacketBuilder::ipv4(from.ip().octets(), to.ip().octets(), 64)
            .udp(from.port(), to.port())
            .write(&mut out, payload)
            .unwrap();
        captured(0, out)
    };
    let request = Request::Handshake { session: 1 }.encode().unwrap();
    let answer = b"\x09\0\0\0\x019513307\0";
    let stat = Request::Stat { kind: Kind::Basic, session: 1, token: 9_513_307 }.encode().unwrap();
    let packets = [
        udp(client, "192.0.2.3:53", b"no query"),
        udp(client, server, &request),
        udp(server, client, answer),
        udp(client, server, &stat),
        udp("192.0.2.9:1", client, b"from another host"),
    ];
    let (words, _) = read(packets, default());
    assert_eq!(
        words,
        [
            "1 open",
            "1 > handshake {\"sessionId\":1}",
            "1 < handshake {\"sessionId\":1,\"token\":\"9513307\"}",
            "1 > stat {\"sessionId\":1,\"token\":9513307}",
            "1 close: the recording ends",
        ]
    );
}
