//! The filter language: conditions on packets and values computed from them.
//!
//! Text is cut into tokens (`lexer`), read into a tree (`parser`), checked against the tables of
//! all versions and compiled (`checker`). For each type of packet that comes, what is certain of it
//! is taken out of the condition once (`plan`); what is left is evaluated on the fields that it asks
//! for, which one walk through the body finds (`collector`).

mod chat;
mod checker;
mod collector;
mod constant;
mod context;
mod cost;
mod error;
mod evaluate;
#[allow(clippy::module_inception, reason = "the type `Expr` has a file like every other")]
mod expr;
mod field;
mod fit;
mod formula;
mod glob;
mod known;
mod lexer;
mod mention;
mod needs;
mod node;
mod number;
mod operand;
mod outlook;
mod parser;
mod pattern;
mod plan;
mod print;
mod resolve;
mod set;
mod slot;
mod subject;
mod suggest;
mod tables;
mod test;
mod token;
mod val;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use chat::component_text;
pub use error::{ExprError, Warning};
pub use expr::Expr;
pub use formula::Formula;
pub use needs::Needs;
pub use outlook::Outlook;
pub use suggest::closest;
pub use view::View;

/// Bytes of the longest expression.
const MAX_LENGTH: usize = 1 << 16;
