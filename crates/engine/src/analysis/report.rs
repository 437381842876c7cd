use std::cmp::Reverse;
use std::fmt::Write as _;
use std::time::Duration;

use super::{CountedPacket, PacketCounts, SessionCounts};
use super::{Series, Stats};
use crate::text::{ByteSize, Escaped, count};
use mitmcraft_protocol::schema::Direction;

/// Presents [`Stats`] as tables ([`write_table`](Self::write_table)), as JSON ([`json`](Self::json))
/// or as a chart ([`svg`](Self::svg)).
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub(super) stats: &'a Stats,
    sort: Sort,
    top: usize,
}

/// The order of the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Most bytes of bodies first.
    #[default]
    Bytes,
    /// Most bytes on the wire first.
    Wire,
    /// Most packets first.
    Packets,
    /// Largest mean body first.
    Mean,
    /// Largest body first.
    Largest,
    /// Alphabetical order.
    Name,
}

impl<'a> Report<'a> {
    pub(super) fn new(stats: &'a Stats, sort: Sort) -> Self {
        Self { stats, sort, top: usize::MAX }
    }

    /// Limits tables to the first `top` packets and channels, and sums up the others.
    #[must_use]
    pub fn top(mut self, top: usize) -> Self {
        self.top = top;
        self
    }

    /// Appends the tables of directions, packets, plugin channels, round trips, undecoded packets and
    /// sessions, and a timeline of each direction. Empty tables are omitted.
    pub fn write_table(&self, out: &mut String) {
        let total = self.stats.totals().total();
        self.write_summary(out, &total);
        if total.packets + total.made > 0 {
            self.write_counts(out, "direction", self.directions(), &total);
            self.write_counts(out, "packet", self.packets(), &total);
            self.write_counts(out, "plugin channel", self.channels(), &total);
        }
        self.write_named(out, "entity that appeared", self.stats.named.entities());
        self.write_named(out, "block after a change", self.stats.named.blocks());
        self.write_round_trips(out);
        self.write_faults(out);
        self.write_diagnostics(out);
        self.write_sessions(out);
        self.write_timeline(out);
    }

    /// Sums up each direction that has packets.
    pub(super) fn directions(&self) -> Vec<(String, PacketCounts)> {
        let totals = self.stats.totals();
        let of = |direction: Direction| {
            (format!("{} {direction}", arrow(direction)), totals.direction(direction))
        };
        let all = Direction::ALL.into_iter().map(of);
        all.filter(|(_, counts)| counts.packets + counts.made > 0).collect()
    }

    /// Returns the counts of every kind of packet, sorted.
    #[must_use]
    pub fn rows(&self) -> Vec<CountedPacket> {
        let mut rows = self.stats.totals().rows();
        match self.sort {
            Sort::Name => rows.sort_by(|a, b| {
                let place = |row: &CountedPacket| (row.name.clone(), row.state, row.direction);
                place(a).cmp(&place(b))
            }),
            _ => rows.sort_by_key(|row| self.rank(&row.counts)),
        }
        rows
    }

    /// Returns the counts of every plugin channel, sorted.
    #[must_use]
    pub fn channel_rows(&self) -> Vec<(Direction, &'a str, PacketCounts)> {
        let channels = self.stats.channels.iter();
        let mut rows: Vec<_> = channels.map(|(way, name, counts)| (way, name, *counts)).collect();
        match self.sort {
            Sort::Name => rows.sort_by_key(|(direction, name, _)| (*name, *direction)),
            _ => rows.sort_by_key(|(_, _, counts)| self.rank(counts)),
        }
        rows
    }

    fn rank(&self, counts: &PacketCounts) -> (Reverse<u64>, Reverse<u64>) {
        let first = match self.sort {
            Sort::Bytes | Sort::Name => counts.bytes,
            Sort::Wire => counts.wire,
            Sort::Packets => counts.packets,
            Sort::Mean => mean(counts),
            Sort::Largest => counts.largest,
        };
        (Reverse(first), Reverse(counts.packets))
    }

    fn packets(&self) -> Vec<(String, PacketCounts)> {
        let rows = self.rows().into_iter();
        let rows = rows.map(|row| {
            let name = format!("{} {} {}", arrow(row.direction), row.state, Escaped(&row.name));
            (name, row.counts)
        });
        self.cut(rows.collect(), "packets")
    }

    fn channels(&self) -> Vec<(String, PacketCounts)> {
        let rows = self.channel_rows().into_iter();
        let rows =
            rows.map(|(way, name, counts)| (format!("{} {}", arrow(way), Escaped(name)), counts));
        self.cut(rows.collect(), "channels")
    }

