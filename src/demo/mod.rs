//! A small Minecraft 1.8 (protocol 47) server and client, which give the proxy something to show. On
//! the same port the server speaks Alpha (protocol 5), and answers every Server List Ping and Query.
//!
//! Both use the library itself: each is an [`Engine`](mitmcraft_engine::link::Engine) that the proxy's driver
//! runs, and the embedded descriptions encode and decode each packet by its name. What they send is
//! in the files of `data`, and is the same for the same [`DemoOptions::seed`].
//!
//! ```text
//! tokio     DemoServer                  play, play_alpha       EngineRunner drives both
//!               │                           │
//! sans-IO   Server                      Client                 a PeerEngine with one Connection
//!               │                           │
//!           Game ── landscape           Player                 what a player sees, and does
//!               └─────────── Scene ─────────┘                  data/scene-47.json, scene-alpha.json
//! ```

mod client;
mod connection;
mod conversation;
mod demo_options;
mod demo_report;
mod demo_server;
mod error;
mod game;
mod landscape;
mod message;
mod play;
mod player;
mod query;
mod random;
mod scene;
mod server;
mod template;
mod timeline;

#[cfg(test)]
mod tests;

pub use demo_options::DemoOptions;
pub use demo_report::DemoReport;
pub use demo_server::DemoServer;
pub use error::DemoError;
pub use play::{play, play_alpha};

use mitmcraft_engine::link::Opening;
