//! Judges what servers send as the game of that version would: what it would disconnect for, or take for
//! something else.
//!
//! A [`Linter`] is a [`Sink`](crate::capture::Sink) for the entries of captures. Its [`LintReport`] has a
//! matrix of versions and rules, and the first packet of each kind of fault with the place of the fault
//! in its bytes. `docs/lint.md` has the rules with their sources.

mod bundle;
mod channels;
mod finding;
mod formats;
mod linter;
mod report;
mod rule;
#[cfg(test)]
mod tests;
mod values;

pub use finding::Finding;
pub use linter::Linter;
pub use report::LintReport;
pub use rule::LintRule;
