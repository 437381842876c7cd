//! What is older than 1.7: Alpha's sessions, and what they share with the old Server List Pings.

use std::collections::HashMap;

use hex_literal::hex;

use super::old_pings::{ANSWERS, LONGEST_FORM};
use super::*;
use mitmcraft_protocol::packet::{Cause, Content, Undecoded};
use mitmcraft_protocol::schema::Family;

/// Two peers that write bytes as they are.
pub(super) fn plain(size: usize) -> Pair {
    plain_with(size, Pipeline::default())
}

pub(super) fn plain_with(size: usize, pipeline: Pipeline) -> Pair {
    let mut pair = unconnected(size, pipeline);
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair
}

pub(super) fn unconnected(size: usize, pipeline: Pipeline) -> Pair {
    let mut pair = Pair::with(size, Config::default(), pipeline);
    pair.client.decoder.set_opaque();
    pair.server.decoder.set_opaque();
    pair
}

impl Pair {
    pub(super) fn send(&mut self, side: Side, bytes: &[u8]) {
        match side {
            Side::Client => self.client.encoder.put(bytes),
            Side::Server => self.server.encoder.put(bytes),
        }
        self.run();
    }

    /// Logged in to Alpha.
    pub(super) fn alpha(size: usize, version: u8, pipeline: Pipeline) -> Self {
        let mut pair = plain_with(size, pipeline);
        pair.send(Side::Client, &hex!("02 0005 5374657665"));
        pair.send(Side::Server, &hex!("02 0001 2d"));
        pair.send(Side::Client, &login(version));
        pair
    }

    pub(super) fn got(&self, side: Side) -> Vec<u8> {
        match side {
            Side::Client => self.client_got.concat(),
            Side::Server => self.server_got.concat(),
        }
    }

    /// All that came from that side, as the records have it.
    pub(super) fn recorded(&self, direction: Direction) -> Vec<u8> {
        let records = self.records();
        let records = records.iter().filter(|it| it.packet.direction() == direction);
        let came = records.filter(|it| it.outcome.came());
        let bytes = came.map(|record| match record.packet.content() {
            Content::Frame(frame) => frame.wire().clone(),
            Content::Raw(bytes, _) => bytes.clone(),
        });
        bytes.collect::<Vec<_>>().concat()
    }

    pub(super) fn comments(&self) -> Vec<Option<&str>> {
        self.records().iter().map(|record| record.comment.as_deref()).collect()
    }
}

/// A login of Steve with that protocol number.
pub(super) fn login(version: u8) -> Vec<u8> {
    let mut login = hex!("01 000000 00 0005 5374657665 0000").to_vec();
    login[4] = version;
    if version >= 3 {
        login.extend_from_slice(&[0; 9]);
    }
    login
}

/// A login to a version of Beta 1.0 to 1.2.5: the handshake, its answer and the login.
pub(super) fn legacy_login(version: i32) -> [Vec<u8>; 3] {
    let protocol = Catalog::embedded().legacy(version).protocol;
    let body = |direction, name: &str, fields: &[(&str, Value)]| {
        let packet = protocol.named(State::Play, direction, name).unwrap();
        protocol.encode(packet, &Value::map(fields.iter().cloned())).unwrap()
    };
    let golden = goldens(LEGACY, version.into(), &["login"]);
    let login =
        &golden[&Direction::Serverbound].iter().find(|(name, _)| name == "login").unwrap().1;
    [
        body(Direction::Serverbound, "handshake", &[("username", "Notch".into())]),
        body(Direction::Clientbound, "handshake", &[("connectionHash", "-".into())]),
        login.clone(),
    ]
}

const ALPHA: &str = include_str!("../../../../../tests/golden/alpha.toml");

pub(super) const LEGACY: &str = include_str!("../../../../../tests/golden/legacy.toml");

