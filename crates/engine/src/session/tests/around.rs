//! What surrounds the game: headers of proxies, foreign protocols, malformed handshakes, forwarded data, Forge.

use std::iter::once;

use hex_literal::hex;

use super::*;
use mitmcraft_protocol::codec::KeyRing;

const LINE: &[u8] = b"PROXY TCP4 198.51.100.7 192.0.2.7 51000 25565\r\n";

const BINARY: &[u8] = &hex!("0d0a0d0a000d0a515549540a 21 11 000c c6336407 c0000207 c738 63dd");

/// With a TLV (`PP2_TYPE_AUTHORITY`), and one without addresses.
const TLV: &[u8] =
    &hex!("0d0a0d0a000d0a515549540a 21 11 0014 c6336407 c0000207 c738 63dd 02 0005 6d632e6465");
const LOCAL: &[u8] = &hex!("0d0a0d0a000d0a515549540a 20 00 0000");

fn frame(body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).unwrap();
    // Lengths from 128 on have two bytes.
    let length = if length < 128 { vec![length] } else { vec![length, 1] };
    [&length, body].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// A handshake of 1.8, and what stands behind its host.
fn greeting(host: &str, rest: &[u8]) -> Vec<u8> {
    frame(&[&hex!("00 2f")[..], &text(host), rest].concat())
}

fn start() -> Vec<u8> {
    frame(&[&[0][..], &text("Steve")].concat())
}

/// A session that keeps the host, whose peers write bytes as they are.
fn plain(size: usize) -> Pair {
    let config = Config { keep_host: true, ..Config::default() };
    let mut pair = Pair::with(size, config, Pipeline::default());
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client.decoder.set_opaque();
    pair.server.decoder.set_opaque();
    pair
}

fn errors(entries: &[Entry]) -> Vec<String> {
    let records = entries.iter().filter_map(Entry::record);
    records.map(|it| it.packet.error().map_or(String::new(), |error| error.to_string())).collect()
}

/// The comments of the packets.
fn comments(entries: &[Entry]) -> Vec<String> {
    let records = entries.iter().filter_map(Entry::record);
    records.filter_map(|it| it.comment.clone()).collect()
}

/// The names of the packets with their states.
fn states(pair: &Pair) -> Vec<String> {
    let name = |record: &&Record| {
        let name = record.packet.kind().map_or_else(|| "?".into(), |it| it.name().to_string());
        format!("{} {name}", record.packet.state())
    };
    pair.records().iter().map(name).collect()
}

#[test]
fn a_proxy_header_that_was_not_asked_for_is_recorded_and_passed_on() {
    for header in [LINE, BINARY, TLV, LOCAL, &[LINE, BINARY].concat()] {
        for size in SIZES {
            let mut pair = plain(size);
            let sent = [header, &greeting("localhost", &hex!("63dd 01")), &[1, 0]].concat();
            pair.send(Side::Client, &sent);
            assert_eq!(pair.arrived.server, sent, "{size}");
            let states = states(&pair);
            let (raw, rest) = states.split_at(states.len() - 2);
            assert!(raw.iter().all(|it| it == "handshaking ?"), "{raw:?}");
            assert_eq!(rest, ["handshaking set_protocol", "status ping_start"]);
            let errors = errors(&pair.entries);
            assert!(errors[0].contains("PROXY header"), "{errors:?}");
            let said = comments(&pair.entries);
            assert!(said[0].starts_with("taken as a PROXY header, because "), "{said:?}");
            let said = |it: &&Output| matches!(it, Output::Notice(Notice::UnaskedPreamble { source, .. }) if source.port() == 51000);
            let headers = raw.len() - usize::from(header == LOCAL);
            assert_eq!(pair.outputs.iter().filter(said).count(), headers);
        }
    }
}

#[test]
fn the_host_behind_a_proxy_header_stays_as_it_is() {
    for size in SIZES {
        let mut pair = Pair::connected(size);
        pair.client.encoder.put(BINARY);
        pair.server.decoder.set_opaque();
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 1));
        let expected = [BINARY, &greeting("localhost", &hex!("63de 01"))].concat();
        assert_eq!(pair.arrived.server, expected, "{size}");
    }
}

