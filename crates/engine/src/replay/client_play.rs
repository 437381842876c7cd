use std::collections::HashSet;

use super::client::{ClientReplay, OURS, Phase};
use super::playback::{Playback, Turn};
use super::position::{Offset, Position};
use super::{ClientOptions, Recording, Tally};
use crate::link::Endpoint;
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Name, Role, State, Value};

/// The part of a client replay that exists only in the game.
#[derive(Debug)]
pub(super) struct ClientPlay {
    playback: Playback,
    /// The time to continue; `None` while the server has to read or send something first.
    wake: Option<Timestamp>,
    teleports: Teleports,
    /// Number of teleports of this session.
    teleported: usize,
    position: Position,
    /// Offset from the recorded position to this session's.
    offset: Option<Offset>,
    /// The end of the wait for the spawn, if the playback does not begin at the start.
    arriving: Option<Timestamp>,
    /// `true` if everything was sent.
    done: bool,
}

impl ClientPlay {
    pub(super) fn new(options: &ClientOptions, now: Timestamp) -> Self {
        let ClientOptions { recording, play, .. } = options;
        let teleports = if play.refresh { Teleports::of(recording) } else { Teleports::default() };
        let waits = play.from.is_some() && !teleports.positions.is_empty();
        Self {
            playback: Playback::new(recording.clone(), *play, OURS),
            wake: Some(now),
            teleports,
            teleported: 0,
            position: Position::default(),
            offset: None,
            arriving: waits.then(|| now.plus(play.patience)),
            done: false,
        }
    }

    pub(super) fn timeout(&self, endpoint: &Endpoint) -> Option<Timestamp> {
        if self.arriving.is_some() || self.blocked(endpoint) {
            return self.arriving;
        }
        let room = self.wake.is_none() && !self.done && !endpoint.is_full();
        if room { Some(endpoint.now()) } else { self.wake }
    }

    pub(super) fn count(&self, tally: &Tally) {
        let finished = self.done || self.playback.has_sent_all();
        tally.count(|it| {
            it.missed += self.playback.missed() as u64;
            it.finished += u64::from(finished);
        });
    }

    /// Returns whether the next packet belongs to a state that is not reached yet.
    fn blocked(&self, endpoint: &Endpoint) -> bool {
        endpoint.state(OURS) == State::Configuration
            && self.playback.next_state() == Some(State::Play)
    }
}

/// The game.
impl ClientReplay {
    pub(super) fn on_game_packet(&mut self, packet: Packet, role: Option<Role>) {
        let Phase::Play(play) = &mut self.phase else { return };
        let name = packet.kind().map(|kind| Name::clone(kind.name()));
        let known = play.playback.on_peer(packet.state(), name.as_ref(), role);
        self.tally.receive(known);
        let wanted = match role {
            Some(Role::KeepAlive | Role::Echo | Role::Transaction | Role::Teleport) => {
                self.options.play.refresh
            }
            Some(role) => role.drives(),
            None => false,
        };
        let fields = if wanted { packet.value().ok() } else { None };
        self.endpoint.record(packet);
        match (role, fields) {
            (Some(Role::Teleport), Some(fields)) => self.on_teleport(&fields),
            (Some(role), Some(fields)) => self.endpoint.answer(role, &fields),
            (Some(role @ (Role::FinishConfiguration | Role::StartConfiguration)), None) => {
                self.endpoint.answer(role, &Value::Absent);
            }
            _ => {}
        }
    }

    /// Sends everything that is due.
    pub(super) fn play(&mut self) {
        let now = self.endpoint.now();
        loop {
            let Phase::Play(play) = &mut self.phase else { return };
            play.wake = None;
            play.arriving = play.arriving.filter(|until| now < *until);
            if play.done
                || play.arriving.is_some()
                || play.blocked(&self.endpoint)
                || self.endpoint.is_full()
            {
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

    /// Sends a step, unless this session makes it itself.
    fn send_step(&mut self, index: usize) {
        let Phase::Play(play) = &mut self.phase else { return };
        let step = play.playback.step(index);
        let mut body = step.body.clone();
        match step.role {
            // The state changes when the server says so.
            Some(Role::FinishConfiguration | Role::ConfigurationAcknowledged) => return,
            Some(Role::KeepAlive | Role::Echo | Role::Transaction | Role::TeleportConfirm)
                if self.options.play.refresh =>
            {
                return;
            }
            Some(Role::Movement) if play.teleports.confirmations.contains(&index) => return,
            Some(Role::Movement) => {
                let protocol = &self.endpoint.context().protocol;
                let moved = play.offset.and_then(|offset| offset.moved(protocol, &body));
                if let Some(moved) = moved {
                    body = moved.into();
                }
            }
            _ if step.state != self.endpoint.state(OURS) => return,
            _ => {}
        }
        self.endpoint.send(&body);
        self.tally.count(|it| it.sent += 1);
    }

    fn on_played(&mut self) {
        let Phase::Play(play) = &mut self.phase else { return };
        play.done = true;
        if !self.options.hold {
            self.leave("the recording has ended");
        }
    }

    /// Confirms the position to which the server has moved the player.
    fn on_teleport(&mut self, fields: &Value) {
        let Phase::Play(play) = &mut self.phase else { return };
        let position = play.position.teleported(fields);
        if let Some(recorded) = play.teleports.positions.get(play.teleported) {
            play.offset = position.offset_from(recorded);
        }
        play.position = position;
        play.teleported += 1;
        play.arriving = None;
        self.endpoint.answer(Role::Teleport, fields);
        if let Some(body) = position.confirmation(&self.endpoint.context().protocol) {
            self.endpoint.send(&body);
        }
    }
}

/// The teleports of a recording.
#[derive(Debug, Default)]
struct Teleports {
    /// Indices of the movement that confirms them.
    confirmations: HashSet<usize>,
    /// The positions that they lead to, in order.
    positions: Vec<Position>,
}

impl Teleports {
    fn of(recording: &Recording) -> Self {
        let mut teleports = Self::default();
        let (mut position, mut unconfirmed) = (Position::default(), 0_usize);
        for (index, step) in recording.steps.iter().enumerate() {
            let fields = || {
                let (protocol, body) = (recording.protocol(), &step.body);
                let (kind, start) = protocol.identify(step.state, step.direction, body).ok()?;
                protocol.decode(kind, body, start).ok()
            };
            match (step.direction, step.role) {
                (Direction::Clientbound, Some(Role::Teleport)) if step.came => {
                    let Some(fields) = fields() else { continue };
                    position = position.teleported(&fields);
                    teleports.positions.push(position);
                    unconfirmed += 1;
                }
                (Direction::Serverbound, Some(Role::Movement)) if unconfirmed > 0 => {
                    let Some(fields) = fields() else { continue };
                    if fields.get("x").is_some() && fields.get("yaw").is_some() {
                        teleports.confirmations.insert(index);
                        unconfirmed -= 1;
                    }
                }
                _ => {}
            }
        }
        teleports
    }
}
