//! Errors of meaning, planted into packets of each visited version: each is found in its packet and at its
//! place, and the same packets without the error have no finding. The packets are written here from the
//! documents of the protocol, not with the descriptions by which the linter reads them.

pub(crate) mod body;
pub(crate) mod chunks;
mod entities;
mod order;
pub(crate) mod packets;

use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::{context, rule_of, seq, text};
use crate::capture::{Entry, Record, Sink as _};
use crate::link::{Endpoint, Side};
use crate::lint::{LintReport, LintRule as Rule, Linter};
use body::{Body, body};
use mitmcraft_protocol::codec::{Frame, Limits};
use mitmcraft_protocol::packet::{
    Content, Context, Diagnostic, Packet as Judged, SentRegistries, Timestamp,
};
use mitmcraft_protocol::schema::{Catalog, Direction, State};

/// An error that is planted into packets.
pub(crate) struct Plant {
    pub(crate) name: &'static str,
    pub(crate) rule: Rule,
    /// Builds the packets with the error or without.
    pub(crate) build: Box<dyn Fn(bool) -> Vec<Packet>>,
}

/// A packet of the server.
#[derive(Clone)]
pub(crate) struct Packet {
    state: &'static str,
    pub(crate) name: &'static str,
    /// The id, if the version has none of that name.
    id: Option<i32>,
    body: Body,
    /// Seconds after the packet before it.
    pub(crate) after: u64,
    /// `true` if the packet is compressed, `false` if not, where there is a threshold of 256.
    compressed: Option<bool>,
    /// `true` for the packet with the error, if it is not the only one.
    pub(crate) is_at_fault: bool,
}

/// A packet of the game.
fn game(name: &'static str, body: Body) -> Packet {
    let (state, id, after, compressed) = ("play", None, 0, None);
    Packet { state, name, id, body, after, compressed, is_at_fault: false }
}

impl Plant {
    fn new(name: &'static str, rule: Rule, build: impl Fn(bool) -> Vec<Packet> + 'static) -> Self {
        Self { name, rule, build: Box::new(build) }
    }

    /// A plugin's message of that many bytes, compressed or not.
    fn compressed(
        name: &'static str,
        is: impl Fn(bool) -> (Diagnostic, usize, bool) + 'static,
    ) -> Self {
        let rule = Rule::Diagnosed(is(true).0);
        Self::new(name, rule, move |is_bad| {
            let (_, size, is_compressed) = is(is_bad);
            let message = body().text("test:a").raw(&vec![7; size]);
            vec![Packet { compressed: Some(is_compressed), ..game("custom_payload", message) }]
        })
    }
}

impl Packet {
    fn state(&self) -> State {
        self.state.parse().unwrap()
    }

    /// Returns the packet's id and fields.
    fn bytes(&self, version: i32) -> Vec<u8> {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let direction = Direction::Clientbound;
        let known = protocol.named(self.state(), direction, self.name);
        let id = self.id.unwrap_or_else(|| known.unwrap_or_else(|| panic!("{}", self.name)).id());
        body().varint(id).raw(&self.body.bytes).bytes
    }

    /// Returns the packet as it comes out of a connection, with its number and time.
    pub(crate) fn judged(&self, context: &Arc<Context>, seq: u64, at: Timestamp) -> Judged {
        let version = context.protocol.version();
        let bytes = self.bytes(version);
        let Some(is_compressed) = self.compressed else {
            let content = Content::Frame(Frame::from_body(bytes.into()));
            let direction = Direction::Clientbound;
            return Judged::new(Arc::clone(context), seq, at, direction, self.state(), content);
        };
        let framed = if is_compressed {
            let mut deflater = ZlibEncoder::new(Vec::new(), Compression::default());
            deflater.write_all(&bytes).unwrap();
            body().varint(bytes.len() as i32).raw(&deflater.finish().unwrap())
        } else {
            body().varint(0).raw(&bytes)
        };
        let mut endpoint = Endpoint::new(Side::Server, Context::clone(context), Limits::default());
        endpoint.enter(self.state());
        endpoint.set_compression(Some(256));
        endpoint.receive(&body().counted(&framed).bytes);
        endpoint.poll().unwrap()
    }
}

/// Judges packets as a session that begins with them.
fn judge(version: i32, packets: &[Packet]) -> LintReport {
    let context = Arc::new(context(version));
    let sent = packets::entered(version, &[]);
    let sent = sent.iter().filter(|packet| packet.name == "registry_data");
    let registries = sent.fold(SentRegistries::default(), |registries, packet| {
        registries.with(&packet.judged(&context, 1, Timestamp(0)))
    });
    let context = Arc::new(Context { registries: Arc::new(registries), ..(*context).clone() });
    let (mut linter, mut at) = (Linter::default(), Timestamp(0));
    for (seq, packet) in (1..).zip(packets) {
        at = Timestamp(at.0 + packet.after * 1_000_000_000);
        let packet = packet.judged(&context, seq, at);
        linter.write(&Entry::Packet(Record::passed(packet))).unwrap();
    }
    linter.finish().unwrap();
    linter.report()
}

/// The versions that a server is visited with by default.
const VERSIONS: [i32; 7] = [47, 340, 754, 758, 762, 765, 769];

#[test]
fn every_planted_error_is_found_in_its_packet_and_at_its_place() {
    let newest = Catalog::embedded().newest_release().unwrap();
    let mut failures = Vec::new();
    for version in VERSIONS.into_iter().chain([newest]) {
        let plants = packets::plants(version);
        assert!(plants.len() >= 25, "{version}: {}", plants.len());
        for Plant { name, rule, build } in plants {
            let good = judge(version, &build(false));
            if !good.findings.is_empty() {
                failures.push(format!("{version}: {name}: without an error:\n{}", text(&good)));
                continue;
            }
            let packets = build(true);
            let at = packets.iter().position(|packet| packet.is_at_fault).unwrap_or(0);
            let planted = &packets[at];
            let id = planted.bytes(version).len() - planted.body.bytes.len();
            // An unknown id is the place itself; some errors are no part of a packet.
            let place = match rule {
                Rule::IdUnknown => Some(0),
                _ => planted.body.mark.as_ref().map(|mark| id + mark.start),
            };
            let report = judge(version, &packets);
            let found = report.findings.iter();
            let found: Vec<_> = found
                .map(|it| (rule_of(it), seq(it), it.span.as_ref().map(|it| it.start)))
                .collect();
            let wanted = (rule, at as u64 + 1, place);
            if found != [wanted] {
                failures.push(format!(
                    "{version}: {name}: {wanted:?}, found {found:?}\n{}",
                    text(&report)
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
