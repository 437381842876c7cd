//! Writes entries as lines of JSON, directly from the packets' bytes: the content of JSONL captures,
//! and of the blocks that pcapng captures have in addition to the streams.

use std::net::SocketAddr;

use serde_json::Value as Json;

use super::super::{Entry, Event, EventKind, LegState, Record};
use super::map::JsonMap;
use super::preamble::FORMAT_VERSION;
use crate::capture::head::{RawKind, crossed};
use mitmcraft_protocol::meaning::{About, diagnose, meanings};
use mitmcraft_protocol::packet::{Diagnostic, Packet, RawReason, Timestamp, Undecoded};
use mitmcraft_protocol::schema::{Family, Protocol};
use mitmcraft_protocol::wire::json::write_json_uint;

/// The extent to which a packet is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::capture) enum Form {
    /// Everything, with what values mean if wanted.
    Full(Option<Meanings>),
    /// Every key of an entry except those with the packet's bytes.
    NoBody(Option<Meanings>),
    /// Neither bytes nor fields.
    Outline,
    /// Everything that cannot be derived: no fields.
    Stored,
    /// Everything, for a program that decides on the packet. It has the number of its question as `id`, which
    /// the caller adds, and its own id as `packet_id`.
    Question,
}

impl Form {
    /// Returns whether it has the packet's bytes.
    fn has_bytes(self) -> bool {
        matches!(self, Self::Full(_) | Self::Stored | Self::Question)
    }
}

/// Facts from earlier packets of a session that decide what a packet's values mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::capture) struct Meanings {
    /// The knowledge from earlier packets about the packet.
    pub(in crate::capture) about: Option<About>,
}

/// Appends an entry's line, without a line feed.
pub(in crate::capture) fn write_entry(out: &mut Vec<u8>, entry: &Entry, form: Form) {
    match entry {
        Entry::Packet(record) => write_record(out, record, form),
        Entry::Event(event) => write_event(out, event),
    }
}

/// Appends a packet as an object of JSON without a line feed, as it is in JSONL captures
/// (`docs/captures.md`), without what values mean.
pub fn write_packet(out: &mut Vec<u8>, record: &Record) {
    write_record(out, record, Form::Full(None));
}

/// Returns a packet as an object of JSON: its line in a JSONL capture without fields and bytes.
pub(crate) fn packet_json(record: &Record) -> Json {
    let mut line = Vec::new();
    write_record(&mut line, record, Form::Outline);
    serde_json::from_slice(&line).unwrap_or_default()
}

/// Appends a packet as a line of JSON without a line feed, for a program that decides on it: as in a capture,
/// but its own id is `packet_id`, and it has no verdict. An `id` is still to be added.
pub(crate) fn write_question(out: &mut Vec<u8>, packet: Packet) {
    write_record(out, &Record::passed(packet), Form::Question);
}

fn write_record(out: &mut Vec<u8>, record: &Record, form: Form) {
    let packet = &record.packet;
    let context = packet.context();
    // Asked for before the id, so that a compressed body is inflated only once.
    let body = packet.body();

    let mut map = JsonMap::open(out);
    map.int("v", FORMAT_VERSION);
    map.count("session", context.session);
    if let (Form::Question, Some(player)) = (form, &context.player) {
        map.text("player", player);
    }
    map.count("seq", packet.seq());
    map.time("time", packet.at());
    write_seconds(map.key("t"), context.opened, packet.at());
    map.word("dir", packet.direction().name());
    map.word("origin", packet.origin().name());
    map.word("state", packet.state().name());
    map.int("protocol", context.protocol.version().into());
    write_family(&mut map, &context.protocol);
    if context.guess {
        map.flag("guess", true);
    }
    if packet.frame().is_some() {
        write_identity(&mut map, packet, form);
    }
    map.size("wire", packet.wire_size());
    map.size("size", packet.size());
    if form != Form::Question {
        map.word("verdict", record.outcome.name());
    }
    if let Some(of) = record.of {
        map.count("of", of);
    }
    if let Some(comment) = &record.comment {
        map.text("comment", comment);
    }
    if let Some(list) = diagnostics(packet, form) {
        map.bare("diagnostic", list);
    }
    match body {
        Ok(body) => {
            if let Form::Full(_) | Form::NoBody(_) | Form::Question = form {
                write_fields(&mut map, packet);
            }
            if let Form::Full(Some(meanings)) | Form::NoBody(Some(meanings)) = form
                && let Some(object) = meaning_object(packet, meanings)
            {
                map.key("meaning").extend_from_slice(&object);
            }
            if form.has_bytes() {
                map.bytes("body", &body);
            }
        }
        Err(error) => write_raw(&mut map, packet, &error, form),
    }
    map.close();
}

/// Writes the family that the protocol number belongs to, unless it is that of 1.7 and later, and the
/// description, unless it is built in.
fn write_family(map: &mut JsonMap<'_>, protocol: &Protocol) {
    if protocol.family() != Family::Java {
        map.plain("family", protocol.family());
    }
    if let Some(description) = protocol.description() {
        map.plain("table", description.id());
    }
}

fn write_identity(map: &mut JsonMap<'_>, packet: &Packet, form: Form) {
    let key = if form == Form::Question { "packet_id" } else { "id" };
    map.or_null(key, packet.id(), |map, id| map.int(key, id.into()));
    map.or_null("packet", packet.kind(), |map, packet| map.text("packet", packet.name()));
}

/// Writes the fields up to the first that does not decode, and the error if there is one.
fn write_fields(map: &mut JsonMap<'_>, packet: &Packet) {
    let decoded = match packet.kind() {
        Some(_) => write_values(map.key("fields"), packet),
        None => packet.error().map_or(Ok(()), Err),
    };
    if let Err(error) = decoded {
        map.text("error", &error.to_string());
        map.size("at", error.at());
    }
}