#[test]
fn a_malformed_handshake_is_one_with_an_error_and_the_session_goes_on() {
    let rest = b"localhost\x63\xdd\x01";
    for (what, first, error, next) in [
        (
            "the host's length is a short",
            frame(&[&hex!("00 2f 0009")[..], rest].concat()),
            "left",
            true,
        ),
        (
            "the version is an int",
            frame(&[&hex!("00 0000002f 09")[..], rest].concat()),
            "left",
            true,
        ),
        ("there is no next state", greeting("localhost", &hex!("63dd")), "nextState", true),
        ("there is no port", greeting("localhost", &[]), "serverPort", true),
        ("the host is longer than the packet", frame(&hex!("00 2f 32 616263")), "serverHost", true),
        (
            "the host's length is negative",
            frame(&hex!("00 2f ffffffff0f 6162")),
            "serverHost",
            true,
        ),
        (
            "the version never ends",
            frame(&hex!("00 ffffffffffff 63dd 01")),
            "protocolVersion",
            false,
        ),
        ("there is no such state", greeting("localhost", &hex!("63dd 09")), "", true),
        ("the state is negative", greeting("localhost", &hex!("63dd ffffffff0f")), "", true),
        (
            "a field follows",
            greeting("localhost", &hex!("63dd 01 046e656f66")),
            "5 bytes left",
            true,
        ),
    ] {
        for size in SIZES {
            for (second, state) in
                [(vec![1, 0], "status ping_start"), (start(), "login login_start")]
            {
                let mut pair = plain(size);
                let sent = [&first[..], &second].concat();
                pair.send(Side::Client, &sent);
                assert_eq!(pair.arrived.server, sent, "{what}, {size}");
                let errors = errors(&pair.entries);
                assert!(errors[0].contains(error), "{what}, {size}: {errors:?}");
                let states = states(&pair);
                assert_eq!(states[0], "handshaking set_protocol", "{what}, {size}");
                // A handshake that names a state is not asked again.
                let named = what == "a field follows" && state.starts_with("login");
                if next && !named {
                    assert_eq!(states[1], state, "{what}, {size}: {errors:?}");
                }
                let said = comments(&pair.entries).concat();
                let first_of = ["taken as a malformed handshake, because", "`nextState` is not 1"];
                let is_said = first_of.iter().any(|it| said.contains(it));
                assert_eq!(is_said, what != "a field follows", "{what}: {said}");
                let (_, why) = state.split_once(' ').unwrap();
                let nameless = format!(
                    "taken as a {}, because",
                    if why == "login_start" { "login" } else { "status" }
                );
                if next && what != "a field follows" {
                    assert!(said.contains(&nameless), "{what}: {said}");
                }
            }
        }
    }
}

#[test]
fn a_field_behind_a_handshake_stays_when_the_host_is_replaced() {
    for size in SIZES {
        let mut pair = Pair::connected(size);
        pair.client.encoder.put(&greeting("localhost", &hex!("63de 01 046e656f66")));
        pair.run();
        let expected = greeting("mc.example.org", &hex!("63dd 01 046e656f66"));
        assert_eq!(pair.arrived.server, expected, "{size}");
    }
}

#[test]
fn what_follows_a_handshake_without_a_state_is_relayed_if_it_fits_none() {
    for size in SIZES {
        let mut pair = plain(size);
        let sent = [&greeting("localhost", &hex!("63dd"))[..], &hex!("03 77 01 02 02 00")].concat();
        pair.send(Side::Client, &sent);
        pair.send(Side::Server, b"bye");
        assert_eq!(pair.arrived.server, sent);
        assert_eq!(pair.arrived.client, b"bye");
        let errors = errors(&pair.entries);
        assert!(errors.last().unwrap().contains("names no state"), "{errors:?}");
    }
}

#[test]
fn bytes_that_may_be_a_handshake_are_not_kept_from_the_server() {
    // A message of MongoDB is one byte shorter than the frame that it seems to be.
    let message = [&hex!("3a000000 01000000 00000000 d4070000")[..], &[7; 42]].concat();
    for size in SIZES {
        let mut pair = plain(size);
        pair.send(Side::Client, &message);
        assert_eq!(pair.arrived.server, message, "{size}");
        pair.send(Side::Server, b"\x24\0\0\0answer");
        assert_eq!(pair.arrived.client, b"\x24\0\0\0answer");
        assert_eq!(errors(&pair.entries)[0], "not Minecraft: relayed as it came");
    }
}

