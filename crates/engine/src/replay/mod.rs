//! Captures run again, sans-IO.
//!
//! A [`Recording`] is one session of a capture. [`ServerReplay`] plays its server to a client, and
//! [`ClientReplay`] its client to a server. Both are an [`Engine`](crate::link::Engine) for the
//! proxy's driver. [`Filtered`] is one of them behind filters. [`FilterReplay`] runs filter files over a whole capture.
//!
//! ```text
//! Recording ──> Playback (what to send next, and when) ──┬─> ServerReplay ── client
//!                                                        └─> ClientReplay ── server
//! ```

mod client;
mod client_options;
mod client_play;
mod extra;
mod filtered;
mod filters;
mod pace;
mod peer_progress;
mod play_options;
mod playback;
mod point;
mod position;
mod recording;
mod recording_error;
mod rehearsal;
mod server;
mod server_detection;
mod server_login;
mod server_options;
mod server_play;
mod step;
mod tally;
#[cfg(test)]
mod tests;

pub use client::ClientReplay;
pub use client_options::ClientOptions;
pub use extra::Extra;
pub use filtered::Filtered;
pub use filters::{Act, FilterReplay, HiddenEffect, Judged};
pub use pace::Pace;
pub use play_options::PlayOptions;
pub use point::{Point, PointError};
pub(crate) use position::Position;
pub use recording::Recording;
pub(crate) use recording::sets_up;
pub use recording_error::RecordingError;
pub use server::ServerReplay;
pub use server_options::ServerOptions;
pub use tally::{Tally, TallyCounts};
