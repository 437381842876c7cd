//! What goes through, and what of it is the proxy's own.

use super::*;

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
            assert_eq!(pair.session.context().player.as_deref(), Some("Steve"));
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
            let records = records.iter().filter(|record| record.packet.direction() == direction);
            let content = records.map(|record| match record.packet.content() {
                mitmcraft_protocol::packet::Content::Raw(bytes, RawReason::NotMinecraft) => {
                    bytes.clone()
                }
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
fn each_change_of_state_and_compression_is_an_event() {
    let pair = Pair::playing(7, 64);
    let states = pair.entries.iter().filter_map(|entry| match entry {
        Entry::Event(event) => match &event.kind {
            EventKind::State(legs) => Some((legs.state, legs.client_threshold)),
            _ => None,
        },
        Entry::Packet(_) => None,
    });
    let login = State::Login;
    let expected = [(login, None), (login, Some(64)), (State::Play, Some(64))];
    assert_eq!(states.collect::<Vec<_>>(), expected);
}
