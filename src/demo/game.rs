use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::connection::Connection;
use super::landscape::{far_column, landscape};
use super::message::Received;
use super::random::Random;
use super::scene::{Part, Scene, Step};
use super::timeline::Timeline;
use super::{DemoError, DemoOptions};
use mitmcraft_engine::link::Side;
use mitmcraft_protocol::packet::Timestamp;

/// The server's side of the game for one player.
#[derive(Debug)]
pub(super) struct Game {
    options: Arc<DemoOptions>,
    part: Part,
    /// Name and UUID of the player, for the scene.
    given: Json,
    events: Timeline<Step>,
    random: Random,
    /// Ticks since the player came.
    age: u64,
    next_tick: Timestamp,
    keep_alive: KeepAlive,
}

#[derive(Debug)]
enum KeepAlive {
    /// The next one is due at that time.
    Idle(Timestamp),
    /// That number was sent and is expected back by that time.
    Awaited(i64, Timestamp),
}

impl Game {
    /// Sends what a player sees first. `given` has the player's name and UUID.
    pub(super) fn start(
        scene: &'static Scene,
        options: Arc<DemoOptions>,
        given: Json,
        connection: &mut Connection,
    ) -> Result<Self, DemoError> {
        let (now, seed) = (connection.now(), options.seed);
        let part = scene.part(Side::Server, seed);
        let game = Self {
            part,
            events: Timeline::new(part.steps("events", &given), part.ticks(options.ticks())),
            random: Random::named(seed, "keep-alives"),
            given,
            age: 0,
            next_tick: now.plus(options.step()),
            keep_alive: KeepAlive::Idle(now),
            options,
        };
        take_steps(part.steps("enter", &game.given), connection)?;
        Ok(game)
    }

    /// Answers what the player does. Returns whether the connection ends with it.
    pub(super) fn handle(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<bool, DemoError> {
        if let (Some(field), KeepAlive::Awaited(number, _), "keep_alive") =
            (self.part.keep_alive_answer(), &self.keep_alive, &*packet.name)
            && packet.int(field)? == *number
        {
            self.keep_alive = KeepAlive::Idle(connection.now().plus(self.options.keep_alive));
        }
        // Most of what a player does needs no reply.
        let Some(reply) = self.part.reply(&packet.name, &self.merge(packet)) else {
            return Ok(false);
        };
        connection.send_all(&reply.messages)?;
        Ok(reply.ends)
    }

    /// Does what is due. Returns whether the connection ends with it.
    pub(super) fn on_timeout(&mut self, connection: &mut Connection) -> Result<bool, DemoError> {
        let now = connection.now();
        match self.keep_alive {
            KeepAlive::Awaited(_, until) if now >= until => {
                connection.send_all(&self.part.late())?;
                return Ok(true);
            }
            KeepAlive::Idle(due) if now >= due => {
                let number = self.random.below(1 << 31);
                connection.send(&self.part.keep_alive(number))?;
                self.keep_alive = match self.part.keep_alive_answer() {
                    Some(_) => KeepAlive::Awaited(number.into(), now.plus(self.options.timeout)),
                    None => KeepAlive::Idle(now.plus(self.options.keep_alive)),
                };
            }
            _ => {}
        }
        if now >= self.next_tick {
            // Ticks that were missed are not made up for.
            self.next_tick = now.plus(self.options.step());
            if !connection.endpoint.is_full() {
                self.tick(connection)?;
            }
        }
        Ok(false)
    }

    /// The time of the next [`Game::on_timeout`].
    pub(super) fn timeout(&self) -> Timestamp {
        match self.keep_alive {
            KeepAlive::Idle(at) | KeepAlive::Awaited(_, at) => at.min(self.next_tick),
        }
    }

    fn tick(&mut self, connection: &mut Connection) -> Result<(), DemoError> {
        self.age += 1;
        let steps = self.events.step();
        take_steps(steps, connection)?;
        connection.send_all(&self.part.walk(self.age))?;
        connection.send_all(&self.part.repeated(self.age))
    }

    /// The packet's fields, with the player's name and UUID.
    fn merge(&self, packet: &Received) -> Json {
        let mut given = packet.value.to_json();
        if let (Json::Object(given), Json::Object(player)) = (&mut given, &self.given) {
            given.extend(player.clone());
        }
        if given.is_object() { given } else { json!({}) }
    }
}

fn take_steps(steps: Vec<Step>, connection: &mut Connection) -> Result<(), DemoError> {
    steps.into_iter().try_for_each(|step| match step {
        Step::Send(message) => connection.send(&message),
        Step::Landscape => connection.send_all(&landscape()),
        Step::FarColumn => connection.send_all(&far_column()),
    })
}
