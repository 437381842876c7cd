use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::json;
use thiserror::Error;
use zip::ZipWriter;
use zip::write::{SimpleFileOptions, StreamWriter};

use super::super::{Entry, Record, Sink};
use mitmcraft_protocol::packet::{Context, Timestamp};
use mitmcraft_protocol::schema::{
    Direction, Family, Flow, Leaf, Name, Release, Role, Scalar, State, Visitor, format_uuid,
    parse_uuid,
};

/// Writes one session as a recording for ReplayMod (`.mcpr`): the packets that the client received
/// from Login Success on, and metadata.
///
/// The format is version 14 of ReplayStudio's: a zip archive of `recording.tmcpr` (for each packet
/// its time in milliseconds and its length as big-endian 32-bit integers, then id and fields) and
/// `metaData.json`.
pub struct McprSink<W: Write + Send> {
    /// `None` once the recording is finished.
    zip: Option<ZipWriter<StreamWriter<W>>>,
    /// The session to record; `None` if the capture must have only one.
    wanted: Option<u64>,
    replay: Option<Replay>,
}

/// The reason why a capture cannot be converted to a recording for ReplayMod. [`McprSink`] returns it
/// inside an [`io::Error`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum McprError {
    /// No session reaches the game.
    #[error("no session that reaches the game: a replay begins with Login Success")]
    NoGame,
    /// More than one session reaches the game, and none was chosen.
    #[error("a replay holds one session, but sessions {first} and {second} reach the game")]
    SeveralSessions {
        /// The first such session.
        first: u64,
        /// The second one.
        second: u64,
    },
    /// ReplayMod does not support the session's version.
    #[error(
        "ReplayMod plays 1.8 to 26.1 (protocols {} to {}), but session {session} has {family} \
         protocol {number}",
        SUPPORTED.start().number(),
        SUPPORTED.end().number()
    )]
    Version {
        /// The session.
        session: u64,
        /// The family of the session's protocol.
        family: Family,
        /// The protocol number.
        number: i32,
    },
}

/// The session being written.
#[derive(Debug)]
struct Replay {
    context: Arc<Context>,
    begun: Timestamp,
    /// The time of the last packet in milliseconds.
    duration: i32,
    players: BTreeSet<u128>,
}

impl<W: Write + Send> McprSink<W> {
    /// Writes the session `wanted`, or the only one that reaches the game, to `writer`.
    ///
    /// # Errors
    /// [`io::Error`] if the file's header cannot be written.
    pub fn new(writer: W, wanted: Option<u64>) -> io::Result<Self> {
        let mut zip = ZipWriter::new_stream(writer);
        zip.start_file("recording.tmcpr", options())?;
        Ok(Self { zip: Some(zip), wanted, replay: None })
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let packet = &record.packet;
        let context = packet.context();
        let is_game = packet.direction() == Direction::Clientbound
            && record.outcome.went()
            && packet.state() >= State::Login
            && self.wanted.is_none_or(|wanted| wanted == context.session);
        let (true, Ok(body)) = (is_game, packet.body()) else { return Ok(()) };
        let role = packet.kind().and_then(|packet| packet.role());
        if role == Some(Role::LoginSuccess) {
            self.begin(context, packet.at()).map_err(io::Error::other)?;
        }
        let (Some(replay), Some(zip)) = (&mut self.replay, &mut self.zip) else { return Ok(()) };
        // A recording is not compressed, and ReplayMod does not answer keep-alives.
        let unfit = matches!(role, Some(Role::SetCompression | Role::KeepAlive));
        if unfit || replay.context.session != context.session {
            return Ok(());
        }
        let millis = packet.at().since(replay.begun).as_millis();
        let millis = i32::try_from(millis).map_err(|_| io::Error::other(TOO_LONG))?;
        let length = i32::try_from(body.len()).map_err(|_| io::Error::other(TOO_LONG))?;
        replay.duration = replay.duration.max(millis);
        if replay.players.len() < MAX_PLAYERS {
            let mut players = Players { at: false, found: &mut replay.players };
            if packet.kind().is_some_and(|packet| PLAYERS.contains(&&**packet.name())) {
                // A packet that does not decode names no player.
                let _ = packet.walk_dyn(&mut players);
            }
        }
        zip.write_all(&millis.to_be_bytes())?;
        zip.write_all(&length.to_be_bytes())?;
        zip.write_all(&body)
    }

