use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::step::Step;
use super::{Point, RecordingError};
use crate::capture::{Entry, EventKind, ReadError, Record};
use crate::link::{PerSide, framed};
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Family, Name, Protocol, Role, State, Value};

/// One recorded session, held in memory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Recording {
    /// The session's context at its end.
    pub context: Arc<Context>,
    /// The compression threshold of each leg.
    pub thresholds: PerSide<Option<usize>>,
    /// The answer to a status request in any session of the capture, as JSON.
    pub status: Option<String>,
    /// Entries that cannot be played because they cannot be read or inflated.
    pub left_out: u64,
    /// The fields of the packet with which the client logged in.
    pub(super) login: Option<Value>,
    /// The client's other packets in the login: the names and fields of its answers to the server.
    pub(super) answers: Vec<(Name, Value)>,
    /// The fields of Login Success.
    pub(crate) success: Option<Value>,
    /// The packets of both sides after the login, in order.
    pub(super) steps: Vec<Step>,
}

impl Recording {
    /// Reads a session of a capture: the given one, or the first that reached the game. Stops at the
    /// end of that session, or where the capture is damaged.
    ///
    /// # Errors
    /// If the capture cannot be read, or if it has no such session.
    pub fn read(
        entries: impl Iterator<Item = Result<Entry, ReadError>>,
        session: Option<u64>,
    ) -> Result<Self, RecordingError> {
        let mut drafts = Drafts { wanted: session, ..Drafts::default() };
        for entry in entries {
            match entry {
                Ok(entry) => {
                    if !drafts.take(&entry) {
                        break;
                    }
                }
                Err(ReadError::Entry(..)) => drafts.unread += 1,
                // Everything before the damage can be played.
                Err(_) if drafts.chosen.is_some() => break,
                Err(error) => return Err(error.into()),
            }
        }
        drafts.finish()
    }

    /// The protocol version in the recorded client's handshake.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.context.version.unwrap_or_else(|| self.context.protocol.version())
    }

    /// Number of packets after the login.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns the time since the session was opened, and the number, of the last packet to be played.
    #[must_use]
    pub fn end(&self) -> Option<(Duration, u64)> {
        self.steps.last().map(|step| (step.at.since(self.context.opened), step.number))
    }

    /// Returns whether there are no packets after the login.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The packets that the recorded server sent after the login, up to `end`.
    pub(crate) fn clientbound(&self, end: Option<Point>) -> impl Iterator<Item = Record> {
        let end = end.map_or(self.steps.len(), |end| self.step_at(end));
        let came = self.steps[..end].iter().filter(|step| step.came);
        came.filter(|step| step.direction == Direction::Clientbound).map(|step| {
            let content =
                Content::Frame(framed(self.protocol(), step.direction, step.body.clone()));
            let context = Arc::clone(&self.context);
            let packet =
                Packet::new(context, step.number, step.at, step.direction, step.state, content);
            Record::passed(packet)
        })
    }

    /// The time of the last packet up to `end`.
    pub(crate) fn ended(&self, end: Option<Point>) -> Option<Timestamp> {
        let end = end.map_or(self.steps.len(), |end| self.step_at(end));
        self.steps[..end].last().map(|step| step.at)
    }

    pub(super) fn protocol(&self) -> &Arc<Protocol> {
        &self.context.protocol
    }

    /// Returns whether the session is from before 1.7.
    pub(super) fn is_unframed(&self) -> bool {
        self.context.protocol.family().is_unframed_game()
    }

    /// Index of the first step at or after `point`.
    pub(super) fn step_at(&self, point: Point) -> usize {
        let opened = self.context.opened;
        self.steps.partition_point(|step| match point {
            Point::Time(time) => step.at.since(opened) < time,
            Point::Packet(number) => step.number < number,
        })
    }

    /// Index of the first step of the game, after the configuration.
    pub(super) fn game(&self) -> usize {
        let game = self.steps.iter().position(|step| step.state == State::Play);
        game.unwrap_or(self.steps.len())
    }

    fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            thresholds: PerSide::default(),
            status: None,
            left_out: 0,
            login: None,
            answers: Vec::new(),
            success: None,
            steps: Vec::new(),
        }
    }

    fn take(&mut self, record: &Record) {
        let packet = &record.packet;
        let Ok(body) = packet.body() else {
            self.left_out += 1;
            return;
        };
        let role = packet.role();
        match (packet.state(), role) {
            (_, Some(Role::LoginStart | Role::UnframedLogin)) => self.login = packet.value().ok(),
            (State::Login, Some(Role::LoginSuccess)) => self.success = packet.value().ok(),
            // A stream that Wireshark has saved has no events.
            (_, Some(Role::SetCompression)) if self.thresholds == PerSide::default() => {
                let value = packet.value().ok();
                let threshold = value.as_ref().and_then(|it| it.get("threshold")?.as_int());
                let threshold = threshold.and_then(|it| usize::try_from(it).ok());
                self.thresholds = PerSide::from_fn(|_| threshold);
            }
            (_, Some(role)) if sets_up(role) => {}
            (State::Login, None) if packet.direction() == Direction::Serverbound => {
                let name = packet.kind().map(|kind| Name::clone(kind.name()));
                self.answers.extend(name.zip(packet.value().ok()));
            }
            (State::Play | State::Configuration, _) => self.steps.push(Step {
                at: packet.at(),
                number: packet.seq(),
                direction: packet.direction(),
                state: packet.state(),
                name: packet.kind().map(|kind| Name::clone(kind.name())),
                role,
                body,
                came: record.outcome.came(),
                went: record.outcome.went(),
            }),
            _ => {}
        }
    }
}

