use std::ops::Range;

use ratatui_core::style::{Modifier, Style};

use super::pane::{Input, Pane};
use super::{Painter, Purpose, Shared, View};
use crate::view::{Chart, ChartData, List, SLICE};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;

/// The packets of the list over time.
#[derive(Debug)]
pub(super) struct TimelinePane {
    /// The expressions whose packets are counted.
    series: Vec<Expr>,
    timeline: Timeline,
}

/// The counts of a timeline, counted again while others come.
#[derive(Debug, Default)]
struct Timeline {
    counting: Option<Chart>,
    /// The newest row and the number of packets when the count began.
    of: (u64, u64),
    /// The turns that the count took, and those since.
    took: usize,
    rested: usize,
    /// The last result.
    data: Option<ChartData>,
}

impl Pane for TimelinePane {
    fn open(&mut self, _shared: &mut Shared) {
        self.timeline = Timeline::default();
    }

    fn act(&mut self, _shared: &mut Shared, input: Input) -> bool {
        // All of it is on the screen.
        matches!(input, Input::Move(_))
    }

    fn advance(&mut self, shared: &mut Shared) -> bool {
        self.timeline.advance(&shared.list, &self.series, &shared.catalog)
    }

    /// Draws a row of bars for each series, round trips, the times, and the selected packet.
    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        let Some(data) = &self.timeline.data else {
            return painter.text(0, 1, "counting ..", Style::new());
        };
        let width = usize::from(painter.area.width);
        let Some(begin) = data.begin.filter(|_| width > 0) else {
            return painter.text(
                0,
                1,
                "the list has no packets: there is nothing to count",
                Style::new(),
            );
        };
        let bins = data.trips.len().max(1);
        let columns: Vec<Range<usize>> = (0..width)
            .map(|x| x * bins / width..((x + 1) * bins / width).max(x * bins / width + 1))
            .collect();
        let rate = |packets: &[u64]| -> Vec<f64> {
            let sums =
                columns.iter().map(|bins| (packets[bins.clone()].iter().sum::<u64>(), bins.len()));
            sums.map(|(sum, bins)| sum as f64 / (bins as f64 * data.step)).collect()
        };
        let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
        for series in &data.series {
            let (all, rates) = (series.packets.iter().sum::<u64>(), rate(&series.packets));
            let most = rates.iter().copied().fold(0.0, f64::max);
            let name = Escaped(&series.name);
            rows.push((format!("{name}: {all} packets, at most {most:.1} per second"), rates));
        }
        let took: Vec<f64> = columns
            .iter()
            .map(|bins| data.trips[bins.clone()].iter().flatten().copied().fold(0.0, f64::max))
            .collect();
        let longest = took.iter().copied().fold(0.0, f64::max);
        if longest > 0.0 {
            rows.push((format!("round trips: at most {:.1} ms", longest * 1000.0), took));
        }
        // Between the line of the tabs and those of the times and the status.
        let room = usize::from(painter.area.height.saturating_sub(5));
        let height = (room / rows.len().max(1)).clamp(2, 8);
        let lowest = u16::try_from(1 + room).unwrap_or(u16::MAX);
        let mut y = 1;
        for (title, values) in &rows {
            if y + 2 > lowest + 1 {
                break;
            }
            painter.text(0, y, title, Style::new().add_modifier(Modifier::BOLD));
            for (line, text) in bars(values, height - 1).iter().enumerate() {
                painter.text(0, y + 1 + line as u16, text, Style::new());
            }
            y += height as u16;
        }
        let y = y.min(lowest);
        let span = bins as f64 * data.step;
        let clock = |seconds: f64| {
            let at = Timestamp((begin * 1e6 + seconds * 1e9) as u64).to_string();
            at.get(11..23).unwrap_or(&at).to_owned()
        };
        let end = format!("{} UTC", clock(span));
        let gap = width.saturating_sub(12 + end.len());
        painter.text(0, y + 1, &format!("{}{:gap$}{end}", clock(0.0), ""), Style::new());
        let selected = self.row(shared).and_then(|row| shared.list.snapshot().row(row));
        if let Some(row) = selected {
            let seconds = row.at.0 as f64 / 1e9 - begin / 1000.0;
            let x = ((seconds / span) * width as f64).clamp(0.0, width as f64 - 1.0) as usize;
            let label = format!("packet {}, {}", row.seq(), clock(seconds));
            let line = match x + 2 + label.len() < width {
                true => format!("{:x$}▲ {label}", ""),
                false => format!("{label:>x$} ▲", x = x.saturating_sub(1)),
            };
            painter.text(0, y, &line, Style::new());
        }
    }

    fn row(&self, shared: &Shared) -> Option<u64> {
        shared.cursor.selected()
    }
}

impl TimelinePane {
    pub(super) fn new(catalog: &Catalog) -> Self {
        Self { series: Chart::usual(catalog), timeline: Timeline::default() }
    }

    /// Asks what is to be counted.
    pub(super) fn ask(&self, shared: &mut Shared) {
        let texts = self.series.iter().map(Expr::text);
        let text = texts.collect::<Vec<_>>().join("; ");
        shared.ask(Purpose::Series, text);
    }

    /// Counts the packets of other expressions.
    pub(super) fn set_series(&mut self, shared: &mut Shared, series: Vec<Expr>) {
        self.series = series;
        shared.goes_to = Some(View::Timeline);
    }
}

impl Timeline {
    /// Counts some more packets. Returns `true` if there is more to do at once.
    fn advance(&mut self, list: &List, series: &[Expr], catalog: &Catalog) -> bool {
        if let Some(chart) = &mut self.counting {
            self.took += 1;
            if !chart.advance(SLICE) {
                return true;
            }
            (self.data, self.counting, self.rested) = (Some(chart.data()), None, 0);
            return false;
        }
        let of = (list.snapshot().end(), list.count());
        // Counting takes half of the time at most.
        self.rested += 1;
        if self.data.is_none() || (self.of != of && self.rested >= self.took) {
            (self.counting, self.of, self.took) =
                (Some(Chart::new(list, series.to_vec(), catalog)), of, 0);
            return true;
        }
        false
    }
}

/// Draws values as bars of some lines, the highest as high as all of them.
fn bars(values: &[f64], lines: usize) -> Vec<String> {
    let most = values.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let eighths = |value: f64| ((value / most) * (8 * lines) as f64).ceil() as usize;
    let line = |above: usize| {
        let cell = |value: &f64| BLOCKS[eighths(*value).saturating_sub(8 * above).min(8)];
        values.iter().map(cell).collect()
    };
    (0..lines).rev().map(line).collect()
}

/// Parts of a bar, by eighths.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
