use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::capture::{Entry, EventKind, Record};
use mitmcraft_protocol::packet::{Context, Packet, ReadAs, Reading};
use mitmcraft_protocol::schema::{Catalog, Direction, Role, State, Value};

/// Finds sessions of whose server most packets do not decode, or whose status names another version than the
/// client's, and says what these packets read as: another version, another state, or frames that are compressed
/// although nothing says so, or the reverse.
///
/// Only the first packets of a session are decoded, and memory is bounded.
#[derive(Debug, Default)]
pub struct VersionCheck {
    /// The sessions that are open, and how many of their packets were judged.
    sessions: HashMap<u64, Judged>,
    /// What servers call their version in their status, by upstream.
    statuses: HashMap<String, ServerVersion>,
    /// The upstreams that have been reported, each with the version of the clients.
    reported: HashSet<(String, i32)>,
    /// The bytes of the samples in `sessions`.
    kept: usize,
    /// A session that is judged and need not be looked up: the one of the last such packet.
    settled: Option<u64>,
}

/// A session of whose server most packets do not decode. As text, it is one sentence.
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
    /// The number of the first one that does not decode.
    pub first: Option<u64>,
    /// What those packets read as.
    pub cause: MismatchCause,
}

/// What packets read as that do not decode.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchCause {
    /// Compressed, though no Set Compression came.
    Compressed,
    /// Not compressed, though Set Compression came.
    Uncompressed,
    /// Packets of another state.
    State(State),
    /// Packets of this version.
    Version(String),
    /// Nothing that is known.
    Unknown,
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
    /// The first packets that do not decode.
    samples: Vec<Packet>,
}

impl VersionCheck {
    /// Takes the next entry, and returns a mismatch when it is found: once for each upstream and version of clients.
    pub fn take(&mut self, entry: &Entry) -> Option<VersionMismatch> {
        match entry {
            Entry::Packet(record) => self.take_packet(record),
            Entry::Event(event) => match event.kind {
                EventKind::Close(_) => {
                    self.settled = self.settled.filter(|it| *it != event.context.session);
                    let judged = self.sessions.remove(&event.context.session)?;
                    self.kept -= size_of_samples(&judged.samples);
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
        if packet.error().is_some() {
            judged.undecoded += 1;
            let size = size_of_sample(packet);
            let is_small = size <= SAMPLE && self.kept + size <= MOST_KEPT;
            if is_small && judged.samples.len() < MOST_SAMPLES {
                self.kept += size;
                judged.samples.push(packet.clone());
            }
        }
        if judged.packets < ENOUGH {
            return None;
        }
        judged.done = true;
        let samples = std::mem::take(&mut judged.samples);
        self.kept -= size_of_samples(&samples);
        let (packets, undecoded) = (judged.packets, judged.undecoded);
        self.judge(context, &Judged { packets, undecoded, done: true, samples })
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
        let server = (context.upstream.clone(), version);
        if self.reported.len() >= MAX_STATUSES || !self.reported.insert(server) {
            return None;
        }
        Some(VersionMismatch {
            session: context.session,
            client: (version, context.game_version().to_string()),
            status: status.cloned(),
            undecoded: (judged.undecoded, judged.packets),
            first: judged.samples.first().map(Packet::seq),
            cause: MismatchCause::of(&judged.samples),
        })
    }
}

impl MismatchCause {
    /// Finds the guess by which most packets read as something, at least one of them as no accident does.
    fn of(samples: &[Packet]) -> Self {
        let Some(first) = samples.first() else { return Self::Unknown };
        let mut best: (usize, Option<ReadAs>) = (samples.len() / 2, None);
        for guess in ReadAs::candidates(first) {
            let readings: Vec<_> = samples.iter().filter_map(|it| guess.read(it)).collect();
            if readings.len() > best.0 && readings.iter().any(Reading::is_sure) {
                best = (readings.len(), Some(guess));
            }
        }
        match best.1 {
            Some(ReadAs::Compressed) => Self::Compressed,
            Some(ReadAs::Uncompressed) => Self::Uncompressed,
            Some(ReadAs::State(state)) => Self::State(state),
            Some(ReadAs::Version(protocol)) => Self::Version(protocol.newest_name().to_owned()),
            _ => Self::Unknown,
        }
    }
}

fn size_of_samples(samples: &[Packet]) -> usize {
    samples.iter().map(size_of_sample).sum()
}

/// Returns the bytes that a packet takes once it is inflated, which is the same before.
fn size_of_sample(packet: &Packet) -> usize {
    packet.size().saturating_add(packet.wire_size())
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
        let server = format_args!("the server of session {session}");
        match (&self.cause, &self.status) {
            (MismatchCause::Compressed, _) => {
                write!(f, "{server} compresses without Set Compression")
            }
            (MismatchCause::Uncompressed, _) => {
                write!(f, "{server} does not use the form of frames that Set Compression begins")
            }
            (MismatchCause::State(state), _) => {
                write!(f, "{server} seems to be in the state {state}")
            }
            (MismatchCause::Unknown, None) => write!(f, "{server} sends what cannot be read"),
            (MismatchCause::Version(_), _) | (MismatchCause::Unknown, Some(_)) => {
                write!(f, "{server} seems to speak another version than the client")
            }
        }?;
        write!(
            f,
            ": {undecoded} of its first {packets} packets do not decode as {name} (protocol {number})"
        )?;
        match &self.cause {
            MismatchCause::Compressed => f.write_str(", but read as compressed packets")?,
            MismatchCause::Uncompressed => f.write_str(", but read as plain packets")?,
            MismatchCause::State(state) => write!(f, ", but read as packets of {state}")?,
            MismatchCause::Version(version) => write!(f, ", but read as packets of {version}")?,
            MismatchCause::Unknown => {}
        }
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

/// Packets of a session, and bytes of each and of all together, that are kept until it is judged.
const MOST_SAMPLES: usize = 6;
const SAMPLE: usize = 8 << 10;
const MOST_KEPT: usize = 4 << 20;

/// Characters of a server's version.
const MAX_NAME: usize = 60;
