//! Judges what servers and clients send as the game of that version would: what it would disconnect for, take for
//! something else, or never send itself.
//!
//! A [`Linter`] is a [`Sink`](crate::capture::Sink) for the entries of captures. Its [`LintReport`] has a
//! matrix of versions and rules, and the first packet of each kind of fault with the place of the fault
//! in its bytes. `docs/lint.md` has the rules with their sources. A [`Visitor`] joins a server and plays a
//! short script, so that there is something to judge.

mod bundle;
mod channels;
mod client;
mod component;
mod forwarding;
mod linter;
mod live;
mod live_finding;
mod metadata;
mod order;
mod report;
mod rule;
mod session;
#[cfg(test)]
pub(crate) mod tests;
mod values;

use client::Client;
pub use client::ClientRule;
use linter::Fault;
pub use linter::Linter;
pub use live::{Stage, Visit, VisitOptions, Visitor};
pub use live_finding::LiveFinding;
pub use report::LintReport;
pub use rule::{LintRule, LintSide};
use session::LintSession;
