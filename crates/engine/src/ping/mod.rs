//! Server List Ping of every generation, as client and as server; sans-IO.
//!
//! A [`Ping`] asks one server in one [`Form`] and ends with a [`Status`]; an [`Answerer`] is the
//! server side for all forms. Time is passed in as an argument.
//!
//! ```text
//! 1.7      handshake, request -> JSON;  ping -> the same ping       (framed packets)
//! 1.6      FE 01 FA "MC|PingHost" ..   -> FF "§1\0protocol\0version\0motd\0online\0max"
//! 1.4      FE 01                       -> the same
//! beta     FE                          -> FF "motd§online§max"
//! ```
//!
//! [`lan_announcement`] is how a server of the local network gets into the game's list without a ping.
//!
//! Source: the documents "Server List Ping" of 1.7 and of all generations.

mod answerer;
mod client;
mod error;
mod form;
mod lan;
mod legacy;
mod modern;
mod status;

pub use answerer::{Answerer, Reply};
pub use client::Ping;
pub use error::PingError;
pub use form::Form;
pub use lan::{LAN_GROUP, LAN_INTERVAL, lan_announcement};
pub use status::{Player, Status};