/// Appends the object of a packet's fields, up to the first that does not decode.
pub(in crate::capture) fn write_values(
    out: &mut Vec<u8>,
    packet: &Packet,
) -> Result<(), Undecoded> {
    let start = out.len();
    let decoded = packet.write_json(out);
    if out.len() == start {
        out.extend_from_slice(b"{}");
    }
    decoded
}

/// Returns a list in JSON of what a peer would disconnect for: what the body does not show, and with
/// meanings the rest, for which the packet is checked. `None` if there is nothing.
pub(in crate::capture) fn diagnostics(packet: &Packet, form: Form) -> Option<String> {
    let found = match form {
        Form::Full(Some(_)) | Form::NoBody(Some(_)) => diagnose(packet),
        _ => packet.noted(),
    };
    if found.is_empty() {
        return None;
    }
    let names: Vec<&str> = found.iter().map(Diagnostic::name).collect();
    Some(format!("[\"{}\"]", names.join("\",\"")))
}

/// Returns an object in JSON of what values mean, by the paths of their fields; `None` if none has a
/// meaning.
pub(in crate::capture) fn meaning_object(packet: &Packet, known: Meanings) -> Option<Vec<u8>> {
    let meanings = meanings(packet, known.about);
    if meanings.is_empty() {
        return None;
    }
    let mut object = Vec::new();
    let mut inside = JsonMap::open(&mut object);
    for (path, text) in meanings {
        // The names of annotated fields need no escaping.
        inside.text(&path, &text);
    }
    inside.close();
    Some(object)
}

/// Writes bytes that have no body.
fn write_raw(map: &mut JsonMap<'_>, packet: &Packet, error: &Undecoded, form: Form) {
    map.text("error", &error.to_string());
    let Some(kind) = RawKind::of(packet.content()) else { return };
    map.word("raw", kind.name());
    match kind {
        RawKind::Frame { threshold, limit } => {
            if let Some(threshold) = threshold {
                map.size("threshold", threshold);
            }
            if let Some(limit) = limit {
                map.size("limit", limit);
            }
        }
        RawKind::Bytes(RawReason::Oversize { frame, left }) => {
            map.size("frame", frame);
            map.size("left", left);
        }
        RawKind::Bytes(_) => {}
    }
    if form.has_bytes() {
        map.bytes(RAW_BYTES, crossed(packet.content()));
    }
}

fn write_event(out: &mut Vec<u8>, event: &Event) {
    let context = &event.context;
    let mut map = JsonMap::open(out);
    map.int("v", FORMAT_VERSION);
    map.count("session", context.session);
    map.word("event", event.kind.name());
    map.time("time", event.at);
    match &event.kind {
        EventKind::Open => {
            write_end(&mut map, "client", Some(context.client));
            map.text("upstream", &context.upstream);
            write_end(&mut map, "server", context.server);
        }
        EventKind::State(legs) => write_legs(&mut map, event, legs),
        EventKind::Close(summary) => {
            map.text("reason", &summary.reason);
            for (key, serverbound, clientbound) in [
                ("packets", summary.serverbound_packets, summary.clientbound_packets),
                ("bytes", summary.serverbound_bytes, summary.clientbound_bytes),
            ] {
                let mut counts = JsonMap::open(map.key(key));
                counts.count("serverbound", serverbound);
                counts.count("clientbound", clientbound);
                counts.close();
            }
            write_seconds(map.key("duration"), context.opened, event.at);
        }
    }
    map.close();
}

/// Writes one end of a new session.
fn write_end(map: &mut JsonMap<'_>, key: &str, address: Option<SocketAddr>) {
    let mut end = JsonMap::open(map.key(key));
    write_address(&mut end, "address", address);
    end.close();
}

fn write_address(map: &mut JsonMap<'_>, key: &str, address: Option<SocketAddr>) {
    map.or_null(key, address, |map, address| map.plain(key, address));
}

fn write_legs(map: &mut JsonMap<'_>, event: &Event, legs: &LegState) {
    let context = &event.context;
    map.word("state", legs.state.name());
    map.or_null("protocol", context.version, |map, number| map.int("protocol", number.into()));
    map.text("version", context.protocol.name());
    write_family(map, &context.protocol);
    if context.guess {
        map.flag("guess", true);
    }
    map.or_null("player", context.player.as_ref(), |map, player| map.text("player", player));
    for (key, address, threshold, encrypted) in [
        ("client", Some(context.client), legs.client_threshold, legs.client_encrypted),
        ("server", context.server, legs.server_threshold, legs.server_encrypted),
    ] {
        let mut leg = JsonMap::open(map.key(key));
        write_address(&mut leg, "address", address);
        leg.or_null("threshold", threshold, |leg, threshold| leg.size("threshold", threshold));
        leg.flag("encrypted", encrypted);
        leg.close();
    }
}

/// Appends the seconds between two timestamps, each truncated to microseconds. The opening of a session
/// that is computed back from any of its packets is then right for all of them.
fn write_seconds(out: &mut Vec<u8>, opened: Timestamp, at: Timestamp) {
    let micros = (at.0 / 1000).saturating_sub(opened.0 / 1000);
    // The digits of the fraction behind a 1, which becomes the point.
    write_json_uint(out, micros / 1_000_000);
    let point = out.len();
    write_json_uint(out, 1_000_000 + micros % 1_000_000);
    out[point] = b'.';
}

/// The key of bytes that are not a packet.
pub(super) const RAW_BYTES: &str = "raw_bytes";