/// Every packet of a golden file that a version has: those of these names, or all but logins if none are
/// given.
pub(super) fn goldens(
    file: &str,
    version: i64,
    only: &[&str],
) -> HashMap<Direction, Vec<(String, Vec<u8>)>> {
    let file: toml::Table = file.parse().unwrap();
    let mut all: HashMap<Direction, Vec<_>> = HashMap::new();
    for packet in file["packet"].as_array().unwrap() {
        let name = packet["name"].as_str().unwrap();
        let [first, last] = [0, 1].map(|it| packet["versions"][it].as_integer().unwrap());
        let direction = packet["direction"].as_str().unwrap().parse().unwrap();
        let wanted = if only.is_empty() { name != "login" } else { only.contains(&name) };
        if !(first..=last).contains(&version) || !wanted {
            continue;
        }
        for case in packet["case"].as_array().unwrap() {
            let digits = case["hex"].as_str().unwrap().replace(' ', "");
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            let body = (0..digits.len()).step_by(2).map(byte).collect();
            all.entry(direction).or_default().push((name.to_owned(), body));
        }
    }
    all
}

#[test]
fn relays_every_packet_of_every_version_of_alpha_and_records_it_decoded() {
    for version in 1..=6u8 {
        for size in SIZES {
            let mut pair = Pair::alpha(size, version, Pipeline::default());
            let context = pair.session.context().clone();
            assert_eq!(context.version, Some(version.into()));
            assert_eq!(context.protocol.family(), Family::Alpha);
            assert_eq!(context.player.as_deref(), Some("Steve"));
            let before = pair.records().len();
            for (direction, packets) in goldens(ALPHA, version.into(), &[]) {
                let sent: Vec<u8> = packets.iter().flat_map(|(_, body)| body.clone()).collect();
                let from = Side::from(direction);
                let had = pair.got(from.other()).len();
                pair.send(from, &sent);
                assert!(pair.got(from.other())[had..] == sent, "version {version}, {direction}");
                let records = pair.records();
                let records: Vec<_> = records[before..]
                    .iter()
                    .filter(|it| it.packet.direction() == direction)
                    .collect();
                assert_eq!(records.len(), packets.len());
                for (record, (name, body)) in records.iter().zip(packets) {
                    let packet = &record.packet;
                    assert_eq!(**packet.kind().unwrap().name(), *name);
                    assert_eq!((packet.error(), packet.state()), (None, State::Play), "{name}");
                    assert_eq!(packet.frame().unwrap().wire()[..], body);
                    assert_eq!(packet.wire_size(), body.len());
                }
            }
        }
    }
}

#[test]
fn relays_every_packet_of_every_version_of_beta_and_records_it_decoded() {
    for version in Catalog::embedded().legacy_versions().filter(|version| *version < 39) {
        for size in SIZES {
            let mut pair = plain(size);
            let [handshake, answer, login] = legacy_login(version);
            pair.send(Side::Client, &handshake);
            pair.send(Side::Server, &answer);
            pair.send(Side::Client, &login);
            let context = pair.session.context().clone();
            assert_eq!((context.version, context.guess), (Some(version), false));
            assert_eq!(context.protocol.family(), Family::Legacy);
            assert_eq!(context.player.as_deref(), Some("Notch"));
            let before = pair.records().len();
            assert_eq!(before, 3);
            for (direction, packets) in goldens(LEGACY, version.into(), &[]) {
                let sent: Vec<u8> = packets.iter().flat_map(|(_, body)| body.clone()).collect();
                let from = Side::from(direction);
                let had = pair.got(from.other()).len();
                pair.send(from, &sent);
                assert!(pair.got(from.other())[had..] == sent, "version {version}, {direction}");
                let records = pair.records();
                let came = records[before..].iter().filter(|it| it.packet.direction() == direction);
                let came: Vec<_> = came.collect();
                assert_eq!(came.len(), packets.len());
                for (record, (name, body)) in came.iter().zip(packets) {
                    assert_eq!(**record.packet.kind().unwrap().name(), *name);
                    assert_eq!(record.packet.error(), None, "{name}");
                    assert_eq!(record.packet.frame().unwrap().wire()[..], body);
                }
            }
        }
    }
}

