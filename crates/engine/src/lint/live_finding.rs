use std::fmt;

use super::LintRule;
use super::linter::label;
use crate::text::Escaped;
use mitmcraft_protocol::meaning::Grade;

/// A finding that is reported as it happens. As text, it is one sentence.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LiveFinding {
    /// The session's number.
    pub session: u64,
    /// The number of the packet at fault.
    pub seq: u64,
    /// The rule.
    pub rule: LintRule,
    /// `false` if the game may accept the packet.
    pub certain: bool,
    /// The gravity of the fault.
    pub grade: Grade,
    /// A sentence about what is wrong with the packet, without a full stop.
    pub reason: String,
    /// `true` for the first of its kind.
    pub is_new: bool,
    /// The player and the packet.
    pub(super) subject: String,
}

impl fmt::Display for LiveFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, seq, subject, reason, .. } = self;
        write!(
            f,
            "{} in session {session}, packet {seq}{subject}: {}",
            self.label(),
            Escaped(reason)
        )
    }
}

impl LiveFinding {
    /// Returns the rule with its grade: `move-not-last (corrected)`.
    pub(super) fn label(&self) -> String {
        format!("{}{}", self.rule.name(), label(self.certain, Some(self.grade)))
    }
}
