use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::display::{shown, to_json};
use crate::capture::{Entry, Outcome, Record};
use crate::filter::{Detail, Notes};
use crate::schema::Value;
use crate::text::{Escaped, LineOptions, write_line};

/// What one side has and the other has not, or has differently.
#[derive(Debug, Clone)]
pub enum Difference {
    /// A packet that only the first has.
    Removed(Box<Record>),
    /// A packet that only the second has.
    Added(Box<Record>),
    /// A packet that both have, with other fields.
    Changed(Box<Record>, Box<Record>, Vec<Change>),
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where it is in the packet: `items[3].itemCount`.
    pub path: String,
    /// What the first has; none: nothing.
    pub a: Option<Value>,
    /// What the second has; none: nothing.
    pub b: Option<Value>,
}

/// Where a difference stands, for an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DifferenceOrder {
    /// The session, counted from 0 in the order in which sessions begin.
    pub(super) session: usize,
    /// The packet's number in its session: the first one's, or of the one before.
    pub(super) seq: u64,
}

impl Difference {
    /// Appends it as lines for people: `-`, `+` or `~` and the packet as `show` prints it, and the
    /// fields that differ.
    pub fn write(&self, out: &mut String, options: &LineOptions) {
        match self {
            Self::Removed(record) => write_packet(out, '-', record, false, options),
            Self::Added(record) => write_packet(out, '+', record, false, options),
            Self::Changed(record, _, changes) => {
                write_packet(out, '~', record, true, options);
                changes.iter().for_each(|change| change.write(out, options));
            }
        }
    }

    /// The same as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        let (kind, a, b, changes) = match self {
            Self::Removed(record) => ("removed", Some(record), None, None),
            Self::Added(record) => ("added", None, Some(record), None),
            Self::Changed(a, b, changes) => ("changed", Some(a), Some(b), Some(changes)),
        };
        let packet = a.or(b).map(|record| &record.packet);
        let mut json = json!({
            "kind": kind,
            "dir": packet.map(|packet| packet.direction.name()),
            "state": packet.map(|packet| packet.state.name()),
            "packet": packet.and_then(|it| it.kind()).map(|packet| packet.name().to_string()),
        });
        for (key, record) in [("a", a), ("b", b)] {
            let Some(packet) = record.map(|record| &record.packet) else { continue };
            json[key] = json!({
                "session": packet.context.session,
                "seq": packet.seq,
                "time": packet.at.to_string(),
            });
            if changes.is_none()
                && let Ok(value) = packet.value()
            {
                json[key]["fields"] = to_json(&value);
            }
        }
        if let Some(changes) = changes {
            json["changes"] = changes.iter().map(Change::json).collect();
        }
        json
    }
}

impl Change {
    fn write(&self, out: &mut String, options: &LineOptions) {
        let (red, green, off) = match options.color {
            true => ("\x1b[31m", "\x1b[32m", "\x1b[0m"),
            false => ("", "", ""),
        };
        let (a, b) = shown(self.a.as_ref(), self.b.as_ref());
        let _ = writeln!(out, "      {}: {red}{a}{off} -> {green}{b}{off}", Escaped(&self.path));
    }

    fn json(&self) -> Json {
        let mut json = json!({ "path": self.path });
        for (key, value) in [("a", &self.a), ("b", &self.b)] {
            if let Some(value) = value {
                json[key] = to_json(value);
            }
        }
        json
    }
}

fn write_packet(
    out: &mut String,
    sign: char,
    record: &Record,
    only_name: bool,
    options: &LineOptions,
) {
    // The sign says what there is to say; the marks of what became of it would be mistaken for it.
    let mut record =
        Record { outcome: Outcome::Pass, of: None, notes: None, ..Record::clone(record) };
    if only_name {
        let notes = Notes { detail: Some(Detail::Name), ..Notes::default() };
        record.notes = Some(Box::new(notes));
    }
    let plain = LineOptions {
        verbosity: options.verbosity,
        color: false,
        offset: Box::new({
            let offset = (options.offset)(record.packet.at);
            move |_| offset
        }),
    };
    let mut lines = String::new();
    write_line(&mut lines, &Entry::Packet(record), &plain);
    let color = match sign {
        '-' => "\x1b[31m",
        '+' => "\x1b[32m",
        _ => "\x1b[33m",
    };
    for (place, line) in lines.lines().enumerate() {
        let sign = if place == 0 { sign } else { ' ' };
        let _ = match options.color {
            true => writeln!(out, "{color}{sign} {line}\x1b[0m"),
            false => writeln!(out, "{sign} {line}"),
        };
    }
}
