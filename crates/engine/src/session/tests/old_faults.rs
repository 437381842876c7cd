//! Bytes of before 1.7 that are cut off or say a wrong length: all of them arrive and are recorded
//! with the reason and the offset, and what waits for more asks for nothing meanwhile.

use hex_literal::hex;

use super::old::{plain_with, unconnected};
use super::old_pings::{ANSWERS, LONGEST_FORM};
use super::*;
use mitmcraft_protocol::packet::{Cause, Content, Undecoded};
use mitmcraft_protocol::schema::DecodeError;

fn plain(size: usize) -> Pair {
    plain_with(size, Pipeline::default())
}

/// Where the last record does not decode.
fn fault(pair: &Pair) -> Option<DecodeError> {
    pair.records().last()?.packet.error().map(|error| match error {
        Undecoded::Decode(error) => error,
        other => panic!("{other:?}"),
    })
}

/// Nothing is to be done before more bytes come, but what limits a session: a driver sleeps.
fn sleeps(pair: &mut Pair) -> bool {
    let session = &mut pair.session;
    session.poll_output().is_none()
        && session.poll_timeout().is_none_or(|at| at.0 > pair.clock + LATER)
        && Side::ALL
            .iter()
            .all(|side| session.pending(*side).is_empty() && session.wants_read(*side))
}

#[test]
fn a_request_cut_at_any_length_arrives_and_is_recorded() {
    for length in 1..LONGEST_FORM.len() {
        let request = &LONGEST_FORM[..length];
        for size in SIZES {
            let mut pair = plain(size);
            pair.send(Side::Client, request);
            assert!(sleeps(&mut pair), "{length}");
            pair.input(Input::Closed(Side::Client));
            assert_eq!(pair.got(Side::Server), request);
            assert_eq!(pair.recorded(Direction::Serverbound), request);
            // The first three are forms of their own.
            match fault(&pair) {
                Some(error) => assert!(error.at <= length && !error.path.is_empty(), "{error}"),
                None => assert!(length <= 3, "{length}"),
            }
            pair.input(Input::Closed(Side::Server));
            assert!(pair.session.is_over());
        }
    }
}

#[test]
fn an_answer_cut_at_any_length_arrives_and_is_recorded() {
    for answer in ANSWERS {
        for length in 1..answer.len() {
            for size in SIZES {
                let mut pair = plain(size);
                pair.send(Side::Client, &hex!("fe"));
                pair.send(Side::Server, &answer[..length]);
                assert!(sleeps(&mut pair), "{length}");
                pair.input(Input::Closed(Side::Server));
                assert_eq!(pair.got(Side::Client), answer[..length]);
                assert_eq!(pair.recorded(Direction::Clientbound), answer[..length]);
                let error = fault(&pair).unwrap();
                assert_eq!((error.at, &*error.path), (1, "reason"), "{length}");
                pair.input(Input::Closed(Side::Client));
                assert!(pair.session.is_over());
            }
        }
    }
}

#[test]
fn a_status_since_1_7_cut_at_any_length_is_recorded() {
    let asked = hex!("0f 00 2f 09 6c6f63616c686f7374 63dd 01 01 00");
    let answer = hex!("05 00 03 7b207d 09 01 0000000000000007");
    for (asked, answer) in (1..asked.len())
        .map(|length| (&asked[..length], &answer[..0]))
        .chain((1..answer.len()).map(|length| (&asked[..], &answer[..length])))
    {
        for size in SIZES {
            let mut pair = plain(size);
            pair.send(Side::Client, asked);
            pair.send(Side::Server, answer);
            assert!(sleeps(&mut pair), "{asked:02x?} {answer:02x?}");
            pair.input(Input::Closed(Side::Client));
            pair.input(Input::Closed(Side::Server));
            assert!(pair.session.is_over());
            assert_eq!(pair.recorded(Direction::Serverbound), asked);
            assert_eq!(pair.recorded(Direction::Clientbound), answer);
            assert_eq!(pair.got(Side::Client), answer);
        }
    }
}

