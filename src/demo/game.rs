use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::arrival::{self, ALEX};
use super::end::End;
use super::message::{Message, Received};
use super::mobs::Mobs;
use super::random::Random;
use super::scene;
use super::timeline::Timeline;
use super::world::World;
use super::{DemoError, DemoOptions};

/// The server's side of the game for one player. Time is that since the connection was made.
#[derive(Debug)]
pub(super) struct Game {
    options: Arc<DemoOptions>,
    player: String,
    mobs: Mobs,
    events: Timeline<Message>,
    random: Random,
    /// Ticks since the player came.
    age: i64,
    next_tick: Duration,
    keep_alive: KeepAlive,
}

/// Whether the player stays; if not, why it is kicked, as a chat component.
pub(super) type Stay = ControlFlow<Json>;

#[derive(Debug)]
enum KeepAlive {
    /// The next one is due then.
    Idle { due: Duration },
    /// That number was sent, and is wanted back by then.
    Asked { number: i64, until: Duration },
}

impl Game {
    /// Sends what a player sees at first.
    pub(super) fn start(
        options: Arc<DemoOptions>,
        world: &World,
        (player, uuid): (String, u128),
        now: Duration,
        end: &mut End,
    ) -> Result<Self, DemoError> {
        let mobs = Mobs::new(options.seed);
        let beginning = [
            arrival::opening(),
            arrival::landscape(world),
            arrival::arrival(&player, uuid),
            mobs.spawn(),
        ];
        for message in beginning.iter().flatten() {
            end.send(message)?;
        }
        // All is shown some time before the player leaves.
        let ticks = options.ticks() / 4 * 3;
        Ok(Self {
            events: Timeline::new(scene::events(options.seed, world), ticks),
            random: Random::named(options.seed, "keep-alives"),
            player,
            mobs,
            age: 0,
            next_tick: now + options.step(),
            keep_alive: KeepAlive::Idle { due: now },
            options,
        })
    }

    /// Answers what the player does.
    pub(super) fn handle(
        &mut self,
        now: Duration,
        packet: &Received,
        end: &mut End,
    ) -> Result<Stay, DemoError> {
        match &*packet.name {
            "keep_alive" => self.on_keep_alive(now, packet.int("keepAliveId")?),
            "chat" => return self.on_chat(packet.text("message")?, end),
            "tab_complete" => end.send(&self.completions(packet.text("text")?))?,
            "client_command" if packet.text("payload")? == "request_stats" => {
                end.send(&Message::new("statistics", scene::statistics()))?;
            }
            "block_dig" if packet.int("status")? == DUG => {
                end.send(&scene::block_change(&location(packet)?, 0))?;
            }
            "block_place" => self.on_place(packet, end)?,
            "window_click" => end.send(&Message::new(
                "transaction",
                json!({
                    "windowId": packet.int("windowId")?, "action": packet.int("action")?,
                    "accepted": true,
                }),
            ))?,
            "use_entity" => {
                let hurt = json!({ "entityId": packet.int("target")?, "entityStatus": 2 });
                end.send(&Message::new("entity_status", hurt))?;
            }
            // Where the player is and looks, and what it tells of itself, needs no answer.
            _ => {}
        }
        Ok(Stay::Continue(()))
    }

    /// Does what is due by now.
    pub(super) fn on_timeout(&mut self, now: Duration, end: &mut End) -> Result<Stay, DemoError> {
        match self.keep_alive {
            KeepAlive::Asked { until, .. } if now >= until => {
                return Ok(Stay::Break(json!({ "translate": "disconnect.timeout" })));
            }
            KeepAlive::Idle { due } if now >= due => {
                let number = i64::from(self.random.below(1 << 31));
                end.send(&Message::new("keep_alive", json!({ "keepAliveId": number })))?;
                self.keep_alive = KeepAlive::Asked { number, until: now + self.options.timeout };
            }
            _ => {}
        }
        if now >= self.next_tick {
            // Ticks that were missed are not made up for.
            self.next_tick = now + self.options.step();
            if !end.is_full() {
                self.tick(end)?;
            }
        }
        Ok(Stay::Continue(()))
    }

    /// When [`Game::on_timeout`] has something to do.
    pub(super) fn timeout(&self) -> Duration {
        match self.keep_alive {
            KeepAlive::Idle { due: at } | KeepAlive::Asked { until: at, .. } => {
                at.min(self.next_tick)
            }
        }
    }

    fn tick(&mut self, end: &mut End) -> Result<(), DemoError> {
        self.age += 1;
        let mut messages = self.events.step();
        messages.extend(self.mobs.step());
        if self.age % TIME_EVERY == 0 {
            let time = json!({ "age": self.age, "time": arrival::MORNING + self.age });
            messages.push(Message::new("update_time", time));
        }
        messages.iter().try_for_each(|message| end.send(message))
    }

    fn on_keep_alive(&mut self, now: Duration, answer: i64) {
        if matches!(self.keep_alive, KeepAlive::Asked { number, .. } if number == answer) {
            self.keep_alive = KeepAlive::Idle { due: now + self.options.keep_alive };
        }
    }

    fn on_chat(&self, text: &str, end: &mut End) -> Result<Stay, DemoError> {
        let system = |component| scene::chat(&component, scene::SYSTEM);
        match text {
            "/bye" | "bye" => {
                return Ok(Stay::Break(json!({
                    "text": "Goodbye, ", "color": "gold",
                    "extra": [{ "text": self.player, "color": "aqua" }, " ☃"],
                })));
            }
            "/help" => {
                let help = COMMANDS.join(" ");
                end.send(&system(json!({ "text": help, "color": "green" })))?;
            }
            _ if text.starts_with('/') => {
                let unknown = json!({ "translate": "commands.generic.notFound", "color": "red" });
                end.send(&system(unknown))?;
            }
            _ => {
                // Shown as "<player> text".
                let said = json!({ "translate": "chat.type.text", "with": [self.player, text] });
                end.send(&scene::chat(&said, scene::CHAT))?;
                let swing = json!({ "entityId": ALEX, "animation": 0 });
                end.send(&Message::new("animation", swing))?;
            }
        }
        Ok(Stay::Continue(()))
    }

    /// The block that is placed cannot be: the player sees what is really there.
    fn on_place(&self, packet: &Received, end: &mut End) -> Result<(), DemoError> {
        if packet.int("direction")? < 0 {
            return Ok(());
        }
        let mut place = location(packet)?;
        let y = place["y"].as_i64().unwrap_or_default();
        place["y"] = (y + 1).min(255).into();
        end.send(&scene::block_change(&place, 0))
    }

    fn completions(&self, text: &str) -> Message {
        let word = text.rsplit(' ').next().unwrap_or_default();
        let names = [self.player.as_str(), "Alex", "Steffi"];
        let words: &[&str] = if text.starts_with('/') { &COMMANDS } else { &names };
        let matches: Vec<&&str> = words.iter().filter(|it| it.starts_with(word)).collect();
        Message::new("tab_complete", json!({ "matches": matches }))
    }
}

/// The packet's block.
fn location(packet: &Received) -> Result<Json, DemoError> {
    let part = |name| {
        let place = packet.field("location")?;
        place.get(name).and_then(|it| it.as_int()).ok_or_else(|| packet.fault("location"))
    };
    Ok(json!({ "x": part("x")?, "y": part("y")?, "z": part("z")? }))
}

const COMMANDS: [&str; 2] = ["/bye", "/help"];

/// Status of a block that is dug away.
const DUG: i64 = 2;

/// The time is told once a second, with ticks of 50 ms.
const TIME_EVERY: i64 = 20;
