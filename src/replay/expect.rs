use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::framed::framed;
use super::{Point, Recording};
use crate::analysis::{DiffSide, Differ, Difference, Ignore};
use crate::capture::{Entry, EventKind, Record, Sink};
use crate::lang::Expr;
use crate::packet::{Content, Packet};
use crate::schema::{Direction, Name, Role, State, Value, parse_uuid};

/// Compares what a server answers with a recording, session by session: a sink that is given the
/// sessions of a client replay.
///
/// Packets are compared kind by kind, each kind in its order: how the kinds mingle is chance. What
/// is said of the player counts as said of the recorded one.
#[derive(Debug)]
pub struct Expectation {
    ignore: Ignore,
    condition: Option<Expr>,
    recorded: Player,
    expected: Vec<Record>,
    /// What has come in the sessions that are not over.
    came: HashMap<u64, Came>,
    differing: Vec<Differing>,
}

/// How a session differs from the recorded one.
#[derive(Debug, Clone)]
pub struct Differing {
    /// The session.
    pub session: u64,
    /// Its player.
    pub player: String,
    /// What was expected and did not come, or the reverse, or came otherwise.
    pub differences: Vec<Difference>,
}

#[derive(Debug, Default)]
struct Came {
    player: Player,
    records: Vec<Record>,
}

/// A player, as texts and fields have it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Player {
    name: String,
    uuid: Option<u128>,
}

impl Expectation {
    /// Expects what the recording's server sent in the game up to there, as far as it matches.
    #[must_use]
    pub fn new(
        recording: &Recording,
        ignore: Ignore,
        condition: Option<Expr>,
        end: Option<Point>,
    ) -> Self {
        let end = end.map_or(recording.steps.len(), |end| recording.place(end));
        let came = recording.steps[..end].iter().filter(|step| step.came);
        let records = came.map(|step| {
            let content = Content::Frame(framed(recording.protocol(), step.body.clone()));
            let context = Arc::clone(&recording.context);
            let (number, direction) = (step.number, step.direction);
            let packet = Packet::new(context, number, step.at, direction, step.state, content);
            Record::passed(packet)
        });
        let mut expected: Vec<Record> =
            records.filter(|record| compared(record, condition.as_ref())).collect();
        expected.sort_by_key(kind);
        let uuid = recording.success.as_ref().and_then(uuid);
        let name = recording.context.player.clone().unwrap_or_default();
        let recorded = Player { name, uuid };
        let (came, differing) = (HashMap::new(), Vec::new());
        Self { ignore, condition, recorded, expected, came, differing }
    }

    /// Moves out what is known of the sessions that are over.
    pub fn take(&mut self) -> Vec<Differing> {
        std::mem::take(&mut self.differing)
    }

    fn on_record(&mut self, record: &Record) {
        let context = &record.packet.context;
        let came = self.came.entry(context.session).or_default();
        if came.player.name.is_empty() {
            came.player.name = context.player.clone().unwrap_or_default();
        }
        let role = record.packet.kind().and_then(|packet| packet.role());
        if role == Some(Role::LoginSuccess) {
            came.player.uuid = record.packet.value().ok().as_ref().and_then(uuid);
        }
        if compared(record, self.condition.as_ref()) {
            let mut record = record.clone();
            if came.player != self.recorded {
                renamed(&mut record.packet, &came.player, &self.recorded);
            }
            came.records.push(record);
        }
    }

    fn close(&mut self, session: u64) {
        let Some(mut came) = self.came.remove(&session) else { return };
        came.records.sort_by_key(kind);
        let mut differ = Differ::new(self.ignore.clone());
        for (operand, records) in [(DiffSide::A, &self.expected), (DiffSide::B, &came.records)] {
            for record in records {
                differ.push(operand, &Entry::Packet(record.clone()));
            }
        }
        differ.finish();
        let differences: Vec<Difference> = std::iter::from_fn(|| differ.poll()).collect();
        if !differences.is_empty() {
            let player = came.player.name;
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

/// Whether a packet is one of those that are compared.
fn compared(record: &Record, condition: Option<&Expr>) -> bool {
    let packet = &record.packet;
    let role = packet.kind().and_then(|packet| packet.role());
    packet.direction == Direction::Clientbound
        && matches!(packet.state, State::Play | State::Configuration)
        && role != Some(Role::Greeting)
        && condition.is_none_or(|condition| condition.matches(record))
}

/// What packets are sorted by.
fn kind(record: &Record) -> Option<Name> {
    record.packet.kind().map(|packet| Name::clone(packet.name()))
}

/// The UUID that a Login Success tells.
fn uuid(value: &Value) -> Option<u128> {
    match value.get("uuid")?.plain() {
        Value::Uuid(uuid) => Some(*uuid),
        Value::Text(text) => parse_uuid(text),
        _ => None,
    }
}

/// Puts another player into the place of one.
fn renamed(packet: &mut Packet, from: &Player, to: &Player) {
    let Ok(value) = packet.value() else { return };
    let other = renamed_value(&value, from, to);
    if other == value {
        return;
    }
    let encoded = packet.kind().map(|known| packet.context.protocol.encode(known, &other));
    if let Some(Ok(body)) = encoded {
        packet.replace_body(body.into());
    }
}

fn renamed_value(value: &Value, from: &Player, to: &Player) -> Value {
    match value {
        Value::Text(text) if !from.name.is_empty() && text.contains(&from.name) => {
            Value::from(text.replace(&from.name, &to.name).as_str())
        }
        Value::Uuid(uuid) if from.uuid == Some(*uuid) => Value::Uuid(to.uuid.unwrap_or(*uuid)),
        Value::List(items) => {
            Value::List(items.iter().map(|item| renamed_value(item, from, to)).collect())
        }
        Value::Map(fields) => Value::Map(
            fields
                .iter()
                .map(|(name, value)| (Name::clone(name), renamed_value(value, from, to)))
                .collect(),
        ),
        value => value.clone(),
    }
}
