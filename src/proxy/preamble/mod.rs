//! HAProxy's PROXY protocol, versions 1 and 2: who a connection is from, said before its first byte.
//!
//! After "The PROXY protocol, Versions 1 & 2" (2020/03/05) of HAProxy. What is read is a [`Preamble`];
//! no byte beyond it is taken, however the stream is cut.

mod error;
mod header;
mod v1;
mod v2;

pub(super) use error::PreambleError;
pub use header::PreambleVersion;
pub(super) use header::{Addresses, Preamble, Read, read};
