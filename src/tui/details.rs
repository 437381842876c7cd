use std::ops::Range;

use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Modifier, Style};

use super::Painter;
use super::draw::{HEX_ROW, Layout, WIDE_HEX_ROW, hex_width};
use crate::store::{Details, Snapshot};
use crate::view::Comparison;
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
        Some(Self { row, details, field: 0, pair, differing })
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
        match &self.pair {
            Some(pair) => {
                let path = pair.fields.get(line).map(|it| &it.path);
                let place = self.details.fields.iter().position(|it| Some(&it.path) == path);
                self.field = place.unwrap_or(self.field);
            }
            None => self.field = line.min(self.details.fields.len().saturating_sub(1)),
        }
    }

    pub(super) fn move_by(&mut self, rows: isize) {
        let last = self.details.fields.len().saturating_sub(1);
        self.field = self.field.saturating_add_signed(rows).min(last);
    }

    /// Selects the innermost field that has the byte at `offset`.
    pub(super) fn select_byte(&mut self, offset: usize) {
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

    /// Selects what a click is on: a field, or a byte.
    pub(super) fn click(&mut self, layout: Layout, at: Position) {
        if layout.fields.contains(at) {
            // The line of heads is no field.
            let heads = usize::from(self.pair.is_some());
            let row = usize::from(at.y - layout.fields.y).checked_sub(heads);
            if let Some(row) = row {
                self.select_line(self.first_line(layout.fields) + row);
            }
        } else if let Some(byte) = self.byte_at(layout.bytes, at) {
            self.select_byte(byte);
        }
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
        if let Some(pair) = &self.pair {
            self.draw_pair(painter, pair, layout.fields, focused);
        } else {
            self.draw_fields(painter, layout.fields, focused);
        }
        self.draw_bytes(painter, layout.bytes);
    }

    fn draw_fields(&self, painter: &mut Painter<'_>, area: Rect, focused: bool) {
        let fields = self.details.fields.iter().enumerate().skip(self.first_line(area));
        for (y, (place, field)) in (area.y..area.bottom()).zip(fields) {
            let indent = 2 * field.depth;
            let line = match (field.name.as_str(), field.value.as_str()) {
                (name, "") => format!("{:indent$}{}", "", Escaped(name)),
                ("", value) => format!("{:indent$}{value}", ""),
                (name, value) => {
                    let meaning = field.meaning.as_ref().map(|it| format!(" ({it})"));
                    let meaning = meaning.unwrap_or_default();
                    format!("{:indent$}{}: {value}{meaning}", "", Escaped(name))
                }
            };
            let width = area.width.saturating_sub(1);
            painter.cut(0, y, &line, width, selected(place == self.field, focused));
        }
    }

    /// Draws the fields of what came and of what was sent, side by side; those that differ are marked.
    fn draw_pair(&self, painter: &mut Painter<'_>, pair: &Comparison, area: Rect, focused: bool) {
        if area.height == 0 {
            return;
        }
        let name = area.width.saturating_sub(2) / 4;
        let value = area.width.saturating_sub(2 + name) / 2;
        let places = [2, 2 + name, 2 + name + value].map(|x| area.x + x);
        let widths = [name, value, value].map(|width| width.saturating_sub(1));
        let head = Style::new().add_modifier(Modifier::UNDERLINED);
        for ((x, width), title) in places.into_iter().zip(widths).zip(["field", "original", "sent"])
        {
            painter.cut(x, area.y, title, width, head);
        }
        let fields = pair.fields.iter().enumerate().skip(self.first_line(area));
        for (y, (place, field)) in (area.y + 1..area.bottom()).zip(fields) {
            let style = selected(place == self.line(), focused);
            painter.cut(area.x, y, if field.same { " " } else { "*" }, 1, Style::new());
            let name = field.path.rsplit('.').next().unwrap_or_default();
            let name = format!("{:indent$}{}", "", Escaped(name), indent = field.depth);
            let [a, b] = [&field.a, &field.b].map(|it| it.as_deref().unwrap_or("-"));
            for ((x, width), text) in places.into_iter().zip(widths).zip([&*name, a, b]) {
                painter.cut(x, y, text, width, style);
            }
        }
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

    /// Returns the first line of fields that is shown: the selected one is on the screen.
    fn first_line(&self, area: Rect) -> usize {
        let heads = usize::from(self.pair.is_some());
        (self.line() + 1 + heads).saturating_sub(area.height.into())
    }

    /// Returns the offset of the byte at a place of the screen, if there is one.
    fn byte_at(&self, area: Rect, at: Position) -> Option<usize> {
        let column = usize::from(at.x.checked_sub(area.x + 6)?) / 3;
        let row = usize::from(at.y.checked_sub(area.y)?) + self.first_hex_row(area);
        (column < hex_row(area)).then_some(row * hex_row(area) + column)
    }

    /// Returns the first row of bytes that is shown: the marked ones are on the screen.
    fn first_hex_row(&self, area: Rect) -> usize {
        let row = self.marked().start / hex_row(area);
        (row + 1).saturating_sub(usize::from(area.height))
    }
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
