use serde::Serialize;

use super::List;
use crate::store::{Matches, Selection};
use mitmcraft_engine::analysis::RoundTrips;
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;

/// The packets of a list over time: how many match each of several expressions, and the round trips of keep-alives.
///
/// All of it is found and counted in slices. It is about the list as it was when the chart was created.
#[derive(Debug)]
pub struct Chart {
    series: Vec<Series>,
    /// Keep-alives, and what their answers took.
    trips: Series,
    pairs: RoundTrips,
    took: Vec<(Timestamp, f64)>,
    /// The times of the first and the last packet.
    span: Option<(Timestamp, Timestamp)>,
    phase: Phase,
}

/// The packets that match an expression.
#[derive(Debug)]
struct Series {
    name: String,
    matches: Matches,
    /// The row from which on packets were not looked at yet in this phase; `None` after the last.
    next: Option<u64>,
    bins: Vec<(u64, u64)>,
}

/// The current step of counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Finding,
    Measuring,
    Counting,
    Done,
}

/// The data of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ChartData {
    /// The beginning of the first bin in milliseconds since 1970; `null` without packets.
    pub begin: Option<f64>,
    /// The length of a bin in seconds.
    pub step: f64,
    /// The series, in the order in which they were asked for.
    pub series: Vec<ChartSeries>,
    /// The slowest round trip of the keep-alives answered in each bin, in seconds; `null` where there is none.
    pub trips: Vec<Option<f64>>,
}

/// The packets that match an expression, in each bin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ChartSeries {
    /// The expression.
    pub name: String,
    /// Numbers of packets.
    pub packets: Vec<u64>,
    /// Bytes on the wire.
    pub wire: Vec<u64>,
}

impl Chart {
    /// Most expressions of a chart.
    pub const MAX: usize = 8;

    /// Returns the expressions for those who have chosen none: both directions.
    #[must_use]
    pub fn usual(catalog: &Catalog) -> Vec<Expr> {
        let parsed = ["clientbound", "serverbound"].map(|text| Expr::parse(text, catalog).ok());
        parsed.into_iter().flatten().map(|(expr, _)| expr).collect()
    }

    /// Creates the chart of a list, with the packets that match each of the expressions.
    #[must_use]
    pub fn new(list: &List, exprs: Vec<Expr>, catalog: &Catalog) -> Self {
        let series = |name: String, expr| {
            let mut selection: Selection = list.selection().clone();
            selection.within.extend(expr);
            let matches = Matches::new(selection, list.snapshot().clone());
            Series { name, matches, next: Some(0), bins: Vec::new() }
        };
        let trips = Expr::parse(TRIPS, catalog).ok().map(|(expr, _)| expr);
        Self {
            trips: series(TRIPS.to_owned(), trips),
            series: exprs.into_iter().map(|it| series(it.text().to_owned(), Some(it))).collect(),
            pairs: RoundTrips::default(),
            took: Vec::new(),
            span: None,
            phase: Phase::Finding,
        }
    }

    /// Does some more of the work, about that for `rows` packets. Returns `true` once all is done.
    pub fn advance(&mut self, rows: usize) -> bool {
        match self.phase {
            Phase::Finding => self.find(rows),
            Phase::Measuring => self.measure(rows),
            Phase::Counting => self.count(rows),
            Phase::Done => {}
        }
        self.phase == Phase::Done
    }

    /// Returns the chart, once all is done.
    #[must_use]
    pub fn data(&self) -> ChartData {
        let (begin, step, bins) = self.scale();
        let mut trips = vec![None; bins];
        for (at, took) in &self.took {
            if let Some(slowest) = trips.get_mut(bin(*at, begin, step)) {
                *slowest = Some(slowest.map_or(*took, |it: f64| it.max(*took)));
            }
        }
        let series = self.series.iter().map(|it| ChartSeries {
            name: it.name.clone(),
            packets: it.bins.iter().map(|bin| bin.0).collect(),
            wire: it.bins.iter().map(|bin| bin.1).collect(),
        });
        ChartData {
            begin: self.span.map(|_| super::protocol::millis(begin)),
            step: step as f64 / 1e9,
            series: series.collect(),
            trips,
        }
    }

