//! HAProxy's PROXY protocol, versions 1 and 2: a header before the first byte of a connection that
//! contains the addresses of its client.
//!
//! Source: "The PROXY protocol, Versions 1 & 2" (2020/03/05) of HAProxy. A [`Preamble`] is read byte by
//! byte where needed, so that no byte after it is consumed, however the stream is split.

mod error;
mod header;
mod v1;
mod v2;

pub use error::{Excerpt, PreambleError};
pub use header::{Addresses, Preamble, PreambleRead, PreambleVersion};
