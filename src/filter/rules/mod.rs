//! The filter file: rules in TOML.
//!
//! A file is read and checked as a whole (`parser`, `check`), every fault with its place. What is
//! found good is a [`RuleSet`], which all sessions share with its counts; each session has
//! [`Rules`] of its own, a filter that knows how far each rule is in it. Which rules can match
//! which packets is known before one comes (`index`). A rule does all that it says, or nothing
//! (`act`).

mod act;
mod check;
mod counts;
mod draft;
mod edit;
mod edit_path;
mod fault;
mod index;
mod keys;
mod nbt;
mod parser;
mod progress;
mod reader;
mod ring_capture;
mod rule;
mod rule_set;
#[allow(clippy::module_inception, reason = "the type `Rules` has a file like every other")]
mod rules;
mod source;
mod template;

#[cfg(test)]
mod tests;

pub use counts::RuleCount;
pub use fault::{Fault, Severity};
pub use ring_capture::RingCapture;
pub use rule_set::{Checked, RuleSet};
pub use rules::Rules;
