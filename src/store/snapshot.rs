use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{Annotation, Chunk, Details, Row};
use mitmcraft_engine::capture::{LegState, Outcome, Record};
use mitmcraft_protocol::meaning::{About, SessionMemory};
use mitmcraft_protocol::packet::{Context, Packet};
use mitmcraft_protocol::schema::PacketType;

/// The packets that a [`Store`](super::Store) held at one moment. Cheap to take, and unchanged by what
/// the store takes or forgets later.
///
/// Rows have numbers, from 0 for the first packet that the store has taken.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(super) chunks: Vec<Chunk>,
    /// The leg states of the sessions, each from a row on.
    pub(super) legs: Arc<super::session::Legs>,
    /// The notes of people, by row.
    pub(super) annotations: Arc<BTreeMap<u64, Annotation>>,
}

impl Snapshot {
    /// Returns the number of the oldest row that is still held.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.chunks.first().map_or(0, |chunk| chunk.first)
    }

    /// Returns the number of the next row.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.chunks.last().map_or(0, Chunk::end)
    }

    /// Returns the number of packets that were sent in place of others.
    #[must_use]
    pub fn replacements(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.replacements as u64).sum()
    }

    /// Returns the snapshot without most of what is older than `row`: with the chunk that has it, and those after
    /// it.
    #[must_use]
    pub(crate) fn from(mut self, row: u64) -> Self {
        self.chunks.retain(|chunk| chunk.end() > row);
        self
    }

    /// Returns a row.
    #[must_use]
    pub fn row(&self, number: u64) -> Option<Row> {
        let (chunk, place) = self.find(number)?;
        chunk.row(place)
    }

    /// Returns the context of a row's packet.
    #[must_use]
    pub fn context(&self, number: u64) -> Option<&Arc<Context>> {
        let (chunk, place) = self.find(number)?;
        Some(chunk.context(&chunk.row(place)?))
    }

    /// Returns the type of a row's packet.
    #[must_use]
    pub fn kind(&self, number: u64) -> Option<&PacketType> {
        let (chunk, place) = self.find(number)?;
        chunk.kind(&chunk.row(place)?)
    }

    /// Returns the record of a row, as it was recorded. Returns `None` for a row that is not held, or
    /// whose bytes could not be written or read.
    #[must_use]
    pub fn record(&self, number: u64) -> Option<Record> {
        let (chunk, place) = self.find(number)?;
        Some(self.annotated(number, chunk.record(place, None)?))
    }

    /// Calls `see` with the records of some rows, which are in order. The bytes of a chunk are read at once. Rows that are
    /// not held, or whose bytes could not be written or read, are left out.
    pub fn records(&self, rows: &[u64], mut see: impl FnMut(u64, Record)) {
        let mut rows = rows;
        for chunk in &self.chunks {
            let before = rows.partition_point(|row| *row < chunk.first);
            let count = rows[before..].partition_point(|row| *row < chunk.end());
            let (own, rest) = rows[before..].split_at(count);
            rows = rest;
            if own.is_empty() {
                continue;
            }
            let loaded = chunk.load();
            for row in own {
                let place = usize::try_from(row - chunk.first).ok();
                if let Some(record) = place.and_then(|place| chunk.record(place, Some(&loaded))) {
                    see(*row, self.annotated(*row, record));
                }
            }
        }
    }

    /// Calls `see` with the records of a session's packets among some rows, in order; with `None` for one whose
    /// bytes could not be written or read. The bytes of a chunk are read at once.
    pub fn session_records(
        &self,
        session: u64,
        among: Range<u64>,
        mut see: impl FnMut(Option<Record>),
    ) {
        for chunk in self.chunks.iter().filter(|chunk| chunk.end() > among.start) {
            let rows = chunk.rows();
            let is_wanted = |place: &usize| {
                among.contains(&(chunk.first + *place as u64))
                    && chunk.context(&rows[*place]).session == session
            };
            let mut loaded = None;
            for place in (0..rows.len()).filter(is_wanted) {
                let loaded = loaded.get_or_insert_with(|| chunk.load());
                let record = chunk.record(place, Some(loaded));
                see(record.map(|it| self.annotated(chunk.first + place as u64, it)));
            }
            if chunk.end() >= among.end {
                return;
            }
        }
    }

    /// Returns what people noted about a row.
    #[must_use]
    pub fn annotation(&self, number: u64) -> Option<&Annotation> {
        self.annotations.get(&number)
    }

    /// Returns whether these are the notes that the snapshot has.
    #[must_use]
    pub fn has_annotations(&self, noted: &Arc<BTreeMap<u64, Annotation>>) -> bool {
        Arc::ptr_eq(&self.annotations, noted)
    }

    /// Adds what people noted to a row's comment.
    pub(super) fn annotated(&self, number: u64, mut record: Record) -> Record {
        if let Some(annotation) = self.annotations.get(&number) {
            record.comment = annotation.joined(record.comment.take());
        }
        record
    }

    /// Returns the details of a row.
    #[must_use]
    pub fn details(&self, number: u64) -> Option<Details> {
        let record = self.record(number)?;
        let about = self.about(number, &record.packet);
        Some(Details::new(record, self.legs_at(number), about))
    }

    /// Returns what the last packet before it says about a packet whose values depend on earlier ones.
    fn about(&self, number: u64, packet: &Packet) -> Option<About> {
        let asking = packet.kind().filter(|kind| SessionMemory::asks(kind))?;
        let first = number.saturating_sub(MAX_ROWS_BACK).max(self.first());
        let tells = |row: &u64| {
            self.kind(*row).is_some_and(|kind| SessionMemory::tells(kind, asking))
                && self.context(*row).is_some_and(|it| it.session == packet.context().session)
        };
        let mut telling = (first..number).rev().filter(tells).take(MAX_TELLING);
        telling.find_map(|row| {
            let mut memory = SessionMemory::default();
            memory.take(&self.record(row)?.packet);
            memory.take(packet)
        })
    }

    /// Returns the packet that was sent in place of a rewritten one, or the one in whose place a packet was sent.
    #[must_use]
    pub fn counterpart(&self, number: u64) -> Option<u64> {
        let (row, session) = (self.row(number)?, self.context(number)?.session);
        let here = |row: &u64| self.context(*row).is_some_and(|it| it.session == session);
        match row.outcome() {
            Outcome::Rewrite => {
                let replaces = |it: &u64| {
                    self.find(*it).is_some_and(|(chunk, place)| {
                        chunk.row(place).is_some_and(|it| chunk.replaces(&it))
                    }) && self.record(*it).and_then(|it| it.of) == Some(row.seq())
                };
                (number + 1..self.end()).take(MAX_APART).filter(here).find(replaces)
            }
            Outcome::Send => {
                let of = self.record(number)?.of?;
                let is = |it: &u64| self.row(*it).is_some_and(|row| row.seq() == of);
                (self.first()..number).rev().take(MAX_APART).filter(here).find(is)
            }
            _ => None,
        }
    }

    /// Returns the state, compression and encryption of the legs when a row's packet was recorded.
    #[must_use]
    pub fn legs_at(&self, number: u64) -> Option<LegState> {
        self.legs.at(self.context(number)?.session, number)
    }

    pub(super) fn find(&self, number: u64) -> Option<(&Chunk, usize)> {
        let place = self.chunks.partition_point(|chunk| chunk.end() <= number);
        let chunk = self.chunks.get(place)?;
        let place = usize::try_from(number.checked_sub(chunk.first)?).ok()?;
        Some((chunk, place))
    }
}

/// Rows between a rewritten packet and what was sent in its place, at most.
const MAX_APART: usize = 10_000;

/// Rows before a packet in which those are looked for that say what it is about.
const MAX_ROWS_BACK: u64 = 100_000;

/// Most packets that are read to find the one that says it.
const MAX_TELLING: usize = 2000;
