use std::fmt::Write as _;

use super::annotator::LineAnnotation;
use super::contents::contents_lines;
use super::cut::{cut, cut_before};
use super::escape::Escaped;
use super::event::write_event_text;
use super::marks::{gutter, gutter_width};
use super::paint::{Color, Paint};
use super::scalar::{LocalTime, TimeOfDay, write_hex_dump};
use super::short::write_short;
use super::tree::FieldTree;
use super::{LineOptions, TimeForm, Verbosity};
use crate::capture::{Entry, Event, Outcome, Reason, Record};
use crate::filter::Detail;
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::{Context, Diagnostics, Packet, Reading, Timestamp};
use mitmcraft_protocol::schema::{Direction, State};

/// Appends an entry as one or more lines, each ending with a line feed.
///
/// A rewritten packet is one line, marked `~`, that shows its replacement. With [`Verbosity::All`]
/// it is two: `~-` for the original and `~+` for the replacement. A name with `?` was decoded by the
/// description of another version.
pub fn write_line(out: &mut String, entry: &Entry, options: &LineOptions) {
    write_annotated_line(out, entry, &LineAnnotation::default(), options);
}

/// Appends an entry like [`write_line`], with what earlier packets and events of its session tell about
/// it. An event that says nothing new has no line.
pub fn write_annotated_line(
    out: &mut String,
    entry: &Entry,
    annotation: &LineAnnotation,
    options: &LineOptions,
) {
    match entry {
        Entry::Packet(record) => write_record(out, record, annotation, options),
        Entry::Event(event) => write_event(out, event, annotation.news.as_deref(), options),
    }
}

fn write_record(
    out: &mut String,
    record: &Record,
    annotation: &LineAnnotation,
    options: &LineOptions,
) {
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
    let paint = Paint(options.color);
    let packet = &record.packet;
    packet.inflate();
    let start = out.len();
    write_head(out, packet, options);
    let error = if !main {
        packet.error()
    } else if detail == Some(Detail::Name) {
        None
    } else {
        write_short(out, packet, options.color, true, annotation.about).err()
    };
    let fields_end = out.len();
    if let Some(error) = &error {
        separate(out);
        paint.text(out, Color::Red, &format_args!("! {}", Escaped(Reason(error))));
    }
    let found = if detail == Some(Detail::Name) { Diagnostics::NONE } else { diagnose(packet) };
    for diagnostic in found.iter() {
        separate(out);
        paint.text(out, Color::Red, &format_args!("!! {diagnostic}"));
    }
    if let Some(comment) = &record.comment {
        out.push_str("  ");
        paint.text(out, Color::Dim, &format_args!("// {}", Escaped(comment)));
    }
    out.push_str(&annotation.suffix);
    out.truncate(out.trim_end_matches(' ').len());
    let width = gutter_width(options.verbosity);
    let gutter = gutter(record, main, error.is_some(), annotation.bracket, width, paint);
    out.insert_str(start, &gutter);
    if let Some(width) = options.width.filter(|_| main) {
        cut_before(out, start, out.len().min(fields_end + gutter.len()), width);
    }
    out.push('\n');
    if !main {
        for diagnostic in found.iter() {
            out.push_str("    ");
            let text = format_args!("!! {diagnostic}: {}", diagnostic.description());
            paint.text(out, Color::Red, &text);
            out.push('\n');
        }
        if let Some(reading) = Reading::of(packet).filter(|_| error.is_some()) {
            let _ = writeln!(out, "    it {}", Escaped(reading));
        }
        let dumped = verbosity == Verbosity::Hex;
        let paint = Paint(options.color);
        let mut fields = FieldTree::new(out, paint, packet, annotation.about, dumped);
        let walked = packet.walk_with_payload(&mut fields);
        fields.finish();
        for line in contents_lines(packet, dumped) {
            let _ = writeln!(out, "    {line}");
        }
        if dumped || walked.is_err() {
            let bytes = packet.body_or_bytes();
            let limit = if dumped { usize::MAX } else { MAX_UNDECODED };
            write_hex_dump(out, &bytes, limit);
        }
    }
}