    fn find(&mut self, rows: usize) {
        let all = self.series.iter_mut().chain([&mut self.trips]);
        match all.into_iter().find(|it| !it.matches.is_complete()) {
            Some(series) => {
                series.matches.advance(rows);
            }
            None => self.phase = Phase::Measuring,
        }
    }

    /// Finds out when the first and the last packet came.
    fn measure(&mut self, rows: usize) {
        let Self { series, trips, span, .. } = self;
        let next = series.iter_mut().chain(std::iter::once(trips)).find(|it| it.next.is_some());
        if let Some(series) = next {
            series.each(rows, |at, _| {
                let (first, last) = span.unwrap_or((at, at));
                *span = Some((first.min(at), last.max(at)));
            });
            return;
        }
        let (_, _, bins) = self.scale();
        for series in &mut self.series {
            (series.next, series.bins) = (Some(0), vec![(0, 0); bins]);
        }
        self.trips.next = Some(0);
        self.phase = Phase::Counting;
    }

    fn count(&mut self, rows: usize) {
        let (begin, step, _) = self.scale();
        if let Some(series) = self.series.iter_mut().find(|it| it.next.is_some()) {
            let mut bins = std::mem::take(&mut series.bins);
            series.each(rows, |at, wire| {
                if let Some((packets, bytes)) = bins.get_mut(bin(at, begin, step)) {
                    *packets += 1;
                    *bytes += u64::from(wire);
                }
            });
            series.bins = bins;
        } else if let Some(from) = self.trips.next {
            let (pairs, took) = (&mut self.pairs, &mut self.took);
            self.trips.next = self.trips.matches.records(from, rows, |_, record| {
                let trip = pairs.count(&record);
                took.extend(trip.map(|it| (record.packet.at(), it.as_secs_f64())));
            });
        } else {
            self.phase = Phase::Done;
        }
    }

    /// Returns the beginning of the first bin, the length of bins in nanoseconds, and their number.
    fn scale(&self) -> (Timestamp, u64, usize) {
        let Some((first, last)) = self.span else { return (Timestamp(0), TICK, 0) };
        let span = last.since(first).as_nanos();
        let step = STEPS.into_iter().find(|step| span / u128::from(*step) < BINS);
        let day = STEPS[STEPS.len() - 1];
        let step = step.unwrap_or_else(|| {
            // Recordings of years.
            u64::try_from(span / BINS).unwrap_or(u64::MAX).div_ceil(day).max(1).saturating_mul(day)
        });
        let begin = Timestamp(first.0 / step * step);
        (begin, step, bin(last, begin, step) + 1)
    }
}

impl Series {
    /// Calls `see` with the times and sizes on the wire of some more packets.
    fn each(&mut self, rows: usize, mut see: impl FnMut(Timestamp, u32)) {
        let Some(from) = self.next else { return };
        let found = self.matches.rows_from(from, rows);
        let snapshot = self.matches.snapshot();
        for row in found.iter().filter_map(|row| snapshot.row(*row)) {
            see(row.at, row.wire);
        }
        self.next = found.last().filter(|_| found.len() >= rows).map(|row| row + 1);
    }
}

/// Returns the bin of a time.
fn bin(at: Timestamp, begin: Timestamp, step: u64) -> usize {
    usize::try_from(at.0.saturating_sub(begin.0) / step).unwrap_or(usize::MAX)
}

/// The packets whose round trips are measured.
const TRIPS: &str = "role.keep_alive";

/// A tick of the game in nanoseconds: the shortest bin.
const TICK: u64 = 50_000_000;

/// Lengths of bins in nanoseconds, which axes can be labelled by.
const STEPS: [u64; 19] = [
    TICK,
    100_000_000,
    200_000_000,
    500_000_000,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    20 * SECOND,
    30 * SECOND,
    60 * SECOND,
    120 * SECOND,
    300 * SECOND,
    600 * SECOND,
    1800 * SECOND,
    3600 * SECOND,
    3 * 3600 * SECOND,
    12 * 3600 * SECOND,
    24 * 3600 * SECOND,
];

const SECOND: u64 = 1_000_000_000;

/// Most bins.
const BINS: u128 = 400;
