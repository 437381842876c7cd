use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;

use super::{List, SLICE};
use crate::store::Store;
use mitmcraft_engine::capture::Record;
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::world::{
    Entered, Extent, Seen, TILE_CHUNKS, Terrain, player_place, sights, tile,
};
use mitmcraft_protocol::contents::Changes;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Catalog, Value};

/// The maps of what servers have sent, as of any packet of a [`Store`].
///
/// It keeps the rows of the packets about each chunk, which are found in slices. The blocks of chunks are read from the
/// store when a [tile](Self::tile) is drawn.
#[derive(Debug)]
pub struct WorldMap {
    /// The packets about blocks, dimensions and places of players.
    list: List,
    /// The row from which on packets were not looked at yet.
    from: u64,
    index: Index,
    /// The newest chunks that were drawn, by dimension, x and z.
    seen: HashMap<(usize, i32, i32), Drawn>,
}

/// A chunk that was drawn.
#[derive(Debug)]
struct Drawn {
    /// The row of the last packet about it.
    row: u64,
    /// `None` if it is not known as a whole.
    seen: Option<Arc<Seen>>,
}

#[derive(Debug, Default)]
struct Index {
    dimensions: Vec<Dimension>,
    /// The dimensions in which the player of each session is, from a row on.
    sessions: BTreeMap<u64, Vec<(u64, usize)>>,
    /// The entries of all chunks, and the steps of all players.
    count: usize,
    left_out: u64,
}

/// A dimension that a session has seen.
#[derive(Debug)]
struct Dimension {
    session: u64,
    entered: Entered,
    /// The packets about each chunk, by x and z.
    chunks: BTreeMap<(i32, i32), Vec<Entry>>,
    steps: Vec<Step>,
}

/// A packet about a chunk.
#[derive(Debug, Clone, Copy)]
struct Entry {
    row: u64,
    is_whole: bool,
}

/// A place of a player.
#[derive(Debug, Clone, Copy)]
struct Step {
    row: u64,
    place: [i32; 3],
}

/// The maps of a session, as of a packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MapState {
    /// The session; `null` if none has chunks.
    pub session: Option<u64>,
    /// `true` once all packets were looked at that there are now.
    pub complete: bool,
    /// The dimensions of which chunks were sent, in the order in which the player came there.
    pub dimensions: Vec<MapDimension>,
    /// The place of the player, and the dimension.
    pub player: Option<MapPlace>,
    /// The place that the packet itself names, and the dimension; its height is `null` if it is about a whole chunk.
    pub packet: Option<MapPlace>,
    /// Packets that are not on the map, because there are too many.
    pub left_out: u64,
}

/// A dimension on a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MapDimension {
    /// The number by which requests name it.
    pub number: usize,
    /// Its name: `minecraft:overworld`.
    pub name: String,
    /// The number of chunks.
    pub chunks: usize,
    /// The tiles with chunks, those that have changed last first: x and z in tiles of 128 × 128 blocks, and a number that
    /// is another one once the tile is.
    pub tiles: Vec<(i32, i32, u64)>,
    /// The last part of the player's way: x and z of the blocks in which it was, in lines that do not touch.
    pub way: Vec<Vec<(i32, i32)>>,
}

/// A place on a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MapPlace {
    /// The number of the dimension.
    pub dimension: usize,
    /// The block.
    pub x: i32,
    /// Its height.
    pub y: Option<i32>,
    /// See `x`.
    pub z: i32,
}

impl WorldMap {
    /// Creates the maps of all sessions in a store, whose packets are yet to be found.
    #[must_use]
    pub fn new(store: Arc<Store>, catalog: &Catalog) -> Self {
        let mut list = List::new(store);
        list.set_filter(Expr::parse(FILTER, catalog).ok().map(|(filter, _)| filter));
        Self { list, from: 0, index: Index::default(), seen: HashMap::new() }
    }

    /// Looks at about `packets` more packets. Returns `true` once all are looked at that there are now.
    pub fn advance(&mut self, packets: usize) -> bool {
        if self.list.advance(SLICE) {
            return false;
        }
        let index = &mut self.index;
        let next = self.list.matches().records(self.from, packets, |row, record| {
            index.take(row, &record);
        });
        self.from = next.unwrap_or_else(|| self.list.snapshot().end());
        next.is_none()
    }