#[test]
fn the_host_in_a_handshake_of_1_2_becomes_the_upstreams() {
    for size in SIZES {
        for (sent, got) in
            [("Steve;localhost:25566", "Steve;mc.example.org:25565"), ("Steve", "Steve")]
        {
            let mut pair = plain(size);
            let said = |name: &str| {
                let protocol = Catalog::embedded().legacy(29).protocol;
                let packet = protocol.named(State::Play, Direction::Serverbound, "handshake");
                let fields = Value::map([("username", Value::from(name))]);
                protocol.encode(packet.unwrap(), &fields).unwrap()
            };
            pair.send(Side::Client, &said(sent));
            assert_eq!(pair.got(Side::Server), said(got));
            assert_eq!(pair.session.context().player.as_deref(), Some("Steve"));
        }
    }
}

#[test]
fn rules_change_what_a_client_of_beta_1_7_3_says() {
    let rules = "[[rule]]\nwhen = 'pkt.family == \"legacy\" and pkt.version == \"beta-1.7.3\" and chat'\n\
                 set = { message = '=upper(message)' }\n\
                 [[rule]]\nwhen = 'pkt.protocol < 735 and chat'\ndrop = true\n";
    let mut pair = plain_with(7, old_rules::rules(rules));
    let [handshake, answer, login] = legacy_login(14);
    pair.send(Side::Client, &handshake);
    pair.send(Side::Server, &answer);
    pair.send(Side::Client, &login);
    pair.send(Side::Client, &hex!("03 0002 0068 0069"));
    assert!(pair.got(Side::Server).ends_with(&hex!("03 0002 0048 0049")));
}

#[test]
fn the_servers_word_on_authentication_passes_and_is_said() {
    for (answer, comment) in [
        (&hex!("02 0001 2d")[..], "no authentication"),
        (&hex!("02 0001 2b"), "the server asks for a password"),
        (&hex!("02 0004 31663266"), "authentication at minecraft.net: this is the server's hash"),
    ] {
        let mut pair = plain(7);
        pair.send(Side::Client, &hex!("02 0005 5374657665"));
        pair.send(Side::Server, answer);
        assert_eq!(pair.got(Side::Client), answer);
        assert_eq!(pair.comments(), [None, Some(comment)]);
        assert_eq!(pair.session.context().player.as_deref(), Some("Steve"));
        assert_eq!(pair.seen(), ["handshake", "handshake"]);
    }
}

#[test]
fn a_login_without_a_handshake_tells_the_version_too() {
    for size in SIZES {
        let mut pair = plain(size);
        pair.send(Side::Client, &login(2));
        pair.send(Side::Server, &hex!("01 00000007 0000 0000 06 00000001 00000002 00000003"));
        assert_eq!(pair.seen(), ["login", "login", "spawn_position"]);
        assert_eq!(pair.session.context().version, Some(2));
        assert!(pair.records().iter().all(|it| it.packet.error().is_none()));
    }
}

#[test]
fn only_the_first_login_tells_the_version_and_none_after_an_unknown_packet() {
    let mut pair = Pair::alpha(7, 5, Pipeline::default());
    pair.send(Side::Client, &login(3));
    assert_eq!(pair.session.context().version, Some(5));
    let mut pair = plain(7);
    pair.send(Side::Client, &hex!("02 0005 5374657665 68"));
    pair.send(Side::Client, &login(3));
    assert_eq!(pair.session.context().version, None);
    assert!(pair.got(Side::Server).ends_with(&login(3)));
}

#[test]
fn an_unknown_id_makes_only_that_direction_opaque() {
    for size in SIZES {
        let mut pair = Pair::alpha(size, 5, Pipeline::default());
        let offset = 4;
        pair.send(Side::Server, &hex!("04 0000000000000001 68 0102 03 0001 61"));
        pair.send(Side::Client, &hex!("03 0002 6869"));
        assert_eq!(
            pair.got(Side::Client)[offset..],
            hex!("04 0000000000000001 68 0102 03 0001 61")
        );
        assert_eq!(pair.recorded(Direction::Clientbound), pair.got(Side::Client));
        assert_eq!(pair.seen().last().unwrap(), "chat");
        let records = pair.records();
        let raw = records.iter().find_map(|it| match it.packet.content() {
            Content::Raw(_, RawReason::Opaque(why)) => Some(why.clone()),
            _ => None,
        });
        assert_eq!(raw.unwrap(), "unknown packet id 0x68 at byte 13 of the stream");
        assert!(!pair.session.is_over());
    }
}

