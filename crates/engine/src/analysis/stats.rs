use std::io;
use std::time::Duration;

use super::{
    Channels, DiagnosticCounts, NamedCounts, Report, RoundTrips, Sort, Timeline, UndecodedCounts,
};
use super::{CountingSink, CountsByPacket, SessionCounts};
use crate::capture::{Entry, EventKind, Record, Sink};
use mitmcraft_protocol::packet::Timestamp;

/// Collects statistics of captures: packets by kind, plugin channels, round trips, undecoded packets,
/// and packets over time. Memory is bounded.
#[derive(Debug, Default)]
pub struct Stats {
    /// One per capture: each numbers its own sessions.
    summaries: Vec<CountingSink>,
    channels: Channels,
    round_trips: RoundTrips,
    undecoded: UndecodedCounts,
    diagnostics: DiagnosticCounts,
    named: NamedCounts,
    timeline: Timeline,
    /// The times of the first and the last packet.
    span: Option<(Timestamp, Timestamp)>,
}

impl Stats {
    /// Begins another capture, whose session numbers are independent of those of the one before.
    pub fn begin(&mut self) {
        self.round_trips.close_all();
        self.summaries.push(CountingSink::default());
    }

    /// Returns a report in the given order.
    #[must_use]
    pub fn report(&self, sort: Sort) -> Report<'_> {
        Report::new(self, sort)
    }

    /// Sums up the packets of all captures by kind.
    #[must_use]
    pub fn totals(&self) -> CountsByPacket {
        let mut totals = CountsByPacket::default();
        self.summaries.iter().for_each(|summary| totals.add(&summary.overall()));
        totals
    }

    /// Iterates over the sessions that are counted separately, with the index of their capture.
    pub fn sessions(&self) -> impl Iterator<Item = (usize, &SessionCounts)> {
        let summaries = self.summaries.iter().enumerate();
        summaries.flat_map(|(place, it)| it.sessions().map(move |session| (place, session)))
    }

    /// The number of sessions that are no longer counted separately.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.summaries.iter().map(CountingSink::forgotten).sum()
    }

    /// The traffic of plugin channels.
    #[must_use]
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// The round trips.
    #[must_use]
    pub fn round_trips(&self) -> &RoundTrips {
        &self.round_trips
    }

    /// The packets that do not decode.
    #[must_use]
    pub fn undecoded(&self) -> &UndecodedCounts {
        &self.undecoded
    }

    /// The packets for which a peer would disconnect, by diagnostic.
    #[must_use]
    pub fn diagnostics(&self) -> &DiagnosticCounts {
        &self.diagnostics
    }

    /// The entities and blocks that packets name.
    #[must_use]
    pub fn named(&self) -> &NamedCounts {
        &self.named
    }

    /// Packets and bytes over time.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The times of the first and the last packet.
    #[must_use]
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// The time from the first packet to the last, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.span.map_or(0.0, |(first, last)| last.since(first).as_secs_f64())
    }

    /// Counts a packet. Returns the round trip of a keep-alive that it answers.
    fn count(&mut self, record: &Record) -> Option<Duration> {
        record.packet.inflate();
        let at = record.packet.at();
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        self.channels.count(record);
        self.undecoded.count(record);
        self.diagnostics.count(record);
        if !record.outcome.came() {
            return None;
        }
        self.timeline.count(record);
        self.named.count(record);
        self.round_trips.count(record)
    }
}

impl Sink for Stats {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if self.summaries.is_empty() {
            self.begin();
        }
        let took = match entry {
            Entry::Packet(record) => self.count(record),
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    self.round_trips.close(event.context.session);
                }
                None
            }
        };
        let Some(summary) = self.summaries.last_mut() else { return Ok(()) };
        if let Some(took) = took {
            summary.count_keep_alive(entry.context().session, took);
        }
        summary.write(entry)
    }
}
