//! Captures run again, sans-IO.
//!
//! [`FilterReplay`] runs a filter file over a capture, offline. A [`Recording`] is one session of a
//! capture.

mod client;
mod client_play;
mod end;
mod filters;
mod framed;
mod options;
mod place;
mod playback;
mod point;
mod recording;
mod secret;
mod server;
mod server_play;
mod tally;
#[cfg(test)]
mod tests;

pub use client::{ClientOptions, ClientReplay, Departure};
pub use filters::{FilterReplay, Judged};
pub use options::{Pace, PlayOptions};
pub use point::{Point, PointError};
pub use recording::{Recording, RecordingError};
pub use server::{Arrival, Extra, ServerOptions, ServerReplay};
pub use tally::{Counted, Tally};
