use std::ops::Range;

use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Modifier, Style};

use super::Painter;
use super::draw::{HEX_ROW, Layout, WIDE_HEX_ROW, hex_width, wrapped};
use crate::store::{Details, Snapshot};
use crate::view::{Comparison, RoundTrip, words};
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::Outcome;

/// Fields and bytes of one packet, linked: the bytes of the selected field are marked.
#[derive(Debug)]
pub(super) struct DetailsPane {
    pub(super) row: u64,
    pub(super) details: Details,
    /// The place of the selected field.
    pub(super) field: usize,
    /// The rows of it that are above the pane, if it is longer than that.
    skipped: usize,
    /// The request that it answers, or its answer.
    pub(super) round_trip: Option<RoundTrip>,
    /// The fields of what came and of what was sent in its place, if the packet is one of the two.
    pub(super) pair: Option<Comparison>,
    /// The bytes that the other packet of the two does not have.
    pub(super) differing: Range<usize>,
}

impl DetailsPane {
    /// Reads the packet of a row.
    pub(super) fn of(snapshot: &Snapshot, row: u64) -> Option<Self> {
        let details = snapshot.details(row)?;
        let other = snapshot.counterpart(row).and_then(|row| snapshot.details(row));
        let pair = other.as_ref().map(|other| match details.record.outcome {
            Outcome::Rewrite => Comparison::new(&details, other),
            _ => Comparison::new(other, &details),
        });
        let side = usize::from(details.record.outcome != Outcome::Rewrite);
        let differing = pair.as_ref().map_or(0..0, |pair| pair.differing[side].clone());
        let round_trip = RoundTrip::of(snapshot, row);
        Some(Self { row, details, field: 0, skipped: 0, round_trip, pair, differing })
    }

    /// Returns the line of the selected field.
    pub(super) fn line(&self) -> usize {
        let selected = self.details.fields.get(self.field);
        match self.pair.as_ref().zip(selected) {
            Some((pair, selected)) => {
                let place = pair.fields.iter().position(|it| it.path == selected.path);
                place.unwrap_or_default()
            }
            None => self.field,
        }
    }

    /// Selects the field of a line.
    pub(super) fn select_line(&mut self, line: usize) {
        self.skipped = 0;
        match &self.pair {
            Some(pair) => {
                let path = pair.fields.get(line).map(|it| &it.path);
                let place = self.details.fields.iter().position(|it| Some(&it.path) == path);
                self.field = place.unwrap_or(self.field);
            }
            None => self.field = line.min(self.details.fields.len().saturating_sub(1)),
        }
    }

    /// Returns the rows by which a page moves.
    pub(super) fn page(&self, area: Rect) -> usize {
        self.body(area).height.into()
    }

    /// Selects another field, so many further. One that is longer than the pane is read to its end first.
    pub(super) fn move_by(&mut self, rows: isize, area: Rect) {
        let height = self.page(area);
        let hidden = self.rows(self.line(), area, true).saturating_sub(height);
        // Where another field is meant, as by the keys that go to the first and the last, none is read.
        if (1..=height.cast_signed()).contains(&rows) && self.skipped < hidden {
            self.skipped = (self.skipped + rows.unsigned_abs()).min(hidden);
            return;
        }
        self.skipped = 0;
        let last = self.details.fields.len().saturating_sub(1);
        self.field = self.field.saturating_add_signed(rows).min(last);
    }

    /// Selects the innermost field that has the byte at `offset`.
    pub(super) fn select_byte(&mut self, offset: usize) {
        self.skipped = 0;
        let fields = self.details.fields.iter().enumerate();
        let holders = fields.filter(|(_, field)| field.bytes.contains(&offset));
        if let Some((place, _)) = holders.max_by_key(|(_, field)| field.depth) {
            self.field = place;
        }
    }

    /// Returns the bytes of the selected field.
    pub(super) fn marked(&self) -> Range<usize> {
        self.details.fields.get(self.field).map_or(0..0, |field| field.bytes.clone())
    }

    /// Selects what a click is on: a field, or a byte. The pane is drawn with `focused`. Returns `false` if it is on
    /// neither.
    pub(super) fn click(&mut self, layout: Layout, at: Position, focused: bool) -> bool {
        if layout.fields.contains(at)
            && let Some(line) = self.line_at(layout.fields, at.y, focused)
        {
            self.select_line(line);
        } else if layout.bytes.contains(at)
            && let Some(byte) = self.byte_at(layout.bytes, at)
        {
            self.select_byte(byte);
        } else {
            return false;
        }
        true
    }