#[test]
fn a_string_of_alpha_that_is_longer_than_it_says_makes_its_direction_opaque_with_the_offset() {
    for size in SIZES {
        let mut pair = Pair::alpha(size, 5, Pipeline::default());
        let had = Side::ALL.map(|side| pair.got(side).len());
        // "hey", and a length of 1: what follows is taken for an id.
        pair.send(Side::Client, &hex!("03 0001 686579 00"));
        pair.send(Side::Server, &hex!("03 0002 6869"));
        assert!(sleeps(&mut pair));
        assert_eq!(pair.got(Side::Server)[had[Side::Server as usize]..], hex!("03 0001 686579 00"));
        assert_eq!(pair.got(Side::Client)[had[Side::Client as usize]..], hex!("03 0002 6869"));
        let records = pair.records();
        let raw = records.iter().find_map(|record| match record.packet.content() {
            Content::Raw(_, RawReason::Opaque(why)) => Some(why.clone()),
            _ => None,
        });
        let why = raw.unwrap();
        let at = had[Side::Server as usize] + 4;
        assert!(why.contains("0x65") && why.contains(&at.to_string()), "{why}");
        assert_eq!(pair.seen().iter().filter(|name| *name == "chat").count(), 2);
    }
}

#[test]
fn a_string_of_alpha_that_never_comes_waits_without_a_timer_and_is_recorded_in_the_end() {
    for length in [3u16, 0x7fff, 0xffff] {
        for size in SIZES {
            let mut pair = Pair::alpha(size, 5, Pipeline::default());
            let had = pair.got(Side::Server).len();
            let chat = [&[0x03][..], &length.to_be_bytes(), b"hi"].concat();
            pair.send(Side::Client, &chat);
            assert!(sleeps(&mut pair));
            // The other direction goes on.
            pair.send(Side::Server, &hex!("00"));
            assert_eq!(pair.seen().last().unwrap(), "keep_alive");
            pair.input(Input::Closed(Side::Client));
            assert_eq!(pair.got(Side::Server)[had..], chat);
            let error = fault(&pair).unwrap();
            assert_eq!((error.at, &*error.path), (1, "message"));
        }
    }
}

/// What is due only then is how long a session may wait at all.
const LATER: u64 = 1_000_000_000;

/// The bytes forwarded early were flushed once more when the session ended.
#[test]
fn a_ping_cut_short_by_the_end_of_the_run_reaches_the_server_once() {
    let mut pair = Pair::connected(usize::MAX);
    pair.input(Input::Received(Side::Client, &[0xfe]));
    pair.input(Input::Stop(Cause::new("the run ends")));
    assert_eq!(pair.server.decoder.take_rest()[..], [0xfe]);
}

#[test]
fn a_ping_cut_short_by_the_login_timeout_reaches_the_server_once() {
    for size in SIZES {
        for request in [&hex!("fe")[..], &hex!("fe 01")] {
            let mut pair = plain(size);
            pair.send(Side::Client, request);
            while let Some(at) = pair.session.poll_timeout() {
                pair.clock = at.0;
                pair.input(Input::Timeout);
            }
            assert!(pair.session.is_over());
            assert_eq!(pair.reason(), Some("nothing came for 120 s (timeout `login`)"));
            assert_eq!(pair.got(Side::Server), request);
            assert_eq!(pair.recorded(Direction::Serverbound), request);
        }
    }
}

#[test]
fn a_ping_that_is_not_whole_when_the_run_ends_without_a_server_is_recorded_and_answered() {
    for size in SIZES {
        for length in 1..LONGEST_FORM.len() {
            let mut pair = unconnected(size, Pipeline::default());
            pair.input(Input::Refused(Cause::new("no route")));
            pair.send(Side::Client, &LONGEST_FORM[..length]);
            pair.input(Input::Stop(Cause::new("the run ends")));
            assert!(pair.session.is_over());
            assert_eq!(pair.recorded(Direction::Serverbound), LONGEST_FORM[..length]);
            assert!(
                pair.got(Side::Client).starts_with(&hex!("ff")),
                "{length} {:?} {size}",
                pair.seen()
            );
        }
    }
}
