use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::end::{ALPHA_VERSION, End};
use super::message::{Message, Received};
use super::peer::Peer;
use super::timeline::Timeline;
use super::{DemoError, DemoOptions, DemoReport, alpha_scene};
use crate::schema::{Direction, State};

/// The client's end of a connection of Alpha, sans-IO.
#[derive(Debug)]
pub(super) struct AlphaClient {
    options: Arc<DemoOptions>,
    end: End,
    phase: Phase,
    /// When the server has been silent for too long.
    patience: Duration,
    report: DemoReport,
}

#[derive(Debug)]
enum Phase {
    Greeting,
    Login,
    Play { script: Timeline<Message>, tick: Duration, farewell: Duration },
    AwaitKick,
    Over(Result<(), DemoError>),
}

impl AlphaClient {
    /// Logs in and plays.
    pub(super) fn new(options: Arc<DemoOptions>) -> Self {
        let mut end = End::alpha(Direction::Serverbound, options.record);
        let greeting = Message::new("handshake", json!({ "username": options.username }));
        let phase = match end.send(&greeting) {
            Ok(()) => Phase::Greeting,
            Err(error) => Phase::Over(Err(error)),
        };
        let patience = options.timeout;
        Self { options, end, phase, patience, report: DemoReport::default() }
    }

    /// What came of it, once it is over.
    pub(super) fn finish(mut self) -> Result<DemoReport, DemoError> {
        match self.phase {
            Phase::Over(result) => result?,
            _ => return Err(DemoError::Closed(self.end.state())),
        }
        self.report.add(&mut self.end, 0);
        Ok(self.report)
    }

    fn on_greeting(&mut self) -> Result<(), DemoError> {
        self.phase = Phase::Login;
        let login = json!({
            "protocolVersion": ALPHA_VERSION, "username": self.options.username,
            "password": "Password", "mapSeed": 0, "dimension": 0,
        });
        self.end.send(&Message::new("login", login))
    }

    fn on_login(&mut self, now: Duration) {
        self.phase = Phase::Play {
            script: Timeline::new(alpha_scene::script(), self.options.ticks()),
            tick: now + self.options.step(),
            farewell: now + self.options.duration,
        };
    }

    /// Says that it stands where the server has put it.
    fn on_position(&mut self, packet: &Received) -> Result<(), DemoError> {
        let value = packet.value.clone();
        self.end.send(&Message { name: "position_look", value })
    }

    fn on_kick(&mut self, packet: &Received) -> Result<(), DemoError> {
        let reason = packet.text("reason")?.to_owned();
        match self.phase {
            Phase::AwaitKick => {
                self.report.kick = Some(reason);
                self.phase = Phase::Over(Ok(()));
                Ok(())
            }
            _ => Err(DemoError::Disconnected { state: self.end.state(), reason }),
        }
    }
}

impl Peer for AlphaClient {
    fn on_packet(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        if !matches!(self.phase, Phase::AwaitKick) {
            self.patience = now + self.options.timeout;
        }
        match (&self.phase, &*packet.name) {
            (_, "kick_disconnect") => self.on_kick(packet),
            (Phase::Greeting, "handshake") => self.on_greeting(),
            (Phase::Login, "login") => {
                self.on_login(now);
                Ok(())
            }
            (Phase::Play { .. }, "position_look") => self.on_position(packet),
            (Phase::Play { .. } | Phase::AwaitKick, "chat") => {
                self.report.chat.push(packet.text("message")?.to_owned());
                Ok(())
            }
            (Phase::Greeting | Phase::Login, name) => {
                Err(DemoError::Unexpected { packet: name.to_owned(), state: State::Login })
            }
            _ => Ok(()),
        }
    }

    fn on_timeout(&mut self, now: Duration) -> Result<(), DemoError> {
        if now >= self.patience {
            return Err(match self.phase {
                Phase::AwaitKick => DemoError::NotKicked,
                _ => DemoError::Silent(self.end.state()),
            });
        }
        let Phase::Play { script, tick, farewell } = &mut self.phase else { return Ok(()) };
        if now >= *tick {
            *tick = now + self.options.step();
            script.step().iter().try_for_each(|message| self.end.send(message))?;
        }
        if now >= *farewell {
            self.end.send(&alpha_scene::chat(&self.options.farewell))?;
            self.phase = Phase::AwaitKick;
            self.patience = now + self.options.timeout;
        }
        Ok(())
    }

    fn on_error(&mut self, error: DemoError) {
        self.phase = Phase::Over(Err(error));
    }

    fn end(&self) -> &End {
        &self.end
    }

    fn end_mut(&mut self) -> &mut End {
        &mut self.end
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    fn timeout(&self) -> Duration {
        match &self.phase {
            Phase::Play { tick, farewell, .. } => self.patience.min(*tick).min(*farewell),
            _ => self.patience,
        }
    }
}
