//! Judges the expectations of filter files, live or over captures.
//!
//! A [`Judge`] is a [`Sink`](crate::capture::Sink): it takes entries, from running sessions or from a
//! capture, and reads no clock, so that both give the same [`ExpectReport`] for the same entries.
//!
//! ```
//! use mitmcraft_engine::capture::Sink as _;
//! use mitmcraft_engine::expect::Judge;
//! use mitmcraft_engine::filter::RuleSet;
//! use mitmcraft_protocol::schema::Catalog;
//!
//! let text = "[[expect]]\nname = 'a login'\nwhen = 'success'\nper = 'run'\n";
//! let set = RuleSet::parse(text, Catalog::embedded()).rules.expect("the file has no fault");
//! let mut judge = Judge::new([("tests.toml", &set)]);
//! // Pass each entry to `judge.write`.
//! judge.finish()?;
//! assert_eq!(judge.report().outcomes.len(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```

mod case;
mod judge;
mod outcome;
mod rate;
mod report;
mod scope;
#[cfg(test)]
mod tests;

pub use judge::Judge;
pub use outcome::Outcome;
pub use report::ExpectReport;
