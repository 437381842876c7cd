//! How a server behaves differently from a recorded one, sans-IO.
//!
//! [`Regression`] is a sink for the sessions of a [`ClientReplay`](crate::replay::ClientReplay): each is a
//! [`Behaviour`], which is compared with the recorded one. [`Normalisation`] lists what may differ between
//! two runs of the same server.

mod behaviour;
mod comparison;
mod deviation;
mod normalisation;
mod player;
mod regression;
mod spawn;
#[cfg(test)]
mod tests;

pub use behaviour::Behaviour;
pub use comparison::Comparison;
pub use deviation::Deviation;
pub use normalisation::{Freedom, Normalisation, NormalisationError};
pub use regression::{Regression, Run};
