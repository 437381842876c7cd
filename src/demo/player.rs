use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::connection::Connection;
use super::message::{Message, Received};
use super::scene::{Part, Scene, Step};
use super::timeline::Timeline;
use super::{DemoError, DemoOptions};
use mitmcraft_engine::link::Side;
use mitmcraft_protocol::packet::Timestamp;

/// The client's side of the game.
#[derive(Debug)]
pub(super) struct Player {
    options: Arc<DemoOptions>,
    part: Part,
    events: Timeline<Step>,
    /// `None` for a player that moves only as the scene says.
    walk: Option<Walk>,
    next_tick: Timestamp,
    ticks: u32,
    /// The time at which the server must have kicked the player, who has said farewell.
    kicked_by: Option<Timestamp>,
}

/// How a player walks along a square.
#[derive(Debug)]
pub(super) struct Walk {
    /// x, y, z, yaw and pitch; `None` until the server has said it.
    stance: Option<[f64; 5]>,
}

impl Player {
    /// Sends what a client sends first.
    pub(super) fn start(
        scene: &'static Scene,
        options: Arc<DemoOptions>,
        walk: Option<Walk>,
        connection: &mut Connection,
    ) -> Result<Self, DemoError> {
        let part = scene.part(Side::Client, options.seed);
        send_steps(part.steps("enter", &Json::Null), connection)?;
        Ok(Self {
            events: Timeline::new(part.steps("events", &Json::Null), part.ticks(options.ticks())),
            part,
            walk,
            next_tick: connection.now().plus(options.step()),
            ticks: 0,
            kicked_by: None,
            options,
        })
    }

    /// Answers a packet of the server. A player who has said farewell no longer does, since the server
    /// has stopped listening.
    pub(super) fn on_packet(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<(), DemoError> {
        if self.has_said_farewell() {
            return Ok(());
        }
        if let (Some(walk), "position") = (&mut self.walk, &*packet.name) {
            return connection.send(&walk.on_position(packet)?);
        }
        match self.part.reply(&packet.name, &packet.value.to_json()) {
            Some(reply) => connection.send_all(&reply.messages),
            None => Ok(()),
        }
    }

    /// Does what is due.
    pub(super) fn on_timeout(&mut self, connection: &mut Connection) -> Result<(), DemoError> {
        let now = connection.now();
        if let Some(by) = self.kicked_by {
            return if now >= by { Err(DemoError::NotKicked) } else { Ok(()) };
        }
        if now < self.next_tick {
            return Ok(());
        }
        self.next_tick = now.plus(self.options.step());
        if let Some(walk) = &mut self.walk {
            // A player who is nowhere yet does nothing.
            let Some(message) = walk.step(self.ticks + 1) else { return Ok(()) };
            connection.send(&message)?;
        }
        self.ticks += 1;
        send_steps(self.events.step(), connection)?;
        if self.ticks >= self.options.ticks() {
            let farewell = json!({ "message": self.options.farewell });
            connection.send(&Message::new("chat", farewell))?;
            self.kicked_by = Some(now.plus(self.options.timeout));
        }
        Ok(())
    }

    /// The time of the next [`Player::on_timeout`].
    pub(super) fn timeout(&self) -> Timestamp {
        self.kicked_by.unwrap_or(self.next_tick)
    }

    /// Returns whether the player waits to be kicked.
    pub(super) fn has_said_farewell(&self) -> bool {
        self.kicked_by.is_some()
    }
}

impl Walk {
    pub(super) fn new() -> Self {
        Self { stance: None }
    }

    /// Takes the position that the server gives, and returns its confirmation.
    fn on_position(&mut self, packet: &Received) -> Result<Message, DemoError> {
        let names = ["x", "y", "z", "yaw", "pitch"];
        let flags = packet.int("flags")?;
        let mut stance = self.stance.unwrap_or_default();
        for (bit, (part, name)) in stance.iter_mut().zip(names).enumerate() {
            // A bit that is set makes the number relative.
            let base = if flags >> bit & 1 == 1 { *part } else { 0.0 };
            *part = base + packet.float(name)?;
        }
        self.stance = Some(stance);
        Ok(position_look(stance, false))
    }

    /// Takes a step along the square and looks around; `None` before there is a position.
    fn step(&mut self, ticks: u32) -> Option<Message> {
        let [x, y, z, yaw, pitch] = self.stance?;
        let stance = match ticks / 8 % 4 {
            0 => [x + SPEED, y, z, yaw + 5.0, pitch],
            1 => [x, y, z + SPEED, yaw, (pitch - 5.0).max(-60.0)],
            2 => [x - SPEED, y, z, yaw - 5.0, pitch],
            _ => [x, y, z - SPEED, yaw, (pitch + 5.0).min(60.0)],
        };
        self.stance = Some(stance);
        let [x, y, z, yaw, pitch] = stance;
        Some(match ticks % 4 {
            0 => position_look(stance, true),
            1 => Message::new("position", json!({ "x": x, "y": y, "z": z, "onGround": true })),
            2 => Message::new("look", json!({ "yaw": yaw, "pitch": pitch, "onGround": true })),
            _ => Message::new("flying", json!({ "onGround": true })),
        })
    }
}

fn position_look([x, y, z, yaw, pitch]: [f64; 5], on_ground: bool) -> Message {
    Message::new(
        "position_look",
        json!({ "x": x, "y": y, "z": z, "yaw": yaw, "pitch": pitch, "onGround": on_ground }),
    )
}

fn send_steps(steps: Vec<Step>, connection: &mut Connection) -> Result<(), DemoError> {
    for step in steps {
        // What is computed is the server's.
        if let Step::Send(message) = step {
            connection.send(&message)?;
        }
    }
    Ok(())
}

/// Blocks per tick, about as fast as players walk.
const SPEED: f64 = 0.2;
