//! What to do with a packet.
//!
//! [`Expr`] and [`Formula`] are the filter language: one for what is shown, what is recorded, and
//! rules. They see a packet through a [`View`].

mod expr;

pub use expr::{Expr, ExprError, Formula, Needs, Outlook, View, Warning};