    /// Keeps the first rows and replaces the others by their sum.
    fn cut(
        &self,
        mut rows: Vec<(String, PacketCounts)>,
        what: &str,
    ) -> Vec<(String, PacketCounts)> {
        if rows.len() <= self.top {
            return rows;
        }
        let others = rows.split_off(self.top);
        let sum = PacketCounts::sum(others.iter().map(|(_, counts)| counts));
        rows.push((format!("{} other {what}", others.len()), sum));
        rows
    }

    fn write_summary(&self, out: &mut String, total: &PacketCounts) {
        let stats = self.stats;
        let sessions = stats.sessions().count() as u64 + stats.forgotten();
        let _ = write!(out, "{}, {}", count(sessions, "session"), count(total.packets, "packet"));
        if let Some((first, _)) = stats.span {
            let _ = write!(out, " in {:.3} s from {first}", stats.seconds());
        }
        out.push('\n');
    }

    fn write_counts(
        &self,
        out: &mut String,
        title: &str,
        rows: Vec<(String, PacketCounts)>,
        total: &PacketCounts,
    ) {
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\n{:>9} {:>9} {:>11} {:>6} {:>11} {:>6} {:>10} {:>10} {:>10}  {title}",
            "packets", "per s", "bytes", "share", "on wire", "share", "smallest", "mean", "largest",
        );
        let sum = if title == "direction" { Some(("total".to_owned(), *total)) } else { None };
        for (name, counts) in rows.into_iter().chain(sum) {
            let _ = write!(
                out,
                "{:>9} {:>9} {:>11} {:>6} {:>11} {:>6} {:>10} {:>10} {:>10}  {name}",
                counts.packets,
                rate(counts.packets, self.stats.seconds()),
                ByteSize(counts.bytes).to_string(),
                share(counts.bytes, total.bytes),
                ByteSize(counts.wire).to_string(),
                share(counts.wire, total.wire),
                ByteSize(counts.smallest).to_string(),
                ByteSize(mean(&counts)).to_string(),
                ByteSize(counts.largest).to_string(),
            );
            let done = counts.interventions();
            if !done.is_empty() {
                let _ = write!(out, " ({done})");
            }
            out.push('\n');
        }
    }

    fn write_named(&self, out: &mut String, title: &str, mut rows: Vec<(&str, u64)>) {
        let others = rows.split_off(rows.len().min(self.top.min(MAX_NAMED)));
        if !rows.is_empty() {
            let _ = writeln!(out, "\n{:>9}  {title}", "count");
        }
        for (name, count) in rows {
            let _ = writeln!(out, "{count:>9}  {name}");
        }
        if !others.is_empty() {
            let sum: u64 = others.iter().map(|(_, count)| count).sum();
            let _ = writeln!(out, "{sum:>9}  ({} more)", others.len());
        }
    }

    fn write_round_trips(&self, out: &mut String) {
        for (place, (name, asked, trip)) in self.stats.round_trips.iter().enumerate() {
            if place == 0 {
                let _ = writeln!(
                    out,
                    "\n{:>9} {:>10} {:>11} {:>11} {:>11}  round trip",
                    "answered", "unanswered", "shortest", "mean", "longest",
                );
            }
            let times = match trip.mean() {
                Some(mean) => [trip.shortest, mean, trip.longest].map(time),
                None => ["-", "-", "-"].map(str::to_owned),
            };
            let [shortest, mean, longest] = times;
            let (answered, unanswered) = (trip.answered, trip.unanswered);
            let (there, back) = (arrow(asked), arrow(asked.reverse()));
            let _ = writeln!(
                out,
                "{answered:>9} {unanswered:>10} {shortest:>11} {mean:>11} {longest:>11}  \
                 {there}{back} {name}",
            );
        }
    }

    fn write_faults(&self, out: &mut String) {
        let rows = self.stats.undecoded.rows();
        if !rows.is_empty() {
            let _ = writeln!(out, "\n{:>9} {:>12}  does not decode", "packets", "first");
        }
        for (fault, count, (session, seq)) in rows {
            let (arrow, first) = (arrow(fault.direction), format!("#{session}, {seq}"));
            let (packet, reason) = (Escaped(&fault.packet), Escaped(&fault.reason));
            let state = fault.state;
            let _ = writeln!(out, "{count:>9} {first:>12}  {arrow} {state} {packet}: {reason}");
        }
    }

    fn write_diagnostics(&self, out: &mut String) {
        let rows = self.stats.diagnostics.rows();
        if !rows.is_empty() {
            let _ = writeln!(out, "\n{:>9} {:>12}  would disconnect", "packets", "first");
        }
        for (diagnostic, direction, count, (session, seq)) in rows {
            let (arrow, first) = (arrow(direction), format!("#{session}, {seq}"));
            let why = diagnostic.description();
            let _ = writeln!(out, "{count:>9} {first:>12}  {arrow} {diagnostic}: {why}");
        }
    }

    fn write_sessions(&self, out: &mut String) {
        for (place, (_, session)) in self.stats.sessions().enumerate() {
            if place == 0 {
                let _ = writeln!(
                    out,
                    "\n{:>9} {:>11} {:>11} {:>10} {:>10}  session",
                    "packets", "bytes", "on wire", "lasted", "keep-alive",
                );
            }
            let counts = session.totals.total();
            let _ = writeln!(
                out,
                "{:>9} {:>11} {:>11} {:>10} {:>10}  {}",
                counts.packets,
                ByteSize(counts.bytes).to_string(),
                ByteSize(counts.wire).to_string(),
                format!("{:.3} s", lasted(session).as_secs_f64()),
                session.keep_alives.mean().map(time).unwrap_or_default(),
                session_name(session),
            );
        }
        if self.stats.forgotten() > 0 {
            let _ =
                writeln!(out, "{:>56}  {} earlier", "", count(self.stats.forgotten(), "session"));
        }
    }

    fn write_timeline(&self, out: &mut String) {
        let timeline = &self.stats.timeline;
        if timeline.len() < 2 {
            return;
        }
        let bins = timeline.len().div_ceil(COLUMNS);
        let column = timeline.step().as_secs_f64() * bins as f64;
        // A rate over hours hides every burst, and rounds to nothing.
        let (unit, per, every) = match column > LONG_COLUMN {
            true => ("bytes", 1.0, ""),
            false => ("bytes per second", column, "/s"),
        };
        let _ = writeln!(out, "\n{unit} on the wire, {} per column", seconds(column));
        for direction in Direction::ALL {
            let columns = columns(&timeline.sum(direction), bins);
            let Some(most) = columns.iter().copied().max().filter(|most| *most > 0) else {
                continue;
            };
            let bars: String = columns.iter().map(|bytes| bar(*bytes, most)).collect();
            let most = ByteSize((most as f64 / per) as u64);
            let _ = writeln!(out, "  {} {bars}  up to {most}{every}", arrow(direction));
        }
    }
}

