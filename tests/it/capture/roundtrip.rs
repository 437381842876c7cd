//! JSONL to pcapng and Parquet and back: whole captures of every kind of session.

use mitmcraft_engine::capture::{Entry, Outcome};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Origin, RawReason};
use mitmcraft_protocol::schema::{Catalog, Direction, Family, State, query_magic};
use proptest::collection::vec;
use proptest::prelude::*;

use super::parquet::{from_parquet, to_parquet};
use super::{from_jsonl, from_pcapng, interleaved, to_jsonl, to_pcapng};
use crate::support::samples::*;

/// One step of a session.
#[derive(Debug, Clone)]
enum Step {
    /// A body, its outcome and a comment.
    Packet(Vec<u8>, Direction, Outcome, bool),
    /// A received body and the one sent in its place.
    Rewrite(Vec<u8>, Vec<u8>, Direction),
    /// A body that was received compressed.
    Compressed(Vec<u8>),
    /// Bytes without a packet, and the kind of reason.
    Raw(Vec<u8>, Direction, u8),
    /// A frame that does not inflate.
    Broken(Vec<u8>),
    /// A change of state, compression and encryption.
    State(usize, Option<usize>, bool),
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Clientbound), Just(Serverbound)]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![9 => vec(any::<u8>(), 0..60), 1 => vec(any::<u8>(), 64_990..65_010)]
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = (0..Outcome::ALL.len()).prop_map(|place| Outcome::ALL[place]);
    prop_oneof![
        4 => (body(), direction(), outcome, any::<bool>())
            .prop_map(|(body, way, outcome, comment)| Step::Packet(body, way, outcome, comment)),
        1 => (body(), body(), direction()).prop_map(|(came, went, way)| Step::Rewrite(came, went, way)),
        1 => vec(any::<u8>(), 1..500).prop_map(Step::Compressed),
        1 => (body(), direction(), 0..5u8).prop_map(|(bytes, way, kind)| Step::Raw(bytes, way, kind)),
        1 => vec(any::<u8>(), 1..40).prop_map(Step::Broken),
        1 => (0..5usize, proptest::option::of(0..9999usize), any::<bool>())
            .prop_map(|(state, threshold, encrypted)| Step::State(state, threshold, encrypted)),
    ]
}

/// A protocol of any family, and the steps of a session with it.
fn session() -> impl Strategy<Value = ((Family, i32), bool, Vec<Step>)> {
    let spoken = prop_oneof![
        3 => Just((Family::Java, 47)),
        1 => Just((Family::Java, 770)),
        1 => (1..=6).prop_map(|version| (Family::Alpha, version)),
        1 => Just((Family::Legacy, 14)),
        1 => Just((Family::LegacyPing, 0)),
        1 => Just((Family::Query, 0)),
    ];
    (spoken, any::<bool>(), vec(step(), 0..12))
}

fn played(
    number: u64,
    (family, version): (Family, i32),
    six: bool,
    steps: Vec<Step>,
) -> Vec<Entry> {
    let [client, server] = if six {
        ["[2001:db8::7]:51234", "[2001:db8::1]:25565"]
    } else {
        ["127.0.0.1:51234", "192.0.2.7:25565"]
    };
    let mut stage = Stage::new(number, client, server);
    stage.open();
    stage.context.protocol = Catalog::embedded().find_in(family, version).unwrap().protocol;
    stage.context.version = Some(version);
    stage.state(Login, None, false);
    let frame = |body: Vec<u8>, way| match family {
        Family::Java => Frame::from_body(body.into()),
        Family::Query => {
            let magic = query_magic(way);
            Frame::datagram([magic, &body].concat().into(), magic.len())
        }
        _ => Frame::bare(body.into()),
    };
    for step in steps {
        match step {
            Step::Packet(body, way, outcome, comment) => {
                let record = stage.content(way, Play, Content::Frame(frame(body, way)));
                record.outcome = outcome;
                record.comment = comment.then(|| "why: \"\u{fc}\"".to_owned());
                if outcome == Outcome::Send {
                    record.packet.set_origin(Origin::Proxy);
                }
            }
            Step::Rewrite(came, went, way) => {
                let record = stage.content(way, Play, Content::Frame(frame(came, way)));
                record.outcome = Outcome::Rewrite;
                let of = record.packet.seq();
                let record = stage.content(way, Play, Content::Frame(frame(went, way)));
                (record.outcome, record.of) = (Outcome::Send, Some(of));
                record.packet.set_origin(Origin::Proxy);
            }
            Step::Compressed(body) if family == Family::Java => {
                stage.content(Clientbound, Play, Content::Frame(compressed(&body, 64)));
            }
            Step::Raw(bytes, way, kind) => {
                let left = bytes.len();
                let reason = match kind {
                    0 => RawReason::NotMinecraft,
                    1 => RawReason::Opaque("it \"says\" so".to_owned()),
                    2 => RawReason::Oversize { frame: 2 * left, left },
                    3 => RawReason::CutOff,
                    _ => RawReason::Injected,
                };
                stage.raw(way, &bytes, reason);
            }
            Step::Broken(bytes) if family == Family::Java => {
                // Declares 100 inflated bytes, and does not inflate.
                let wire = [&[bytes.len() as u8 + 1, 100][..], &bytes].concat();
                stage.content(Clientbound, Play, Content::Frame(received(&wire, 64, 1000)));
            }
            Step::State(state, threshold, encrypted) => {
                let states = [Handshaking, Status, Login, State::Configuration, Play];
                stage.state(states[state], threshold, encrypted);
            }
            Step::Compressed(_) | Step::Broken(_) => {}
        }
    }
    stage.close("over");
    stage.entries
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_capture_is_the_same_after_jsonl_pcapng_parquet_and_jsonl(sessions in vec(session(), 1..4)) {
        let sessions = sessions.into_iter().zip(1..);
        let sessions =
            sessions.map(|((spoken, six, steps), number)| played(number, spoken, six, steps));
        let entries = interleaved(sessions.collect());
        let first = to_jsonl(&entries);
        let (read, errors) = from_jsonl(first.as_bytes());
        prop_assert!(errors.is_empty(), "{:?}", errors);
        prop_assert_eq!(&to_jsonl(&read), &first);
        let (read, errors) = from_pcapng(&to_pcapng(&read));
        prop_assert!(errors.is_empty(), "{:?}", errors);
        prop_assert_eq!(&to_jsonl(&read), &first);
        let (read, errors) = from_parquet(&to_parquet(&read));
        prop_assert!(errors.is_empty(), "{:?}", errors);
        prop_assert_eq!(&to_jsonl(&read), &first);
    }
}
