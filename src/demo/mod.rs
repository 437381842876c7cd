//! A small Minecraft 1.8 (protocol 47) server and client, so that the proxy has something to show. On
//! the same port the server speaks Alpha (protocol 5), and answers every Server List Ping and Query.
//!
//! Both speak through the library itself: a [`Leg`](crate::codec::Leg) frames, compresses and
//! encrypts, the embedded description of protocol 47 encodes and decodes each packet by its name.
//! What they send is the same for the same [`DemoOptions::seed`].
//!
//! ```text
//! sans-IO   ServerCore ── Game ── World, Mobs, scene       ClientCore ── Player, script
//!                │                                              │
//!               End: leg, state, counts, record of bodies      End
//!                │                                              │
//! tokio     peer::run, DemoServer                          peer::run, play
//! ```

mod alpha_client;
mod alpha_scene;
mod alpha_server;
mod arrival;
mod client;
mod demo_options;
mod demo_packet;
mod demo_report;
mod demo_server;
mod door;
mod end;
mod error;
mod game;
mod item;
mod message;
mod mobs;
mod peer;
mod play;
mod player;
mod query;
mod random;
mod scene;
mod script;
mod server;
mod status;
mod text;
mod timeline;
mod world;

#[cfg(test)]
mod tests;

pub use demo_options::DemoOptions;
pub use demo_packet::DemoPacket;
pub use demo_report::{DemoReport, DemoVisit};
pub use demo_server::DemoServer;
pub use error::DemoError;
pub use play::{play, play_alpha};