#[test]
fn rules_drop_and_rewrite_packets_without_frames() {
    for size in SIZES {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(Shout));
        let mut pair = Pair::alpha(size, 4, pipeline);
        let had = pair.got(Side::Server).len();
        pair.send(Side::Client, &hex!("03 0002 6869  03 0007 64726f70206d65  00"));
        assert_eq!(pair.got(Side::Server)[had..], hex!("03 0002 4849  00"));
        assert_eq!(pair.seen()[3..], ["~chat", "+chat", "-chat", "keep_alive"]);
        let sent = &pair.records()[4].packet;
        assert_eq!((sent.wire_size(), sent.size()), (5, 5));
    }
}

#[test]
fn the_last_words_of_an_alpha_session_arrive_and_are_its_reason() {
    for size in SIZES {
        let mut pair = Pair::alpha(size, 5, Pipeline::default());
        pair.send(Side::Server, &hex!("ff 0003 627965"));
        pair.input(Input::Closed(Side::Server));
        pair.send(Side::Client, &hex!("ff 0004 51756974"));
        pair.input(Input::Closed(Side::Client));
        assert!(pair.got(Side::Server).ends_with(&hex!("ff 0004 51756974")));
        assert_eq!(pair.reason(), Some("disconnected by the server: bye"));
    }
}

#[test]
fn a_packet_that_never_became_whole_is_recorded_with_the_field_in_which_it_ends() {
    for size in SIZES {
        let mut pair = Pair::alpha(size, 5, Pipeline::default());
        let had = pair.got(Side::Server).len();
        pair.send(Side::Client, &hex!("03 0010 6869"));
        assert_eq!(pair.got(Side::Server).len(), had);
        pair.input(Input::Closed(Side::Client));
        assert_eq!(pair.got(Side::Server)[had..], hex!("03 0010 6869"));
        let records = pair.records();
        let Some(Undecoded::Decode(error)) = records.last().unwrap().packet.error() else {
            panic!()
        };
        assert_eq!((error.at, &*error.path), (1, "message"));
        assert_eq!(pair.seen().last().unwrap(), "chat");
        assert_eq!(
            *pair.comments().last().unwrap(),
            Some("the connection ended within this packet")
        );
    }
}

#[test]
fn logins_between_alpha_and_1_7_are_relayed_and_say_what_they_are() {
    for (bytes, why) in [
        (
            &hex!("02 0005 5374657665 01 0000000b 0005 5374657665 0000 0000000000000000 00")[..],
            "login with the unknown protocol number 11",
        ),
        (
            // Alpha 1.0.16 had the number of Beta 1.7.
            &hex!("02 0005 5374657665 01 0000000e 0005 5374657665 0000"),
            "login with the unknown protocol number 14",
        ),
        (&hex!("01 0000000c 0005 5374657665"), "login with the unknown protocol number 12"),
        (&hex!("01 0000004e 0000"), "login with the unknown protocol number 78"),
        (
            &hex!("02 0001 0053 01 0000000f 0001 0053 0000000000000000 00"),
            "login with the unknown protocol number 15",
        ),
        (&hex!("02 3e 0002 0053 0074"), "login with the unknown protocol number 62"),
    ] {
        for size in SIZES {
            let mut pair = plain(size);
            pair.send(Side::Client, bytes);
            pair.send(Side::Server, b"whatever");
            assert_eq!(pair.got(Side::Server), bytes);
            assert_eq!(pair.got(Side::Client), b"whatever");
            assert_eq!(pair.recorded(Direction::Serverbound), bytes);
            let records = pair.records();
            let Content::Raw(_, RawReason::Opaque(said)) = records.last().unwrap().packet.content()
            else {
                panic!()
            };
            let rest = "; before 1.7, the releases from Alpha 1.0.17 on are understood";
            assert_eq!(said.strip_suffix(rest), Some(why));
        }
    }
}

