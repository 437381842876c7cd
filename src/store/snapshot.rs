use std::sync::Arc;

use super::{Chunk, Details, Row};
use crate::capture::{LegState, Record};
use crate::packet::Context;
use crate::schema::PacketType;

/// The packets that a [`Store`](super::Store) held at one moment. Cheap to take, and unchanged by what
/// the store takes or forgets later.
///
/// Rows have numbers, from 0 for the first packet that the store has taken.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) chunks: Vec<Chunk>,
    /// The leg states of the sessions, each from a row on.
    pub(super) legs: Arc<super::session::Legs>,
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

    /// Returns a row.
    #[must_use]
    pub fn row(&self, number: u64) -> Option<&Row> {
        let (chunk, place) = self.find(number)?;
        chunk.rows.get(place)
    }

    /// Returns the context of a row's packet.
    #[must_use]
    pub fn context(&self, number: u64) -> Option<&Arc<Context>> {
        let (chunk, place) = self.find(number)?;
        Some(chunk.context(&chunk.rows[place]))
    }

    /// Returns the type of a row's packet.
    #[must_use]
    pub fn kind(&self, number: u64) -> Option<&PacketType> {
        let (chunk, place) = self.find(number)?;
        chunk.kind(&chunk.rows[place])
    }

    /// Returns the record of a row, as it was recorded. Returns `None` for a row that is not held, or
    /// whose bytes could not be written or read.
    #[must_use]
    pub fn record(&self, number: u64) -> Option<Record> {
        let (chunk, place) = self.find(number)?;
        chunk.record(place, &chunk.bytes(place)?)
    }

    /// Returns the details of a row.
    #[must_use]
    pub fn details(&self, number: u64) -> Option<Details> {
        Some(Details::new(self.record(number)?, self.legs_at(number)))
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
