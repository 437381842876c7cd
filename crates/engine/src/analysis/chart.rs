//! Draws the timeline as an SVG chart.

use std::fmt::Write as _;

use super::report::seconds;
use super::{Bin, Report, Series, Timeline};
use crate::text::{ByteSize, count, xml};
use mitmcraft_protocol::schema::Direction;

impl Report<'_> {
    /// Draws bytes and packets per second by packet and direction, as a complete SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut chart = Chart { timeline: &self.stats.timeline, out: String::new(), top: HEAD };
        chart.write_head(self.stats);
        for direction in Direction::ALL {
            chart.write_direction(direction);
        }
        chart.out.push_str("</svg>\n");
        chart.out
    }
}

struct Chart<'a> {
    timeline: &'a Timeline,
    out: String,
    /// Vertical position of the next panel.
    top: usize,
}

/// The quantity that a panel shows.
#[derive(Clone, Copy)]
enum Measure {
    Bytes,
    Packets,
}

impl Chart<'_> {
    fn write_head(&mut self, stats: &super::Stats) {
        let height = HEAD + 4 * (PANEL + GAP);
        let total = stats.totals().total();
        let mut title =
            format!("{}, {} on the wire", count(total.packets, "packet"), ByteSize(total.wire));
        if let Some(begin) = self.timeline.begin() {
            let _ = write!(title, ", from {begin}; {} per step", seconds(self.step()));
        }
        let _ = write!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"13\" fill=\"#222\">{}</text>\n",
            xml(&title),
        );
    }

    fn write_direction(&mut self, direction: Direction) {
        let mut all = self.timeline.series(direction);
        // The packets with the largest shares of packets and bytes get colours of their own.
        let sum = Series::sum(&all, self.timeline.len()).total();
        let weight = |series: &Series| {
            let own = series.total();
            let part = |own: u64, sum: u64| own as f64 / sum.max(1) as f64;
            part(own.wire, sum.wire) + part(own.packets, sum.packets)
        };
        all.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        let others = all.split_off(all.len().min(COLORS.len()));
        let count = others.len();
        let mut names: Vec<String> = all.iter().map(|series| series.name.to_string()).collect();
        if count > 0 {
            all.push(Series::sum(&others, self.timeline.len()));
            names.push(format!("{count} other{}", if count == 1 { "" } else { "s" }));
        }
        self.write_legend(direction, &names);
        for measure in [Measure::Bytes, Measure::Packets] {
            self.write_panel(direction, measure, &all, &names);
            self.top += PANEL + GAP;
        }
    }

    fn write_legend(&mut self, direction: Direction, names: &[String]) {
        let left = LEFT + PLOT + 16;
        let _ = writeln!(
            self.out,
            "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\" fill=\"#222\">{direction}</text>",
            self.top + 10,
        );
        for (place, name) in names.iter().enumerate() {
            let top = self.top + 20 + place * 18;
            let _ = writeln!(
                self.out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"11\" height=\"11\" fill=\"{}\"/>\
                 <text x=\"{}\" y=\"{}\" fill=\"#222\">{}</text>",
                color(place),
                left + 17,
                top + 10,
                xml(name),
            );
        }
    }

    fn write_panel(
        &mut self,
        direction: Direction,
        measure: Measure,
        all: &[Series],
        names: &[String],
    ) {
        let sums = Series::sum(all, self.timeline.len());
        let rates = sums.bins.iter().map(|bin| measure.rate(bin, self.step()));
        let unit = measure.round(rates.fold(0.0, f64::max) / 4.0);
        let most = (1..=4)
            .map(|lines| unit * f64::from(lines))
            .find(|most| sums.bins.iter().all(|bin| measure.rate(bin, self.step()) <= *most));
        let most = most.unwrap_or(unit * 4.0);
        self.write_grid(direction, measure, unit, most);
        let mut below = vec![0.0; self.timeline.len()];
        for (place, series) in all.iter().enumerate() {
            let values: Vec<f64> = series
                .bins
                .iter()
                .zip(&below)
                .map(|(bin, below)| below + measure.rate(bin, self.step()) / most)
                .collect();
            if series.total().packets > 0 {
                self.write_area(&below, &values, color(place), &names[place]);
            }
            below = values;
        }
    }

    fn write_grid(&mut self, direction: Direction, measure: Measure, unit: f64, most: f64) {
        let (bottom, right) = (self.top + PANEL, LEFT + PLOT);
        let title = format!("{} per second, {direction}", measure.name());
        let _ = writeln!(
            self.out,
            "<text x=\"{LEFT}\" y=\"{}\" fill=\"#222\">{title}</text>",
            self.top - 6,
        );
        let mut value = 0.0;
        while value <= most * 1.001 {
            let y = bottom as f64 - value / most * PANEL as f64;
            let _ = writeln!(
                self.out,
                "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
                LEFT - 6,
                y + 4.0,
                measure.label(value),
            );
            value += unit;
        }
        let whole = self.step() * self.timeline.len() as f64;
        let unit = time_unit(whole / 8.0);
        let mut time = 0.0;
        while time <= whole * 1.001 {
            let x = LEFT as f64 + time / whole.max(1e-9) * PLOT as f64;
            let _ = writeln!(
                self.out,
                "<path d=\"M{x:.1} {bottom}v4\" stroke=\"#999\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
                bottom + 15,
                clock(time, unit),
            );
            time += unit;
        }
    }

    /// Draws the area between two step lines, where they differ.
    fn write_area(&mut self, below: &[f64], above: &[f64], color: &str, name: &str) {
        let _ = write!(self.out, "<path fill=\"{color}\" d=\"");
        let x = |bin: usize| LEFT as f64 + bin as f64 * PLOT as f64 / below.len() as f64;
        let y = |value: f64| (self.top + PANEL) as f64 - value * PANEL as f64;
        let mut bin = 0;
        while bin < below.len() {
            let begin = bin;
            while bin < below.len() && above[bin] > below[bin] {
                bin += 1;
            }
            if bin == begin {
                bin += 1;
                continue;
            }
            let _ = write!(self.out, "M{:.1} {:.1}", x(begin), y(above[begin]));
            for (place, value) in above[begin..bin].iter().enumerate() {
                let _ = write!(self.out, "V{:.1}H{:.1}", y(*value), x(begin + place + 1));
            }
            for (place, value) in below[begin..bin].iter().enumerate().rev() {
                let _ = write!(self.out, "V{:.1}H{:.1}", y(*value), x(begin + place));
            }
            self.out.push('Z');
        }
        let _ = writeln!(self.out, "\"><title>{}</title></path>", xml(name));
    }

    fn step(&self) -> f64 {
        self.timeline.step().as_secs_f64()
    }
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes on the wire",
            Self::Packets => "packets",
        }
    }

    fn rate(self, bin: &Bin, step: f64) -> f64 {
        let count = match self {
            Self::Bytes => bin.wire,
            Self::Packets => bin.packets,
        };
        count as f64 / step
    }

    /// Returns the smallest round number that is at least `least`.
    fn round(self, least: f64) -> f64 {
        let least = least.max(1.0);
        match self {
            Self::Packets => {
                let power = 10f64.powf(least.log10().floor());
                let factors = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
                let found = factors.into_iter().find(|it| *it >= least && it.fract() == 0.0);
                found.unwrap_or(10.0 * power)
            }
            Self::Bytes => {
                let power = 1024f64.powf((least.log2() / 10.0).floor());
                let factors = [1, 2, 5, 10, 20, 50, 100, 200, 256, 512, 1024];
                let found = factors.into_iter().map(|factor| f64::from(factor) * power);
                found.into_iter().find(|it| *it >= least).unwrap_or(least)
            }
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Self::Bytes => ByteSize(value as u64).to_string().replace(".0 ", " "),
            Self::Packets => format!("{value}"),
        }
    }
}

/// Returns the smallest round duration that is at least `least`, in seconds.
fn time_unit(least: f64) -> f64 {
    let units = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0];
    let longer = [1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0];
    let found = units.into_iter().chain(longer).find(|unit| *unit >= least);
    found.unwrap_or_else(|| (least / 86_400.0).ceil() * 86_400.0)
}

/// Formats a time since the beginning as precisely as the unit requires.
fn clock(seconds: f64, unit: f64) -> String {
    let whole = (seconds + 0.001) as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match unit {
        ..1.0 => format!("{seconds:.1} s"),
        ..60.0 if whole < 60 => format!("{rest} s"),
        ..3600.0 if hours == 0 => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02} h"),
    }
}

fn color(place: usize) -> &'static str {
    COLORS.get(place).copied().unwrap_or(OTHERS)
}

const WIDTH: usize = 1180;
const HEAD: usize = 60;
const LEFT: usize = 80;
const PLOT: usize = 880;
const PANEL: usize = 150;
const GAP: usize = 50;

/// The palette of Okabe and Ito, which colour-blind people can tell apart, and one more colour.
const COLORS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f6fbf"];

const OTHERS: &str = "#b0b0b0";
