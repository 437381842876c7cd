//! Control of running sessions by people, sans-IO.
//!
//! A [`Controller`] connects user interfaces with sessions. Interfaces send [`Request`]s and get [`Message`]s;
//! sessions get [`Command`](mitmcraft_engine::link::Command)s and return [`Report`](mitmcraft_engine::link::Report)s.

mod controller;
mod held_packet;
mod message;
mod request;
#[cfg(test)]
pub(crate) mod tests;

pub use controller::Controller;
pub use held_packet::{HeldContent, HeldPacket};
pub use message::{Answer, BreakCondition, Decided, HeldRows, Holding, Message, Push, Sending};
pub use request::{ControlError, HeldId, Request, Span};
