use std::collections::VecDeque;
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
    /// One per capture, with the capture's place: each numbers its own sessions.
    summaries: VecDeque<(usize, CountingSink)>,
    /// The number of captures.
    captures: usize,
    /// The sum of captures whose sessions are no longer counted separately, and the number of these.
    earlier: (CountsByPacket, u64),
    /// The traffic of plugin channels.
    pub channels: Channels,
    /// The round trips.
    pub round_trips: RoundTrips,
    /// The packets that do not decode.
    pub undecoded: UndecodedCounts,
    pub(super) diagnostics: DiagnosticCounts,
    /// The entities and blocks that packets name.
    pub named: NamedCounts,
    /// Packets and bytes over time.
    pub timeline: Timeline,
    /// The times of the first and the last packet.
    pub(super) span: Option<(Timestamp, Timestamp)>,
}

impl Stats {
    /// Begins another capture, whose session numbers are independent of those of the one before.
    pub fn begin(&mut self) {
        self.round_trips.close_all();
        self.take_summary(CountingSink::default());
    }

    /// Adds the statistics of captures that follow those counted so far.
    pub fn merge(&mut self, mut other: Self) {
        self.round_trips.close_all();
        other.round_trips.close_all();
        for (_, summary) in other.summaries {
            self.take_summary(summary);
        }
        self.earlier.0.add(&other.earlier.0);
        self.earlier.1 += other.earlier.1;
        self.channels.add(other.channels);
        self.round_trips.add(&other.round_trips);
        self.undecoded.add(other.undecoded);
        self.diagnostics.add(&other.diagnostics);
        self.named.add(&other.named);
        self.timeline.add(other.timeline);
        for at in other.span.into_iter().flat_map(|(first, last)| [first, last]) {
            self.extend_span(at);
        }
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
        totals.add(&self.earlier.0);
        self.summaries.iter().for_each(|(_, summary)| totals.add(&summary.overall()));
        totals
    }

    /// Iterates over the sessions that are counted separately, with the index of their capture.
    pub fn sessions(&self) -> impl Iterator<Item = (usize, &SessionCounts)> {
        let summaries = self.summaries.iter();
        summaries.flat_map(|(place, it)| it.sessions().map(move |session| (*place, session)))
    }

    /// The number of sessions that are no longer counted separately.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.earlier.1 + self.summaries.iter().map(|(_, it)| it.forgotten).sum::<u64>()
    }

    /// The time from the first packet to the last, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.span.map_or(0.0, |(first, last)| last.since(first).as_secs_f64())
    }

    /// Takes the counts of another capture. Of earlier ones only the sum is kept if there are many sessions.
    fn take_summary(&mut self, summary: CountingSink) {
        self.summaries.push_back((self.captures, summary));
        self.captures += 1;
        let mut sessions: usize = self.summaries.iter().map(|(_, it)| it.sessions().count()).sum();
        while (sessions > MAX_SESSIONS || self.summaries.len() > MAX_SESSIONS)
            && let Some((_, first)) = self.summaries.pop_front()
        {
            let own = first.sessions().count();
            self.earlier.0.add(&first.overall());
            self.earlier.1 += first.forgotten + own as u64;
            sessions -= own;
        }
    }

    fn extend_span(&mut self, at: Timestamp) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// Counts a packet. Returns the round trip of a keep-alive that it answers.
    fn count(&mut self, record: &Record) -> Option<Duration> {
        record.packet.inflate();
        self.extend_span(record.packet.at());
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
        let Some((_, summary)) = self.summaries.back_mut() else { return Ok(()) };
        if let Some(took) = took {
            summary.count_keep_alive(entry.context().session, took);
        }
        summary.write(entry)
    }
}

/// Sessions of all captures, and captures, that are counted separately.
const MAX_SESSIONS: usize = 1024;
