use std::time::Duration;

use super::Extra;
use super::playback::{Playback, Turn};
use super::server::{Phase, ServerReplay};
use crate::link::Endpoint;
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Name, Role, State, Value};

/// The part of a server replay that exists only in the game.
#[derive(Debug)]
pub(super) struct ServerPlay {
    playback: Playback,
    /// The answer of the client to wait for, because it changes the state.
    gate: Option<Role>,
    /// `true` if everything was sent, and the client only stays in the game.
    held: bool,
    /// The time to continue; `None` while the client has to read or answer first.
    wake: Option<Timestamp>,
    /// The time at which to send a keep-alive that is not in the recording.
    keep_alive: Timestamp,
    /// Number of the last keep-alive.
    number: i64,
}

impl ServerPlay {
    pub(super) fn new(playback: Playback, now: Timestamp, seed: u64) -> Self {
        // The keep-alives of all versions have room for these numbers.
        let number = i64::try_from(seed % (1 << 30)).unwrap_or_default() + 1;
        let keep_alive = now.plus(KEEP_ALIVE);
        Self { playback, gate: None, held: false, wake: Some(now), keep_alive, number }
    }

    pub(super) fn timeout(&self, endpoint: &Endpoint) -> Option<Timestamp> {
        // A connection that was full and is not any more continues at once.
        let room = self.wake.is_none() && self.gate.is_none() && !self.held && !endpoint.is_full();
        let wake = if room { Some(endpoint.now()) } else { self.wake };
        wake.into_iter().chain([self.keep_alive]).min()
    }
}

/// The game.
impl ServerReplay {
    pub(super) fn on_game_packet(&mut self, packet: Packet) {
        let Phase::Play(play) = &mut self.phase else { return };
        let (state, role) = (packet.state(), packet.role());
        let name = packet.kind().map(|kind| Name::clone(kind.name()));
        let known = play.playback.on_peer(state, name.as_ref(), role);
        self.tally.receive(known);
        if !known && self.options.extra == Extra::Log {
            self.endpoint.record_with_comment(packet, EXTRA);
        } else {
            self.endpoint.record(packet);
        }
        if role.is_some() && role == play.gate {
            play.gate = None;
            play.wake = Some(self.endpoint.now());
        }
        match role {
            Some(Role::FinishConfiguration) => {
                self.endpoint.set_state(Direction::Serverbound, State::Play);
                self.endpoint.record_state();
            }
            Some(Role::ConfigurationAcknowledged) => {
                self.endpoint.set_state(Direction::Serverbound, State::Configuration);
            }
            _ => {}
        }
        if !known && self.options.extra == Extra::Close {
            let name = name.as_deref().unwrap_or("packet");
            self.disconnect(&format!("the recording has no such `{name}`"));
        }
    }

    /// Sends everything that is due.
    pub(super) fn play(&mut self) {
        let now = self.endpoint.now();
        self.keep_alive();
        loop {
            let Phase::Play(play) = &mut self.phase else { return };
            play.wake = None;
            if play.gate.is_some() || play.held || self.endpoint.is_full() {
                return;
            }
            match play.playback.poll(now) {
                Turn::Send(index) => {
                    self.tally.move_to(play.playback.position(), play.playback.moment());
                    self.send_step(index);
                }
                Turn::Wait(until) => {
                    play.wake = Some(until);
                    return;
                }
                Turn::End => return self.on_played(),
            }
        }
    }

    /// Sends a step, or the packet that replaces it in this session.
    fn send_step(&mut self, index: usize) {
        let Phase::Play(play) = &mut self.phase else { return };
        let step = play.playback.step(index);
        let (role, body) = (step.role, step.body.clone());
        let last = !self.options.repeat && !self.options.hold;
        match role {
            Some(Role::KeepAlive) if self.options.play.refresh => return self.send_keep_alive(),
            // This session ends later.
            Some(Role::Disconnect) if !last => return,
            // Compression is this session's own.
            Some(Role::Transfer | Role::SetCompression) => return,
            _ => {}
        }
        self.endpoint.send(&body);
        self.tally.count(|it| it.sent += 1);
        match role {
            Some(Role::FinishConfiguration) => {
                self.endpoint.set_state(Direction::Clientbound, State::Play);
                play.gate = Some(Role::FinishConfiguration);
            }
            Some(Role::StartConfiguration) => {
                self.endpoint.set_state(Direction::Clientbound, State::Configuration);
                play.gate = Some(Role::ConfigurationAcknowledged);
            }
            Some(Role::Disconnect) => {
                self.tally.finish(play.playback.missed());
                self.leave("the recording has ended, as it did then");
            }
            _ => {}
        }
    }

    fn on_played(&mut self) {
        let Phase::Play(play) = &mut self.phase else { return };
        self.tally.finish(play.playback.missed());
        if self.options.repeat {
            play.playback.rewind();
            play.wake = Some(self.endpoint.now().plus(PAUSE));
        } else if self.options.hold {
            play.held = true;
        } else {
            self.disconnect("the recording has ended");
        }
    }

    /// Sends a keep-alive if one is due, so that the client stays when the recording has none.
    fn keep_alive(&mut self) {
        let Phase::Play(play) = &mut self.phase else { return };
        if play.keep_alive > self.endpoint.now() {
            return;
        }
        play.keep_alive = self.endpoint.now().plus(KEEP_ALIVE);
        if self.options.play.refresh || play.held {
            self.send_keep_alive();
        }
    }

    fn send_keep_alive(&mut self) {
        let Phase::Play(play) = &mut self.phase else { return };
        play.number += 1;
        play.keep_alive = self.endpoint.now().plus(KEEP_ALIVE);
        let number = Value::map([("keepAliveId", Value::Int(play.number))]);
        // Alpha's has no number.
        if self.endpoint.send_first(Role::KeepAlive, [number, Value::map([])]) {
            self.tally.count(|it| it.sent += 1);
        }
    }
}

/// Clients time out after 20 to 30 s without a keep-alive; those of Alpha after 60 s.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Between two rounds, so that an empty recording does not keep a core busy.
const PAUSE: Duration = Duration::from_millis(50);

const EXTRA: &str = "not in the recording";
