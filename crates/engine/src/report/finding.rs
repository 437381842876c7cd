use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::capture::{Entry, Record, packet_json};
use crate::text::{Escaped, LineOptions, write_line};
use mitmcraft_protocol::meaning::Grade;
use mitmcraft_protocol::packet::{Context, Packet, Timestamp};

/// A rule that is broken, where, and the packets that show it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the rule: `bytes-left`, or that of an expectation.
    pub rule: Cow<'static, str>,
    /// `false` if it may be right after all.
    pub certain: bool,
    /// A message for the user that says what is wrong.
    pub reason: String,
    /// The session of the first fault of its kind.
    pub place: Place,
    /// The packets that show it.
    pub around: Around,
    /// The field of the packet at fault, if one is to blame.
    pub field: Option<String>,
    /// The bytes at fault in that packet's body; `None` if it is the packet as a whole.
    pub span: Option<Range<usize>>,
    /// The number of faults of its kind.
    pub count: u64,
    /// What a player sees because of it, or what else follows, if that is known.
    pub player_sees: Option<&'static str>,
    /// The gravity, if the rule is one of the game.
    pub grade: Option<Grade>,
}

/// The session in which a fault was found, and when.
#[derive(Debug, Clone)]
pub struct Place {
    /// The capture; `None` if the session was judged while it ran.
    pub source: Option<Arc<str>>,
    /// What was known of the session, with its number and the player's name.
    pub context: Arc<Context>,
    /// The time of the fault.
    pub at: Timestamp,
}

/// The packets that show a finding.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// The packet that began what was judged, if one did and it is not among the others.
    pub opener: Option<Record>,
    /// The packet at fault with those before and after it, in order.
    pub records: Vec<Record>,
    /// The index in `records` of the packet at fault; `None` if the lack of one is the fault.
    pub at_fault: Option<usize>,
}

impl Finding {
    /// Creates a certain finding of a single fault.
    #[must_use]
    pub fn new(
        rule: impl Into<Cow<'static, str>>,
        reason: String,
        place: Place,
        around: Around,
    ) -> Self {
        let (rule, certain, count, player_sees) = (rule.into(), true, 1, None);
        let (field, span, grade) = (None, None, None);
        Self { rule, certain, reason, place, around, field, span, count, player_sees, grade }
    }

    /// Returns the packet at fault; `None` if the lack of one is the fault.
    #[must_use]
    pub fn packet(&self) -> Option<&Packet> {
        self.at_fault().map(|record| &record.packet)
    }

    /// Returns the record of the packet at fault; `None` if the lack of one is the fault.
    #[must_use]
    pub fn at_fault(&self) -> Option<&Record> {
        self.around.records.get(self.around.at_fault?)
    }

    /// Returns the finding as JSON. Its packets are as in captures, without fields and bytes.
    #[must_use]
    pub fn json(&self) -> Json {
        let (Place { source, context, at }, around) = (&self.place, &self.around);
        let packet = self.packet();
        json!({
            "rule": self.rule,
            "certain": self.certain,
            "grade": self.grade.map(Grade::name),
            "reason": self.reason,
            "count": self.count,
            "player_sees": self.player_sees,
            "capture": source.as_deref(),
            "session": context.session,
            "player": context.player,
            "time": at.to_string(),
            "version": packet.map(|packet| packet.context().game_version()),
            "seq": packet.map(Packet::seq),
            "state": packet.map(|packet| packet.state().name()),
            "packet": packet.and_then(|packet| Some(&**packet.kind()?.name())),
            "id": packet.and_then(Packet::id),
            "field": self.field,
            "at": self.span.as_ref().map(|span| span.start),
            "bytes": self.span.as_ref().map(ExactSizeIterator::len),
            "after": around.opener.as_ref().map(packet_json),
            "packets": around.records.iter().map(packet_json).collect::<Json>(),
            "broken_by": around.at_fault,
        })
    }

    /// Appends the packets that show it, one per line. If there are several, `>` marks the one at fault and
    /// `after` the one that began what was judged. The bytes of the place are below the packet at fault.
    pub fn write_packets(&self, out: &mut String, options: &LineOptions) {
        let Around { opener, records, at_fault } = &self.around;
        let is_marked = opener.is_some() || records.len() > 1;
        let mut line = |mark: &str, record: &Record| {
            if is_marked {
                let _ = write!(out, "  {mark:>5} ");
            } else {
                out.push_str("  ");
            }
            write_line(out, &Entry::Packet(record.clone()), options);
        };
        if let Some(opener) = opener {
            line("after", opener);
        }
        for (index, record) in records.iter().enumerate() {
            line(if *at_fault == Some(index) { ">" } else { "" }, record);
        }
        self.write_bytes(out);
    }

    /// Appends the rows of bytes around the place, which is marked below them.
    fn write_bytes(&self, out: &mut String) {
        let (Some(span), Some(packet)) = (&self.span, self.packet()) else { return };
        let body = packet.body_or_bytes();
        let (start, end) = (span.start.min(body.len()), span.end.min(body.len()));
        let first = (start / ROW).saturating_sub(1);
        for row in first..=start / ROW {
            let at = row * ROW;
            let bytes = &body[at.min(body.len())..(at + ROW).min(body.len())];
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(out, "    {at:04x}  {}", hex.join(" "));
        }
        let column = start % ROW;
        // Past the end of the body, the byte that is missing is marked.
        let width = (end.max(start + 1) - start).min(ROW - column);
        let (indent, marks) = (6 + column * 3, "^".repeat(width * 3 - 1));
        let _ = writeln!(out, "    {:indent$}{marks}", "");
    }
}

impl Place {
    /// Describes the session: `session.jsonl, session 3 (Steve)`.
    #[must_use]
    pub fn session(&self) -> String {
        let Context { session, player, .. } = &*self.context;
        let source =
            self.source.as_ref().map(|it| format!("{}, ", Escaped(it))).unwrap_or_default();
        let player = player.as_ref().map(|it| format!(" ({})", Escaped(it))).unwrap_or_default();
        format!("{source}session {session}{player}")
    }
}

impl Around {
    /// Shows only the packet at fault.
    #[must_use]
    pub fn only(record: Record) -> Self {
        Self { records: vec![record], at_fault: Some(0), ..Self::default() }
    }
}

/// Bytes in a row.
const ROW: usize = 16;