    /// Returns the maps of the session of a packet as of that packet; without a `row`, those of a session, or of the one
    /// that came last, as of now.
    #[must_use]
    pub fn state(&self, row: Option<u64>, session: Option<u64>) -> MapState {
        let snapshot = self.list.snapshot();
        let packet = row.and_then(|row| snapshot.record(row)).map(|it| it.packet);
        let of_packet = packet.as_ref().map(|it| it.context().session);
        let newest = || self.index.dimensions.iter().rfind(|it| !it.chunks.is_empty());
        let session = of_packet.or(session).or_else(|| newest().map(|it| it.session));
        let until = row.unwrap_or(u64::MAX);
        let own = self.index.dimensions.iter().enumerate();
        let own = own.filter(|(_, it)| Some(it.session) == session);
        let now = session.and_then(|session| self.index.dimension_at(session, until));
        let player = now.and_then(|dimension| {
            let step = self.index.dimensions.get(dimension)?.steps_until(until).last()?;
            let [x, y, z] = step.place;
            Some(MapPlace { dimension, x, y: Some(y), z })
        });
        let packet = packet.as_ref().zip(now).and_then(|(packet, dimension)| {
            let (x, y, z) = packet_place(packet)?;
            Some(MapPlace { dimension, x, y, z })
        });
        let dimensions = own.map(|(number, it)| it.state(number, until, snapshot.first()));
        MapState {
            session,
            complete: self.from >= snapshot.end(),
            dimensions: dimensions.filter(|it| it.chunks > 0).collect(),
            player,
            packet,
            left_out: self.index.left_out,
        }
    }

    /// Draws a tile of a dimension as PNG, as of a packet: see [`MapDimension::tiles`]. Returns `None` if no chunk of it is
    /// known.
    pub fn tile(&mut self, dimension: usize, x: i32, z: i32, row: Option<u64>) -> Option<Vec<u8>> {
        let [x, z] = [x, z].map(|it| it.checked_mul(TILE_CHUNKS));
        let (x, z) = (x?, z?);
        let last = |first: i32| first.checked_add(TILE_CHUNKS);
        let wanted =
            (x..last(x)?).flat_map(|x| (z.saturating_sub(1)..z + TILE_CHUNKS).map(move |z| (x, z)));
        last(z)?;
        let seen = self.see(dimension, &wanted.collect::<Vec<_>>(), row.unwrap_or(u64::MAX));
        tile(|x, z| seen.get(&(x, z)).map(|it| &it.surface), x, z)
    }

    /// Returns the height and the name of the block that is seen at a place, as of a packet.
    pub fn block(
        &mut self,
        dimension: usize,
        x: i32,
        z: i32,
        row: Option<u64>,
    ) -> Option<(i16, String)> {
        let chunk = (x >> 4, z >> 4);
        let seen = self.see(dimension, &[chunk], row.unwrap_or(u64::MAX));
        // Four bits each.
        seen.get(&chunk)?.block((x & 15) as usize, (z & 15) as usize)
    }

