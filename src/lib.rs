//! mitmcraft: a transparent man-in-the-middle proxy and packet logger for Minecraft: Java Edition.
//!
//! The library is the proxy without its shell: each module below is a layer that uses only the
//! ones above it (`docs/architecture.md`). Nothing down to `session` does I/O, reads the clock
//! or draws a random number by itself.

pub mod filter;
pub mod schema;
pub mod wire;
