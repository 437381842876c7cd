use std::collections::HashMap;
use std::io::{self, Read, Seek, Write};

use thiserror::Error;

use super::chunk_tag::chunk_tag;
use super::dimension::{Dimension, END, NETHER, OVERWORLD, sent_name};
use super::level::Level;
use super::log::{Log, RegionKey};
use super::palette::BlockNames;
use super::region::Region;
use super::region_file::{Added, RegionFile};
use super::tags::document;
use crate::capture::{Entry, Record, Sink};
use mitmcraft_protocol::contents::{Announced, Changes};
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Family, Protocol, Release, State, Value};

/// Makes a world of the chunks in captures.
///
/// Packets about blocks go to the spool `S`, and [`finish`](Self::finish) makes the world of them. The newest sight of a
/// chunk counts, whichever session saw it.
#[derive(Debug)]
pub struct WorldWriter<S> {
    log: Log<S>,
    dimensions: Vec<Dimension>,
    /// The place of the dimension in which the player of each session is.
    sessions: HashMap<u64, usize>,
    /// The last spawn point.
    spawn: Option<Spawn>,
    /// The last place to which a player was put.
    position: Option<Spawn>,
    /// The newest version of chunks.
    newest: Option<Release>,
    last: Timestamp,
    left_out: LeftOut,
}

/// A place where players may begin.
#[derive(Debug)]
struct Spawn {
    at: Timestamp,
    position: [i32; 3],
    /// The name of the dimension, as the server sent it.
    dimension: String,
}

/// The destination of a world's files.
pub trait WorldFiles {
    /// Writes a file. Its path is relative, and its folders are separated by `/`.
    ///
    /// # Errors
    /// [`io::Error`] if the file cannot be written.
    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()>;
}

/// The extent of a world that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorldReport {
    /// The names of the dimensions, with their numbers of chunks.
    pub dimensions: Vec<(String, u64)>,
    /// The parts that are not in the world.
    pub left_out: LeftOut,
}

/// The parts of a world that captures have, but the written world lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Packets about blocks that do not decode.
    pub invalid: u64,
    /// Parts of chunks that came without the chunk itself.
    pub partial: u64,
    /// Packets with chunks before 1.2, whose format has no worlds that are written.
    pub too_old: u64,
    /// Changes of blocks that a session of another version than the chunk's saw.
    pub other_version: u64,
    /// Packets, or parts of them, beyond the limit of regions, of versions, or of the size of a region.
    pub too_many: u64,
    /// Chunks that are too large for the format of their version.
    pub too_large: u64,
    /// Blocks whose number the version does not have: they are air.
    pub unknown_blocks: u64,
    /// Biomes whose name is not known: they are plains.
    pub unknown_biomes: u64,
    /// Packets of sessions whose beginning, with the dimension, is missing: they are in the overworld.
    pub placeless: u64,
}

