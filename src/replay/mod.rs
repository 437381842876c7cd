//! Captures run again, sans-IO.
//!
//! A [`Recording`] is one session of a capture. [`ServerReplay`] plays its server to a client, and
//! [`ClientReplay`] its client to a server; both are an [`Engine`](crate::link::Engine), which
//! the proxy's driver drives. [`FilterReplay`] runs a filter file over a whole capture.
//!
//! ```text
//! Recording ──> Playback (which packet next, and when) ──┬─> ServerReplay ── End ── client
//!     │                                                  └─> ClientReplay ── End ── server
//!     └──> Expectation (a sink): how the server's answers differ
//! ```

mod client;
mod client_options;
mod client_play;
mod end;
mod expect;
mod filters;
mod framed;
mod options;
mod place;
mod playback;
mod point;
mod recording;
mod rehearsal;
mod secret;
mod server;
mod server_login;
mod server_options;
mod server_play;
mod tally;
#[cfg(test)]
mod tests;

pub use client::ClientReplay;
pub use client_options::{ClientOptions, Departure};
pub use expect::{Differing, Expectation};
pub use filters::{FilterReplay, HiddenEffect, Judged};
pub use options::{Pace, PlayOptions};
pub use point::{Point, PointError};
pub use recording::{Recording, RecordingError};
pub use server::ServerReplay;
pub use server_options::{Arrival, Extra, ServerOptions};
pub use tally::{Counted, Tally};
