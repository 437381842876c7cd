//! Filters, their verdicts, and the rules and expectations of a filter file.

mod kept;
mod message;
mod moment;
mod pipeline;
mod program;
mod remark;
mod rules;
mod split_mix;
mod verdict;

pub use kept::{Kept, Var};
pub use message::Message;
pub(crate) use moment::SHORTEST_TIMER;
pub use moment::{Moment, SessionEvent};
pub use pipeline::{Filter, Pipeline};
pub use program::Program;
pub(crate) use remark::{is_own, own_words};
pub use rules::{
    AtEnd, Bound, Checked, EditError, Expect, Per, RateBound, RateUnit, RingCapture, RuleCount,
    RuleSet, Rules, Severity, SourceFault, Wanted,
};
pub(crate) use rules::{
    EditPath, Index, Shared, apply_changes, build, encode_json, floor, hex, named, scalar,
    shortened,
};
pub use split_mix::SplitMix64;
pub use verdict::{Delay, Detail, Effects, Injection, Judgement, Notes, Ring, Verdict};
