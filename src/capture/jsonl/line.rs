//! Writes entries as lines of JSON, directly from the packets' bytes: the content of JSONL captures,
//! and of the blocks that pcapng captures have in addition to the streams.

use std::fmt;

use super::super::{Entry, Event, EventKind, LegState, Outcome, Record};
use super::map::JsonMap;
use crate::codec::CodecError;
use crate::packet::{Content, Origin, Packet, RawReason, Timestamp, Undecoded};
use crate::schema::Family;

/// The extent to which a packet is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::capture) enum Form {
    /// Everything.
    Full,
    /// Everything except the bytes.
    NoBody,
    /// Neither bytes nor fields.
    Outline,
    /// Everything that cannot be derived: no fields.
    Stored,
    /// Everything that cannot be derived from the bytes, the time and the direction, without defaults.
    Head,
}

/// Appends an entry's line, without a line feed.
pub(in crate::capture) fn write_entry(out: &mut Vec<u8>, entry: &Entry, form: Form) {
    match entry {
        Entry::Packet(record) => write_record(out, record, form),
        Entry::Event(event) => write_event(out, event),
    }
}

/// Appends a packet's line or head.
pub(in crate::capture) fn write_record(out: &mut Vec<u8>, record: &Record, form: Form) {
    let packet = &record.packet;
    let context = &packet.context;
    let whole = form != Form::Head;
    // Asked for before the id, so that a compressed body is inflated only once.
    let body = packet.body();

    let mut map = JsonMap::open(out);
    if whole {
        map.int("v", VERSION);
    }
    map.count("session", context.session);
    map.count("seq", packet.seq);
    if whole {
        map.plain("time", packet.at);
        map.bare("t", Seconds::between(context.opened, packet.at));
        map.word("dir", packet.direction.name());
    }
    if whole || packet.origin != Origin::of(packet.direction) {
        map.word("origin", packet.origin.name());
    }
    map.word("state", packet.state.name());
    map.int("protocol", context.protocol.version().into());
    write_family(&mut map, context.protocol.family());
    if context.guess {
        map.flag("guess", true);
    }
    if whole && packet.frame().is_some() {
        write_identity(&mut map, packet);
    }
    map.size("wire", packet.wire_size());
    if whole {
        map.size("size", packet.size());
    }
    if whole || record.outcome != Outcome::Pass {
        map.word("verdict", record.outcome.name());
    }
    if let Some(of) = record.of {
        map.count("of", of);
    }
    if let Some(comment) = &record.comment {
        map.text("comment", comment);
    }
    match body {
        Ok(body) => {
            if matches!(form, Form::Full | Form::NoBody) {
                write_fields(&mut map, packet);
            }
            if matches!(form, Form::Full | Form::Stored) {
                map.bytes("body", &body);
            }
        }
        Err(error) => write_raw(&mut map, packet, &error, form),
    }
    map.close();
}

/// Writes the family that the protocol number belongs to, unless it is that of 1.7 and later.
fn write_family(map: &mut JsonMap<'_>, family: Family) {
    if family != Family::Java {
        map.plain("family", family);
    }
}

fn write_identity(map: &mut JsonMap<'_>, packet: &Packet) {
    match packet.id() {
        Some(id) => map.int("id", id.into()),
        None => map.null("id"),
    }
    match packet.kind() {
        Some(packet) => map.text("packet", packet.name()),
        None => map.null("packet"),
    }
}

/// Writes the fields up to the first that does not decode, and the error if there is one.
fn write_fields(map: &mut JsonMap<'_>, packet: &Packet) {
    let decoded = match packet.kind() {
        Some(_) => {
            let out = map.key("fields");
            let start = out.len();
            let decoded = packet.write_json(out);
            if out.len() == start {
                out.extend_from_slice(b"{}");
            }
            decoded
        }
        None => packet.error().map_or(Ok(()), Err),
    };
    if let Err(error) = decoded {
        map.text("error", &error.to_string());
        map.size("at", error.at());
    }
}

/// Writes bytes that have no body.
fn write_raw(map: &mut JsonMap<'_>, packet: &Packet, error: &Undecoded, form: Form) {
    let opaque = matches!(error, Undecoded::Raw(RawReason::Opaque(_)));
    if form != Form::Head || opaque {
        map.text("error", &error.to_string());
    }
    let bytes = match &packet.content {
        Content::Frame(frame) => {
            map.word("raw", "frame");
            if let Some(threshold) = frame.threshold() {
                map.size("threshold", threshold);
            }
            if let Undecoded::Codec(CodecError::InflatedLimit { limit, .. }) = error {
                map.size("limit", *limit);
            }
            frame.wire()
        }
        Content::Raw(bytes, reason) => {
            map.word("raw", raw_name(reason));
            if let RawReason::Oversize { frame, left } = reason {
                map.size("frame", *frame);
                map.size("left", *left);
            }
            bytes
        }
    };
    if matches!(form, Form::Full | Form::Stored) {
        map.bytes("bytes", bytes);
    }
}

fn raw_name(reason: &RawReason) -> &'static str {
    match reason {
        RawReason::NotMinecraft => "relay",
        RawReason::Opaque(_) => "opaque",
        RawReason::Oversize { .. } => "oversize",
        RawReason::CutOff => "cutoff",
        RawReason::Injected => "injected",
    }
}

fn write_event(out: &mut Vec<u8>, event: &Event) {
    let context = &event.context;
    let mut map = JsonMap::open(out);
    map.int("v", VERSION);
    map.count("session", context.session);
    map.word("event", event.kind.name());
    map.plain("time", event.at);
    match &event.kind {
        EventKind::Open => {
            map.plain("client", context.client);
            map.text("upstream", &context.upstream);
            match context.server {
                Some(server) => map.plain("server", server),
                None => map.null("server"),
            }
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
            map.bare("duration", Seconds::between(context.opened, event.at));
        }
    }
    map.close();
}

fn write_legs(map: &mut JsonMap<'_>, event: &Event, legs: &LegState) {
    let context = &event.context;
    map.word("state", legs.state.name());
    match context.version {
        Some(version) => map.int("protocol", version.into()),
        None => map.null("protocol"),
    }
    map.text("version", context.protocol.name());
    write_family(map, context.protocol.family());
    if context.guess {
        map.flag("guess", true);
    }
    match &context.player {
        Some(player) => map.text("player", player),
        None => map.null("player"),
    }
    for (key, address, threshold, encrypted) in [
        ("client", Some(context.client), legs.client_threshold, legs.client_encrypted),
        ("server", context.server, legs.server_threshold, legs.server_encrypted),
    ] {
        let mut leg = JsonMap::open(map.key(key));
        match address {
            Some(address) => leg.plain("address", address),
            None => leg.null("address"),
        }
        match threshold {
            Some(threshold) => leg.size("threshold", threshold),
            None => leg.null("threshold"),
        }
        leg.flag("encrypted", encrypted);
        leg.close();
    }
}

/// Microseconds, displayed as seconds.
struct Seconds(u64);

impl Seconds {
    /// The time between two timestamps, each truncated to microseconds. The opening of a session
    /// that is computed back from any of its packets is then right for all of them.
    fn between(opened: Timestamp, at: Timestamp) -> Self {
        Self((at.0 / 1000).saturating_sub(opened.0 / 1000))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// The format's version. New keys do not change it: readers ignore keys that they do not know.
pub(super) const VERSION: i64 = 1;
