//! How sessions ended, and why: who ended each, with which words, and the packets that are its likely cause.
//!
//! An [`Explainer`] is a [`Sink`](crate::capture::Sink) for the entries of captures. Its [`ExplainReport`] has
//! an [`Explained`] for each session: an [`Ending`], and [`Evidence`] in the order of its certainty. Evidence
//! is a packet and a rule that it breaks; nothing is claimed without a packet. `docs/disconnected.md` is the
//! page behind it.
//!
//! A [`Tripwire`] says when a session is worth an [`Incident`]: a file with its last minutes and their explanation.

mod causes;
mod ending;
mod evidence;
mod explainer;
mod incident;
mod report;
#[cfg(test)]
pub(crate) mod tests;
mod tripwire;
mod watched;

pub use crate::report::Certainty;
use causes::causes;
pub use ending::{EndKind, Ending, Words};
pub use evidence::Evidence;
use evidence::ending_of;
pub use explainer::Explainer;
pub use incident::{Acquaintance, Incident};
pub use report::{ExplainReport, Explained};
pub use tripwire::{Trigger, Tripwire};
use watched::Watched;
