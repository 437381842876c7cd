//! mitmcraft: a transparent man-in-the-middle proxy and packet logger for Minecraft: Java Edition.
//!
//! The library is the proxy without its shell: each module below is a layer that uses only the
//! ones above it (`docs/architecture.md`). Nothing down to `replay` does I/O, reads the clock
//! or draws a random number by itself.

pub mod analysis;
pub mod auth;
pub mod capture;
pub mod codec;
pub mod decode;
#[cfg(feature = "proxy")]
pub mod demo;
pub mod filter;
pub mod lang;
pub mod link;
pub mod packet;
pub mod ping;
#[cfg(feature = "proxy")]
pub mod proxy;
pub mod query;
pub mod replay;
pub mod schema;
pub mod session;
pub mod text;
pub mod wire;
