use std::fmt::Write as _;

use bytes::Bytes;

use super::paint::{Color, Paint};
use super::scalar::{ByteSize, Escaped, TimeOfDay, write_hex_dump};
use super::short::ShortFields;
use super::tree::FieldTree;
use super::{LineOptions, Verbosity};
use crate::capture::Reason;
use crate::capture::{Entry, Event, EventKind, LegState, Outcome, Record, Summary};
use crate::filter::Detail;
use crate::packet::{Content, Packet, Timestamp, Undecoded};
use crate::schema::{Direction, State};

/// Appends an entry as a line, or several, each ended with a line feed.
///
/// A packet that was rewritten is one line, `~` and what went in its place; with
/// [`Verbosity::All`] two, `~-` what came and `~+` what went. A name with `?` was decoded as another
/// version has it.
pub fn write_line(out: &mut String, entry: &Entry, options: &LineOptions) {
    match entry {
        Entry::Packet(record) => write_record(out, record, options),
        Entry::Event(event) => write_event(out, event, options),
    }
}

fn write_record(out: &mut String, record: &Record, options: &LineOptions) {
    let detail = record.notes.as_ref().and_then(|notes| notes.detail);
    let verbosity = match detail {
        Some(Detail::Name) => Verbosity::Main,
        Some(Detail::Full) => Verbosity::All,
        Some(Detail::Hex) => Verbosity::Hex,
        None => options.verbosity,
    };
    let main = verbosity == Verbosity::Main;
    if main && record.outcome == Outcome::Rewrite {
        return;
    }
    let paint = Paint::new(options.color);
    let packet = &record.packet;
    // Inflated once, before its id is asked for.
    let _ = packet.body();
    let start = out.len();
    write_head(out, packet, options);
    let error = match main {
        true if detail == Some(Detail::Name) => None,
        true => write_short(out, packet).err(),
        false => packet.error(),
    };
    if let Some(error) = &error {
        separate(out);
        paint.text(out, Color::Red, &format_args!("! {}", Escaped(Reason(error))));
    }
    if let Some(comment) = &record.comment {
        out.push_str("  ");
        paint.text(out, Color::Dim, &format_args!("// {}", Escaped(comment)));
    }
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
    insert_marks(out, start, record, (error.is_some(), main), options);
    if !main {
        write_parts(out, packet, verbosity == Verbosity::Hex, options);
    }
}

/// Time, session, direction, state, id and name.
fn write_head(out: &mut String, packet: &Packet, options: &LineOptions) {
    let paint = Paint::new(options.color);
    write_moment(out, packet.at, packet.context.session, options);
    let (arrow, color) = match packet.direction {
        Direction::Serverbound => ('→', Color::Green),
        Direction::Clientbound => ('←', Color::Cyan),
    };
    paint.text(out, color, &arrow);
    out.push(' ');
    let state = match packet.state {
        State::Handshaking => Color::Magenta,
        State::Status => Color::Blue,
        State::Login | State::Configuration => Color::Yellow,
        State::Play => Color::Plain,
    };
    paint.text(out, state, &format_args!("{:<6}", packet.state.name()));
    out.push(' ');
    let mut name = match (packet.kind(), packet.frame()) {
        (Some(packet), _) => Escaped(packet.name()).to_string(),
        (None, Some(_)) => "(unknown)".to_owned(),
        (None, None) => "(no packet)".to_owned(),
    };
    if packet.context.guess {
        name.push('?');
    }
    match packet.id() {
        Some(id) => paint.text(out, color, &format_args!("0x{id:02x} {name}")),
        None => paint.text(out, color, &format_args!("---- {name}")),
    }
    let room = NAME.saturating_sub(name.chars().count());
    let _ = write!(out, "{:room$}", "");
}

fn write_moment(out: &mut String, at: Timestamp, session: u64, options: &LineOptions) {
    let paint = Paint::new(options.color);
    paint.text(out, Color::Dim, &TimeOfDay::new(at, (options.offset)(at)));
    let _ = write!(out, " #{session} ");
}

/// The fields on the line, or how many bytes there are in their place.
pub(super) fn write_short(out: &mut String, packet: &Packet) -> Result<(), Undecoded> {
    out.push(' ');
    if let Content::Raw(bytes, _) = &packet.content {
        let _ = write!(out, "[{}]", ByteSize(bytes.len() as u64));
    }
    let mut fields = ShortFields::new(out);
    let walked = packet.walk(&mut fields);
    fields.finish();
    walked
}