#[test]
fn a_handshake_of_254_bytes_is_no_ping_however_it_is_cut() {
    let host = "h".repeat(247);
    let frame = [&hex!("fe01 00 2f f701")[..], host.as_bytes(), &hex!("63dd 01")].concat();
    assert_eq!(frame.len(), 256);
    for cut in 1..frame.len() {
        let mut pair = plain(usize::MAX);
        pair.send(Side::Client, &frame[..cut]);
        pair.send(Side::Client, &frame[cut..]);
        pair.send(Side::Client, &hex!("01 00"));
        pair.send(Side::Server, &hex!("04 00 02 7b7d"));
        assert_eq!(pair.got(Side::Client), hex!("04 00 02 7b7d"));
        let got = pair.got(Side::Server);
        match cut {
            // A server that waits for a ping must see these at once, so the host stays.
            1 | 2 => {
                assert_eq!(got, [&frame[..], &hex!("01 00")].concat(), "{cut}");
                assert_eq!(pair.seen(), ["set_protocol", "ping_start", "server_info"]);
                assert!(pair.comments()[0].unwrap().contains("before it was whole"));
            }
            _ => assert_eq!(got, b"\x14\x00\x2f\x0emc.example.org\x63\xdd\x01\x01\x00", "{cut}"),
        }
    }
    let mut pair = plain(1);
    pair.send(Side::Client, &[&frame[..], &hex!("01 00")].concat());
    assert_eq!(pair.got(Side::Server), [&frame[..], &hex!("01 00")].concat());
}

#[test]
fn an_alpha_player_is_told_that_the_upstream_cannot_be_reached() {
    for size in SIZES {
        for early in [true, false] {
            for first in [hex!("02 0005 5374657665").to_vec(), login(5)] {
                let mut pair = unconnected(size, Pipeline::default());
                let refuse = |pair: &mut Pair| pair.input(Input::Refused(Cause::new("no route")));
                if early {
                    refuse(&mut pair);
                }
                pair.send(Side::Client, &first);
                if !early {
                    refuse(&mut pair);
                }
                let told = pair.got(Side::Client);
                assert_eq!(told[0], 0xff);
                let text = String::from_utf8_lossy(&told[3..]).into_owned();
                assert_eq!(text, "mitmcraft: cannot reach the server: no route");
                assert_eq!(usize::from(told[2]), text.len());
                assert!(pair.outputs.contains(&Output::Shutdown(Side::Client)));
                assert_eq!(pair.session.context().player.as_deref(), Some("Steve"));
            }
        }
    }
}

#[test]
fn an_old_ping_is_told_that_the_upstream_cannot_be_reached_once_it_is_whole() {
    for size in SIZES {
        for (request, expected) in [
            (&hex!("fe")[..], "mitmcraft: cannot reach the server: no route§0§0"),
            (
                &hex!("fe 01"),
                "§1\x00127\0mitmcraft\0mitmcraft: cannot reach the server: no route\x000\x000",
            ),
            (
                &hex!("fe 01 fa"),
                "§1\x00127\0mitmcraft\0mitmcraft: cannot reach the server: no route\x000\x000",
            ),
            (
                LONGEST_FORM,
                "§1\x0078\0mitmcraft\0mitmcraft: cannot reach the server: no route\x000\x000",
            ),
        ] {
            let mut pair = unconnected(size, Pipeline::default());
            pair.input(Input::Refused(Cause::new("no route")));
            pair.send(Side::Client, request);
            if request.len() <= 3 {
                assert!(pair.got(Side::Client).is_empty(), "more may come");
                let settle = pair.session.poll_timeout().unwrap();
                pair.session.handle(settle, Input::Timeout);
                pair.run();
            }
            let told = pair.got(Side::Client);
            let (units, _) = told[3..].as_chunks::<2>();
            let units: Vec<u16> = units.iter().map(|unit| u16::from_be_bytes(*unit)).collect();
            assert_eq!(String::from_utf16(&units).unwrap(), expected);
            assert_eq!(pair.seen(), ["-legacy_server_list_ping", "+kick_disconnect"]);
        }
    }
}

