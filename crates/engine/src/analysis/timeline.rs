use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::capture::Record;
use crate::text::packet_name;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, Name};

/// Counts packets and bytes over time, by direction and packet.
///
/// Memory is bounded: time is divided into at most 480 bins, whose length doubles when there would be
/// more.
#[derive(Debug)]
pub struct Timeline {
    /// Length of a bin in nanoseconds.
    step: u64,
    /// The numbers of the first and the last bin. A bin begins at its number times the step.
    span: Option<(u64, u64)>,
    series: HashMap<Direction, HashMap<Name, BTreeMap<u64, Bin>>>,
}

/// The packets of a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bin {
    /// Number of packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub wire: u64,
}

/// The bins of one kind of packet, over the whole timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The packet's name; empty for a sum.
    pub name: Name,
    /// The bins.
    pub bins: Vec<Bin>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { step: FIRST_STEP, span: None, series: HashMap::new() }
    }
}

impl Timeline {
    /// Counts a packet that was received from a peer.
    pub fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        self.make_room(packet.at());
        let bin = packet.at().0 / self.step;
        let series = self.series.entry(packet.direction()).or_default();
        let name = packet_name(packet);
        let bins = match series.get_mut(name) {
            Some(bins) => bins,
            None => series.entry(name.into()).or_default(),
        };
        let bin = bins.entry(bin).or_default();
        bin.packets += 1;
        bin.wire += packet.wire_size() as u64;
    }

    /// Adds what another timeline counted.
    pub(super) fn add(&mut self, mut other: Self) {
        let Some((first, last)) = other.span else { return };
        // The shorter bins become as long as the longer ones.
        for bin in [first, last] {
            self.make_room(Timestamp(bin * other.step));
        }
        while self.step < other.step {
            self.double();
        }
        while other.step < self.step {
            other.double();
        }
        for (direction, names) in other.series {
            let series = self.series.entry(direction).or_default();
            for (name, bins) in names {
                let sums = series.entry(name).or_default();
                bins.into_iter().for_each(|(place, bin)| sums.entry(place).or_default().add(bin));
            }
        }
    }

    /// The length of a bin.
    #[must_use]
    pub fn step(&self) -> Duration {
        Duration::from_nanos(self.step)
    }

    /// The beginning of the first bin; `None` if nothing was counted.
    #[must_use]
    pub fn begin(&self) -> Option<Timestamp> {
        self.span.map(|(first, _)| Timestamp(first * self.step))
    }

    /// The number of bins.
    #[must_use]
    pub fn len(&self) -> usize {
        self.span.map_or(0, |(first, last)| (last - first) as usize + 1)
    }

    /// Returns `true` if nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.span.is_none()
    }

    /// Returns the series of each kind of packet of a direction, most bytes on the wire first.
    #[must_use]
    pub fn series(&self, direction: Direction) -> Vec<Series> {
        let (first, _) = self.span.unwrap_or_default();
        let by_name = self.series.get(&direction).into_iter().flatten();
        let mut all: Vec<Series> = by_name
            .map(|(name, found)| {
                let mut bins = vec![Bin::default(); self.len()];
                for (place, bin) in found {
                    bins[(place - first) as usize] = *bin;
                }
                Series { name: Name::clone(name), bins }
            })
            .collect();
        all.sort_by(|a, b| b.total().wire.cmp(&a.total().wire).then_with(|| a.name.cmp(&b.name)));
        all
    }

    /// Returns the series of the largest kinds of packets in both directions as JSON, most bytes on the wire
    /// first.
    #[must_use]
    pub fn names_json(&self) -> Json {
        let series = Direction::ALL.into_iter().flat_map(|direction| {
            self.series(direction).into_iter().take(MAX_NAMES).map(move |it| (direction, it))
        });
        let mut largest: Vec<_> = series.collect();
        largest.sort_by_key(|(_, series)| Reverse(series.total().wire));
        let names = largest.into_iter().map(|(direction, series)| {
            json!({
                "dir": direction.name(),
                "name": &*series.name,
                "packets": series.bins.iter().map(|bin| bin.packets).collect::<Vec<_>>(),
                "wire": series.bins.iter().map(|bin| bin.wire).collect::<Vec<_>>(),
            })
        });
        names.collect()
    }

    /// Sums up all packets of a direction.
    #[must_use]
    pub fn sum(&self, direction: Direction) -> Series {
        Series::sum(&self.series(direction), self.len())
    }

    /// Extends the span to a time, doubling the length of bins if necessary.
    fn make_room(&mut self, at: Timestamp) {
        loop {
            let bin = at.0 / self.step;
            let (first, last) = self.span.unwrap_or((bin, bin));
            let (first, last) = (first.min(bin), last.max(bin));
            if last - first < MAX_BINS {
                self.span = Some((first, last));
                return;
            }
            self.double();
        }
    }

    /// Doubles the length of bins.
    fn double(&mut self) {
        self.step *= 2;
        self.span = self.span.map(|(first, last)| (first / 2, last / 2));
        for bins in self.series.values_mut().flat_map(HashMap::values_mut) {
            let mut halved: BTreeMap<u64, Bin> = BTreeMap::new();
            for (place, bin) in std::mem::take(bins) {
                halved.entry(place / 2).or_default().add(bin);
            }
            *bins = halved;
        }
    }
}

impl Series {
    /// Sums up all bins.
    #[must_use]
    pub fn total(&self) -> Bin {
        let mut total = Bin::default();
        self.bins.iter().for_each(|bin| total.add(*bin));
        total
    }

    /// Sums up several series of `bins` bins.
    pub(super) fn sum(all: &[Self], bins: usize) -> Self {
        let mut bins = vec![Bin::default(); bins];
        for (sum, bin) in all.iter().flat_map(|series| series.bins.iter().enumerate()) {
            bins[sum].add(*bin);
        }
        Self { name: Name::from(""), bins }
    }
}

impl Bin {
    pub(super) fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.wire += other.wire;
    }
}

/// Initial length of a bin in nanoseconds: a tick of the game.
const FIRST_STEP: u64 = 50_000_000;

/// Most kinds of packets of a direction among the largest.
const MAX_NAMES: usize = 20;

/// Greatest number of bins.
const MAX_BINS: u64 = 480;