    /// Draws the fields and bytes of the packet, below a line with its name.
    pub(super) fn draw(&self, painter: &mut Painter<'_>, layout: Layout, focused: bool) {
        let details = &self.details;
        let packet = &details.record.packet;
        let name = packet.kind().map_or("?", |kind| kind.name());
        let id = packet.id().map_or(String::new(), |id| format!(" 0x{id:02x}"));
        let mut head = format!(
            "--{id} {}: {} bytes, {} on the wire",
            Escaped(name),
            packet.size(),
            packet.wire_size()
        );
        if let Some(other) = &self.round_trip {
            head.push_str(&format!("; {} (l)", words::round_trip(other)));
        }
        if let Some((why, at)) = &details.error {
            head.push_str(&format!("; ! {} (byte {at})", Escaped(why)));
        }
        for diagnostic in diagnose(&details.record.packet).iter() {
            head.push_str(&format!("; {diagnostic}: {}", diagnostic.description()));
        }
        if let Some(comment) = &details.record.comment {
            head.push_str(&format!("; {}", Escaped(comment)));
        }
        head.push(' ');
        let width = usize::from(painter.area.width);
        let head = format!("{head:-<width$}");
        painter.text(0, layout.fields.y.saturating_sub(1), &head, Style::new());
        self.draw_fields(painter, layout.fields, focused);
        self.draw_bytes(painter, layout.bytes);
    }

    /// Draws the fields; of what came and of what was sent, side by side, with a mark before those that differ. The
    /// selected one has as many rows as its values need.
    fn draw_fields(&self, painter: &mut Painter<'_>, area: Rect, focused: bool) {
        let body = self.body(area);
        if self.pair.is_some() && area.height > 0 {
            let head = Style::new().add_modifier(Modifier::UNDERLINED);
            for ((x, width), title) in columns(area).into_iter().zip(["field", "original", "sent"])
            {
                painter.cut(x, area.y, title, width, head);
            }
        }
        let mut y = body.y;
        let first = self.first_line(area, focused);
        for line in first..self.lines() {
            if y >= body.bottom() {
                break;
            }
            let is_selected = line == self.line();
            let style = selected(is_selected, focused);
            if self.pair.as_ref().is_some_and(|pair| !pair.fields[line].same) {
                painter.cut(body.x, y, "*", 1, Style::new());
            }
            let rows = self.rows(line, area, focused);
            let skipped = if is_selected && focused { self.skipped } else { 0 };
            let shown = rows.saturating_sub(skipped).min(usize::from(body.bottom() - y));
            for (x, width, text) in self.cells(line, area, is_selected && focused) {
                for (y, row) in (y..).zip(rows_of(&text, width).skip(skipped).take(shown)) {
                    painter.cut(x, y, row, width, style);
                }
            }
            y += u16::try_from(shown).unwrap_or(u16::MAX);
        }
    }

    /// The part of the pane that is below the heads of its columns.
    fn body(&self, area: Rect) -> Rect {
        let heads = u16::from(self.pair.is_some()).min(area.height);
        Rect { y: area.y + heads, height: area.height - heads, ..area }
    }

    /// Returns the number of lines, each with a field.
    fn lines(&self) -> usize {
        self.pair.as_ref().map_or(self.details.fields.len(), |pair| pair.fields.len())
    }

    /// Returns the rows of a line.
    fn rows(&self, line: usize, area: Rect, focused: bool) -> usize {
        if !focused || line != self.line() || line >= self.lines() {
            return 1;
        }
        let cells = self.cells(line, area, true);
        let rows = cells.iter().map(|(_, width, text)| rows_of(text, *width).count());
        rows.max().unwrap_or(1)
    }

    /// Returns the texts of a line, with their places and widths; with its source, if it is a text component, for the
    /// line that is `whole`.
    fn cells(&self, line: usize, area: Rect, whole: bool) -> Vec<(u16, u16, String)> {
        if let Some(pair) = &self.pair {
            let field = &pair.fields[line];
            let name = field.path.rsplit('.').next().unwrap_or_default();
            let name = format!("{:indent$}{}", "", Escaped(name), indent = field.depth);
            let [a, b] = [&field.a, &field.b].map(|it| it.clone().unwrap_or_else(|| "-".into()));
            let cells = columns(area).into_iter().zip([name, a, b]);
            return cells.map(|((x, width), text)| (x, width, text)).collect();
        }
        let field = &self.details.fields[line];
        let component = field.component.as_ref().map(|it| Escaped(it.plain()).to_string());
        let value = component.as_ref().unwrap_or(&field.value);
        let meaning = field.meaning.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        let mut text = format!("{:1$}", "", 2 * field.depth);
        match (field.name.as_str(), value.as_str()) {
            (name, "") => text.push_str(&Escaped(name).to_string()),
            ("", value) => text.push_str(value),
            (name, value) => text.push_str(&format!("{}: {value}{meaning}", Escaped(name))),
        }
        if whole && component.is_some() {
            text.push_str(&format!("\n{}", field.value));
        }
        vec![(area.x, area.width.saturating_sub(1), text)]
    }

