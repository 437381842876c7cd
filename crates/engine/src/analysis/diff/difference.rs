use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::display::{display_pair, to_json};
use crate::capture::{Entry, Outcome, Record};
use crate::filter::{Detail, Notes};
use crate::text::{Escaped, LineOptions, write_line};
use mitmcraft_protocol::schema::Value;

/// A difference between two captures, or between the two legs of one.
#[derive(Debug, Clone)]
pub enum Difference {
    /// A packet that only the first side has.
    Removed(Box<Record>),
    /// A packet that only the second side has.
    Added(Box<Record>),
    /// A packet that both sides have, with different fields.
    Changed(Box<Record>, Box<Record>, Vec<Change>),
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The path of the field: `items[3].itemCount`.
    pub path: String,
    /// The value on the first side; `None` if the field is absent.
    pub a: Option<Value>,
    /// The value on the second side; `None` if the field is absent.
    pub b: Option<Value>,
    /// The meaning of both values in words; `None` where it is not known.
    pub meanings: [Option<String>; 2],
}

impl Difference {
    /// Appends the difference as lines for people: `-`, `+` or `~` with the printed packet, and the
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

    /// Returns the difference as JSON.
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
            "dir": packet.map(|packet| packet.direction().name()),
            "state": packet.map(|packet| packet.state().name()),
            "packet": packet.and_then(|it| it.kind()).map(|packet| packet.name().to_string()),
        });
        for (key, record) in [("a", a), ("b", b)] {
            let Some(packet) = record.map(|record| &record.packet) else { continue };
            json[key] = json!({
                "session": packet.context().session,
                "seq": packet.seq(),
                "time": packet.at().to_string(),
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
        let (red, green, off) =
            if options.color { ("\x1b[31m", "\x1b[32m", "\x1b[0m") } else { ("", "", "") };
        let (a, b) = display_pair(self.a.as_ref(), self.b.as_ref());
        let [of_a, of_b] = self
            .meanings
            .each_ref()
            .map(|text| text.as_ref().map(|it| format!(" ({})", Escaped(it))).unwrap_or_default());
        let (a, b) = (a + &of_a, b + &of_b);
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
    // Marks of what the proxy did could be mistaken for the sign.
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
            let offset = (options.offset)(record.packet.at());
            move |_| offset
        }),
        ..LineOptions::default()
    };
    let mut lines = String::new();
    write_line(&mut lines, &Entry::Packet(record), &plain);
    let color = match sign {
        '-' => "\x1b[31m",
        '+' => "\x1b[32m",
        _ => "\x1b[33m",
    };
    for (place, line) in lines.lines().enumerate() {
        // The sign takes the place of the gutter.
        let (sign, line) = if place == 0 { (sign, line.trim_start()) } else { (' ', line) };
        let _ = if options.color {
            writeln!(out, "{color}{sign} {line}\x1b[0m")
        } else {
            writeln!(out, "{sign} {line}")
        };
    }
}
