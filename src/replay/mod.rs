//! Captures run again, sans-IO.
//!
//! [`FilterReplay`] runs a filter file over a capture, offline. A [`Recording`] is one session of a
//! capture.

mod filters;
mod framed;
mod options;
mod playback;
mod point;
mod recording;
#[cfg(test)]
mod tests;

pub use filters::{FilterReplay, Judged};
pub use options::{Pace, PlayOptions};
pub use point::{Point, PointError};
pub use recording::{Recording, RecordingError};