/// Appends time, session, direction, state, id and name.
fn write_head(out: &mut String, packet: &Packet, options: &LineOptions) {
    let paint = Paint(options.color);
    write_moment(out, packet.at(), packet.context(), options);
    if options.number {
        let _ = write!(out, "@{:<5} ", packet.seq());
    }
    let (arrow, color) = match packet.direction() {
        Direction::Serverbound => ('→', Color::Green),
        Direction::Clientbound => ('←', Color::Cyan),
    };
    paint.text(out, color, &arrow);
    out.push(' ');
    let state = match packet.state() {
        State::Handshaking => Color::Magenta,
        State::Status => Color::Blue,
        State::Login | State::Configuration => Color::Yellow,
        State::Play => Color::Plain,
    };
    let name = state_name(packet.state());
    paint.text(out, state, &format_args!("{name:<STATE_WIDTH$}"));
    out.push(' ');
    let mut name = Escaped(packet_name(packet)).to_string();
    if packet.context().guess {
        name.push('?');
    }
    match packet.id() {
        Some(id) => paint.text(out, color, &format_args!("0x{id:02x} {name}")),
        None => paint.text(out, color, &format_args!("---- {name}")),
    }
    let padding = NAME_WIDTH.saturating_sub(name.chars().count());
    let _ = write!(out, "{:padding$}", "");
}

/// Returns the packet's name, or its replacement in lines and tables.
pub(crate) fn packet_name(packet: &Packet) -> &str {
    match (packet.kind(), packet.frame()) {
        (Some(packet), _) => packet.name(),
        (None, Some(_)) => "(unknown)",
        (None, None) => "(no packet)",
    }
}

fn write_moment(out: &mut String, at: Timestamp, context: &Context, options: &LineOptions) {
    let paint = Paint(options.color);
    let seconds = |earlier| at.since(earlier).as_secs_f64();
    match options.time {
        TimeForm::Absolute => {
            paint.text(out, Color::Dim, &TimeOfDay::new(at, (options.offset)(at)));
        }
        TimeForm::Date => paint.text(out, Color::Dim, &LocalTime::new(at, (options.offset)(at))),
        TimeForm::Relative => {
            paint.text(out, Color::Dim, &format_args!("{:>11.6}", seconds(context.opened)));
        }
        TimeForm::Delta => {
            let delta = seconds(options.previous.unwrap_or(at));
            paint.text(out, Color::Dim, &format_args!("{delta:>11.6}"));
        }
    }
    let _ = write!(out, " #{} ", context.session);
}

/// Appends a space unless there is one.
fn separate(out: &mut String) {
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

fn write_event(out: &mut String, event: &Event, news: Option<&str>, options: &LineOptions) {
    let mut text = String::new();
    match news {
        Some("") => return,
        Some(news) => text.push_str(news),
        None => write_event_text(&mut text, event),
    }
    let start = out.len();
    out.extend(std::iter::repeat_n(' ', gutter_width(options.verbosity)));
    write_moment(out, event.at, &event.context, options);
    Paint(options.color).text(out, Color::Bold, &text);
    if let Some(width) = options.width {
        cut(out, start, width);
    }
    out.push('\n');
}

/// Returns a state's name as far as the column has room for it.
fn state_name(state: State) -> &'static str {
    match state {
        State::Handshaking => "handshake",
        State::Configuration => "config",
        State::Status | State::Login | State::Play => state.name(),
    }
}

/// Width of the column of states, the longest of which is `handshake`.
const STATE_WIDTH: usize = 9;

/// Width of the name column; most names fit.
const NAME_WIDTH: usize = 20;

/// Bytes shown of a packet that does not decode, unless all are asked for.
const MAX_UNDECODED: usize = 64;
