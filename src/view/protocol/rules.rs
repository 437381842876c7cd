use serde::Serialize;

use mitmcraft_engine::filter::{RuleCount, SourceFault};

/// A filter file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleFile {
    /// Its path.
    pub path: String,
    /// Its text; `None` if it cannot be read.
    pub text: Option<String>,
    /// Why it cannot be read.
    pub error: Option<String>,
}

/// The results of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleResult {
    /// The rule's name.
    pub name: String,
    /// Packets for which `when` held.
    pub matched: u64,
    /// Packets on which all actions were done.
    pub acted: u64,
    /// Packets on which an action failed, so that none was done.
    pub failed: u64,
}

/// An error or a warning about a filter file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RulesFault {
    /// `error` or `warning`.
    #[cfg_attr(test, ts(type = "\"error\" | \"warning\""))]
    pub severity: &'static str,
    /// A description of the problem.
    pub message: String,
    /// The line number, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The number of marked characters, at least 1.
    pub width: usize,
    /// The text of the line.
    pub text: String,
    /// Advice on fixing it.
    pub hint: Option<String>,
}

impl From<RuleCount> for RuleResult {
    fn from(RuleCount { name, matched, acted, failed }: RuleCount) -> Self {
        Self { name, matched, acted, failed }
    }
}

impl From<SourceFault> for RulesFault {
    fn from(fault: SourceFault) -> Self {
        Self {
            severity: fault.severity.name(),
            message: fault.message,
            line: fault.line,
            column: fault.column,
            width: fault.width,
            text: fault.text,
            hint: fault.hint,
        }
    }
}
