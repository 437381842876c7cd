use std::borrow::Cow;
use std::fmt::Write as _;

use super::escape::Escaped;
use super::plural::count;
use super::scalar::ByteSize;
use crate::capture::{Event, EventKind, LegState, Summary};
use mitmcraft_protocol::meaning::disconnect_words;
use mitmcraft_protocol::packet::{Context, plain_text};

/// Appends what happened, without time and session: `opened 127.0.0.1:51234 → localhost:25565`.
pub(super) fn write_event_text(out: &mut String, event: &Event) {
    match &event.kind {
        EventKind::Open => {
            let context = &event.context;
            let _ = write!(out, "opened {} → {}", context.client, Escaped(&context.upstream));
        }
        EventKind::State(legs) => write_state(out, event, legs, None),
        EventKind::Close(summary) => write_summary(out, event, summary),
    }
}

/// Appends the state of a session, or what of it is not that of `before`: `now in play`.
pub(super) fn write_state(
    out: &mut String,
    event: &Event,
    legs: &LegState,
    before: Option<(&Context, &LegState)>,
) {
    let context = &event.context;
    let mut parts = Vec::new();
    if before.is_none_or(|(_, known)| known.state != legs.state) {
        parts.push(format!("now in {}", legs.state));
    }
    if let Some(version) = context.version
        && before.is_none_or(|(known, _)| {
            (known.version, known.guess, known.protocol.name())
                != (context.version, context.guess, context.protocol.name())
        })
    {
        let name = Escaped(context.game_version());
        let table = Escaped(context.protocol.newest_name());
        parts.push(match context.guess {
            true if name.0 == table.0 => format!("protocol {version} (a guess: {table})"),
            true => format!("protocol {version} ({name}; a guess: {table})"),
            false => format!("protocol {version} ({name})"),
        });
    }
    if let Some(player) = &context.player
        && before.is_none_or(|(known, _)| known.player != context.player)
    {
        parts.push(format!("player {}", Escaped(player)));
    }
    out.push_str(&parts.join(", "));
    let leg_texts = |legs: &LegState| {
        let client = leg(legs.client_threshold, legs.client_encrypted);
        let server = leg(legs.server_threshold, legs.server_encrypted);
        if client == server { client } else { format!("client {client}; server {server}") }
    };
    let now = leg_texts(legs);
    if before.is_none_or(|(_, known)| leg_texts(known) != now) {
        let separator = if parts.is_empty() { "" } else { "; " };
        let _ = write!(out, "{separator}{now}");
    }
}

fn leg(threshold: Option<usize>, encrypted: bool) -> String {
    let encrypted = if encrypted { "encrypted" } else { "not encrypted" };
    match threshold {
        Some(threshold) => format!("{encrypted}, compressed from {threshold} B"),
        None => format!("{encrypted}, not compressed"),
    }
}

fn write_summary(out: &mut String, event: &Event, summary: &Summary) {
    let seconds = event.at.since(event.context.opened).as_secs_f64();
    let _ = write!(
        out,
        "closed after {seconds:.3} s: {}; → {}, {}; ← {}, {}",
        Escaped(end_reason(&summary.reason)),
        count(summary.serverbound_packets, "packet"),
        ByteSize(summary.serverbound_bytes),
        count(summary.clientbound_packets, "packet"),
        ByteSize(summary.clientbound_bytes),
    );
}

/// Returns why a session ended, with the game's words in English. Earlier captures quote a server's component as JSON.
#[must_use]
pub fn end_reason(reason: &str) -> Cow<'_, str> {
    let Some((what, raw)) = reason.split_once(": ") else { return Cow::Borrowed(reason) };
    let words = match raw.starts_with(['{', '[', '"']) {
        true => Cow::Owned(plain_text(raw)),
        false => Cow::Borrowed(raw),
    };
    Cow::Owned(format!("{what}: {}", disconnect_words(&words)))
}
