//! Filters, their verdicts, and the rules of a filter file.

mod pipeline;
mod rules;
mod verdict;

pub use pipeline::{Filter, Judgement, Pipeline};
pub use rules::{Checked, Fault, RingCapture, RuleCount, RuleSet, Rules, Severity};
pub use verdict::{Delay, Detail, Effects, Injection, Notes, Ring, Verdict};