    /// Returns those of some chunks that are known as of a row.
    fn see(
        &mut self,
        dimension: usize,
        wanted: &[(i32, i32)],
        until: u64,
    ) -> BTreeMap<(i32, i32), Arc<Seen>> {
        let Some(of) = self.index.dimensions.get(dimension) else { return BTreeMap::new() };
        let snapshot = self.list.snapshot();
        let (mut all, mut missing) = (BTreeMap::new(), Vec::new());
        // The regions of which a row says something.
        let mut rows: BTreeMap<u64, Vec<(i32, i32)>> = BTreeMap::new();
        for place in wanted {
            let entries = of.entries(*place, until, snapshot.first());
            let Some(last) = entries.last() else { continue };
            let known = self.seen.get(&(dimension, place.0, place.1));
            if let Some(known) = known.filter(|it| it.row == last.row) {
                all.extend(known.seen.clone().map(|seen| (*place, seen)));
                continue;
            }
            missing.push((*place, last.row));
            for entry in entries {
                let regions = rows.entry(entry.row).or_default();
                let of_region = |it: &(i32, i32)| (it.0 >> 5, it.1 >> 5);
                if regions.iter().all(|it| of_region(it) != of_region(place)) {
                    regions.push(*place);
                }
            }
        }
        if missing.is_empty() {
            return all;
        }
        let mut terrain = Terrain::new(of.entered.ceiling);
        let numbers: Vec<u64> = rows.keys().copied().collect();
        snapshot.records(&numbers, |row, record| {
            for (x, z) in rows.get(&row).into_iter().flatten() {
                terrain.take(&record.packet, *x, *z);
            }
        });
        if self.seen.len() + missing.len() > MAX_SEEN {
            self.seen.clear();
        }
        for ((x, z), row) in missing {
            let seen = terrain.seen(x, z).map(Arc::new);
            all.extend(seen.clone().map(|seen| ((x, z), seen)));
            self.seen.insert((dimension, x, z), Drawn { row, seen });
        }
        all
    }

    /// Packets looked at before anything else gets its turn.
    pub const SLICE: usize = 1 << 13;
}

impl Index {
    fn take(&mut self, row: u64, record: &Record) {
        let packet = &record.packet;
        if !record.outcome.went() {
            return;
        }
        let session = packet.context().session;
        if let Some(entered) = Entered::read(packet) {
            self.enter(row, session, entered);
            return;
        }
        let place = player_place(packet);
        let sights = if place.is_some() { Vec::new() } else { sights(packet) };
        if place.is_none() && sights.is_empty() {
            return;
        }
        if self.count >= MAX_ENTRIES {
            self.left_out += 1;
            return;
        }
        let known = self.dimension_at(session, row);
        let Some(number) = known.or_else(|| self.enter(row, session, Entered::overworld())) else {
            return;
        };
        let Some(dimension) = self.dimensions.get_mut(number) else { return };
        if let Some(place) = place {
            let columns = |it: &Step| (it.place[0], it.place[2]);
            if dimension.steps.last().is_none_or(|it| columns(it) != (place[0], place[2])) {
                dimension.steps.push(Step { row, place });
                self.count += 1;
            }
            return;
        }
        for sight in sights {
            let entries = dimension.chunks.entry((sight.x, sight.z)).or_default();
            entries.push(Entry { row, is_whole: sight.extent == Extent::Whole });
            self.count += 1;
        }
    }

    /// Notes that a player is in a dimension from a row on. Returns its number; `None` if there are too many.
    fn enter(&mut self, row: u64, session: u64, entered: Entered) -> Option<usize> {
        let mut known = self.dimensions.iter();
        let known = known.position(|it| it.session == session && it.entered.sent == entered.sent);
        let number = match known {
            Some(number) => number,
            None if self.dimensions.len() >= MAX_DIMENSIONS => {
                self.left_out += 1;
                return None;
            }
            None => {
                let (chunks, steps) = (BTreeMap::new(), Vec::new());
                self.dimensions.push(Dimension { session, entered, chunks, steps });
                self.dimensions.len() - 1
            }
        };
        let changes = self.sessions.entry(session).or_default();
        if changes.last().is_none_or(|(_, last)| *last != number) {
            changes.push((row, number));
        }
        Some(number)
    }

    /// Returns the number of the dimension in which the player of a session is at a row.
    fn dimension_at(&self, session: u64, row: u64) -> Option<usize> {
        let changes = self.sessions.get(&session)?;
        let count = changes.partition_point(|(from, _)| *from <= row);
        changes.get(count.checked_sub(1)?).map(|(_, number)| *number)
    }
}

impl Dimension {
    /// Returns the packets that make a chunk as of a row, from the last that has all of it on.
    fn entries(&self, place: (i32, i32), until: u64, first: u64) -> &[Entry] {
        let Some(all) = self.chunks.get(&place) else { return &[] };
        let begin = all.partition_point(|it| it.row < first);
        let stored = &all[begin..all.partition_point(|it| it.row <= until).max(begin)];
        let whole = stored.iter().rposition(|it| it.is_whole);
        whole.map_or(&[], |whole| &stored[whole..])
    }

