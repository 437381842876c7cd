//! A small Minecraft 1.8 (protocol 47) server and client, so that the proxy has something to show.
//!
//! Both speak through the library itself: a [`Leg`](crate::codec::Leg) frames, compresses and
//! encrypts, the embedded description of protocol 47 encodes and decodes each packet by its name.
//! What they send is the same for the same [`DemoOptions::seed`].

mod arrival;
mod demo_packet;
mod end;
mod error;
mod item;
mod message;
mod mobs;
mod random;
mod scene;
mod script;
mod status;
mod text;
mod timeline;
mod world;

pub use demo_packet::DemoPacket;
pub use error::DemoError;
