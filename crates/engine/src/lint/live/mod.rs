//! Visits to a server without a capture, sans-IO: the client of one version asks for the status, or joins
//! and plays a short script, so that the server sends what a [`Linter`](super::Linter) can judge.

mod options;
mod script;
mod speech;
#[cfg(test)]
mod tests;
mod visit;
mod visitor;

pub use options::VisitOptions;
pub use visit::{Stage, Visit};
pub use visitor::Visitor;