/// The reason why no world was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// No chunk can be written.
    #[error(
        "no whole chunk of 1.2 or later in the captures{}",
        if *.too_old > 0 { " (those of older versions cannot be written)" } else { "" }
    )]
    NoChunk {
        /// The number of packets with chunks of older versions.
        too_old: u64,
    },
    /// The spool or a file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<S: Read + Write + Seek> WorldWriter<S> {
    /// Creates a writer that keeps packets in `spool`, which is empty.
    pub fn new(spool: S) -> Self {
        Self {
            log: Log::new(spool),
            dimensions: Vec::new(),
            sessions: HashMap::new(),
            spawn: None,
            position: None,
            newest: None,
            last: Timestamp(0),
            left_out: LeftOut::default(),
        }
    }

    /// Writes the world, whose name the game shows.
    ///
    /// # Errors
    /// [`WorldError`] if there is no chunk, or a file cannot be written.
    pub fn finish(
        mut self,
        name: &str,
        files: &mut dyn WorldFiles,
    ) -> Result<WorldReport, WorldError> {
        let none = WorldError::NoChunk { too_old: self.left_out.too_old };
        let Some(release) = self.newest else { return Err(none) };
        let mut names: Vec<(*const Protocol, BlockNames)> = Vec::new();
        let mut counts = vec![0; self.dimensions.len()];
        while let Some((key, region)) = self.next_region()? {
            if region.chunks.is_empty() {
                continue;
            }
            let Some(dimension) = self.dimensions.get(key.0) else { continue };
            let folder = dimension.folder(release);
            let left_out = &mut self.left_out;
            let count = write_region(key, region, &folder, &mut names, left_out, files)?;
            if let Some(all) = counts.get_mut(key.0) {
                *all += count;
            }
        }
        if counts.iter().sum::<u64>() == 0 {
            return Err(none);
        }
        let named = |sent: &str| {
            let known = self.dimensions.iter().find(|it| it.sent == sent).map(|it| &*it.name);
            known.or_else(|| [OVERWORLD, NETHER, END].into_iter().find(|name| *name == sent))
        };
        let mut spawns = [&self.spawn, &self.position].into_iter().flatten();
        let spawn = spawns.find_map(|it| Some((it.position, named(&it.dimension)?)));
        let (spawn, spawn_dimension) = spawn.unwrap_or(([0, HIGH, 0], OVERWORLD));
        let level = Level {
            name,
            release,
            spawn,
            spawn_dimension,
            // A time in nanoseconds has few enough milliseconds.
            millis: (self.last.0 / 1_000_000).cast_signed(),
            dimensions: &self.dimensions,
        };
        for (path, bytes) in level.files()? {
            files.write(path, &bytes)?;
        }
        let left_out = self.left_out;
        let named = self.dimensions.into_iter().map(|it| it.name).zip(counts);
        Ok(WorldReport { dimensions: named.filter(|(_, count)| *count > 0).collect(), left_out })
    }

    /// Rebuilds the next region of the packets about it; `None` after the last.
    ///
    /// # Errors
    /// [`io::Error`] if the spool cannot be read.
    pub(super) fn next_region(&mut self) -> io::Result<Option<(RegionKey, Region)>> {
        let left_out = &mut self.left_out;
        let mut region: Option<Region> = None;
        let taken = self.log.take_region(|key, packet| {
            region.get_or_insert_with(|| Region::new(key)).take(&packet, left_out);
        })?;
        Ok(taken.map(|key| (key, region.unwrap_or_else(|| Region::new(key)))))
    }

    /// Returns the dimensions.
    pub(super) fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Returns what was left out so far.
    pub(super) fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Returns the place of the dimension in which the player of a session is: the overworld if its beginning is missing.
    pub(super) fn place_of(&mut self, session: u64) -> usize {
        let known = self.sessions.get(&session).copied();
        known.unwrap_or_else(|| self.place(Dimension::overworld()))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let packet = &record.packet;
        let is_seen = packet.direction() == Direction::Clientbound
            && packet.state() == State::Play
            && record.outcome.went();
        let Some(kind) = packet.kind().filter(|_| is_seen) else { return Ok(()) };
        let protocol = &packet.context().protocol;
        if !matches!(protocol.family(), Family::Java | Family::Legacy | Family::Alpha) {
            return Ok(());
        }
        let session = packet.context().session;
        match &**kind.name() {
            "login" | "respawn" => {
                if let Some(dimension) = Dimension::read(packet) {
                    let place = self.place(dimension);
                    if self.sessions.len() < MAX_SESSIONS || self.sessions.contains_key(&session) {
                        self.sessions.insert(session, place);
                    }
                }
                return Ok(());
            }
            "spawn_position" => {
                if let Some((position, dimension)) = spawn_point(packet) {
                    let spawn = self.spawn_at(packet, position, dimension);
                    spawn.replace_older(&mut self.spawn);
                }
                return Ok(());
            }
            "position" => {
                if let Some(position) = position(packet) {
                    let spawn = self.spawn_at(packet, position, None);
                    spawn.replace_older(&mut self.position);
                }
                return Ok(());
            }
            name if ABOUT_BLOCKS.contains(&name) => {}
            _ => return Ok(()),
        }
        if protocol.release() < Release::V1_2 {
            self.left_out.too_old += u64::from(&**kind.name() == "map_chunk");
            return Ok(());
        }
        let Some(mut regions) = regions(packet) else {
            self.left_out.invalid += 1;
            return Ok(());
        };
        // The whole packet is kept for each.
        self.left_out.too_many += regions.len().saturating_sub(MAX_REGIONS) as u64;
        regions.truncate(MAX_REGIONS);
        self.left_out.placeless += u64::from(!self.sessions.contains_key(&session));
        let place = self.place_of(session);
        for (x, z) in regions {
            match self.log.append((place, x, z), packet)? {
                Ok(()) => {
                    let release = protocol.release();
                    self.newest = Some(self.newest.map_or(release, |it| it.max(release)));
                    self.last = self.last.max(packet.at());
                }
                Err(_) => self.left_out.too_many += 1,
            }
        }
        Ok(())
    }

    /// Returns the place of a dimension, which is new or known.
    fn place(&mut self, mut dimension: Dimension) -> usize {
        let known = self.dimensions.iter().position(|it| it.sent == dimension.sent);
        known.unwrap_or_else(|| {
            if self.dimensions.len() == MAX_DIMENSIONS {
                return 0;
            }
            dimension.make_unique(&self.dimensions);
            self.dimensions.push(dimension);
            self.dimensions.len() - 1
        })
    }

    /// Returns a place of the packet's session, in the dimension of its player unless another is named.
    fn spawn_at(&self, packet: &Packet, position: [i32; 3], dimension: Option<String>) -> Spawn {
        let place = self.sessions.get(&packet.context().session);
        let own = place.and_then(|place| self.dimensions.get(*place));
        let own = || own.map_or_else(|| OVERWORLD.to_owned(), |it| it.sent.clone());
        Spawn { at: packet.at(), position, dimension: dimension.unwrap_or_else(own) }
    }
}

