use std::time::Duration;

use serde_json::json;

use super::end::End;
use super::message::{Message, Received};
use super::script;
use super::timeline::Timeline;
use super::{DemoError, DemoOptions};

/// The client's side of the game.
#[derive(Debug)]
pub(super) struct Player {
    acts: Timeline<Message>,
    /// x, y, z, and where it looks: yaw and pitch. None until the server has said it.
    stance: Option<[f64; 5]>,
    tick: Duration,
    next_tick: Duration,
    ticks_done: u32,
    ticks: u32,
    farewell: String,
    /// When the server must have kicked the player that said farewell.
    out_by: Option<Duration>,
    timeout: Duration,
}

impl Player {
    pub(super) fn new(options: &DemoOptions, now: Duration) -> Self {
        let ticks = options.ticks();
        Self {
            acts: Timeline::new(script::acts(options.seed), ticks / 5 * 4),
            stance: None,
            tick: options.step(),
            next_tick: now + options.step(),
            ticks_done: 0,
            ticks,
            farewell: options.farewell.clone(),
            out_by: None,
            timeout: options.timeout,
        }
    }

    /// The server puts the player somewhere, and wants it confirmed.
    pub(super) fn on_position(
        &mut self,
        packet: &Received,
        end: &mut End,
    ) -> Result<(), DemoError> {
        let names = ["x", "y", "z", "yaw", "pitch"];
        let flags = packet.int("flags")?;
        let mut stance = self.stance.unwrap_or_default();
        for (bit, (part, name)) in stance.iter_mut().zip(names).enumerate() {
            // A bit that is set makes the number relative.
            let base = if flags >> bit & 1 == 1 { *part } else { 0.0 };
            *part = base + packet.float(name)?;
        }
        self.stance = Some(stance);
        end.send(&position_look(stance, false))
    }

    /// Does what is due by now.
    pub(super) fn on_timeout(&mut self, now: Duration, end: &mut End) -> Result<(), DemoError> {
        if self.out_by.is_some_and(|by| now >= by) {
            return Err(DemoError::NotKicked);
        }
        if now < self.next_tick || self.out_by.is_some() {
            return Ok(());
        }
        self.next_tick = now + self.tick;
        let Some(stance) = self.stance else { return Ok(()) };
        self.ticks_done += 1;
        end.send(&self.step(stance))?;
        self.acts.step().iter().try_for_each(|act| end.send(act))?;
        if self.ticks_done >= self.ticks {
            end.send(&script::chat(&self.farewell))?;
            self.out_by = Some(now + self.timeout);
        }
        Ok(())
    }

    /// When [`Player::on_timeout`] has something to do.
    pub(super) fn timeout(&self) -> Duration {
        self.out_by.unwrap_or(self.next_tick)
    }

    /// Whether a kick is what it waits for.
    pub(super) fn has_said_farewell(&self) -> bool {
        self.out_by.is_some()
    }

    /// Walks along a square, looking around.
    fn step(&mut self, [x, y, z, yaw, pitch]: [f64; 5]) -> Message {
        let stance = match self.ticks_done / 8 % 4 {
            0 => [x + WALK, y, z, yaw + 5.0, pitch],
            1 => [x, y, z + WALK, yaw, (pitch - 5.0).max(-60.0)],
            2 => [x - WALK, y, z, yaw - 5.0, pitch],
            _ => [x, y, z - WALK, yaw, (pitch + 5.0).min(60.0)],
        };
        self.stance = Some(stance);
        let [x, y, z, yaw, pitch] = stance;
        match self.ticks_done % 4 {
            0 => position_look(stance, true),
            1 => Message::new("position", json!({ "x": x, "y": y, "z": z, "onGround": true })),
            2 => Message::new("look", json!({ "yaw": yaw, "pitch": pitch, "onGround": true })),
            _ => Message::new("flying", json!({ "onGround": true })),
        }
    }
}

fn position_look([x, y, z, yaw, pitch]: [f64; 5], on_ground: bool) -> Message {
    Message::new(
        "position_look",
        json!({ "x": x, "y": y, "z": z, "yaw": yaw, "pitch": pitch, "onGround": on_ground }),
    )
}

/// Blocks a tick, about as fast as players walk.
const WALK: f64 = 0.2;
