use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::end::{ALPHA_VERSION, End};
use super::message::{Message, Received};
use super::peer::Peer;
use super::timeline::Timeline;
use super::{DemoError, DemoOptions, alpha_scene};
use crate::schema::{Direction, State};

/// The server's end of a connection of Alpha, sans-IO.
#[derive(Debug)]
pub(super) struct AlphaServer {
    options: Arc<DemoOptions>,
    end: End,
    phase: Phase,
    player: Option<String>,
    /// When a client has been silent for too long.
    patience: Duration,
}

#[derive(Debug)]
enum Phase {
    /// For the handshake and the login.
    Login,
    Play {
        scene: Timeline<Message>,
        tick: Duration,
        keep_alive: Duration,
    },
    Over,
}

impl AlphaServer {
    /// The end of a connection that was just accepted.
    pub(super) fn new(options: Arc<DemoOptions>) -> Self {
        let end = End::alpha(Direction::Clientbound, options.record);
        let patience = options.timeout;
        Self { options, end, phase: Phase::Login, player: None, patience }
    }

    fn kick(&mut self, reason: &str) -> Result<(), DemoError> {
        self.phase = Phase::Over;
        self.end.send(&Message::new("kick_disconnect", json!({ "reason": reason })))
    }

    fn on_login(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        if packet.int("protocolVersion")? != i64::from(ALPHA_VERSION) {
            return self.kick("This demo speaks Alpha's protocol 5.");
        }
        let name = packet.text("username")?.to_owned();
        alpha_scene::opening(&name).iter().try_for_each(|message| self.end.send(message))?;
        self.player = Some(name);
        self.phase = Phase::Play {
            scene: Timeline::new(alpha_scene::scene(), SCENE),
            tick: now + self.options.step(),
            keep_alive: now + self.options.keep_alive,
        };
        Ok(())
    }

    fn on_chat(&mut self, packet: &Received) -> Result<(), DemoError> {
        let text = packet.text("message")?;
        if text == "/bye" {
            return self.kick("Goodbye!");
        }
        let player = self.player.as_deref().unwrap_or_default();
        self.end.send(&alpha_scene::chat(&format!("<{player}> {text}")))
    }
}

impl Peer for AlphaServer {
    fn on_packet(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        self.patience = now + self.options.timeout;
        match (&self.phase, &*packet.name) {
            // No authentication.
            (Phase::Login, "handshake") => {
                self.end.send(&Message::new("handshake", json!({ "connectionHash": "-" })))
            }
            (Phase::Login, "login") => self.on_login(now, packet),
            (Phase::Login, name) => {
                Err(DemoError::Unexpected { packet: name.to_owned(), state: State::Login })
            }
            (Phase::Play { .. }, "chat") => self.on_chat(packet),
            (Phase::Play { .. } | Phase::Over, _) => Ok(()),
        }
    }

    fn on_timeout(&mut self, now: Duration) -> Result<(), DemoError> {
        if now >= self.patience {
            return Err(DemoError::Silent(self.end.state()));
        }
        let Phase::Play { scene, tick, keep_alive } = &mut self.phase else { return Ok(()) };
        if now >= *keep_alive {
            *keep_alive = now + self.options.keep_alive;
            self.end.send(&Message::new("keep_alive", json!({})))?;
        }
        if now >= *tick {
            *tick = now + self.options.step();
            scene.step().iter().try_for_each(|message| self.end.send(message))?;
        }
        Ok(())
    }

    fn on_error(&mut self, error: DemoError) {
        let told = !matches!(error, DemoError::Closed(_) | DemoError::Io { .. });
        self.phase = Phase::Over;
        if told {
            // Nothing more can be done for a client that the reason does not reach.
            let _ = self.kick(&error.to_string());
        }
    }

    fn end(&self) -> &End {
        &self.end
    }

    fn end_mut(&mut self) -> &mut End {
        &mut self.end
    }

    fn player(&self) -> Option<&str> {
        self.player.as_deref()
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    fn timeout(&self) -> Duration {
        match &self.phase {
            Phase::Play { tick, keep_alive, .. } => self.patience.min(*tick).min(*keep_alive),
            _ => self.patience,
        }
    }
}

/// Ticks in which all that happens has happened.
const SCENE: u32 = 10;