impl<S: Read + Write + Seek + Send> Sink for WorldWriter<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.is_close() {
            self.sessions.remove(&entry.context().session);
        }
        entry.record().map_or(Ok(()), |record| self.record(record))
    }
}

/// Writes the chunks of a region, and returns their number.
fn write_region(
    (_, x, z): RegionKey,
    region: Region,
    folder: &str,
    names: &mut Vec<(*const Protocol, BlockNames)>,
    left_out: &mut LeftOut,
    files: &mut dyn WorldFiles,
) -> io::Result<u64> {
    let (mut file, mut count) = (RegionFile::new(), 0);
    for ((x, z), chunk) in region.chunks {
        let protocol = &chunk.context.protocol;
        let known = names.iter().position(|(it, _)| std::ptr::eq(*it, &**protocol));
        let place = known.unwrap_or_else(|| {
            names.push((&raw const **protocol, BlockNames::new(protocol)));
            names.len() - 1
        });
        let Some((_, names)) = names.get_mut(place) else { continue };
        let bytes = document(chunk_tag(&chunk, names, left_out));
        let seconds = u32::try_from(chunk.at.0 / 1_000_000_000).unwrap_or(u32::MAX);
        let has_files = chunk.release() >= Release::V1_15;
        match file.add((x, z), &bytes, seconds, has_files)? {
            Added::Inside => {}
            Added::Outside(bytes) => files.write(&format!("{folder}/c.{x}.{z}.mcc"), &bytes)?,
            Added::TooLarge => {
                left_out.too_large += 1;
                continue;
            }
        }
        count += 1;
    }
    if count > 0 {
        files.write(&format!("{folder}/r.{x}.{z}.mca"), &file.into_bytes())?;
    }
    Ok(count)
}

/// Returns the regions that a packet about blocks changes.
fn regions(packet: &Packet) -> Option<Vec<(i32, i32)>> {
    let mut regions: Vec<_> = chunks(packet)?.into_iter().map(|(x, z)| (x >> 5, z >> 5)).collect();
    regions.sort_unstable();
    regions.dedup();
    Some(regions)
}