    fn begin(&mut self, context: &Arc<Context>, at: Timestamp) -> Result<(), McprError> {
        if let Some(replay) = &self.replay {
            let (first, second) = (replay.context.session, context.session);
            return Err(McprError::SeveralSessions { first, second });
        }
        let protocol = &context.protocol;
        let number = context.version.unwrap_or_else(|| protocol.version());
        let (session, family) = (context.session, protocol.family());
        let release = Release::new(family, number);
        if release.is_snapshot() || !SUPPORTED.contains(&release) || context.guess {
            return Err(McprError::Version { session, family, number });
        }
        let (context, players) = (Arc::clone(context), BTreeSet::new());
        self.replay = Some(Replay { context, begun: at, duration: 0, players });
        Ok(())
    }
}

impl<W: Write + Send> Sink for McprSink<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(record) => self.record(record),
            Entry::Event(_) => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(mut zip) = self.zip.take() else { return Ok(()) };
        let replay = self.replay.take().ok_or_else(|| io::Error::other(McprError::NoGame))?;
        zip.start_file("metaData.json", options())?;
        zip.write_all(replay.meta_data().as_bytes())?;
        zip.finish()?.into_inner().flush()
    }
}

impl<W: Write + Send> std::fmt::Debug for McprSink<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McprSink").field("replay", &self.replay).finish_non_exhaustive()
    }
}

impl Replay {
    fn meta_data(&self) -> String {
        let protocol = &self.context.protocol;
        json!({
            "singleplayer": false,
            "serverName": self.context.upstream,
            "duration": self.duration,
            "date": self.begun.0 / 1_000_000,
            "mcversion": protocol.name(),
            "fileFormat": "MCPR",
            "fileFormatVersion": FORMAT,
            "protocol": self.context.version.unwrap_or_else(|| protocol.version()),
            "generator": concat!("mitmcraft ", env!("CARGO_PKG_VERSION")),
            "selfId": -1,
            "players": self.players.iter().map(|uuid| format_uuid(*uuid)).collect::<Vec<_>>(),
        })
        .to_string()
    }
}

/// Collects the UUIDs of players.
struct Players<'a> {
    /// `true` if the next field is a UUID.
    at: bool,
    found: &'a mut BTreeSet<u128>,
}

impl Visitor for Players<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if std::mem::take(&mut self.at) {
            let uuid = match leaf.value {
                Scalar::Uuid(uuid) => Some(uuid),
                _ => leaf.value.text().and_then(|text| parse_uuid(&text)),
            };
            self.found.extend(uuid);
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.at = ["uuid", "UUID", "playerUUID"].contains(&&**name);
        Flow::Continue(())
    }
}

/// Options of a deflated file of unknown length, which may exceed 4 GiB.
fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().large_file(true)
}

/// The packets that name players, as the protocol tables of all versions name them.
const PLAYERS: [&str; 3] = ["player_info", "named_entity_spawn", "success"];

/// ReplayStudio's `CURRENT_FILE_FORMAT_VERSION`: includes the login and the protocol number.
const FORMAT: i32 = 14;

/// The versions that ReplayMod supports.
const SUPPORTED: RangeInclusive<Release> = Release::V1_8..=Release::V26_1;

/// Players listed at most.
const MAX_PLAYERS: usize = 10_000;

const TOO_LONG: &str = "too long for a replay, which counts milliseconds and bytes in 31 bits";
