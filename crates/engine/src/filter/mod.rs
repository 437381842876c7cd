//! Filters, their verdicts, and the rules and expectations of a filter file.

mod pipeline;
mod rules;
mod split_mix;
mod verdict;

pub use pipeline::{Filter, Judgement, Pipeline};
pub(crate) use rules::encode_json;
pub use rules::{
    Bound, Checked, Expect, Per, RateBound, RateUnit, RingCapture, RuleCount, RuleSet, Rules,
    Severity, SourceFault, Wanted,
};
pub use split_mix::SplitMix64;
pub use verdict::{Delay, Detail, Effects, Injection, Notes, Ring, Verdict};
