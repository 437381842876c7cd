//! Filters, their verdicts, and the rules of a filter file.

mod pipeline;
mod rules;
mod split_mix;
mod verdict;

pub use pipeline::{Filter, Judgement, Pipeline};
pub(crate) use rules::encode_json;
pub use rules::{Checked, RingCapture, RuleCount, RuleSet, Rules, Severity, SourceFault};
pub use split_mix::SplitMix64;
pub use verdict::{Delay, Detail, Effects, Injection, Notes, Ring, Verdict};
