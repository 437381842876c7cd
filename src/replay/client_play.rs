use std::collections::HashSet;

use super::client::{ClientReplay, OURS, Phase};
use super::end::End;
use super::place::{Place, shifted};
use super::playback::{Playback, Turn};
use super::recording::Recording;
use super::{ClientOptions, Tally};
use crate::packet::{Packet, Timestamp};
use crate::schema::{Direction, Name, Role, State, Value};

/// What plays while we are in the game.
#[derive(Debug)]
pub(super) struct Acting {
    playback: Playback,
    /// When to go on by itself; None: the server must read or say something first.
    wake: Option<Timestamp>,
    /// Movement that says that the client is where a teleport has put it: we say so ourselves.
    answers: HashSet<usize>,
    /// Where the recorded client was put, in order.
    teleports: Vec<Place>,
    teleported: usize,
    /// Where we are.
    place: Place,
    /// From where the recorded client was to where we are.
    shift: Option<[f64; 3]>,
    /// When we begin in the midst: we wait to be put into the world, no longer than until then.
    arriving: Option<Timestamp>,
    /// Whether all was sent.
    done: bool,
}

impl Acting {
    pub(super) fn new(options: &ClientOptions, now: Timestamp) -> Self {
        let recording = &options.recording;
        let playback = Playback::new(recording.clone(), options.play, OURS);
        let (answers, teleports) = match options.play.refresh {
            true => teleports(recording),
            false => Default::default(),
        };
        Self {
            playback,
            wake: Some(now),
            answers,
            arriving: (options.play.from.is_some() && !teleports.is_empty())
                .then(|| now.plus(options.play.patience)),
            teleports,
            teleported: 0,
            place: Place::default(),
            shift: None,
            done: false,
        }
    }

    pub(super) fn timeout(&self, end: &End) -> Option<Timestamp> {
        if self.arriving.is_some() || self.blocked(end) {
            return self.arriving;
        }
        let room = self.wake.is_none() && !self.done && !end.is_full();
        if room { Some(end.now) } else { self.wake }
    }

    pub(super) fn count(&self, tally: &Tally) {
        tally.missed(self.playback.missed.len());
        if self.done || self.playback.has_said_all() {
            tally.finished();
        }
    }

    /// Whether what comes next is of a state in which we are not yet.
    fn blocked(&self, end: &End) -> bool {
        end.state(OURS) == State::Configuration && self.playback.next_state() == Some(State::Play)
    }
}

/// The game.
impl ClientReplay {
    pub(super) fn on_game_packet(&mut self, packet: Packet, role: Option<Role>) {
        let Phase::Play(acting) = &mut self.phase else { return };
        let name = packet.kind().map(|packet| Name::clone(packet.name()));
        let known = acting.playback.on_peer(packet.state, name.as_ref(), role);
        self.tally.received(!known);
        let wanted = match role {
            Some(Role::KeepAlive | Role::Echo | Role::Transaction | Role::Teleport) => {
                self.options.play.refresh
            }
            Some(role) => role.drives(),
            None => false,
        };
        let value = if wanted { packet.value().ok() } else { None };
        self.end.record(packet, None);
        match (role, value) {
            (Some(role @ (Role::KeepAlive | Role::Echo)), Some(value)) => {
                self.end.say(role, &value);
            }
            (Some(Role::Transaction), Some(value)) => self.on_transaction(value),
            (Some(Role::Teleport), Some(value)) => self.on_teleport(&value),
            (Some(Role::SetCompression), Some(value)) => self.on_set_compression(&value),
            (Some(Role::FinishConfiguration), _) => {
                self.end.say(Role::FinishConfiguration, &Value::map([]));
                self.end.enter(State::Play);
            }
            (Some(Role::StartConfiguration), _) => {
                self.end.say(Role::ConfigurationAcknowledged, &Value::map([]));
                self.end.enter(State::Configuration);
            }
            _ => {}
        }
    }