/// Returns whether packets of a role set up the connection, which every replay does for itself.
pub(crate) fn sets_up(role: Role) -> bool {
    matches!(
        role,
        Role::Greeting
            | Role::SetCompression
            | Role::EncryptionRequest
            | Role::EncryptionResponse
            | Role::EncryptionStarted
    )
}

/// The sessions of a capture as far as it has been read.
#[derive(Default)]
struct Drafts {
    wanted: Option<u64>,
    sessions: HashMap<u64, Recording>,
    /// The session to be played, once it has reached the game.
    chosen: Option<u64>,
    /// The sessions that reached the game.
    played: Vec<u64>,
    status: Option<String>,
    /// Number of sessions in the capture.
    seen: usize,
    /// Entries that cannot be read.
    unread: u64,
}

impl Drafts {
    /// Takes the capture's next entry. Returns `false` at the end of the chosen session.
    fn take(&mut self, entry: &Entry) -> bool {
        let number = entry.context().session;
        let unwanted = match self.chosen {
            Some(chosen) => chosen != number,
            None => self.played.contains(&number),
        };
        if unwanted {
            return true;
        }
        let draft = self.sessions.entry(number).or_insert_with(|| {
            self.seen += 1;
            Recording::new(entry.context())
        });
        draft.context = Arc::clone(entry.context());
        match entry {
            Entry::Packet(record) => {
                draft.take(record);
                if self.status.is_none() {
                    self.status = status(record);
                }
                if is_in_game(record) {
                    self.on_game(number);
                }
            }
            Entry::Event(event) => match &event.kind {
                EventKind::State(legs) => {
                    draft.thresholds =
                        PerSide { client: legs.client_threshold, server: legs.server_threshold };
                }
                EventKind::Close(_) if self.chosen.is_some() => return false,
                EventKind::Close(_) if self.wanted != Some(number) => {
                    self.sessions.remove(&number);
                }
                EventKind::Open | EventKind::Close(_) => {}
            },
        }
        true
    }

    /// Notes that a session has reached the game.
    fn on_game(&mut self, number: u64) {
        if self.chosen.is_some() {
            return;
        }
        self.played.push(number);
        if self.wanted.is_none_or(|wanted| wanted == number) {
            self.chosen = Some(number);
            self.sessions.retain(|other, _| *other == number);
        } else {
            self.sessions.remove(&number);
        }
    }

    fn finish(mut self) -> Result<Recording, RecordingError> {
        let wanted = self.chosen.or(self.wanted);
        let Some(wanted) = wanted else { return Err(RecordingError::NoGame(self.seen)) };
        let Some(mut recording) = self.sessions.remove(&wanted) else {
            return Err(RecordingError::NoSession { wanted, played: self.played });
        };
        if self.chosen.is_none() {
            return Err(RecordingError::NotPlayed(wanted));
        }
        recording.status = self.status;
        recording.left_out += self.unread;
        Ok(recording)
    }
}

/// Returns whether the session is in the game when this packet is sent.
fn is_in_game(record: &Record) -> bool {
    let packet = &record.packet;
    packet.state() == State::Play
        && packet.direction() == Direction::Clientbound
        && matches!(
            packet.context().protocol.family(),
            Family::Java | Family::Alpha | Family::Legacy
        )
        && !matches!(
            packet.role(),
            Some(
                Role::Greeting
                    | Role::Disconnect
                    | Role::EncryptionRequest
                    | Role::EncryptionStarted
            )
        )
}

/// Returns the JSON of a status response.
fn status(record: &Record) -> Option<String> {
    let packet = &record.packet;
    let is_status = packet.state() == State::Status && packet.role() == Some(Role::StatusResponse);
    if !is_status || packet.context().protocol.family() != Family::Java {
        return None;
    }
    Some(packet.value().ok()?.get("response")?.as_text()?.to_owned())
}
