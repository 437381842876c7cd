use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::framed::framed;
use super::step::Step;
use super::{Point, Recording};
use crate::analysis::{DiffSide, Differ, Difference, Ignore};
use crate::capture::{Entry, EventKind, Record, Sink};
use crate::lang::Expr;
use mitmcraft_protocol::packet::{Content, Packet};
use mitmcraft_protocol::schema::{Direction, Name, Role, State, Value, parse_uuid};

/// Compares what servers answer to a client replay with the recording: a sink for the replay's
/// sessions.
///
/// Packets are compared by type, those of each type in order: how the types mix differs from run to
/// run. The recorded player's name and UUID count as equal to the session's.
#[derive(Debug)]
pub struct Expectation {
    ignore: Ignore,
    condition: Option<Expr>,
    recorded: Player,
    /// Sorted by packet type.
    expected: Vec<Record>,
    /// The packets of the sessions that are not over.
    received: HashMap<u64, Received>,
    differing: Vec<Differing>,
    compared: u64,
}

impl Expectation {
    /// Expects what the recorded server sent in the game up to `end`, without packets that do not
    /// match `condition`.
    #[must_use]
    pub fn new(
        recording: &Recording,
        ignore: Ignore,
        condition: Option<Expr>,
        end: Option<Point>,
    ) -> Self {
        let end = end.map_or(recording.steps.len(), |end| recording.step_at(end));
        let mut expected: Vec<Record> = recording.steps[..end]
            .iter()
            .filter(|step| step.came)
            .map(|step| expected_record(recording, step))
            .filter(|record| is_compared(record, condition.as_ref()))
            .collect();
        expected.sort_by_key(kind_name);
        let uuid = recording.success.as_ref().and_then(uuid);
        let name = recording.context.player.clone().unwrap_or_default();
        let recorded = Player { name, uuid };
        let (received, differing) = (HashMap::new(), Vec::new());
        Self { ignore, condition, recorded, expected, received, differing, compared: 0 }
    }

    /// Returns the number of packets that were compared in the sessions that are over: of each, those that
    /// the recording has, or those that came if they are more.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Removes and returns the differences of the sessions that are over.
    pub fn take(&mut self) -> Vec<Differing> {
        std::mem::take(&mut self.differing)
    }

    fn on_record(&mut self, record: &Record) {
        let context = record.packet.context();
        let received = self.received.entry(context.session).or_default();
        if received.player.name.is_empty() {
            received.player.name = context.player.clone().unwrap_or_default();
        }
        if record.packet.role() == Some(Role::LoginSuccess) {
            received.player.uuid = record.packet.value().ok().as_ref().and_then(uuid);
        }
        if is_compared(record, self.condition.as_ref()) {
            let mut record = record.clone();
            if received.player != self.recorded {
                received.player.replace(&self.recorded, &mut record.packet);
            }
            received.records.push(record);
        }
    }

    fn close(&mut self, session: u64) {
        let Some(mut received) = self.received.remove(&session) else { return };
        received.records.sort_by_key(kind_name);
        self.compared += self.expected.len().max(received.records.len()) as u64;
        let mut differ = Differ::new(self.ignore.clone());
        for record in &self.expected {
            differ.push(DiffSide::A, &Entry::Packet(record.clone()));
        }
        for record in received.records {
            differ.push(DiffSide::B, &Entry::Packet(record));
        }
        differ.finish();
        let differences: Vec<Difference> = std::iter::from_fn(|| differ.poll()).collect();
        if !differences.is_empty() {
            let player = received.player.name;
            self.differing.push(Differing { session, player, differences });
        }
    }
}

impl Sink for Expectation {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(record) => self.on_record(record),
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    self.close(event.context.session);
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The differences of a session from the recorded one.
#[derive(Debug, Clone)]
pub struct Differing {
    /// The session's number.
    pub session: u64,
    /// The player's name.
    pub player: String,
    /// The packets that are missing, unexpected or different.
    pub differences: Vec<Difference>,
}

/// The packets of a session.
#[derive(Debug, Default)]
struct Received {
    player: Player,
    records: Vec<Record>,
}

/// A player as packets name it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Player {
    name: String,
    uuid: Option<u128>,
}

impl Player {
    /// Replaces this player by another one in a packet.
    fn replace(&self, other: &Self, packet: &mut Packet) {
        let Ok(fields) = packet.value() else { return };
        let replaced = self.replace_in(other, &fields);
        if replaced == fields {
            return;
        }
        let body = packet.kind().map(|kind| packet.context().protocol.encode(kind, &replaced));
        if let Some(Ok(body)) = body {
            packet.replace_body(body.into());
        }
    }

    fn replace_in(&self, other: &Self, value: &Value) -> Value {
        match value {
            Value::Text(text) if !self.name.is_empty() && text.contains(&self.name) => {
                Value::from(text.replace(&self.name, &other.name).as_str())
            }
            Value::Uuid(uuid) if self.uuid == Some(*uuid) => {
                Value::Uuid(other.uuid.unwrap_or(*uuid))
            }
            Value::List(items) => {
                Value::List(items.iter().map(|item| self.replace_in(other, item)).collect())
            }
            Value::Map(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(name, value)| (Name::clone(name), self.replace_in(other, value)));
                Value::Map(fields.collect())
            }
            value => value.clone(),
        }
    }
}

fn expected_record(recording: &Recording, step: &Step) -> Record {
    let content = Content::Frame(framed(recording.protocol(), step.body.clone()));
    let (context, direction) = (Arc::clone(&recording.context), step.direction);
    Record::passed(Packet::new(context, step.number, step.at, direction, step.state, content))
}

/// Returns whether a packet is compared: one of the game or the configuration that the server sent.
fn is_compared(record: &Record, condition: Option<&Expr>) -> bool {
    let packet = &record.packet;
    packet.direction() == Direction::Clientbound
        && matches!(packet.state(), State::Play | State::Configuration)
        && packet.role() != Some(Role::Greeting)
        && condition.is_none_or(|condition| condition.matches(record))
}

fn kind_name(record: &Record) -> Option<Name> {
    record.packet.kind().map(|kind| Name::clone(kind.name()))
}

/// The UUID in a Login Success.
fn uuid(value: &Value) -> Option<u128> {
    match value.get("uuid")?.plain() {
        Value::Uuid(uuid) => Some(*uuid),
        Value::Text(text) => parse_uuid(text),
        _ => None,
    }
}