    fn draw_bytes(&self, painter: &mut Painter<'_>, area: Rect) {
        let (bytes, marked) = (&self.details.bytes, self.marked());
        let (first, per_row) = (self.first_hex_row(area), hex_row(area));
        for (y, (row, chunk)) in
            (area.y..area.bottom()).zip(bytes.chunks(per_row).enumerate().skip(first))
        {
            painter.cut(area.x, y, &format!("{:05x}", row * per_row), 5, Style::new());
            for (place, byte) in chunk.iter().enumerate() {
                let at = row * per_row + place;
                let differs = match self.differing.contains(&at) {
                    true => Modifier::BOLD | Modifier::UNDERLINED,
                    false => Modifier::empty(),
                };
                let style = Style::new().add_modifier(differs);
                let style = if marked.contains(&at) { style.reversed() } else { style };
                let column = u16::try_from(place).unwrap_or_default();
                let char = if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
                painter.limited(
                    area.x + 6 + 3 * column,
                    y,
                    &format!("{byte:02x}"),
                    area.right(),
                    style,
                );
                let x = area.x + 6 + 3 * per_row as u16 + column;
                painter.limited(x, y, &char.to_string(), area.right(), style);
            }
        }
    }

    /// Returns the first line of fields that is shown: the selected one is on the screen, if it is longer than that
    /// from its beginning on.
    fn first_line(&self, area: Rect, focused: bool) -> usize {
        let (line, height) = (self.line(), usize::from(self.body(area).height));
        let rows = self.rows(line, area, focused);
        (line + rows).saturating_sub(height).min(line)
    }

    /// Returns the line of fields at a row of the screen, if there is one.
    fn line_at(&self, area: Rect, y: u16, focused: bool) -> Option<usize> {
        let row = usize::from(y.checked_sub(self.body(area).y)?);
        let (first, selected) = (self.first_line(area, focused), self.line());
        // The rows of the selected line after its first one.
        let more = self.rows(selected, area, focused) - 1;
        let more = more.saturating_sub(self.skipped);
        let line = (first + row).saturating_sub(more).max(selected.min(first + row));
        (line < self.lines()).then_some(line)
    }

    /// Returns the offset of the byte at a place of the screen, if there is one.
    fn byte_at(&self, area: Rect, at: Position) -> Option<usize> {
        let column = usize::from(at.x.checked_sub(area.x + 6)?) / 3;
        let row = usize::from(at.y.checked_sub(area.y)?) + self.first_hex_row(area);
        let byte = row * hex_row(area) + column;
        (column < hex_row(area) && byte < self.details.bytes.len()).then_some(byte)
    }

    /// Returns the first row of bytes that is shown: the marked ones are on the screen.
    fn first_hex_row(&self, area: Rect) -> usize {
        let row = self.marked().start / hex_row(area);
        (row + 1).saturating_sub(usize::from(area.height))
    }
}

/// Returns the places and widths of the columns of what came and of what was sent, after one for the mark.
fn columns(area: Rect) -> [(u16, u16); 3] {
    let name = area.width.saturating_sub(2) / 4;
    let value = area.width.saturating_sub(2 + name) / 2;
    let starts = [2, 2 + name, 2 + name + value].map(|x| area.x + x);
    let widths = [name, value, value].map(|width| width.saturating_sub(1));
    [0, 1, 2].map(|column| (starts[column], widths[column]))
}

/// Returns the rows of a text that may have several lines.
fn rows_of(text: &str, width: u16) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(move |line| wrapped(line, width.max(1).into()))
}

fn selected(is: bool, focused: bool) -> Style {
    match (is, focused) {
        (true, true) => Style::new().reversed(),
        (true, false) => Style::new().add_modifier(Modifier::BOLD),
        (false, _) => Style::new(),
    }
}

/// Returns the bytes in a row of a hex pane.
fn hex_row(area: Rect) -> usize {
    if area.width >= hex_width(WIDE_HEX_ROW) { WIDE_HEX_ROW } else { HEX_ROW }
}
