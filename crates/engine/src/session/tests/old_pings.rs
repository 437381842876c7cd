//! The first three forms of the Server List Ping, with a server that can be reached.

use hex_literal::hex;

use super::old::{plain, plain_with};
use super::*;
use mitmcraft_protocol::packet::Undecoded;
use mitmcraft_protocol::schema::{DecodeCause, Family};

/// 1.6's request.
pub(super) const LONGEST_FORM: &[u8] = &hex!(
    "fe 01 fa 000b 004d0043007c00500069006e00670048006f00730074 0019
     4e 0009 006c006f00630061006c0068006f00730074 000063dd"
);

/// `motd§3§20` and the same since 1.4.
pub(super) const ANSWERS: [&[u8]; 2] = [
    &hex!("ff 0009 006d006f00740064 00a7 0033 00a7 00320030"),
    &hex!(
        "ff 0015 00a70031 0000 00340037 0000 0031002e0034002e0032 0000 006d006f00740064 0000 0033 0000 00320030"
    ),
];

#[test]
fn old_pings_are_forwarded_as_they_come_and_recorded_with_their_answer() {
    for (request, version) in [
        (&hex!("fe")[..], None),
        (&hex!("fe 01"), None),
        (&hex!("fe 01 fa"), None),
        (LONGEST_FORM, Some(78)),
    ] {
        for (answer, size) in ANSWERS.iter().flat_map(|it| SIZES.map(|size| (*it, size))) {
            let mut pair = plain(size);
            pair.send(Side::Client, request);
            assert_eq!(pair.got(Side::Server), request, "the server must not wait");
            assert!(pair.records().is_empty());
            pair.send(Side::Server, answer);
            assert_eq!(pair.got(Side::Client), answer);
            pair.input(Input::Closed(Side::Server));
            pair.input(Input::Closed(Side::Client));
            assert_eq!(pair.seen(), ["legacy_server_list_ping", "kick_disconnect"]);
            let records = pair.records();
            for record in &records {
                assert_eq!((record.packet.error(), record.packet.state()), (None, State::Status));
                assert_eq!(record.packet.context().protocol.family(), Family::LegacyPing);
            }
            assert_eq!(pair.session.context().version, version);
            assert_eq!(records[0].packet.frame().unwrap().wire()[..], *request);
            assert!(records[0].packet.at() < records[1].packet.at());
            assert!(pair.entries.is_sorted_by_key(Entry::at), "{:?}", pair.entries);
            assert!(pair.session.is_over());
        }
    }
}

#[test]
fn an_old_ping_that_gets_no_answer_is_recorded_when_a_side_closes() {
    for (request, error) in [
        (&hex!("fe")[..], None),
        (&hex!("fe 01"), None),
        (&LONGEST_FORM[..20], Some((3, "channel"))),
        (&LONGEST_FORM[..29], Some((29, "protocolVersion"))),
        (&hex!("fe 7f"), None),
        (&hex!("fe 7f 01 02"), Some((3, "channel"))),
    ] {
        for (size, side) in SIZES.into_iter().flat_map(|size| Side::ALL.map(|side| (size, side))) {
            let mut pair = plain(size);
            pair.send(Side::Client, request);
            pair.input(Input::Closed(side));
            pair.input(Input::Closed(side.other()));
            assert!(pair.session.is_over());
            assert_eq!(pair.got(Side::Server), request);
            assert_eq!(pair.seen(), ["legacy_server_list_ping"]);
            let found = pair.records()[0].packet.error();
            let found = found.map(|found| match found {
                Undecoded::Decode(error) => (error.at, error.path),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, error.map(|(at, path)| (at, path.to_owned())), "{request:02x?}");
        }
    }
}

#[test]
fn an_answer_that_was_cut_off_is_recorded_with_the_offset() {
    for size in SIZES {
        let mut pair = plain(size);
        pair.send(Side::Client, &hex!("fe 01"));
        pair.send(Side::Server, &ANSWERS[0][..9]);
        pair.input(Input::Closed(Side::Server));
        assert_eq!(pair.got(Side::Client), &ANSWERS[0][..9]);
        assert_eq!(pair.seen(), ["legacy_server_list_ping", "kick_disconnect"]);
        let Some(Undecoded::Decode(error)) = pair.records()[1].packet.error() else { panic!() };
        assert_eq!((error.at, &*error.path), (1, "reason"));
        assert!(matches!(error.cause, DecodeCause::Wire(wire) if wire.is_incomplete()));
    }
}

#[test]
fn a_ping_that_is_answered_with_something_else_goes_through() {
    for size in SIZES {
        let mut pair = plain(size);
        pair.send(Side::Client, &hex!("fe"));
        pair.send(Side::Server, b"HTTP/1.1 400");
        pair.send(Side::Client, &hex!("01 02 03"));
        assert_eq!(pair.got(Side::Client), b"HTTP/1.1 400");
        assert_eq!(pair.got(Side::Server), hex!("fe 010203"));
        assert_eq!(pair.recorded(Direction::Serverbound), hex!("fe 010203"));
        assert_eq!(pair.seen()[..2], ["legacy_server_list_ping", "?"]);
    }
}

struct Motd;

impl Filter for Motd {
    fn name(&self) -> &str {
        "motd"
    }

    fn apply(&mut self, packet: &Packet, _: &mut Effects) -> Verdict {
        let Some(ty) = packet.kind().filter(|it| **it.name() == *"kick_disconnect") else {
            return Verdict::Pass;
        };
        let value = fields([("reason", "new§0§1".into())]);
        Verdict::Replace(packet.context().protocol.encode(ty, &value).unwrap().into())
    }
}

#[test]
fn rules_rewrite_the_answer_of_an_old_ping() {
    for size in SIZES {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(Motd));
        let mut pair = plain_with(size, pipeline);
        pair.send(Side::Client, &hex!("fe"));
        pair.send(Side::Server, ANSWERS[0]);
        assert_eq!(pair.got(Side::Client), hex!("ff 0007 006e00650077 00a7 0030 00a7 0031"),);
        assert_eq!(
            pair.seen(),
            ["legacy_server_list_ping", "~kick_disconnect", "+kick_disconnect"]
        );
    }
}