#[test]
fn a_disconnect_of_the_game_ends_a_login_with_its_reason() {
    for size in SIZES {
        let mut pair = plain(size);
        pair.send(Side::Client, &[greeting("localhost", &hex!("63dd 02")), start()].concat());
        let kick = frame(&[&[0x40][..], &text(r#"{"text":"readerIndex(1)"}"#)].concat());
        pair.send(Side::Server, &kick);
        pair.input(Input::Closed(Side::Server));
        pair.input(Input::Closed(Side::Client));
        assert_eq!(pair.arrived.client, kick);
        assert_eq!(states(&pair).last().unwrap(), "login kick_disconnect");
        assert_eq!(pair.reason(), Some("disconnected by the server: readerIndex(1)"));
        let said = comments(&pair.entries);
        let expected = "taken as the Disconnect of another state, because ";
        assert!(said.iter().any(|it| it.starts_with(expected)), "{said:?}");
    }
}

#[test]
fn a_client_that_forge_resets_logs_in_again() {
    let hello = [&hex!("00 f205")[..], &text("localhost\0FML2\0"), &hex!("63dd 02")].concat();
    let (login, success) = (start(), frame(&[&[2][..], &[7; 16], &text("Steve")].concat()));
    let channel = text("fml:handshake");
    let reset = frame(&[&[0x17][..], &channel, &[98]].concat());
    let answer = frame(&[&hex!("02 62 01")[..], &channel, &hex!("01 63")].concat());
    let request = [&hex!("04 01")[..], &text("fml:loginwrapper"), &channel, &hex!("02 05 00")];
    let request = frame(&request.concat());
    let client_alive = frame(&[&[0x10][..], &[9; 8]].concat());
    let alive = frame(&[&[0x1f][..], &[9; 8]].concat());
    for size in SIZES {
        let mut pair = plain(size);
        pair.send(Side::Client, &[frame(&hello), login.clone()].concat());
        pair.send(Side::Server, &[&success[..], &reset].concat());
        // A packet of the game that was under way.
        pair.send(Side::Client, &[&client_alive[..], &answer].concat());
        pair.send(Side::Server, &request);
        pair.send(Side::Client, &frame(&hex!("02 01 00")));
        pair.send(Side::Server, &[&success[..], &alive].concat());
        pair.send(Side::Client, &client_alive);
        let expected = [
            "handshaking set_protocol",
            "login login_start",
            "login success",
            "play custom_payload",
            "play keep_alive",
            "login login_plugin_response",
            "login login_plugin_request",
            "login login_plugin_response",
            "login success",
            "play keep_alive",
            "play keep_alive",
        ];
        assert_eq!(states(&pair), expected, "{size}");
        let said = comments(&pair.entries);
        let expected = "taken as a second login, because Forge has reset the client";
        assert!(said.iter().any(|it| it.starts_with(expected)), "{said:?}");
        assert_eq!(
            (&pair.arrived.server, &pair.arrived.client),
            (&pair.sent.client, &pair.sent.server)
        );
    }
}

/// What a client sends, and the server's answer.
type Script = (String, Vec<u8>, Vec<u8>);

fn scripts() -> Vec<Script> {
    let status = [&greeting("localhost", &hex!("63dd 01"))[..], &[1, 0]].concat();
    let long = |rest: &[u8]| greeting(&"a".repeat(100), rest);
    let wide = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_be_bytes);
        u16::try_from(text.len()).unwrap().to_be_bytes().into_iter().chain(units).collect()
    };
    let release =
        [&hex!("02 4e")[..], &wide("Steve"), &wide("localhost"), &hex!("000063dd")].concat();
    let answer = frame(&hex!("00 02 7b7d"));
    let kick = hex!("ff 0002 0068 0069");
    let firsts: Vec<(&str, Vec<u8>, &[u8])> = vec![
        ("status", status.clone(), &answer),
        ("status, long host", [&long(&hex!("63dd 01"))[..], &[1, 0]].concat(), &answer),
        ("login", [greeting("localhost", &hex!("63dd 02")), start()].concat(), &hex!("02 03 40")),
        (
            "transfer",
            [greeting("localhost", &hex!("63dd 03")), start()].concat(),
            &hex!("02 03 40"),
        ),
        ("Forge", [greeting("localhost\0FML\0", &hex!("63dd 02")), start()].concat(), &answer),
        ("forwarded", greeting("a\x00198.51.100.7\0b50ad385", &hex!("63dd 02")), &answer),
        ("shielded", greeting("a///198.51.100.7:1///1///c2ln", &hex!("63dd 02")), &answer),
        ("filtered", greeting(r"a\\uuid\\198.51.100.7\\", &hex!("63dd 02")), &answer),
        ("extended", greeting("localhost", &hex!("63dd 02 046e656f66")), &answer),
        ("no state", greeting("localhost", &hex!("63dd")), &answer),
        ("bad state", [greeting("localhost", &hex!("63dd 09")), start()].concat(), &answer),
        ("short host", frame(b"\x00\x2f\x00\x09localhost\x63\xdd\x01"), &answer),
        ("cut host", frame(&hex!("00 2f 32 616263")), &answer),
        ("endless version", frame(&hex!("00 ffffffffffff 63dd 01")), &answer),
        ("empty frames", hex!("00 00 00").to_vec(), &answer),
        ("wrong id", frame(&hex!("05 00")), &answer),
        ("Beta's ping", hex!("fe").to_vec(), &kick),
        ("1.4's ping", hex!("fe 01").to_vec(), &kick),
        (
            "1.6's ping",
            [&hex!("fe 01 fa")[..], &wide("MC|PingHost"), &hex!("0007 4e 0000 000063dd")].concat(),
            &kick,
        ),
        ("Alpha", hex!("02 0005 5374657665").to_vec(), &hex!("02 0001 2d")),
        ("Beta", [&[2][..], &wide("Steve")].concat(), &hex!("02 0001 002d")),
        ("1.6", release, &kick),
        ("a login without a handshake", hex!("01 0000000e").to_vec(), &kick),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), b"HTTP/1.1 200 OK\r\n\r\n"),
        ("TLS", hex!("16 03 01 0005 0100000100").to_vec(), &hex!("15 03 01 0002 0228")),
        ("SSH", b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), b"SSH-2.0-b\r\n"),
        ("RDP", hex!("03 00 0013 0e e0 000000000001000800 03000000").to_vec(), b"\x03\x00"),
        ("RCON", hex!("0e000000 07000000 03000000 70617373 0000").to_vec(), b"\x0a\0\0\0"),
        ("MongoDB", [&hex!("3a000000 01000000 00000000")[..], &[7; 46]].concat(), b"$"),
        ("nearly a header", b"PROXY TCP4 nonsense\r\n".to_vec(), b"no"),
        ("nearly a binary header", [&BINARY[..12], &hex!("99 11 0000")].concat(), b"no"),
        ("nothing", Vec::new(), b"hello"),
    ];
    let heads = [("", &b""[..]), ("a line, ", LINE), ("a header, ", BINARY), ("TLVs, ", TLV)];
    let with = |(head, header): &(&str, &[u8])| {
        let of = |(name, sent, answer): &(&str, Vec<u8>, &[u8])| {
            (format!("{head}{name}"), [*header, sent].concat(), answer.to_vec())
        };
        firsts.iter().map(of).collect::<Vec<Script>>()
    };
    heads.iter().flat_map(with).collect()
}