#[test]
fn an_alpha_player_of_an_unknown_version_is_let_go_without_a_server() {
    let mut pair = unconnected(7, Pipeline::default());
    pair.input(Input::Refused(Cause::new("no route")));
    pair.send(Side::Client, &hex!("02 0005 5374657665"));
    pair.send(Side::Client, &login(7));
    pair.input(Input::Closed(Side::Client));
    assert!(pair.session.is_over());
    assert!(pair.recorded(Direction::Serverbound).ends_with(&login(7)));
}

#[test]
fn a_request_that_never_ends_is_taken_as_whole_beyond_4_kib() {
    let mut request = vec![0; 4 << 10];
    request[..3].copy_from_slice(&hex!("fe 01 fa"));
    let mut pair = plain(usize::MAX);
    pair.send(Side::Client, &request);
    assert!(pair.records().is_empty());
    pair.send(Side::Client, &[0]);
    assert_eq!(pair.seen(), ["legacy_server_list_ping"]);
    let mut pair = unconnected(usize::MAX, Pipeline::default());
    pair.input(Input::Refused(Cause::new("no route")));
    pair.send(Side::Client, &request);
    assert!(pair.got(Side::Client).is_empty());
    pair.send(Side::Client, &[0]);
    assert!(pair.got(Side::Client).starts_with(&[0xff]));
}

#[test]
fn every_byte_of_an_old_stream_arrives_and_is_recorded_whatever_the_bytes_are() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    for round in 0..600 {
        let mut pair = match round % 4 {
            0 => Pair::alpha(SIZES[round % 3], 5, Pipeline::default()),
            _ => plain(SIZES[round % 3]),
        };
        let had = Side::ALL.map(|side| pair.got(side).len());
        let mut sent = [Vec::new(), Vec::new()];
        for (side, bytes) in Side::ALL.into_iter().zip(&mut sent) {
            bytes.extend((0..usize::from(random() / 2)).map(|_| random() >> (round % 8)));
            if let (Side::Client, Some(first)) = (side, bytes.first_mut()) {
                *first = [0x00, 0xfe, 0x01, 0x02][round % 4];
            }
        }
        if round % 8 == 1 && sent[0].len() > 1 {
            sent[0][1] = 1;
        }
        pair.send(Side::Client, &sent[0]);
        pair.send(Side::Server, &sent[1]);
        pair.input(Input::Closed(Side::Client));
        pair.input(Input::Closed(Side::Server));
        assert!(pair.session.is_over());
        for side in Side::ALL {
            let sent = &sent[side as usize];
            let other = side.other();
            assert!(pair.got(other)[had[other as usize]..] == sent[..], "round {round}");
            assert!(pair.recorded(side.sends()).ends_with(sent), "round {round}");
        }
    }
}

#[test]
fn captures_of_old_sessions_come_back_as_they_were() {
    let mut alpha = Pair::alpha(7, 5, Pipeline::default());
    alpha.send(Side::Server, &hex!("03 0002 6869  26 00000001 02  68 0102"));
    let mut ping = plain(7);
    ping.send(Side::Client, LONGEST_FORM);
    ping.send(Side::Server, ANSWERS[1]);
    for pair in [alpha, ping] {
        let mut text = Vec::new();
        let mut sink = crate::capture::JsonlSink::new(&mut text);
        for entry in &pair.entries {
            crate::capture::Sink::write(&mut sink, entry).unwrap();
        }
        crate::capture::Sink::flush(&mut sink).unwrap();
        drop(sink);
        let reader = crate::capture::JsonlReader::new(&text[..], Catalog::embedded());
        let back: Vec<Entry> = reader.map(Result::unwrap).collect();
        assert_eq!(back.len(), pair.entries.len());
        for (back, entry) in back.iter().zip(&pair.entries) {
            let (Entry::Packet(back), Entry::Packet(entry)) = (back, entry) else { continue };
            let of = |record: &Record| match record.packet.content() {
                Content::Frame(frame) => (frame.is_bare(), frame.wire().clone()),
                Content::Raw(bytes, _) => (false, bytes.clone()),
            };
            assert_eq!(of(back), of(entry));
            let family = |record: &Record| record.packet.context().protocol.family();
            assert_eq!(family(back), family(entry));
            assert_eq!(back.packet.error(), entry.packet.error());
            assert_eq!(back.packet.id(), entry.packet.id());
        }
    }
}