    fn steps_until(&self, until: u64) -> &[Step] {
        &self.steps[..self.steps.partition_point(|it| it.row <= until)]
    }

    fn state(&self, number: usize, until: u64, first: u64) -> MapDimension {
        let mut tiles: BTreeMap<(i32, i32), u64> = BTreeMap::new();
        let mut shaded: Vec<((i32, i32), u64)> = Vec::new();
        let mut chunks = 0;
        for place in self.chunks.keys() {
            let Some(last) = self.entries(*place, until, first).last() else { continue };
            chunks += 1;
            let tile = (place.0.div_euclid(TILE_CHUNKS), place.1.div_euclid(TILE_CHUNKS));
            let newest = tiles.entry(tile).or_default();
            *newest = last.row.max(*newest);
            if place.1.rem_euclid(TILE_CHUNKS) == TILE_CHUNKS - 1 {
                // The tile south of it is shaded by its heights.
                shaded.push(((tile.0, tile.1 + 1), last.row));
            }
        }
        for (tile, row) in shaded {
            if let Some(newest) = tiles.get_mut(&tile) {
                *newest = row.max(*newest);
            }
        }
        let mut tiles: Vec<_> = tiles.into_iter().map(|((x, z), row)| (x, z, row)).collect();
        tiles.sort_by_key(|(_, _, row)| std::cmp::Reverse(*row));
        tiles.truncate(MAX_TILES);
        let steps = self.steps_until(until);
        let steps = &steps[steps.len().saturating_sub(MAX_WAY)..];
        let is_walked = |one: &Step, other: &Step| {
            let far = |axis: usize| one.place[axis].abs_diff(other.place[axis]);
            far(0).max(far(2)) <= LONGEST_STEP
        };
        let lines = steps.chunk_by(is_walked);
        let way = lines.map(|line| line.iter().map(|it| (it.place[0], it.place[2])).collect());
        let name = self.entered.name.clone();
        MapDimension { number, name, chunks, tiles, way: way.collect() }
    }
}

/// Returns the place that a packet names: a block, or the middle of a chunk, whose height is `None`.
fn packet_place(packet: &Packet) -> Option<(i32, Option<i32>, i32)> {
    if let Some([x, y, z]) = player_place(packet) {
        return Some((x, Some(y), z));
    }
    if let Some(Ok(changes)) = Changes::read(packet)
        && let Some(([x, y, z], _)) = changes.all.first()
    {
        return Some((*x, Some(*y), *z));
    }
    if let Some(sight) = sights(packet).first() {
        let middle = |chunk: i32| chunk.checked_mul(16)?.checked_add(8);
        return Some((middle(sight.x)?, None, middle(sight.z)?));
    }
    if matches!(&**packet.kind()?.name(), "position" | "position_look") {
        // It depends on where the player was.
        return None;
    }
    let fields = packet.value().ok()?;
    let of = fields.get("location").unwrap_or(&fields);
    let at = |name| match of.get(name)?.plain() {
        Value::Float64(at) => Some(at.floor() as i32),
        // Other whole numbers are fractions of blocks.
        Value::Int(at) if fields.get("location").is_some() => i32::try_from(*at).ok(),
        _ => None,
    };
    Some((at("x")?, Some(at("y")?), at("z")?))
}

/// The packets that are looked at.
const FILTER: &str = "map_chunk or map_chunk_bulk or block_change or multi_block_change or explosion \
                      or acknowledge_player_digging or login or respawn or position or position_look \
                      or vehicle_move";

/// Entries of chunks, and steps of players, that are kept at most: 96 MiB.
const MAX_ENTRIES: usize = 4 << 20;

/// Dimensions of all sessions that are kept at most.
const MAX_DIMENSIONS: usize = 10_000;

/// Chunks that were drawn, and are kept at most: 8 MiB.
const MAX_SEEN: usize = 1 << 12;

/// Most tiles of a dimension in a message: those that have changed last.
const MAX_TILES: usize = 1 << 12;

/// Most steps of a player's way in a message: the last ones.
const MAX_WAY: usize = 4000;

/// The longest distance between two steps of a line, in blocks.
const LONGEST_STEP: u32 = 32;
