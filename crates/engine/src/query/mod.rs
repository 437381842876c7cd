//! Query, the UDP protocol of servers with `enable-query`: as client, as server, and as a relay
//! between many clients and one server; sans-IO.
//!
//! ```text
//! client                                            server
//! FE FD 09 session                        ->        09 session "token" 00
//! FE FD 00 session token                  ->        00 session "motd" 00 ..       (basic stat)
//! FE FD 00 session token 00 00 00 00      ->        00 session "splitnum" 00 ..   (full stat)
//! ```
//!
//! Source: the Query document (UT3/GameSpy4 protocol). Ints are big-endian, only the host port is
//! little-endian; text is Latin-1, shown as UTF-8 if it is valid UTF-8.

mod client;
mod error;
mod message;
mod relay;
mod server;
mod stat;

pub use client::{Query, QueryOptions};
pub use error::QueryError;
pub use message::{Answer, Request, SESSION_MASK};
pub use relay::{Relay, RelayOptions, RelayOutput};
pub use server::QueryServer;
pub use stat::{BasicStat, FullStat, Kind, Stat};
