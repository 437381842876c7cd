use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use super::{LegsInfo, TextPiece, cut};
use crate::store::Details;
use crate::view::words;
use mitmcraft_engine::text::FieldLine;
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet;
use mitmcraft_protocol::schema::{Direction, State};

/// Everything about one packet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PacketDetails {
    /// Its time, as RFC 3339.
    pub at: String,
    /// Seconds since its session began.
    pub t: f64,
    /// Its session.
    pub session: u64,
    /// Its number in the session.
    pub seq: u64,
    /// Its direction.
    pub dir: Direction,
    /// The state that it belongs to.
    pub state: State,
    /// Its id, if it has one.
    pub id: Option<i32>,
    /// Its name, if its type is known.
    pub name: Option<String>,
    /// The player of its session.
    pub player: Option<String>,
    /// The name of its version.
    pub version: String,
    /// The protocol number of its version.
    pub protocol: Option<i32>,
    /// `true` if its version is not known, so that everything decoded is a guess.
    pub guess: bool,
    /// Who made it.
    pub origin: &'static str,
    /// The proxy's verdict on it: `pass`, `drop`, `replace` and others.
    pub verdict: &'static str,
    /// The number of the packet that it replaces.
    pub of: Option<u64>,
    /// The row of the packet that was sent in its place, or in whose place it was sent.
    pub counterpart: Option<u64>,
    /// The request that it answers, or its answer.
    pub round_trip: Option<OtherPacket>,
    /// All comments, as captures have them.
    pub comment: Option<String>,
    /// The rules of the game that it breaks.
    pub diagnostics: Vec<Diagnostic>,
    /// The size of its inflated body.
    pub size: usize,
    /// Its size on the wire.
    pub wire: usize,
    /// The state of its session's legs at that time, if known.
    pub legs: Option<LegsInfo>,
    /// Why it does not decode.
    pub error: Option<DecodeError>,
    /// Its fields, up to an error.
    pub fields: Vec<Field>,
    /// The bytes in which the fields have their places, as base64.
    pub bytes: String,
    /// The number of bytes that were left out at the end.
    pub left_out: usize,
}

/// A packet that belongs to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OtherPacket {
    /// Its row.
    pub row: u64,
    /// The relation between the two, for people.
    pub text: String,
}

/// A rule of the game that a packet breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Diagnostic {
    /// Its name, as in `docs/diagnostics.md`.
    pub name: &'static str,
    /// A description of the problem.
    pub description: &'static str,
}

/// Why a packet does not decode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DecodeError {
    /// The reason.
    pub reason: String,
    /// The offset in the bytes at which decoding stopped.
    pub at: usize,
}

/// A field of a packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Field {
    /// The number of containers and lists around it.
    pub depth: usize,
    /// Its name, or its index in brackets.
    pub name: String,
    /// Its path: `items[3].itemCount`.
    pub path: String,
    /// Its value as text; empty for a container.
    pub value: String,
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// The meaning of the value, in words.
    pub meaning: Option<String>,
    /// The text that a player reads, if it is a text component.
    pub text: Option<Vec<TextPiece>>,
}

impl From<&Details> for PacketDetails {
    fn from(details: &Details) -> Self {
        let Details { record, legs, bytes, fields, error } = details;
        let packet = &record.packet;
        let context = packet.context();
        let shown = &bytes[..bytes.len().min(MAX_BYTES)];
        let diagnostic =
            |it: packet::Diagnostic| Diagnostic { name: it.name(), description: it.description() };
        Self {
            at: packet.at().to_string(),
            t: packet.at().since(context.opened).as_secs_f64(),
            session: context.session,
            seq: packet.seq(),
            dir: packet.direction(),
            state: packet.state(),
            id: packet.id(),
            name: packet.kind().map(|kind| kind.name().to_string()),
            player: context.player.clone(),
            version: words::version(context).to_owned(),
            protocol: context.version,
            guess: context.guess,
            origin: packet.origin().name(),
            verdict: record.outcome.name(),
            of: record.of,
            counterpart: None,
            round_trip: None,
            comment: record.comment.clone(),
            diagnostics: diagnose(packet).iter().map(diagnostic).collect(),
            size: packet.size(),
            wire: packet.wire_size(),
            legs: legs.as_ref().map(LegsInfo::from),
            error: error.clone().map(|(reason, at)| DecodeError { reason, at }),
            fields: fields.iter().map(Field::from).collect(),
            bytes: BASE64_STANDARD.encode(shown),
            left_out: bytes.len() - shown.len(),
        }
    }
}

impl From<&FieldLine> for Field {
    fn from(line: &FieldLine) -> Self {
        Self {
            depth: line.depth,
            name: cut(&line.name),
            path: cut(&line.path),
            value: cut(&line.value),
            start: line.bytes.start,
            end: line.bytes.end,
            meaning: line.meaning.as_deref().map(cut),
            text: line.component.as_ref().map(TextPiece::all),
        }
    }
}

/// Most bytes of a packet that are sent.
const MAX_BYTES: usize = 256 << 10;
