use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use super::LintRule;
use crate::capture::{Entry, Record};
use crate::text::{LineOptions, write_line};

/// A fault in what a server has sent: the first packet that has it, and the number of those like it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that is broken.
    pub rule: LintRule,
    /// `false` if the game may accept the packet after all.
    pub certain: bool,
    /// A message for the user that says what is wrong with the packet.
    pub reason: String,
    /// The capture, if it is named.
    pub source: Option<Arc<str>>,
    /// The first packet with the fault.
    pub record: Record,
    /// The field, if one is to blame.
    pub field: Option<String>,
    /// The bytes at fault in the packet's body; `None` if it is the packet as a whole.
    pub span: Option<Range<usize>>,
    /// The number of packets of that type that break the rule in that field.
    pub count: u64,
}

/// A rule that a packet breaks, and where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) rule: LintRule,
    pub(super) certain: bool,
    pub(super) reason: String,
    pub(super) field: Option<String>,
    pub(super) span: Option<Range<usize>>,
}

impl Fault {
    /// A fault of a packet as a whole, which the game refuses for certain.
    pub(super) fn new(rule: LintRule, reason: impl Into<String>) -> Self {
        Self { rule, certain: true, reason: reason.into(), field: None, span: None }
    }
}

impl Finding {
    /// Returns the name of the packet's version.
    #[must_use]
    pub fn version(&self) -> &str {
        self.record.packet.context().protocol.newest_name()
    }

    /// Appends the finding with its packet, and its bytes with the place marked.
    pub fn write(&self, out: &mut String, options: &LineOptions) {
        let Self { rule, reason, count, .. } = self;
        let label = if self.certain { "" } else { " (uncertain)" };
        let times = if *count > 1 { format!(", {count} packets") } else { String::new() };
        let version = self.version();
        let _ = writeln!(out, "{}{label} in {version}{times}: {reason}", rule.name());
        let source = self.source.as_ref().map(|it| format!("{it}, ")).unwrap_or_default();
        let context = self.record.packet.context();
        let (session, seq) = (context.session, self.record.packet.seq());
        let _ = writeln!(out, "  {source}session {session}, packet {seq}");
        out.push_str("  ");
        write_line(out, &Entry::Packet(self.record.clone()), options);
        self.write_bytes(out);
        let _ = writeln!(out, "  the player sees: {}", rule.player_sees());
    }

    /// Appends the rows of bytes around the place, which is marked below them.
    fn write_bytes(&self, out: &mut String) {
        let Some(span) = &self.span else { return };
        let body = self.record.packet.body_or_bytes();
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

/// Bytes in a row.
const ROW: usize = 16;
