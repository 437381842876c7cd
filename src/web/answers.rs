//! The parts of messages, as JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value as Json, json};

use crate::capture::{LegState, Record};
use crate::lang::{ExprError, Warning};
use crate::meaning::diagnose;
use crate::packet::{Diagnostic, StyledText, TextColor, Timestamp};
use crate::store::{Annotation, Details, Snapshot, StoredSession};
use crate::text::{FieldLine, write_summary};
use crate::view::{Comparison, ConversationLine, Interface, words};

/// Returns the actions of the page with their keys.
pub(super) fn actions() -> Json {
    let actions = Interface::Page.bindings().map(|binding| {
        json!({
            "name": binding.name,
            "keys": binding.keys,
            "names": binding.key_names(),
            "help": binding.help,
            "group": binding.group.title(),
        })
    });
    actions.collect()
}

/// Returns a moment in milliseconds since 1970, exact to a microsecond.
pub(super) fn millis(at: Timestamp) -> f64 {
    (at.0 / 1000) as f64 / 1000.0
}

/// Returns the moment that [`millis`] gives.
pub(super) fn moment(millis: f64) -> Timestamp {
    // The cast saturates.
    Timestamp((millis * 1000.0).round() as u64 * 1000)
}

/// Returns what a row of the list shows; `None` if it is no longer held.
pub(super) fn row(snapshot: &Snapshot, number: u64, previous: Option<u64>) -> Option<Json> {
    let row = snapshot.row(number)?;
    let context = snapshot.context(number)?;
    let before = previous.and_then(|number| snapshot.row(number)).map_or(row.at, |row| row.at);
    let mut json = json!({
        "row": number,
        "at": millis(row.at),
        "t": row.at.since(context.opened).as_secs_f64(),
        "delta": row.at.since(before).as_secs_f64(),
        "session": context.session,
        "seq": row.seq(),
        "dir": row.direction().name(),
        "state": row.state().name(),
        "name": snapshot.kind(number).map(|kind| kind.name().to_string()),
        "guess": context.guess,
        "size": row.size,
        "verdict": row.outcome().name(),
        "origin": row.origin().name(),
    });
    match snapshot.record(number) {
        Some(record) => summary(&mut json, snapshot, number, &record),
        None => json["summary"] = words::MISSING.into(),
    }
    Some(json)
}

fn summary(json: &mut Json, snapshot: &Snapshot, number: u64, record: &Record) {
    let mut text = String::new();
    write_summary(&mut text, record);
    json["summary"] = cut(text.trim(), MAX_SUMMARY).into();
    let marked = |comment: &String| comment.split("; ").any(|it| it == Annotation::MARK);
    json["marked"] = record.comment.as_ref().is_some_and(marked).into();
    json["note"] = snapshot.annotation(number).map(|it| it.comment.as_str()).into();
    json["comment"] = record.comment.as_deref().into();
    json["id"] = record.packet.id().into();
    json["wire"] = record.packet.wire_size().into();
    json["error"] = text.contains(" ! ").then(|| record.packet.error()).flatten().is_some().into();
}

/// Returns everything about one packet.
pub(super) fn details(details: &Details) -> Json {
    let Details { record, legs, bytes, fields, error } = details;
    let packet = &record.packet;
    let context = packet.context();
    let shown = &bytes[..bytes.len().min(MAX_BYTES)];
    json!({
        "at": packet.at().to_string(),
        "t": packet.at().since(context.opened).as_secs_f64(),
        "session": context.session,
        "seq": packet.seq(),
        "dir": packet.direction().name(),
        "state": packet.state().name(),
        "id": packet.id(),
        "name": packet.kind().map(|kind| kind.name().to_string()),
        "player": context.player,
        "version": context.protocol.name(),
        "protocol": context.version,
        "guess": context.guess,
        "origin": packet.origin().name(),
        "verdict": record.outcome.name(),
        "of": record.of,
        "comment": record.comment,
        "diagnostics": diagnose(packet).iter().map(diagnostic).collect::<Vec<_>>(),
        "size": packet.size(),
        "wire": packet.wire_size(),
        "legs": legs.as_ref().map(leg_state),
        "error": error.as_ref().map(|(reason, at)| json!({ "reason": reason, "at": at })),
        "fields": fields.iter().map(field).collect::<Vec<_>>(),
        "bytes": BASE64_STANDARD.encode(shown),
        "left_out": bytes.len() - shown.len(),
    })
}

fn diagnostic(diagnostic: Diagnostic) -> Json {
    json!({ "name": diagnostic.name(), "description": diagnostic.description() })
}

