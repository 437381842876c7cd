use std::collections::{BTreeMap, HashMap};

use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Family, State};

use crate::world::world_writer::position;

/// The paths of players in each dimension.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// The paths in each dimension, which is known by its place among the dimensions of the maps.
    all: BTreeMap<usize, Vec<Path>>,
    /// The dimension and the place of the path on which the player of each session is.
    current: HashMap<u64, (usize, usize)>,
    /// The number of steps, and of paths times [`PATH_COST`].
    count: usize,
}

/// The columns, x and z, in which a player was one after the other. None is far from the one before.
pub(super) type Path = Vec<(i32, i32)>;

impl Paths {
    /// Takes a place of a session's player. Returns `false` if there are too many.
    pub(super) fn take(&mut self, session: u64, dimension: usize, [x, _, z]: [i32; 3]) -> bool {
        let current = self.current.get(&session).filter(|(known, _)| *known == dimension);
        let paths = self.all.entry(dimension).or_default();
        let path = current.and_then(|(_, place)| paths.get_mut(*place));
        let last = path.as_ref().and_then(|path| path.last().copied());
        if last == Some((x, z)) {
            return true;
        }
        let path = path.filter(|_| last.is_some_and(|last| is_walked(last, (x, z))));
        let is_known = self.current.len() < MAX_SESSIONS || self.current.contains_key(&session);
        if self.count >= MAX_STEPS || path.is_none() && !is_known {
            return false;
        }
        match path {
            Some(path) => path.push((x, z)),
            None => {
                self.count += PATH_COST;
                self.current.insert(session, (dimension, paths.len()));
                paths.push(vec![(x, z)]);
            }
        }
        self.count += 1;
        true
    }

    /// Ends the path of a session's player.
    pub(super) fn end(&mut self, session: u64) {
        self.current.remove(&session);
    }

    /// Takes out the paths in a dimension.
    pub(super) fn of(&mut self, dimension: usize) -> Vec<Path> {
        self.all.remove(&dimension).unwrap_or_default()
    }
}

/// Returns whether a player walks from one column to another between two packets. If not, the player was put there, and
/// another path begins.
#[must_use]
pub fn is_walked(from: (i32, i32), to: (i32, i32)) -> bool {
    from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)) <= LONGEST_STEP
}

/// Returns where the player is by a packet that moves it: one of its client, or the server's that puts it somewhere. `None`
/// for other packets, and those with a place that depends on where the player was.
#[must_use]
pub fn player_place(packet: &Packet) -> Option<[i32; 3]> {
    let kind = packet.kind().filter(|_| packet.state() == State::Play)?;
    let is_place = match packet.direction() {
        Direction::Clientbound => matches!(&**kind.name(), "position" | "position_look"),
        Direction::Serverbound => {
            matches!(&**kind.name(), "position" | "position_look" | "vehicle_move")
        }
    };
    let family = packet.context().protocol.family();
    if !is_place || !matches!(family, Family::Java | Family::Legacy | Family::Alpha) {
        return None;
    }
    let place = position(packet)?;
    place.iter().all(|it| it.unsigned_abs() <= FARTHEST).then_some(place)
}

/// Returns the columns between two steps of a path, with the second and without the first.
pub(super) fn line(from: (i32, i32), to: (i32, i32)) -> impl Iterator<Item = (i32, i32)> {
    let (dx, dz) = (to.0 - from.0, to.1 - from.1);
    let count = dx.abs().max(dz.abs());
    (1..=count).map(move |at| {
        let part = |d: i32| (f64::from(d) * f64::from(at) / f64::from(count)).round() as i32;
        (from.0 + part(dx), from.1 + part(dz))
    })
}

/// The longest distance in each direction that is walked between two packets, in blocks.
const LONGEST_STEP: u32 = 32;

/// The end of every world, in blocks.
const FARTHEST: u32 = 30_000_000;

/// Steps of all players that are kept at most.
const MAX_STEPS: usize = 4 << 20;

/// The number of steps that take as much memory as a path of its own.
const PATH_COST: usize = 8;

/// Sessions whose current path is kept at most.
const MAX_SESSIONS: usize = 1 << 16;
