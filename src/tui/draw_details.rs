//! Draws the fields and bytes of the selected packet.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

use super::draw::{HEX_ROW, Layout, WIDE_HEX_ROW, hex_width};
use super::{DetailsPane, Painter};
use crate::view::Comparison;
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::meaning::diagnose;

impl Painter<'_> {
    pub(super) fn details(&mut self, pane: &DetailsPane, layout: Layout, focused: bool) {
        let details = &pane.details;
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
        let width = usize::from(self.area.width);
        let head = format!("{head:-<width$}");
        self.text(0, layout.fields.y.saturating_sub(1), &head, Style::new());
        if let Some(pair) = &pane.pair {
            self.pair(pane, pair, layout.fields, focused);
        } else {
            self.fields(pane, layout.fields, focused);
        }
        self.bytes(pane, layout.bytes);
    }

    fn fields(&mut self, pane: &DetailsPane, area: Rect, focused: bool) {
        let fields = pane.details.fields.iter().enumerate().skip(first_line(pane, area));
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
            self.cut(0, y, &line, width, selected(place == pane.field, focused));
        }
    }

    /// Draws the fields of what came and of what was sent, side by side; those that differ are marked.
    fn pair(&mut self, pane: &DetailsPane, pair: &Comparison, area: Rect, focused: bool) {
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
            self.cut(x, area.y, title, width, head);
        }
        let fields = pair.fields.iter().enumerate().skip(first_line(pane, area));
        for (y, (place, field)) in (area.y + 1..area.bottom()).zip(fields) {
            let style = selected(place == pane.line(), focused);
            self.cut(area.x, y, if field.same { " " } else { "*" }, 1, Style::new());
            let name = field.path.rsplit('.').next().unwrap_or_default();
            let name = format!("{:indent$}{}", "", Escaped(name), indent = field.depth);
            let [a, b] = [&field.a, &field.b].map(|it| it.as_deref().unwrap_or("-"));
            for ((x, width), text) in places.into_iter().zip(widths).zip([&*name, a, b]) {
                self.cut(x, y, text, width, style);
            }
        }
    }

    fn bytes(&mut self, pane: &DetailsPane, area: Rect) {
        let (bytes, marked) = (&pane.details.bytes, pane.marked());
        let (first, per_row) = (first_hex_row(pane, area), hex_row(area));
        for (y, (row, chunk)) in
            (area.y..area.bottom()).zip(bytes.chunks(per_row).enumerate().skip(first))
        {
            self.cut(area.x, y, &format!("{:05x}", row * per_row), 5, Style::new());
            for (place, byte) in chunk.iter().enumerate() {
                let at = row * per_row + place;
                let differs = match pane.differing.contains(&at) {
                    true => Modifier::BOLD | Modifier::UNDERLINED,
                    false => Modifier::empty(),
                };
                let style = Style::new().add_modifier(differs);
                let style = if marked.contains(&at) { style.reversed() } else { style };
                let column = u16::try_from(place).unwrap_or_default();
                let char = if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
                self.limited(
                    area.x + 6 + 3 * column,
                    y,
                    &format!("{byte:02x}"),
                    area.right(),
                    style,
                );
                let x = area.x + 6 + 3 * per_row as u16 + column;
                self.limited(x, y, &char.to_string(), area.right(), style);
            }
        }
    }
}

/// Returns the first line of fields that is shown: the selected one is on the screen.
fn first_line(pane: &DetailsPane, area: Rect) -> usize {
    let heads = usize::from(pane.pair.is_some());
    (pane.line() + 1 + heads).saturating_sub(area.height.into())
}

/// Returns the line of fields at a place of the screen, unless it is the line of heads.
pub(super) fn line_at(pane: &DetailsPane, area: Rect, y: u16) -> Option<usize> {
    let heads = usize::from(pane.pair.is_some());
    let row = usize::from(y.checked_sub(area.y)?).checked_sub(heads)?;
    Some(first_line(pane, area) + row)
}

fn selected(is: bool, focused: bool) -> Style {
    match (is, focused) {
        (true, true) => Style::new().reversed(),
        (true, false) => Style::new().add_modifier(Modifier::BOLD),
        (false, _) => Style::new(),
    }
}

/// Returns the offset of the byte at a place of the screen, if there is one.
pub(super) fn byte_at(pane: &DetailsPane, area: Rect, x: u16, y: u16) -> Option<usize> {
    let column = usize::from(x.checked_sub(area.x + 6)?) / 3;
    let row = usize::from(y.checked_sub(area.y)?) + first_hex_row(pane, area);
    (column < hex_row(area)).then_some(row * hex_row(area) + column)
}

/// Returns the first row of bytes that is shown: the marked ones are on the screen.
fn first_hex_row(pane: &DetailsPane, area: Rect) -> usize {
    let row = pane.marked().start / hex_row(area);
    (row + 1).saturating_sub(usize::from(area.height))
}

/// Returns the bytes in a row of a hex pane.
fn hex_row(area: Rect) -> usize {
    if area.width >= hex_width(WIDE_HEX_ROW) { WIDE_HEX_ROW } else { HEX_ROW }
}