    /// Sends what is due.
    pub(super) fn play(&mut self) {
        let now = self.end.now;
        loop {
            let Phase::Play(acting) = &mut self.phase else { return };
            acting.wake = None;
            acting.arriving = acting.arriving.filter(|until| now < *until);
            if acting.done
                || acting.arriving.is_some()
                || acting.blocked(&self.end)
                || self.end.is_full()
            {
                return;
            }
            match acting.playback.poll(now) {
                Turn::Send(place) => {
                    self.tally.moved(acting.playback.position().0, acting.playback.moment());
                    self.act(place);
                }
                Turn::Wait(until) => {
                    acting.wake = Some(until);
                    return;
                }
                Turn::End => return self.on_played(),
            }
        }
    }

    fn act(&mut self, place: usize) {
        let Phase::Play(acting) = &mut self.phase else { return };
        let step = acting.playback.step(place);
        let mut body = step.body.clone();
        match step.role {
            // The state changes when the server says so.
            Some(Role::FinishConfiguration | Role::ConfigurationAcknowledged) => return,
            Some(Role::KeepAlive | Role::Echo | Role::Transaction | Role::TeleportConfirm)
                if self.options.play.refresh =>
            {
                return;
            }
            Some(Role::Movement) if acting.answers.contains(&place) => return,
            Some(Role::Movement) => {
                if let Some(shift) = acting.shift
                    && let Some(other) = shifted(&self.end.context.protocol, &body, shift)
                {
                    body = other.into();
                }
            }
            _ if step.state != self.end.state(OURS) => return,
            _ => {}
        }
        self.end.send(&body, None);
        self.tally.sent();
    }

    fn on_played(&mut self) {
        let Phase::Play(acting) = &mut self.phase else { return };
        if let Some(until) = acting.playback.owed(self.end.now) {
            acting.wake = Some(until);
            // What is left is the server's.
            return;
        }
        acting.done = true;
        if !self.options.hold {
            self.leave("the recording has ended");
        }
    }

    /// A click that was not accepted: the client must say that it knows.
    fn on_transaction(&mut self, value: Value) {
        if value.get("accepted").map(Value::plain) != Some(&Value::Bool(false)) {
            return;
        }
        let Value::Map(mut fields) = value.plain().clone() else { return };
        for (name, value) in &mut fields {
            if **name == *"accepted" {
                *value = Value::Bool(true);
            }
        }
        self.end.say(Role::Transaction, &Value::Map(fields));
    }

    /// Says that we are where the server has put us.
    fn on_teleport(&mut self, value: &Value) {
        let Phase::Play(acting) = &mut self.phase else { return };
        let place = acting.place.moved(value);
        if let Some(recorded) = acting.teleports.get(acting.teleported) {
            acting.shift = place.shift_from(recorded);
        }
        acting.place = place;
        acting.teleported += 1;
        acting.arriving = None;
        if let Some(number) = value.get("teleportId") {
            let number = Value::map([("teleportId", number.clone())]);
            self.end.say(Role::TeleportConfirm, &number);
        }
        if let Some(body) = place.answer(&self.end.context.protocol) {
            self.end.send(&body, None);
        }
    }
}

/// The movement that answers teleports, by place, and where these lead.
fn teleports(recording: &Recording) -> (HashSet<usize>, Vec<Place>) {
    let (mut answers, mut teleports) = (HashSet::new(), Vec::new());
    let (mut place, mut unanswered) = (Place::default(), 0_usize);
    for (index, step) in recording.steps.iter().enumerate() {
        let decoded = |direction| {
            let protocol = recording.protocol();
            let (packet, start) = protocol.identify(step.state, direction, &step.body).ok()?;
            protocol.decode(packet, &step.body, start).ok()
        };
        match (step.direction, step.role) {
            (Direction::Clientbound, Some(Role::Teleport)) if step.came => {
                let Some(value) = decoded(Direction::Clientbound) else { continue };
                place = place.moved(&value);
                teleports.push(place);
                unanswered += 1;
            }
            (Direction::Serverbound, Some(Role::Movement)) if unanswered > 0 => {
                let Some(value) = decoded(Direction::Serverbound) else { continue };
                if value.get("x").is_some() && value.get("yaw").is_some() {
                    answers.insert(index);
                    unanswered -= 1;
                }
            }
            _ => {}
        }
    }
    (answers, teleports)
}
