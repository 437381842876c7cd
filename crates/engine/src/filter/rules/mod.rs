//! The filter file: rules in TOML.
//!
//! A file is parsed and checked as a whole (`parser`, `check`), and all its faults are reported
//! with their places. The result is a [`RuleSet`], which all sessions share with its counts. Each
//! session has its own [`Rules`], a filter with the progress of each rule. The rules that can match
//! a type of packet are known in advance (`index`). A rule does all its actions or none (`act`).
//! Expectations are only parsed here (`expect`): the module `expect` of the crate judges them.

mod act;
mod bound;
mod check;
mod component;
mod counts;
mod draft;
mod edit;
mod edit_error;
mod edit_path;
mod expect;
mod expect_parser;
mod index;
mod keys;
mod nbt;
mod parser;
mod payload_edit;
mod progress;
mod reader;
mod ring_capture;
mod rule;
mod rule_set;
#[allow(clippy::module_inception, reason = "the type `Rules` has a file like every other")]
mod rules;
mod shapes;
mod source;
mod source_fault;
mod template;
mod things;
mod value_json;

#[cfg(test)]
mod tests;

pub(crate) use act::{apply_changes, named};
pub use bound::{Bound, RateBound, RateUnit};
pub use counts::RuleCount;
pub(crate) use counts::Shared;
pub(crate) use edit::{build, encode_json};
pub use edit_error::EditError;
pub(crate) use edit_path::EditPath;
pub use expect::{AtEnd, Expect, Per, Wanted};
pub(crate) use index::Index;
pub(crate) use nbt::scalar;
pub(crate) use reader::hex;
pub use ring_capture::RingCapture;
pub use rule_set::{Checked, RuleSet};
pub use rules::Rules;
pub use source_fault::{Severity, SourceFault};
pub(crate) use source_fault::{floor, shortened};