fn field(line: &FieldLine) -> Json {
    let mut json = json!({
        "depth": line.depth,
        "name": cut(&line.name, MAX_VALUE),
        "path": cut(&line.path, MAX_VALUE),
        "value": cut(&line.value, MAX_VALUE),
        "start": line.bytes.start,
        "end": line.bytes.end,
    });
    if let Some(meaning) = &line.meaning {
        json["meaning"] = cut(meaning, MAX_VALUE).into();
    }
    if let Some(component) = &line.component {
        json["text"] = spans(component);
    }
    json
}

/// Returns the fields of two packets side by side.
pub(super) fn comparison(comparison: &Comparison) -> Json {
    let rows = comparison.fields.iter().map(|field| {
        let [a, b] = field.values.each_ref().map(|it| it.as_ref().map(|it| cut(it, MAX_VALUE)));
        let (path, depth, same) = (&field.path, field.depth, field.is_same());
        json!({ "path": path, "depth": depth, "a": a, "b": b, "same": same })
    });
    rows.collect()
}

/// Returns a line of chat.
pub(super) fn conversation_line(line: &ConversationLine) -> Json {
    let packet = &line.record.packet;
    json!({
        "row": line.row,
        "at": millis(packet.at()),
        "session": packet.context().session,
        "dir": packet.direction().name(),
        "player": packet.context().player,
        "sender": line.sender.as_ref().map(spans),
        "text": line.text.as_ref().map(spans),
        "verdict": line.record.outcome.name(),
    })
}

/// Returns the pieces of a text with their colours (a digit of the game's 16, or `#rrggbb`) and formats.
pub(super) fn spans(text: &StyledText) -> Json {
    let spans = text.spans.iter().map(|span| {
        let mut json = json!({ "text": cut(&span.text, MAX_VALUE) });
        match span.color() {
            Some(TextColor::Named(digit)) => json["color"] = format!("{digit:x}").into(),
            Some(TextColor::Rgb(red, green, blue)) => {
                json["color"] = format!("#{red:02x}{green:02x}{blue:02x}").into();
            }
            None => {}
        }
        let formats: Vec<_> = span.formats().collect();
        if !formats.is_empty() {
            json["formats"] = formats.into();
        }
        json
    });
    spans.collect()
}

/// Returns a session.
pub(super) fn session(session: &StoredSession) -> Json {
    let context = &session.context;
    json!({
        "session": context.session,
        "capture": session.capture.as_deref(),
        "player": context.player,
        "client": context.client.to_string(),
        "server": context.server.map(|server| server.to_string()),
        "upstream": context.upstream,
        "version": context.protocol.name(),
        "protocol": context.version,
        "guess": context.guess,
        "legs": session.legs.as_ref().map(leg_state),
        "packets": session.packets,
        "bytes": session.bytes,
        "wire": session.wire,
        "opened": millis(context.opened),
        "last": millis(session.last),
        "closed": session.closed.as_ref().map(|(_, summary)| &summary.reason),
    })
}

fn leg_state(legs: &LegState) -> Json {
    json!({
        "state": legs.state.name(),
        "client": { "threshold": legs.client_threshold, "encrypted": legs.client_encrypted },
        "server": { "threshold": legs.server_threshold, "encrypted": legs.server_encrypted },
    })
}

/// Returns why an expression is none, with its place in UTF-16 units, in which browsers count.
pub(super) fn expression_error(error: &ExprError, text: &str) -> Json {
    let mut json = place(text, error.span.start, error.span.end);
    json.insert("message".into(), error.message.clone().into());
    json.insert("hint".into(), error.hint.clone().into());
    json.into()
}

pub(super) fn warning(warning: &Warning, text: &str) -> Json {
    let mut json = place(text, warning.span.start, warning.span.end);
    json.insert("message".into(), warning.message.clone().into());
    json.insert("hint".into(), warning.hint.clone().into());
    json.into()
}

fn place(text: &str, start: usize, end: usize) -> Map<String, Json> {
    let mut json = Map::new();
    json.insert("start".into(), units(text, start).into());
    json.insert("end".into(), units(text, end).into());
    json
}

/// Returns an offset in bytes as one in UTF-16 units.
pub(super) fn units(text: &str, at: usize) -> usize {
    let before = text.char_indices().take_while(|(place, _)| *place < at);
    before.map(|(_, char)| char.len_utf16()).sum()
}

/// Returns an offset in UTF-16 units as one in bytes.
pub(super) fn bytes(text: &str, units: usize) -> usize {
    let mut left = units;
    for (place, char) in text.char_indices() {
        if left < char.len_utf16() {
            return place;
        }
        left -= char.len_utf16();
    }
    text.len()
}

/// Returns the beginning of a text, with `…` if it is longer than `limit` characters.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Most characters of a summary.
const MAX_SUMMARY: usize = 300;

/// Most characters of a value.
const MAX_VALUE: usize = 4000;

/// Most bytes of a packet that are sent to the page.
const MAX_BYTES: usize = 256 << 10;