/// A space, unless there is one.
fn separate(out: &mut String) {
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

/// The fields on lines of their own, and the bytes.
fn write_parts(out: &mut String, packet: &Packet, dumped: bool, options: &LineOptions) {
    let mut fields = FieldTree::new(out, Paint::new(options.color), dumped);
    let walked = packet.walk(&mut fields);
    if dumped || walked.is_err() {
        let bytes = bytes_of(packet);
        let limit = if dumped { usize::MAX } else { UNDECODED };
        write_hex_dump(out, &bytes, limit);
    }
}

/// The body, or all there is in its place.
fn bytes_of(packet: &Packet) -> Bytes {
    match (&packet.content, packet.body()) {
        (_, Ok(body)) => body,
        (Content::Frame(frame), Err(_)) => frame.wire().clone(),
        (Content::Raw(bytes, _), Err(_)) => bytes.clone(),
    }
}

/// Puts in front of the line what the proxy did, and whether the packet decodes. `main`: there is
/// one line for both versions of a rewritten packet.
fn insert_marks(
    out: &mut String,
    start: usize,
    record: &Record,
    (bad, main): (bool, bool),
    options: &LineOptions,
) {
    let mark = mark(record, main);
    let color = match record.outcome {
        Outcome::Drop => Color::Red,
        Outcome::Send if record.of.is_none() => Color::Magenta,
        _ => Color::Yellow,
    };
    let paint = Paint::new(options.color);
    let mut marks = String::new();
    if !mark.is_empty() {
        paint.text(&mut marks, color, &mark);
    }
    if bad {
        paint.text(&mut marks, Color::Red, &'!');
    }
    if !marks.is_empty() {
        marks.push(' ');
        out.insert_str(start, &marks);
    }
}

/// What stands in front of a packet for what the proxy did. `main`: there is one line for both
/// versions of a rewritten packet.
pub(super) fn mark(record: &Record, main: bool) -> &'static str {
    match (record.outcome, record.of) {
        (Outcome::Pass, _) => "",
        (Outcome::Drop, _) => "✗",
        (Outcome::Rewrite, _) => "~-",
        (Outcome::Send, Some(_)) if main => "~",
        (Outcome::Send, Some(_)) => "~+",
        (Outcome::Send, None) => "+",
    }
}

fn write_event(out: &mut String, event: &Event, options: &LineOptions) {
    let paint = Paint::new(options.color);
    let context = &event.context;
    write_moment(out, event.at, context.session, options);
    let mut text = String::new();
    write_event_text(&mut text, event);
    paint.text(out, Color::Bold, &text);
    out.push('\n');
}

pub(super) fn write_event_text(out: &mut String, event: &Event) {
    match &event.kind {
        EventKind::Open => {
            let context = &event.context;
            let _ = write!(out, "opened {} → {}", context.client, Escaped(&context.upstream));
        }
        EventKind::State(legs) => write_legs(out, event, legs),
        EventKind::Close(summary) => write_summary(out, event, summary),
    }
}

fn write_legs(out: &mut String, event: &Event, legs: &LegState) {
    let context = &event.context;
    let _ = write!(out, "now in {}", legs.state);
    if let Some(version) = context.version {
        let name = Escaped(context.protocol.name());
        let guess = if context.guess { "a guess: " } else { "" };
        let _ = write!(out, ", protocol {version} ({guess}{name})");
    }
    if let Some(player) = &context.player {
        let _ = write!(out, ", player {}", Escaped(player));
    }
    let client = leg(legs.client_threshold, legs.client_encrypted);
    let server = leg(legs.server_threshold, legs.server_encrypted);
    if client == server {
        let _ = write!(out, "; {client}");
    } else {
        let _ = write!(out, "; client {client}; server {server}");
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
        Escaped(&summary.reason),
        packets(summary.serverbound_packets),
        ByteSize(summary.serverbound_bytes),
        packets(summary.clientbound_packets),
        ByteSize(summary.clientbound_bytes),
    );
}

fn packets(count: u64) -> String {
    if count == 1 { "1 packet".to_owned() } else { format!("{count} packets") }
}

/// Characters that a packet's name has room for; most names fit.
const NAME: usize = 20;

/// So many bytes of what does not decode are shown without being asked for.
const UNDECODED: usize = 64;
