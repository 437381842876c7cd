use std::time::Duration;

use super::Extra;
use super::end::End;
use super::playback::{Playback, Turn};
use super::server::{Phase, ServerReplay};
use crate::packet::{Packet, Timestamp};
use crate::schema::{Direction, Name, Role, State, Value};

/// What plays while a client is in the game.
#[derive(Debug)]
pub(super) struct Playing {
    pub(super) playback: Playback,
    /// The client's answer without which nothing more is sent: it changes the state.
    gate: Option<Role>,
    /// Whether all was played, and the client is only kept.
    held: bool,
    /// When to go on by itself; None: the client must read or answer first.
    wake: Option<Timestamp>,
    /// When a keep-alive of our own is due.
    alive: Timestamp,
    /// The number of the next keep-alive.
    number: i64,
}

impl Playing {
    pub(super) fn new(playback: Playback, now: Timestamp, seed: u64) -> Self {
        // What every version's keep-alive has room for.
        let number = i64::try_from(seed % (1 << 30)).unwrap_or_default() + 1;
        let alive = now.plus(KEEP_ALIVE);
        Self { playback, gate: None, held: false, wake: Some(now), alive, number }
    }

    pub(super) fn timeout(&self, end: &End) -> Option<Timestamp> {
        // What was full and is not any more goes on at once.
        let room = self.wake.is_none() && self.gate.is_none() && !self.held && !end.is_full();
        let wake = if room { Some(end.now) } else { self.wake };
        wake.into_iter().chain([self.alive]).min()
    }
}

/// The game.
impl ServerReplay {
    pub(super) fn on_game_packet(&mut self, packet: Packet) {
        let Phase::Play(playing) = &mut self.phase else { return };
        let (state, role) = (packet.state, packet.kind().and_then(|packet| packet.role()));
        let name = packet.kind().map(|packet| Name::clone(packet.name()));
        let known = playing.playback.on_peer(state, name.as_ref(), role);
        self.tally.received(!known);
        let what = name.as_deref().unwrap_or("packet").to_owned();
        let comment = (!known && self.options.extra == Extra::Log).then_some(EXTRA);
        self.end.record(packet, comment);
        if role.is_some() && role == playing.gate {
            playing.gate = None;
            playing.wake = Some(self.end.now);
        }
        match role {
            Some(Role::FinishConfiguration) => {
                self.end.set_state(Direction::Serverbound, State::Play);
                self.end.state_event();
            }
            Some(Role::ConfigurationAcknowledged) => {
                self.end.set_state(Direction::Serverbound, State::Configuration);
            }
            _ => {}
        }
        if !known && self.options.extra == Extra::Close {
            self.send_away(&format!("the recording has no such `{what}`"));
        }
    }

    /// Sends what is due.
    pub(super) fn play(&mut self) {
        let now = self.end.now;
        self.keep_alive();
        loop {
            let Phase::Play(playing) = &mut self.phase else { return };
            playing.wake = None;
            if playing.gate.is_some() || playing.held || self.end.is_full() {
                return;
            }
            match playing.playback.poll(now) {
                Turn::Send(place) => {
                    let (position, _) = playing.playback.position();
                    self.tally.moved(position, playing.playback.moment());
                    self.give(place);
                }
                Turn::Wait(until) => {
                    playing.wake = Some(until);
                    return;
                }
                Turn::End => return self.on_played(),
            }
        }
    }

    /// Sends a step, or what stands for it here.
    fn give(&mut self, place: usize) {
        let Phase::Play(playing) = &mut self.phase else { return };
        let step = playing.playback.step(place);
        let (role, body) = (step.role, step.body.clone());
        let last = !self.options.repeat && !self.options.hold;
        match role {
            Some(Role::KeepAlive) if self.options.play.refresh => return self.say_alive(),
            // We end the session ourselves, and compress as we have said.
            Some(Role::Disconnect) if !last => return,
            Some(Role::Transfer | Role::SetCompression) => return,
            _ => {}
        }
        self.end.send(&body, None);
        self.tally.sent();
        let Phase::Play(playing) = &mut self.phase else { return };
        match role {
            Some(Role::FinishConfiguration) => {
                self.end.set_state(Direction::Clientbound, State::Play);
                playing.gate = Some(Role::FinishConfiguration);
            }
            Some(Role::StartConfiguration) => {
                self.end.set_state(Direction::Clientbound, State::Configuration);
                playing.gate = Some(Role::ConfigurationAcknowledged);
            }
            Some(Role::Disconnect) => {
                self.tally.missed(playing.playback.missed.len());
                self.tally.finished();
                self.leave("the recording has ended, as it did then");
            }
            _ => {}
        }
    }

    fn on_played(&mut self) {
        let Phase::Play(playing) = &mut self.phase else { return };
        if let Some(until) = playing.playback.owed(self.end.now) {
            playing.wake = Some(until);
            return;
        }
        self.tally.missed(playing.playback.missed.len());
        self.tally.finished();
        if self.options.repeat {
            playing.playback.rewind();
            // Not at once: a recording of nothing must not spin.
            playing.wake = Some(self.end.now.plus(PAUSE));
            return;
        }
        if self.options.hold {
            playing.held = true;
            return;
        }
        self.send_away("the recording has ended");
    }

    /// Keeps the connection alive where the recording does not: it is held, slow, or waits.
    fn keep_alive(&mut self) {
        let Phase::Play(playing) = &mut self.phase else { return };
        if playing.alive > self.end.now {
            return;
        }
        playing.alive = self.end.now.plus(KEEP_ALIVE);
        if self.options.play.refresh || playing.held {
            self.say_alive();
        }
    }

    fn say_alive(&mut self) {
        let Phase::Play(playing) = &mut self.phase else { return };
        playing.number += 1;
        playing.alive = self.end.now.plus(KEEP_ALIVE);
        let number = Value::map([("keepAliveId", Value::Int(playing.number))]);
        // Alpha's has no number.
        let said = [number, Value::map([])].iter().any(|it| self.end.say(Role::KeepAlive, it));
        if said {
            self.tally.sent();
        }
    }
}

/// Clients give a server up that is silent for 20 to 30 s; Alpha's for 60 s.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(50);

const EXTRA: &str = "not in the recording";
