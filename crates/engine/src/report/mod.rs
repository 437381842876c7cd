//! What judges report: findings with the packets that show them, and suites of cases for services that run
//! tests; as text, JSON, JUnit's XML and annotations.
//!
//! A judge fills a [`Report`] of its own, which prints all forms.

mod certainty;
mod finding;
mod suite;
#[cfg(test)]
mod tests;

use serde_json::Value as Json;

pub use certainty::Certainty;
pub use finding::{Around, Finding, Place};
pub use suite::{Annotation, Case, Suite, Verdict, github, junit};

use crate::text::LineOptions;

/// The result of a judge, in each form in which it is printed.
pub trait Report {
    /// Returns `true` if everything was met that was asked for, and something was.
    fn passed(&self) -> bool;

    /// Returns the result as JSON.
    fn json(&self) -> Json;

    /// Appends the result as text for people.
    fn write_text(&self, out: &mut String, options: &LineOptions);

    /// Returns the result as test suites, for [`junit`] and [`github`].
    fn suites(&self, options: &LineOptions) -> Vec<Suite>;
}