/// The duration of a session, up to its last entry if it did not close.
pub(super) fn lasted(session: &SessionCounts) -> Duration {
    let end = session.closed.as_ref().map_or(session.last, |(at, _)| *at);
    end.since(session.context.opened)
}

/// The mean size of a body in bytes.
pub(super) fn mean(counts: &PacketCounts) -> u64 {
    counts.bytes.checked_div(counts.packets).unwrap_or_default()
}

fn session_name(session: &SessionCounts) -> String {
    let context = &session.context;
    let mut name = format!("#{}", context.session);
    if let Some(player) = &context.player {
        let _ = write!(name, " {}", Escaped(player));
    }
    if !context.client.ip().is_unspecified() {
        let server = context.server.map_or_else(|| context.upstream.clone(), |it| it.to_string());
        let _ = write!(name, ", {} → {}", context.client, Escaped(server));
    }
    if let Some(version) = context.version {
        let _ = write!(name, ", protocol {version}");
    }
    match &session.closed {
        Some((_, summary)) => {
            let _ = write!(name, ", {}", Escaped(&summary.reason));
        }
        None => name.push_str(", not closed"),
    }
    name
}

pub(super) fn arrow(direction: Direction) -> char {
    match direction {
        Direction::Serverbound => '→',
        Direction::Clientbound => '←',
    }
}

fn rate(number: u64, seconds: f64) -> String {
    if seconds > 0.0 { format!("{:.1}", number as f64 / seconds) } else { "-".to_owned() }
}

/// Returns the share that a part has of the whole, in percent; `-` if there is nothing.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.1}%", 100.0 * part as f64 / whole as f64),
    }
}

fn time(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    match micros {
        ..1e3 => format!("{micros:.0} µs"),
        ..1e6 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{} s", (seconds * 1000.0).round() / 1000.0),
        ..7200.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Sums up the bytes of every `bins` bins.
fn columns(series: &Series, bins: usize) -> Vec<u64> {
    series.bins.chunks(bins).map(|bins| bins.iter().map(|bin| bin.wire).sum()).collect()
}

fn bar(part: u64, most: u64) -> char {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // Rounded up, so that even one byte is visible.
    let height = (u128::from(part) * 8).div_ceil(u128::from(most));
    BARS[height as usize]
}

/// Rows of a table of names; the others are summed up.
const MAX_NAMED: usize = 20;

/// Greatest number of columns of the timeline.
const COLUMNS: usize = 60;

/// Seconds of a column above which it has bytes, and no rate.
const LONG_COLUMN: f64 = 60.0;