/// The session that sees the script live, cut at one place, and what a recording of it tells.
fn run(script: &Script, cut: usize) -> (Pair, Vec<Entry>) {
    let (_, sent, answer) = script;
    let mut pair = plain(usize::MAX);
    let start = Start {
        session: 1,
        at: Timestamp(1_000_000_000),
        client: "127.0.0.1:50000".parse().unwrap(),
        upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
    };
    let (server, keys) = ("127.0.0.1:25565".parse().unwrap(), Arc::<KeyRing>::default());
    let mut observed = Session::observe(Arc::default(), start, server, keys).unwrap();
    let (first, second) = sent.split_at(cut);
    let steps = [(Side::Client, first), (Side::Client, second), (Side::Server, answer)];
    for (side, bytes) in steps.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        pair.send(side, bytes);
        observed.handle(Timestamp(pair.clock), Input::Received(side, bytes));
    }
    for side in Side::ALL {
        pair.input(Input::Closed(side));
        observed.handle(Timestamp(pair.clock), Input::Closed(side));
    }
    let mut entries = Vec::new();
    observed.take_entries(&mut entries);
    (pair, entries)
}

/// Runs the scripts cut at these places. What arrives and what is recorded are the bytes that were sent, and a
/// recording tells the same as the live session.
fn check(cuts: impl Fn(usize) -> Vec<usize>) {
    let scripts = scripts();
    assert!(scripts.len() >= 80);
    for script in &scripts {
        for cut in cuts(script.1.len().min(64)) {
            let (name, sent, answer) = script;
            let (pair, observed) = run(script, cut);
            assert_eq!(&pair.arrived.server, sent, "{name}, cut at {cut}");
            assert_eq!(&pair.arrived.client, answer, "{name}, cut at {cut}");
            assert_eq!(&pair.recorded(Direction::Serverbound), sent, "{name}, cut at {cut}");
            assert_eq!(&pair.recorded(Direction::Clientbound), answer, "{name}, cut at {cut}");
            assert_eq!(errors(&pair.entries), errors(&observed), "{name}, cut at {cut}");
            let said = comments(&observed);
            let is_same = |it: &String| said.contains(it) || !it.starts_with("taken as");
            assert!(comments(&pair.entries).iter().all(is_same), "{name}, cut at {cut}");
        }
    }
}

#[test]
fn bytes_pass_as_they_are_whatever_they_are_and_wherever_they_are_cut() {
    check(|length| (0..16).map(|step| step * length / 16).collect());
}

#[test]
#[ignore = "each script is cut at every place: run with --long"]
fn bytes_pass_as_they_are_wherever_they_are_cut_at_every_place() {
    check(|length| (0..length.max(1)).chain(once(length)).collect());
}
