use std::collections::HashMap;
use std::io;

use super::Behaviour;
use super::player::{Player, uuid};
use crate::capture::{Entry, EventKind, Outcome, Record, Sink};
use crate::lang::Expr;
use crate::replay::{Point, Recording, sets_up};
use crate::text::{ByteSize, count};
use mitmcraft_protocol::codec::{Frame, MemoryBudget};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, Role, State};

/// Collects what servers answer to a client replay: a sink for the replay's sessions.
///
/// The name and UUID of the player are replaced by the recorded ones.
#[derive(Debug)]
pub struct Regression {
    condition: Option<Expr>,
    recorded: Player,
    /// The recorded behaviour.
    pub baseline: Behaviour,
    /// The sessions that are not over.
    open: HashMap<u64, OpenSession>,
    runs: Vec<Run>,
    /// The bytes of the packets that may be kept, and of those that are.
    room: usize,
    kept: usize,
    overflow: Option<String>,
}

/// A session that is over.
#[derive(Debug, Clone)]
pub struct Run {
    /// The session's number.
    pub session: u64,
    /// The player's name.
    pub player: String,
    /// The packets of the server.
    pub behaviour: Behaviour,
}

impl Regression {
    /// Creates a sink for replays of `recording` up to `end`, which leaves packets out that do not match
    /// `condition`.
    #[must_use]
    pub fn new(recording: &Recording, condition: Option<Expr>, end: Option<Point>) -> Self {
        let records = recording.clientbound(end);
        let records = records.filter(|it| is_compared(it, condition.as_ref())).collect();
        let ended = recording.ended(end).unwrap_or(Timestamp(0));
        let uuid = recording.success.as_ref().and_then(uuid);
        let name = recording.context.player.clone().unwrap_or_default();
        Self {
            condition,
            recorded: Player { name, uuid },
            baseline: Behaviour { records, ended },
            open: HashMap::new(),
            runs: Vec::new(),
            room: MemoryBudget::DEFAULT,
            kept: 0,
            overflow: None,
        }
    }

    /// Keeps packets of at most `bytes`, inflated.
    pub fn set_room(&mut self, bytes: usize) {
        self.room = bytes;
    }

    /// Returns which session sent more than can be compared, once one has. Nothing is kept from then on.
    #[must_use]
    pub fn overflow(&self) -> Option<&str> {
        self.overflow.as_deref()
    }

    /// Removes and returns the sessions that are over.
    pub fn take(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.runs)
    }

    fn on_record(&mut self, record: &Record) {
        let context = record.packet.context();
        let session = self.open.entry(context.session).or_default();
        if session.player.name.is_empty() {
            session.player.name = context.player.clone().unwrap_or_default();
        }
        if record.packet.role() == Some(Role::LoginSuccess) {
            session.player.uuid = record.packet.value().ok().as_ref().and_then(uuid);
        }
        // What the server sent counts, and not what filters have made of it.
        if record.outcome.came() && is_compared(record, self.condition.as_ref()) {
            let mut record = Record { outcome: Outcome::Pass, ..record.clone() };
            if session.player != self.recorded {
                session.player.replace(&self.recorded, &mut record.packet);
            }
            let inflated = record.packet.frame().map_or(0, Frame::size);
            self.kept += size_of::<Record>() + record.packet.memory().max(inflated);
            session.records.push(record);
            if self.kept > self.room {
                let room = ByteSize(self.room as u64);
                let packets = count(session.records.len() as u64, "packet");
                let number = context.session;
                self.overflow = Some(format!(
                    "session {number}: the server has sent more than {room} to compare, in {packets}"
                ));
                self.open = HashMap::new();
                self.runs = Vec::new();
            }
        }
    }
}

impl Sink for Regression {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(_) if self.overflow.is_some() => {}
            Entry::Packet(record) => self.on_record(record),
            Entry::Event(event) => {
                let session = event.context.session;
                if let EventKind::Close(_) = event.kind
                    && let Some(OpenSession { player, records }) = self.open.remove(&session)
                {
                    let behaviour = Behaviour { records, ended: event.at };
                    self.runs.push(Run { session, player: player.name, behaviour });
                }
            }
        }
        Ok(())
    }
}

/// A session that is not over.
#[derive(Debug, Default)]
struct OpenSession {
    player: Player,
    records: Vec<Record>,
}

/// Returns whether a packet is compared: one of the game or the configuration that the server sent.
fn is_compared(record: &Record, condition: Option<&Expr>) -> bool {
    let packet = &record.packet;
    packet.direction() == Direction::Clientbound
        && matches!(packet.state(), State::Play | State::Configuration)
        && !packet.role().is_some_and(sets_up)
        && condition.is_none_or(|condition| condition.matches(record))
}
