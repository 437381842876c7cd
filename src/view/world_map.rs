use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::{List, SLICE};
use crate::store::Store;
use mitmcraft_engine::capture::Record;
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::world::{
    Entered, Extent, Seen, TILE_CHUNKS, Terrain, is_walked, player_place, sights, tile,
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

#[derive(Debug)]
struct Index {
    /// By their numbers, in the order in which they were entered first.
    dimensions: BTreeMap<usize, Dimension>,
    /// The number of the next dimension.
    next: usize,
    /// The dimensions in which the player of each session is, from a row on.
    sessions: BTreeMap<u64, Vec<(u64, usize)>>,
    /// The number of entries of all chunks, steps of all players, and changes of their dimensions.
    count: usize,
    /// The greatest `count`.
    limit: usize,
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
    /// The last row about it.
    last: u64,
}

/// A part of a chunk that a packet puts.
#[derive(Debug, Clone, Copy)]
struct Entry {
    row: u64,
    extent: Extent,
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
    /// `false` if the tiles and paths are left out that have not changed since the last push.
    pub whole: bool,
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
    /// The last part of the player's path: x and z of the blocks in which it was, in lines that do not touch; `null` if
    /// it has not changed.
    pub path: Option<Vec<Vec<(i32, i32)>>>,
}

impl MapState {
    /// Leaves out the tiles and paths that `last` has too, if nothing of `last` is gone.
    #[must_use]
    pub fn since(mut self, last: &Self) -> Self {
        let known = |number| last.dimensions.iter().find(|it| it.number == number);
        let tiles = |of: &MapDimension| -> BTreeSet<_> {
            of.tiles.iter().map(|(x, z, _)| (*x, *z)).collect()
        };
        let is_gone = |it: &MapDimension| {
            let now = self.dimensions.iter().find(|now| now.number == it.number);
            now.is_none_or(|now| !tiles(it).is_subset(&tiles(now)))
        };
        if self.session != last.session || last.dimensions.iter().any(is_gone) {
            return self;
        }
        for dimension in &mut self.dimensions {
            let Some(known) = known(dimension.number) else { continue };
            let tiles: BTreeSet<_> = known.tiles.iter().collect();
            dimension.tiles.retain(|tile| !tiles.contains(tile));
            dimension.path.take_if(|path| known.path.as_ref() == Some(&*path));
        }
        Self { whole: false, ..self }
    }
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
        Self { list, from: 0, index: Index::new(MAX_ENTRIES), seen: HashMap::new() }
    }

    /// Looks at about `packets` more packets. Returns `true` once all are looked at that there are now.
    pub fn advance(&mut self, packets: usize) -> bool {
        if self.list.advance(SLICE) {
            return false;
        }
        let (index, first) = (&mut self.index, self.list.snapshot().first());
        let next = self.list.matches().records(self.from, packets, |row, record| {
            index.take(row, first, &record);
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
        let dimensions = &self.index.dimensions;
        let newest = || dimensions.values().rfind(|it| !it.chunks.is_empty());
        let session = of_packet.or(session).or_else(|| newest().map(|it| it.session));
        let until = row.unwrap_or(u64::MAX);
        let own = dimensions.iter().filter(|(_, it)| Some(it.session) == session);
        let now = session.and_then(|session| self.index.dimension_at(session, until));
        let player = now.and_then(|dimension| {
            let step = dimensions.get(&dimension)?.steps_until(until).last()?;
            let [x, y, z] = step.place;
            Some(MapPlace { dimension, x, y: Some(y), z })
        });
        let packet = packet.as_ref().zip(now).and_then(|(packet, dimension)| {
            let (x, y, z) = packet_place(packet)?;
            Some(MapPlace { dimension, x, y, z })
        });
        let dimensions = own.map(|(number, it)| it.state(*number, until, snapshot.first()));
        MapState {
            session,
            complete: self.from >= snapshot.end(),
            whole: true,
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
        let Some(of) = self.index.dimensions.get(&dimension) else { return BTreeMap::new() };
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
            let needed = needed(entries);
            // The chunk itself, and the newest changes of its blocks.
            let (chunk, changes) = needed.split_at(1.min(needed.len()));
            let newest = &changes[changes.len().saturating_sub(MAX_READ)..];
            for row in chunk.iter().chain(newest) {
                let regions = rows.entry(*row).or_default();
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
    fn new(limit: usize) -> Self {
        let (dimensions, sessions) = (BTreeMap::new(), BTreeMap::new());
        Self { dimensions, next: 0, sessions, count: 0, limit, left_out: 0 }
    }

    /// Takes a packet. Rows before `first` are no longer stored.
    fn take(&mut self, row: u64, first: u64, record: &Record) {
        let packet = &record.packet;
        if !record.outcome.went() {
            return;
        }
        if self.count >= self.limit {
            self.prune(first);
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
        let known = self.dimension_at(session, row).filter(|it| self.dimensions.contains_key(it));
        let number = known.unwrap_or_else(|| self.enter(row, session, Entered::overworld()));
        let Some(dimension) = self.dimensions.get_mut(&number) else { return };
        dimension.last = row;
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
            entries.push(Entry { row, extent: sight.extent });
            self.count += 1;
        }
    }

    /// Notes that a player is in a dimension from a row on. Returns its number.
    fn enter(&mut self, row: u64, session: u64, entered: Entered) -> usize {
        let mut known = self.dimensions.iter();
        let known = known.find(|(_, it)| it.session == session && it.entered.sent == entered.sent);
        let number = known.map_or(self.next, |(number, _)| *number);
        let new = || {
            let (chunks, steps) = (BTreeMap::new(), Vec::new());
            Dimension { session, entered, chunks, steps, last: row }
        };
        self.dimensions.entry(number).or_insert_with(new).last = row;
        self.next = self.next.max(number + 1);
        if self.dimensions.len() > MAX_DIMENSIONS {
            self.forget_dimensions(MAX_DIMENSIONS / 2);
        }
        let changes = self.sessions.entry(session).or_default();
        if changes.last().is_none_or(|(_, last)| *last != number) {
            changes.push((row, number));
            self.count += 1;
        }
        number
    }

    /// Forgets at least half of what is known: first what is no longer stored or not needed for the maps as of now, then
    /// the earlier half of each path, then the dimensions that were not seen for the longest time.
    fn prune(&mut self, first: u64) {
        let before = self.count;
        for dimension in self.dimensions.values_mut() {
            dimension.prune(first);
        }
        for changes in self.sessions.values_mut() {
            changes.drain(..changes.len() / 2);
        }
        self.recount();
        while self.count > self.limit / 2 && self.dimensions.len() > 1 {
            self.forget_dimensions(self.dimensions.len() / 2);
            self.recount();
        }
        if self.count > self.limit / 2 {
            for dimension in self.dimensions.values_mut() {
                dimension.forget_chunks(self.limit / 2);
            }
            self.recount();
        }
        self.left_out += before.saturating_sub(self.count) as u64;
    }

    /// Forgets the dimensions that were not seen for the longest time, so that `count` are left.
    fn forget_dimensions(&mut self, count: usize) {
        let mut all: Vec<_> =
            self.dimensions.iter().map(|(number, it)| (it.last, *number)).collect();
        all.sort_unstable();
        for (_, number) in &all[..all.len().saturating_sub(count)] {
            self.dimensions.remove(number);
        }
        let is_known = |(_, number): &(u64, usize)| self.dimensions.contains_key(number);
        self.sessions.retain(|_, changes| changes.iter().any(is_known));
    }

    fn recount(&mut self) {
        let dimensions: usize = self.dimensions.values().map(Dimension::count).sum();
        self.count = dimensions + self.sessions.values().map(Vec::len).sum::<usize>();
    }

    /// Returns the number of the dimension in which the player of a session is at a row.
    fn dimension_at(&self, session: u64, row: u64) -> Option<usize> {
        let changes = self.sessions.get(&session)?;
        let count = changes.partition_point(|(from, _)| *from <= row);
        changes.get(count.checked_sub(1)?).map(|(_, number)| *number)
    }
}

impl Dimension {
    /// Returns the number of entries and steps.
    fn count(&self) -> usize {
        self.chunks.values().map(Vec::len).sum::<usize>() + self.steps.len()
    }

    /// Forgets the entries that are no longer stored, or not needed for the newest map, and the earlier half of the path.
    fn prune(&mut self, first: u64) {
        for entries in self.chunks.values_mut() {
            let begin = entries.partition_point(|it| it.row < first);
            let whole = entries.iter().rposition(|it| it.extent == Extent::Whole);
            entries.drain(..whole.map_or(begin, |whole| whole.max(begin)));
            let needed: HashSet<u64> = needed(entries).into_iter().collect();
            entries.retain(|it| needed.contains(&it.row));
        }
        self.chunks.retain(|_, entries| !entries.is_empty());
        self.steps.drain(..self.steps.len() / 2);
    }

    /// Forgets the chunks that were not seen for the longest time, so that `count` entries are left.
    fn forget_chunks(&mut self, count: usize) {
        let last = |entries: &[Entry]| entries.last().map_or(0, |it| it.row);
        let mut all: Vec<_> = self.chunks.iter().map(|(place, it)| (last(it), *place)).collect();
        all.sort_unstable();
        let mut left = self.count();
        for (_, place) in all {
            if left <= count {
                break;
            }
            left -= self.chunks.remove(&place).map_or(0, |entries| entries.len());
        }
    }

    /// Returns the packets that make a chunk as of a row, from the last that has all of it on.
    fn entries(&self, place: (i32, i32), until: u64, first: u64) -> &[Entry] {
        let Some(all) = self.chunks.get(&place) else { return &[] };
        let begin = all.partition_point(|it| it.row < first);
        let stored = &all[begin..all.partition_point(|it| it.row <= until).max(begin)];
        let whole = stored.iter().rposition(|it| it.extent == Extent::Whole);
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
        let steps = &steps[steps.len().saturating_sub(MAX_PATH)..];
        let columns: Vec<_> = steps.iter().map(|it| (it.place[0], it.place[2])).collect();
        let path = columns.chunk_by(|from, to| is_walked(*from, *to)).map(<[_]>::to_vec);
        let name = self.entered.name.clone();
        MapDimension { number, name, chunks, tiles, path: Some(path.collect()) }
    }
}

/// Returns the rows that are needed to know a chunk after all entries: without those whose blocks were all put again.
fn needed(entries: &[Entry]) -> Vec<u64> {
    let mut blocks = HashSet::new();
    let put_last = |it: &&Entry| match it.extent {
        Extent::Whole | Extent::Sections => true,
        Extent::Block(block) => blocks.insert(block),
    };
    let mut rows: Vec<u64> = entries.iter().rev().filter(put_last).map(|it| it.row).collect();
    rows.reverse();
    rows.dedup();
    rows
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

/// Changes of blocks that are read to draw a chunk at most, the newest ones.
const MAX_READ: usize = 1 << 13;

/// Most tiles of a dimension in a message: those that have changed last.
const MAX_TILES: usize = 1 << 12;

/// Most steps of a player's path in a message: the last ones.
const MAX_PATH: usize = 4000;

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Content, Context, Timestamp};
    use mitmcraft_protocol::schema::{Direction, State};

    /// A packet of a server of 1.8 in a session.
    fn record(session: u64, name: &str, fields: &[u8]) -> Record {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let kind = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
        let body = [&[u8::try_from(kind.id()).unwrap()], fields].concat();
        let client = "192.0.2.1:50000".parse().unwrap();
        let context = Arc::new(Context::new(session, Timestamp(0), client, protocol));
        let content = Content::Frame(Frame::from_body(body.into()));
        let (direction, state) = (Direction::Clientbound, State::Play);
        let packet = Packet::new(context, 1, Timestamp(0), direction, state, content);
        assert!(packet.error().is_none(), "{name}: {:?}", packet.error());
        Record::passed(packet)
    }

    /// A whole chunk.
    fn chunk(session: u64, x: i32) -> Record {
        record(session, "map_chunk", &[&x.to_be_bytes()[..], &[0; 4], &[1, 0, 1, 0]].concat())
    }

    /// Another block at a height in the chunk at 0, 0.
    fn change(session: u64, y: u64) -> Record {
        record(session, "block_change", &[&(y << 26).to_be_bytes()[..], &[16]].concat())
    }

    #[test]
    fn a_chunk_is_drawn_from_the_packets_that_put_its_blocks_last() {
        let mut index = Index::new(1000);
        let all = [chunk(1, 0), change(1, 1), change(1, 2), change(1, 1), change(1, 1)];
        all.iter().zip(7..).for_each(|(record, row)| index.take(row, 0, record));
        let entries = |until| index.dimensions[&0].entries((0, 0), until, 0);
        assert_eq!(needed(entries(u64::MAX)), [7, 9, 11]);
        // As of an earlier packet, what it put counts.
        assert_eq!(needed(entries(8)), [7, 8]);
    }

    #[test]
    fn with_too_many_packets_the_old_ones_go() {
        let mut index = Index::new(100);
        let mut rows = 0_u64..;
        let mut take = |record: &Record| {
            index.take(rows.next().unwrap(), 0, record);
            assert!(index.count <= 100, "{}", index.count);
        };
        take(&chunk(1, 0));
        // A block that changes all the time takes no place from others.
        (0..1000).for_each(|_| take(&change(1, 1)));
        take(&chunk(1, 1));
        assert_eq!(index.dimensions[&0].chunks.len(), 2);
        assert!(index.left_out > 0);
        // The chunks that were not seen for the longest time make room for new ones.
        (2..1000).for_each(|x| index.take(10_000 + x as u64, 0, &chunk(1, x)));
        let chunks = &index.dimensions[&0].chunks;
        assert!((50..=100).contains(&chunks.len()) && chunks.contains_key(&(999, 0)));
        // So do sessions, and what is no longer stored.
        (2..300).for_each(|session| index.take(20_000 + session, 0, &chunk(session, 0)));
        assert!(index.count <= 100 && !index.dimensions.contains_key(&0));
        assert_eq!(index.dimension_at(299, u64::MAX), Some(298));
        index.prune(20_290);
        let stored = index.dimensions.values().filter(|it| !it.chunks.is_empty());
        assert_eq!(stored.map(|it| it.session).collect::<Vec<_>>(), (290..300).collect::<Vec<_>>());
    }
}
