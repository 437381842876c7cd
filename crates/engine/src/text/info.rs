use std::fmt::Write as _;

use super::escape::Escaped;
use super::event::write_event_text;
use super::marks::mark;
use super::short::write_short;
use crate::capture::{Entry, Reason, Record};
use mitmcraft_protocol::meaning::diagnose;

/// Appends an entry on one line, without time, session and line feed: `play 0x21 map_chunk x=-9 ..`.
pub fn write_info(out: &mut String, entry: &Entry) {
    match entry {
        Entry::Packet(record) => write_packet(out, record),
        Entry::Event(event) => write_event_text(out, event),
    }
}

fn write_packet(out: &mut String, record: &Record) {
    let packet = &record.packet;
    let mark = mark(record, false);
    if !mark.is_empty() {
        let _ = write!(out, "{mark} ");
    }
    out.push_str(packet.state().name());
    if let Some(id) = packet.id() {
        let _ = write!(out, " 0x{id:02x}");
    }
    if let Some(packet) = packet.kind() {
        let _ = write!(out, " {}", Escaped(packet.name()));
    }
    write_rest(out, record, false);
}

/// Appends the main fields of a packet on one line with what they mean, why it does not decode, and the
/// comment.
pub fn write_summary(out: &mut String, record: &Record) {
    write_rest(out, record, true);
}

fn write_rest(out: &mut String, record: &Record, meanings: bool) {
    if let Err(error) = write_short(out, &record.packet, false, meanings, None) {
        let _ = write!(out, " ! {}", Escaped(Reason(&error)));
    }
    for diagnostic in diagnose(&record.packet).iter() {
        let _ = write!(out, " !! {diagnostic}");
    }
    if let Some(comment) = &record.comment {
        let _ = write!(out, "  // {}", Escaped(comment));
    }
}
