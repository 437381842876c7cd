use std::io;

use super::{Channels, Report, RoundTrips, Sort, Timeline, UndecodedCounts};
use super::{CountingSink, CountsByPacket, SessionCounts};
use crate::capture::{Entry, EventKind, Record, Sink};
use crate::packet::Timestamp;

/// Counts captures: packets by kind, plugin channels, round trips, what does not decode, and all
/// of it over time. Its memory does not grow with what it is given.
#[derive(Debug, Default)]
pub struct Stats {
    /// One a capture: each numbers its sessions for itself.
    summaries: Vec<CountingSink>,
    channels: Channels,
    round_trips: RoundTrips,
    undecoded: UndecodedCounts,
    timeline: Timeline,
    /// The first and the last packet.
    span: Option<(Timestamp, Timestamp)>,
}

impl Stats {
    /// Another capture begins: its session 1 is not the last one's.
    pub fn begin(&mut self) {
        self.round_trips.close_all();
        self.summaries.push(CountingSink::default());
    }

    /// What was counted, in an order.
    #[must_use]
    pub fn report(&self, sort: Sort) -> Report<'_> {
        Report::new(self, sort)
    }

    /// All packets by kind.
    #[must_use]
    pub fn totals(&self) -> CountsByPacket {
        let mut totals = CountsByPacket::default();
        self.summaries.iter().for_each(|summary| totals.add(&summary.overall()));
        totals
    }

    /// The sessions that are kept apart, with the place of their capture.
    pub fn sessions(&self) -> impl Iterator<Item = (usize, &SessionCounts)> {
        let summaries = self.summaries.iter().enumerate();
        summaries.flat_map(|(place, it)| it.sessions().map(move |session| (place, session)))
    }

    /// How many sessions there were beside those.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.summaries.iter().map(CountingSink::forgotten).sum()
    }

    /// Plugin channels.
    #[must_use]
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Questions and answers.
    #[must_use]
    pub fn round_trips(&self) -> &RoundTrips {
        &self.round_trips
    }

    /// What does not decode.
    #[must_use]
    pub fn undecoded(&self) -> &UndecodedCounts {
        &self.undecoded
    }

    /// Packets and bytes over time.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// When the first and the last packet came.
    #[must_use]
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Seconds from the first packet to the last.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.span.map_or(0.0, |(first, last)| last.since(first).as_secs_f64())
    }

    fn count(&mut self, record: &Record) {
        // Inflated once, before its id is asked for.
        let _ = record.packet.body();
        let at = record.packet.at;
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        self.channels.count(record);
        self.undecoded.count(record);
        if record.outcome.came() {
            self.round_trips.count(record);
            self.timeline.count(record);
        }
    }
}

impl Sink for Stats {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if self.summaries.is_empty() {
            self.begin();
        }
        match entry {
            Entry::Packet(record) => self.count(record),
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    self.round_trips.close(event.context.session);
                }
            }
        }
        self.summaries.last_mut().map_or(Ok(()), |summary| summary.write(entry))
    }
}
