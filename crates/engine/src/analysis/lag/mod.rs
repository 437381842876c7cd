//! Where lag comes from: when a session lagged, and whether that was its server, the network or its client.
//!
//! [`Lag`] is a [`Sink`](crate::capture::Sink) for the entries of captures. It follows the clocks of both games
//! through their packets: time that a clock permanently loses was not played, and time that it catches up was only
//! spent on the way. Together with the times of answers, this tells a game that stood still from a slow connection.
//! `docs/lag.md` is the page behind it.

mod answers;
mod client_side;
mod clock;
mod finding;
mod flood;
mod flow;
mod judge;
mod lates;
mod measured;
mod observed;
mod report;
mod server_side;
mod shares;
mod sink;
mod spans;
#[cfg(test)]
mod tests;

pub use finding::{LagEvidence, LagFinding, LagPlace};
pub use measured::{Measured, Ticks};
pub use report::LagReport;
pub use shares::{Share, ShareKind};
pub use sink::Lag;