/// Returns the chunks that a packet about blocks changes.
fn chunks(packet: &Packet) -> Option<Vec<(i32, i32)>> {
    let name = packet.kind()?.name();
    let mut chunks: Vec<_> = match &**name {
        "map_chunk" | "map_chunk_bulk" | "update_light" => {
            let announced = Announced::read(packet)?.ok()?;
            announced.into_iter().map(|it| (it.x, it.z)).collect()
        }
        "tile_entity_data" | "update_sign" => {
            let fields = packet.value().ok()?;
            let location = fields.get("location")?;
            let int = |name| i32::try_from(location.get(name)?.as_int()?).ok();
            vec![(int("x")? >> 4, int("z")? >> 4)]
        }
        _ => {
            let changes = Changes::read(packet)?.ok()?;
            changes.all.iter().map(|([x, _, z], _)| (x >> 4, z >> 4)).collect()
        }
    };
    chunks.sort_unstable();
    chunks.dedup();
    Some(chunks)
}

impl Spawn {
    /// Replaces `spawn` unless that is newer, in whatever order captures are read.
    fn replace_older(self, spawn: &mut Option<Self>) {
        if spawn.as_ref().is_none_or(|it| it.at <= self.at) {
            *spawn = Some(self);
        }
    }
}

/// Returns the position in a packet about the spawn point, and since 1.21.9 the dimension's name.
fn spawn_point(packet: &Packet) -> Option<([i32; 3], Option<String>)> {
    let fields = packet.value().ok()?;
    let global = fields.get("globalPos");
    let location = fields.get("location").or_else(|| global?.get("location"))?;
    let int = |name| i32::try_from(location.get(name)?.as_int()?).ok();
    let dimension = global.and_then(|it| it.get("dimensionName")).and_then(Value::as_text);
    Some(([int("x")?, int("y")?, int("z")?], dimension.map(sent_name)))
}

/// Returns where a packet puts the player; `None` if that depends on where the player was.
pub(super) fn position(packet: &Packet) -> Option<[i32; 3]> {
    let fields = packet.value().ok()?;
    // Those of a client say what its player touches.
    let flags = fields.get("flags").filter(|_| packet.direction() == Direction::Clientbound);
    let is_relative = match flags.map(Value::plain) {
        // One bit for each axis.
        Some(Value::Int(flags)) => flags & 0x07 != 0,
        Some(flags) => ["x", "y", "z"]
            .iter()
            .any(|axis| flags.get(axis).map(Value::plain) == Some(&Value::Bool(true))),
        None => false,
    };
    if is_relative {
        return None;
    }
    let float = |name| match fields.get(name)?.plain() {
        // Positions outside of the range are those of hostile packets.
        Value::Float64(at) => Some(at.floor() as i32),
        _ => None,
    };
    Some([float("x")?, float("y")?, float("z")?])
}

/// Returns whether a packet says which blocks are where.
#[must_use]
pub fn is_about_blocks(packet: &Packet) -> bool {
    packet.kind().is_some_and(|kind| ABOUT_BLOCKS.contains(&&**kind.name()))
}

/// The packets that say which blocks are where.
const ABOUT_BLOCKS: [&str; 9] = [
    "map_chunk",
    "map_chunk_bulk",
    "update_light",
    "block_change",
    "multi_block_change",
    "explosion",
    "acknowledge_player_digging",
    "tile_entity_data",
    "update_sign",
];

/// A height above most worlds, if no spawn point is known.
const HIGH: i32 = 100;

/// The regions of a packet that are kept: a bulk packet of the game has at most 10 chunks.
const MAX_REGIONS: usize = 16;

/// Sessions whose dimension is kept at most.
const MAX_SESSIONS: usize = 1 << 16;

/// The most dimensions: those beyond are the first one.
const MAX_DIMENSIONS: usize = 1000;
