use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::behaviour::name;
use crate::analysis::Difference;
use crate::capture::{Entry, Record};
use crate::text::{LineOptions, write_line};

/// A difference between the behaviour of a server and the recorded one.
#[derive(Debug, Clone)]
pub enum Deviation {
    /// A packet is missing, new, or has other fields.
    Packet(Difference),
    /// A packet came at another place among the others.
    Moved {
        /// The packet, as it came.
        record: Box<Record>,
        /// The packets before it: in the recording, and now. `None` if it is the first.
        after: [Option<String>; 2],
    },
    /// A packet that comes at intervals came too late, or no more.
    Late {
        /// The packet's name.
        packet: String,
        /// The longest time without it: in the recording, and now.
        longest: [Duration; 2],
    },
}

impl Deviation {
    /// What can be different: the values of [`kind`](Self::kind).
    pub const KINDS: [&str; 5] = ["missing", "new", "changed", "moved", "late"];

    /// Returns the packet's name; an empty text if its id is unknown.
    #[must_use]
    pub fn packet(&self) -> &str {
        let record = match self {
            Self::Late { packet, .. } => return packet,
            Self::Moved { record, .. } => record,
            Self::Packet(
                Difference::Removed(record)
                | Difference::Added(record)
                | Difference::Changed(record, ..),
            ) => record,
        };
        name(record)
    }

    /// Returns what is different: `missing`, `new`, `changed`, `moved` or `late`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Packet(Difference::Removed(_)) => "missing",
            Self::Packet(Difference::Added(_)) => "new",
            Self::Packet(Difference::Changed(..)) => "changed",
            Self::Moved { .. } => "moved",
            Self::Late { .. } => "late",
        }
    }

    /// Appends the deviation as lines for people: `-`, `+` or `~` with the packet and its fields, `>` with
    /// one that has moved, `!` with one that is late.
    pub fn write(&self, out: &mut String, options: &LineOptions) {
        match self {
            Self::Packet(difference) => difference.write(out, options),
            Self::Moved { record, after } => {
                out.push_str("> ");
                write_line(out, &Entry::Packet(Record::clone(record)), options);
                let [then, now] = after.each_ref().map(|it| match it {
                    Some(name) => format!("after {name}"),
                    None => "first".to_owned(),
                });
                let _ = writeln!(out, "      order: {then} -> {now}");
            }
            Self::Late { packet, longest } => {
                let [then, now] = longest.map(|it| it.as_secs_f64());
                let _ = writeln!(
                    out,
                    "! {packet}\n      longest time without it: {then:.1} s -> {now:.1} s"
                );
            }
        }
    }

    /// Returns the deviation as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut json = match self {
            Self::Packet(difference) => difference.json(),
            Self::Moved { record, after } => json!({
                "dir": record.packet.direction().name(),
                "state": record.packet.state().name(),
                "packet": self.packet(),
                "after": after,
                "b": {
                    "session": record.packet.context().session,
                    "seq": record.packet.seq(),
                    "time": record.packet.at().to_string(),
                },
            }),
            Self::Late { packet, longest } => {
                json!({ "packet": packet, "longest": longest.map(|it| it.as_secs_f64()) })
            }
        };
        json["kind"] = self.kind().into();
        json
    }
}
