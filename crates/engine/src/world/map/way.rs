use std::collections::{BTreeMap, HashMap};

use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Family, State};

use crate::world::world_writer::position;

/// Where players went in each dimension.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// By the place of the dimension.
    steps: BTreeMap<usize, Vec<Step>>,
    count: usize,
    /// The dimension and the last column of each session.
    last: HashMap<u64, (usize, [i32; 2])>,
}

/// A column in which a player was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) x: i32,
    pub(super) z: i32,
    /// `true` if the player did not come from the step before.
    pub(super) is_first: bool,
}

impl Ways {
    /// Takes a place of a session's player. Returns `false` if there are too many.
    pub(super) fn take(&mut self, session: u64, dimension: usize, [x, _, z]: [i32; 3]) -> bool {
        let last = self.last.get(&session).filter(|(known, _)| *known == dimension);
        let is_first = match last {
            Some((_, [last_x, last_z])) if (*last_x, *last_z) == (x, z) => return true,
            Some((_, [last_x, last_z])) => {
                x.abs_diff(*last_x).max(z.abs_diff(*last_z)) > LONGEST_STEP
            }
            None => true,
        };
        if self.count >= MAX_STEPS || self.last.len() >= MAX_SESSIONS && last.is_none() {
            return false;
        }
        self.count += 1;
        self.last.insert(session, (dimension, [x, z]));
        self.steps.entry(dimension).or_default().push(Step { x, z, is_first });
        true
    }

    /// Takes out the steps in a dimension.
    pub(super) fn of(&mut self, dimension: usize) -> Vec<Step> {
        self.steps.remove(&dimension).unwrap_or_default()
    }
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

/// Returns the columns between two steps, with the second and without the first.
pub(super) fn line(from: (i32, i32), to: (i32, i32)) -> impl Iterator<Item = (i32, i32)> {
    let (dx, dz) = (to.0 - from.0, to.1 - from.1);
    let count = dx.abs().max(dz.abs());
    (1..=count).map(move |at| {
        let part = |d: i32| (f64::from(d) * f64::from(at) / f64::from(count)).round() as i32;
        (from.0 + part(dx), from.1 + part(dz))
    })
}

/// The longest distance that is walked between two packets; beyond it, the player was put there.
const LONGEST_STEP: u32 = 32;

/// The end of every world, in blocks.
const FARTHEST: u32 = 30_000_000;

/// Steps of all players that are kept at most.
const MAX_STEPS: usize = 4 << 20;

/// Sessions whose last step is kept at most.
const MAX_SESSIONS: usize = 1 << 16;
