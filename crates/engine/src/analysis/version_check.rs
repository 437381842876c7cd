use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::capture::{Entry, EventKind, Record};
use mitmcraft_protocol::packet::{Context, Packet};
use mitmcraft_protocol::schema::{Catalog, Direction, Role, State, Value};

/// Finds sessions whose server seems to speak another version of the game than the client: most of what
/// it sends does not decode, or its status names another version.
///
/// Only the first packets of a session are decoded, and memory is bounded.
#[derive(Debug, Default)]
pub struct VersionCheck {
    /// The sessions that are open, and how many of their packets were judged.
    sessions: HashMap<u64, Judged>,
    /// What servers call their version in their status, by upstream.
    statuses: HashMap<String, ServerVersion>,
    /// The versions of clients that have been reported.
    reported: HashSet<i32>,
    /// A session that is judged and need not be looked up: the one of the last such packet.
    settled: Option<u64>,
}

/// A session whose server seems to speak another version than the client. As text, it is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionMismatch {
    /// The session's number.
    pub session: u64,
    /// The client's version: its number and the name of its protocol.
    pub client: (i32, String),
    /// The version in the server's status, if that is not the client's.
    pub status: Option<ServerVersion>,
    /// The packets of the server that do not decode, and those that were decoded or not.
    pub undecoded: (u32, u32),
}

/// A version in a server's status.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerVersion {
    /// The protocol's number.
    pub protocol: i32,
    /// The name that the server shows.
    pub name: String,
}

#[derive(Debug, Default)]
struct Judged {
    packets: u32,
    undecoded: u32,
    done: bool,
}

impl VersionCheck {
    /// Takes the next entry, and returns a mismatch when it is found: once for each version of clients.
    pub fn take(&mut self, entry: &Entry) -> Option<VersionMismatch> {
        match entry {
            Entry::Packet(record) => self.take_packet(record),
            Entry::Event(event) => match event.kind {
                EventKind::Close(_) => {
                    self.settled = self.settled.filter(|it| *it != event.context.session);
                    let judged = self.sessions.remove(&event.context.session)?;
                    let known = !judged.done && judged.packets >= MIN_CLOSED;
                    known.then(|| self.judge(&event.context, &judged)).flatten()
                }
                _ => None,
            },
        }
    }

    fn take_packet(&mut self, record: &Record) -> Option<VersionMismatch> {
        let packet = &record.packet;
        let context = packet.context();
        if self.settled == Some(context.session) {
            return None;
        }
        if self.sessions.get(&context.session).is_some_and(|it| it.done) {
            self.settled = Some(context.session);
            return None;
        }
        let came = packet.direction() == Direction::Clientbound && record.outcome.came();
        // Descriptions of the user's own may be incomplete.
        let embedded = |version| {
            let known = Catalog::embedded().find(version);
            known.is_some_and(|known| Arc::ptr_eq(&known.protocol, &context.protocol))
        };
        if !came || context.guess || !context.version.is_some_and(embedded) {
            return None;
        }
        if packet.state() == State::Status {
            self.take_status(packet);
            return None;
        }
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&context.session) {
            return None;
        }
        let judged = self.sessions.entry(context.session).or_default();
        packet.frame()?;
        judged.packets += 1;
        judged.undecoded += u32::from(packet.error().is_some());
        if judged.packets < ENOUGH {
            return None;
        }
        judged.done = true;
        let judged = Judged { ..*judged };
        self.judge(context, &judged)
    }

    /// Notes the version in a status. One that is that of the client may be an echo of its ping.
    fn take_status(&mut self, packet: &Packet) {
        if packet.role() != Some(Role::StatusResponse) {
            return;
        }
        let upstream = packet.context().upstream.clone();
        match server_version(packet).filter(|it| Some(it.protocol) != packet.context().version) {
            Some(version) if self.statuses.len() < MAX_STATUSES => {
                self.statuses.insert(upstream, version);
            }
            _ => {
                self.statuses.remove(&upstream);
            }
        }
    }

    fn judge(&mut self, context: &Context, judged: &Judged) -> Option<VersionMismatch> {
        let version = context.version?;
        let status = self.statuses.get(&context.upstream).filter(|it| it.protocol != version);
        let most = 2 * judged.undecoded > judged.packets;
        // Packets that decode outweigh a status, which may name the oldest of several versions.
        if !most && (status.is_none() || judged.undecoded == 0) {
            return None;
        }
        if self.reported.len() >= MAX_STATUSES || !self.reported.insert(version) {
            return None;
        }
        Some(VersionMismatch {
            session: context.session,
            client: (version, context.protocol.newest_name().to_string()),
            status: status.cloned(),
            undecoded: (judged.undecoded, judged.packets),
        })
    }
}

/// Reads the version in a status.
fn server_version(packet: &Packet) -> Option<ServerVersion> {
    let value = packet.value().ok()?;
    let Some(Value::Text(text)) = value.get("response").map(Value::plain) else { return None };
    let status: serde_json::Value = serde_json::from_str(text).ok()?;
    let protocol = status.pointer("/version/protocol")?.as_i64()?;
    let name = status.pointer("/version/name").and_then(serde_json::Value::as_str);
    Some(ServerVersion {
        protocol: protocol.try_into().ok()?,
        name: name.unwrap_or_default().chars().take(MAX_NAME).collect(),
    })
}

impl fmt::Display for VersionMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, client: (number, name), undecoded: (undecoded, packets), .. } = self;
        write!(
            f,
            "the server of session {session} seems to speak another version than the client: {undecoded} of \
             its first {packets} packets do not decode as {name} (protocol {number})"
        )?;
        if let Some(ServerVersion { protocol, name }) = &self.status {
            write!(f, ", and its status says `{}` (protocol {protocol})", name.escape_debug())?;
        }
        Ok(())
    }
}

/// Packets of the server after which a session is judged.
const ENOUGH: u32 = 12;

/// Packets of the server that a session that closes earlier needs for a judgement.
const MIN_CLOSED: u32 = 3;

/// Open sessions that are judged.
const MAX_SESSIONS: usize = 4096;

const MAX_STATUSES: usize = 64;

/// Characters of a server's version.
const MAX_NAME: usize = 60;
