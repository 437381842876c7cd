use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::json;
use thiserror::Error;
use zip::ZipWriter;
use zip::write::{SimpleFileOptions, StreamWriter};

use super::super::{Entry, Record, Sink};
use crate::packet::{Context, Timestamp};
use crate::schema::{
    Direction, Family, Flow, Leaf, Name, Role, Scalar, State, Visitor, format_uuid,
};

/// Writes one session as a replay that ReplayMod plays (`.mcpr`): what the client got from Login
/// Success on, and what there is to know about it.
///
/// The format is that of ReplayStudio, version 14: a zip of `recording.tmcpr` (for each packet its
/// milliseconds, its length, its id and fields; big-endian) and `metaData.json`.
pub struct McprSink<W: Write + Send> {
    /// None once it is finished.
    zip: Option<ZipWriter<StreamWriter<W>>>,
    /// The session that is wanted; None: the only one.
    wanted: Option<u64>,
    replay: Option<Replay>,
}

/// Why a capture cannot be made a replay.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum McprError {
    /// Nothing to play.
    #[error("no session that reaches the game: a replay begins with Login Success")]
    NoGame,
    /// A replay has one session.
    #[error(
        "a replay holds one session, and sessions {0} and {1} reach the game: choose one with `--session`"
    )]
    Several(u64, u64),
    /// ReplayMod does not play it.
    #[error(
        "ReplayMod plays 1.8 to 26.1 (protocols {FIRST} to {LAST}), and session {session} has {has}"
    )]
    Version {
        /// The session.
        session: u64,
        /// What it has instead.
        has: String,
    },
}

/// What is written.
#[derive(Debug)]
struct Replay {
    context: Arc<Context>,
    begun: Timestamp,
    /// Milliseconds of the last packet.
    duration: i32,
    players: BTreeSet<u128>,
}

impl<W: Write + Send> McprSink<W> {
    /// Writes to `writer`; of a capture with several sessions, only `wanted`.
    ///
    /// # Errors
    /// When the file's head cannot be written.
    pub fn new(writer: W, wanted: Option<u64>) -> io::Result<Self> {
        let mut zip = ZipWriter::new_stream(writer);
        zip.start_file("recording.tmcpr", options())?;
        Ok(Self { zip: Some(zip), wanted, replay: None })
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let packet = &record.packet;
        let context = &packet.context;
        let is_game = packet.direction == Direction::Clientbound
            && record.outcome.went()
            && packet.state >= State::Login
            && self.wanted.is_none_or(|wanted| wanted == context.session);
        let (true, Ok(body)) = (is_game, packet.body()) else { return Ok(()) };
        let role = packet.kind().and_then(|packet| packet.role());
        if role == Some(Role::LoginSuccess) {
            self.begin(context, packet.at).map_err(io::Error::other)?;
        }
        let (Some(replay), Some(zip)) = (&mut self.replay, &mut self.zip) else { return Ok(()) };
        // The replay is not compressed, and its player answers nobody.
        let unfit = matches!(role, Some(Role::SetCompression | Role::KeepAlive));
        if unfit || replay.context.session != context.session {
            return Ok(());
        }
        let millis = packet.at.since(replay.begun).as_millis();
        let millis = i32::try_from(millis).map_err(|_| io::Error::other(TOO_LONG))?;
        let length = i32::try_from(body.len()).map_err(|_| io::Error::other(TOO_LONG))?;
        replay.duration = replay.duration.max(millis);
        if replay.players.len() < MAX_PLAYERS {
            let mut players = Players { at: false, found: &mut replay.players };
            if packet.kind().is_some_and(|packet| PLAYERS.contains(&&**packet.name())) {
                // What does not decode has no player that could be listed.
                let _ = packet.walk(&mut players);
            }
        }
        zip.write_all(&millis.to_be_bytes())?;
        zip.write_all(&length.to_be_bytes())?;
        zip.write_all(&body)
    }

    fn begin(&mut self, context: &Arc<Context>, at: Timestamp) -> Result<(), McprError> {
        if let Some(replay) = &self.replay {
            return Err(McprError::Several(replay.context.session, context.session));
        }
        let protocol = &context.protocol;
        let number = context.version.unwrap_or_else(|| protocol.version());
        let known = protocol.family() == Family::Java && (FIRST..=LAST).contains(&number);
        if !known || context.guess {
            let has = match protocol.family() {
                Family::Java => format!("protocol {number}"),
                family => format!("{family}"),
            };
            return Err(McprError::Version { session: context.session, has });
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

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

/// Finds the UUIDs of players.
struct Players<'a> {
    /// Whether the field that comes is one.
    at: bool,
    found: &'a mut BTreeSet<u128>,
}

impl Visitor for Players<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if std::mem::take(&mut self.at) {
            let text = || leaf.value.text().and_then(|text| crate::schema::parse_uuid(&text));
            let uuid = match leaf.value {
                Scalar::Uuid(uuid) => Some(uuid),
                _ => text(),
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

/// Deflated; the length is not known, and may be beyond 4 GiB.
fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().large_file(true)
}

/// The packets that tell of players, by the names that the tables of all versions use.
const PLAYERS: [&str; 3] = ["player_info", "named_entity_spawn", "success"];

/// ReplayStudio's `CURRENT_FILE_FORMAT_VERSION`: with the login, and with the protocol's number.
const FORMAT: i32 = 14;

/// The oldest protocol that ReplayMod is built for: 1.8.
const FIRST: i32 = 47;

/// The newest: 26.1.
const LAST: i32 = 775;

const MAX_PLAYERS: usize = 10_000;

const TOO_LONG: &str = "too long for a replay, which counts milliseconds and bytes in 31 bits";
