use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use super::point::Point;
use crate::capture::{Entry, EventKind, ReadError, Record};
use crate::packet::{Context, Timestamp};
use crate::schema::{Direction, Family, Name, Protocol, Role, State, Value};

/// One recorded session, held whole.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What was known of it in the end.
    pub context: Arc<Context>,
    /// The threshold of each leg, client's and server's.
    pub thresholds: [Option<usize>; 2],
    /// The answer to a status request, of any session in the capture: JSON.
    pub status: Option<String>,
    /// How many entries cannot be read, or are no packets that open, and cannot be played.
    pub left_out: u64,
    /// The fields of the packet that logged the client in.
    pub(super) login: Option<Value>,
    /// The fields of Login Success.
    pub(super) success: Option<Value>,
    /// What both sides sent after the login, in order.
    pub(super) steps: Vec<Step>,
}

/// A packet of a recording.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) at: Timestamp,
    /// Its number in the recorded session.
    pub(super) number: u64,
    pub(super) direction: Direction,
    pub(super) state: State,
    /// None: the id means nothing.
    pub(super) name: Option<Name>,
    pub(super) role: Option<Role>,
    /// Id and fields.
    pub(super) body: Bytes,
    /// Whether it came from the peer that sends in that direction.
    pub(super) came: bool,
    /// Whether it went to the other one.
    pub(super) went: bool,
}

/// Why a capture cannot be replayed.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// None of its sessions reached the game.
    #[error("none of its {0} sessions reached the game")]
    NoGame(usize),
    /// The session asked for is not in it.
    #[error("it has no session {wanted}; those that reached the game: {}", list(.played))]
    NoSession {
        /// The number asked for.
        wanted: u64,
        /// Those that could be replayed.
        played: Vec<u64>,
    },
    /// The session asked for did not reach the game.
    #[error("session {0} did not reach the game")]
    NotPlayed(u64),
}

impl Recording {
    /// Takes a session from a capture: that number, else the first that reached the game. Reads no
    /// further than its end. A capture that is damaged is good up to there.
    ///
    /// # Errors
    /// [`RecordingError`] when there is no such session.
    pub fn read(
        entries: impl Iterator<Item = Result<Entry, ReadError>>,
        session: Option<u64>,
    ) -> Result<Self, RecordingError> {
        let mut drafts: HashMap<u64, Self> = HashMap::new();
        let (mut status, mut chosen, mut seen) = (None, None, 0);
        let (mut played, mut unread) = (Vec::new(), 0);
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(ReadError::Entry(..)) => {
                    unread += 1;
                    continue;
                }
                // All before it can be played.
                Err(_) if chosen.is_some() => break,
                Err(error) => return Err(error.into()),
            };
            let number = entry.context().session;
            if chosen.is_some_and(|chosen| chosen != number) {
                continue;
            }
            let draft = drafts.entry(number).or_insert_with(|| {
                seen += 1;
                Self::new(entry.context())
            });
            draft.context = Arc::clone(entry.context());
            match entry {
                Entry::Packet(record) => {
                    status = status.or_else(|| answered(&record));
                    draft.take(&record);
                    if draft.in_game(&record) && !played.contains(&number) {
                        played.push(number);
                        if session.is_none_or(|session| session == number) {
                            chosen = Some(number);
                            drafts.retain(|other, _| *other == number);
                        } else {
                            drafts.remove(&number);
                        }
                    }
                }
                Entry::Event(event) => match event.kind {
                    EventKind::State(legs) => {
                        draft.thresholds = [legs.client_threshold, legs.server_threshold];
                    }
                    EventKind::Close(_) if chosen.is_some() => break,
                    EventKind::Close(_) if session != Some(number) => {
                        drafts.remove(&number);
                    }
                    EventKind::Open | EventKind::Close(_) => {}
                },
            }
        }
        match (chosen, session) {
            (Some(chosen), _) => match drafts.remove(&chosen) {
                Some(recording) => {
                    Ok(Self { status, left_out: recording.left_out + unread, ..recording })
                }
                None => Err(RecordingError::NotPlayed(chosen)),
            },
            (None, None) => Err(RecordingError::NoGame(seen)),
            (None, Some(wanted)) if drafts.contains_key(&wanted) => {
                Err(RecordingError::NotPlayed(wanted))
            }
            (None, Some(wanted)) => Err(RecordingError::NoSession { wanted, played }),
        }
    }

    /// The protocol number that the recorded client said.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.context.version.unwrap_or_else(|| self.context.protocol.version())
    }

    /// Packets after the login.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing came after the login.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn protocol(&self) -> &Arc<Protocol> {
        &self.context.protocol
    }

    pub(super) fn is_alpha(&self) -> bool {
        self.context.protocol.family() == Family::Alpha
    }

    /// The place of the first step at or behind a point.
    pub(super) fn place(&self, point: Point) -> usize {
        let opened = self.context.opened;
        self.steps.partition_point(|step| match point {
            Point::Time(time) => step.at.since(opened) < time,
            Point::Packet(number) => step.number < number,
        })
    }

    fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            thresholds: [None; 2],
            status: None,
            left_out: 0,
            login: None,
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
        let role = packet.kind().and_then(|packet| packet.role());
        match (packet.state, role) {
            (_, Some(Role::LoginStart | Role::Login)) => self.login = packet.value().ok(),
            (State::Login, Some(Role::LoginSuccess)) => self.success = packet.value().ok(),
            // A stream that Wireshark has saved again has it, and no event.
            (_, Some(Role::SetCompression)) if self.thresholds == [None; 2] => {
                let value = packet.value().ok();
                let threshold = value.as_ref().and_then(|it| it.get("threshold")?.as_int());
                self.thresholds = [threshold.and_then(|it| usize::try_from(it).ok()); 2];
            }
            (_, Some(Role::Greeting | Role::SetCompression)) => {}
            (State::Play | State::Configuration, _) => self.steps.push(Step {
                at: packet.at,
                number: packet.seq,
                direction: packet.direction,
                state: packet.state,
                name: packet.kind().map(|packet| Name::clone(packet.name())),
                role,
                body,
                came: record.outcome.came(),
                went: record.outcome.went(),
            }),
            _ => {}
        }
    }

    /// Whether the game has begun with this packet.
    fn in_game(&self, record: &Record) -> bool {
        let packet = &record.packet;
        let family = packet.context.protocol.family();
        let login = packet.kind().and_then(|packet| packet.role());
        packet.state == State::Play
            && packet.direction == Direction::Clientbound
            && matches!(family, Family::Java | Family::Alpha)
            && !matches!(login, Some(Role::Greeting | Role::Disconnect))
    }
}

/// The answer to a status request.
fn answered(record: &Record) -> Option<String> {
    let packet = &record.packet;
    let role = packet.kind().filter(|_| packet.state == State::Status)?.role();
    if role != Some(Role::StatusResponse) || packet.context.protocol.family() != Family::Java {
        return None;
    }
    Some(packet.value().ok()?.get("response")?.as_text()?.to_owned())
}

fn list(numbers: &[u64]) -> String {
    match numbers {
        [] => "none".to_owned(),
        numbers => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}
