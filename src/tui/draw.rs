use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Span;

use super::lines::colors;
use super::{App, Column, Purpose, Shared, TimeMode, View};
use crate::store::{Annotation, Snapshot};
use crate::view::{Action, Binding, HighlightColor, List, Sorting, words};
use mitmcraft_engine::capture::Record;
use mitmcraft_engine::text::{Escaped, write_summary};
use mitmcraft_protocol::packet::{Outcome, Timestamp};
use mitmcraft_protocol::schema::Direction;

/// Draws an [`App`] into a buffer. Colour carries no meaning: marks and reversed rows do.
#[derive(Debug)]
pub(super) struct Painter<'a> {
    buffer: &'a mut Buffer,
    pub(super) area: Rect,
    /// `true` if the terminal shows only ASCII.
    ascii: bool,
}

/// The parts of the screen, for drawing and for the mouse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Rows of the list.
    pub(super) list: Rect,
    /// Fields of the selected packet.
    pub(super) fields: Rect,
    /// Bytes of the selected packet.
    pub(super) bytes: Rect,
}

impl Layout {
    /// Splits a narrow screen, which has room for the list or, with `focused`, for the details; another one as
    /// [`new`](Self::new) does.
    pub(super) fn one_pane(area: Rect, focused: bool) -> Self {
        if area.width >= NARROW {
            return Self::new(area);
        }
        let body = Rect { y: area.y + 2, height: area.height.saturating_sub(4), ..area };
        let none = Rect { height: 0, ..body };
        if !focused {
            return Self { list: body, fields: none, bytes: none };
        }
        // The bytes are below the fields, if there is room.
        let bytes = if body.height >= 8 { body.height / 3 } else { 0 };
        let fields = Rect { height: body.height - bytes, ..body };
        Self { list: none, fields, bytes: Rect { y: fields.bottom(), height: bytes, ..body } }
    }

    /// Splits the screen: a line at the top, two at the bottom, the list, and below it the details.
    pub(super) fn new(area: Rect) -> Self {
        let body = area.height.saturating_sub(4);
        let list = body.div_ceil(2);
        // The line between the two is that of the packet's name.
        let below = Rect { y: area.y + 3 + list, height: body.saturating_sub(list + 1), ..area };
        let hex = if area.width >= WIDE { hex_width(WIDE_HEX_ROW) } else { hex_width(HEX_ROW) };
        let hex = hex.min(area.width / 2);
        Self {
            list: Rect { y: area.y + 2, height: list, ..area },
            fields: Rect { width: area.width - hex, ..below },
            bytes: Rect { x: area.x + area.width - hex, width: hex, ..below },
        }
    }
}

impl<'a> Painter<'a> {
    pub(super) fn new(buffer: &'a mut Buffer) -> Self {
        let area = buffer.area;
        Self { buffer, area, ascii: false }
    }

    /// Draws other characters than ASCII as similar ones.
    pub(super) fn ascii(self, ascii: bool) -> Self {
        Self { ascii, ..self }
    }

    /// Draws everything. Returns where the cursor is to be, if a line is being typed.
    pub(super) fn draw(&mut self, app: &mut App) -> Option<(u16, u16)> {
        app.fit(self.area);
        self.title(app);
        let (pane, shared) = app.pane();
        pane.draw(self, shared);
        self.above_prompt(app);
        self.bottom(app)
    }

    fn title(&mut self, app: &App) {
        for (x, view, name) in tabs(app, self.area.width) {
            let style = if view == app.view { Style::new().reversed() } else { Style::new() };
            self.text(x, 0, &name, style);
        }
    }

    /// Draws the heads of the columns for which there is room, and returns these.
    pub(super) fn heads(&mut self, shared: &Shared) -> Vec<Column> {
        let columns = columns(shared);
        let mut heads: String =
            columns.iter().map(|column| column.padded(head(column, shared.time))).collect();
        heads.push_str("packet");
        self.text(0, 1, &heads, Style::new().add_modifier(Modifier::UNDERLINED));
        columns
    }

    /// Draws what belongs to the line that is typed, above it: the actions that it finds, the colours that it names,
    /// or why it may be wrong to enter it.
    pub(super) fn above_prompt(&mut self, app: &App) {
        let Some(prompt) = &app.shared.prompt else { return };
        let mut lines: Vec<(String, Style)> = Vec::new();
        let room = usize::from(self.area.height.saturating_sub(3)).min(MAX_LINES);
        if let Some((found, chosen)) = app.found_actions() {
            let first = (chosen + 1).saturating_sub(room);
            for (place, it) in found.iter().enumerate().skip(first).take(room) {
                let style = if place == chosen { Style::new().reversed() } else { Style::new() };
                lines.push((format!(" {:<8} {}", it.key_names(), it.help), style));
            }
            lines.resize(room, (String::new(), Style::new()));
        }
        if prompt.purpose == Purpose::Colors {
            let typed = colors(&prompt.text, &app.shared.catalog);
            for it in typed.as_ref().unwrap_or(&app.packets.highlights).iter().take(room) {
                let line = format!(" {:<8} {}", it.color.name(), Escaped(&it.condition));
                lines.push((line, Style::new().fg(shade(it.color))));
            }
        }
        let mut words = prompt.warning.unwrap_or_default().split(' ').peekable();
        while words.peek().is_some_and(|it| !it.is_empty()) {
            let mut line = String::from("!");
            while let Some(word) = words.next_if(|it| {
                line.len() == 1 || line.len() + it.len() < usize::from(self.area.width)
            }) {
                line.push(' ');
                line.push_str(word);
            }
            lines.push((line, Style::new().add_modifier(Modifier::BOLD)));
        }
        let top = usize::from(self.area.height.saturating_sub(2)).saturating_sub(lines.len());
        for (y, (line, style)) in (top..).zip(lines) {
            self.row(u16::try_from(y).unwrap_or(u16::MAX), &line, style);
        }
    }

    /// Draws the last two lines.
    fn bottom(&mut self, app: &App) -> Option<(u16, u16)> {
        let last = self.area.height.saturating_sub(1);
        let shared = &app.shared;
        let Some(prompt) = &shared.prompt else {
            let (done, all) = shared.list.matches().progress();
            let count = shared.list.count();
            let mut line = match shared.filter() {
                "" => format!("{count} packets"),
                filter => format!("{count} of {all} packets: {}", Escaped(filter)),
            };
            if done < all {
                line.push_str(&format!(" (looked at {} %)", 100 * done / all.max(1)));
            }
            if let Some(read) = shared.store.reading().filter(|_| !shared.store.is_complete()) {
                line.push_str(&format!("; reading, {:.0} %", 100.0 * read));
            } else if !shared.store.is_complete() {
                line.push_str(if shared.cursor.follows() { "; following" } else { "; paused" });
            }
            match shared.list.sorting() {
                Some(Sorting::Busy) => line.push_str("; sorting"),
                Some(Sorting::Sorted) => line.push_str("; sorted"),
                Some(Sorting::TooMany) => {
                    line.push_str(&format!("; not sorted: more than {} packets", List::MAX_SORTED));
                }
                None => {}
            }
            if shared.list.cleared() > 0 {
                line.push_str(&format!("; {} cleared", shared.list.cleared()));
            }
            if shared.list.hidden() > 0 {
                line.push_str(&format!("; {} hidden", shared.list.hidden()));
            }
            let first = shared.list.snapshot().first();
            if first > 0 {
                line.push_str(&format!("; {first} older not held"));
                if let Some(why) = shared.store.limit() {
                    line.push_str(&format!(" ({})", Escaped(&words::limit(&why))));
                }
            }
            if let Some(condition) = &app.held.list.condition {
                line.push_str(&format!("; holding {}", Escaped(&condition.condition)));
            }
            self.text(0, last.saturating_sub(1), &line, Style::new().add_modifier(Modifier::BOLD));
            let fault = words::losses(&shared.store.losses());
            self.text(
                0,
                last,
                &Escaped(fault.as_ref().unwrap_or(&shared.status)).to_string(),
                Style::new(),
            );
            return None;
        };
        let label = prompt.purpose.label();
        let width = usize::from(self.area.width).max(1);
        let before =
            label.len() + Escaped(&prompt.text[..prompt.cursor]).to_string().chars().count();
        let shift = before.saturating_sub(width - 1);
        let line: String =
            format!("{label}{}", Escaped(&prompt.text)).chars().skip(shift).collect();
        let (line_y, error_y) = (last.saturating_sub(1), last);
        self.text(0, line_y, &line, Style::new().add_modifier(Modifier::BOLD));
        match &prompt.error {
            _ if !prompt.names.is_empty() => {
                let names = prompt.names[prompt.name..].iter().take(30);
                let names: Vec<String> = names.map(|name| Escaped(name).to_string()).collect();
                self.text(0, error_y, &format!(">{}", names.join("  ")), Style::new());
            }
            Some((at, why)) => {
                let at = prompt.text.get(..*at).map_or(0, |text| text.chars().count());
                let column = (label.len() + at).saturating_sub(shift);
                self.text(0, error_y, &format!("{:column$}^ {}", "", Escaped(why)), Style::new());
            }
            None if prompt.purpose == Purpose::Palette => {
                self.text(0, error_y, "↑ ↓ choose, Enter: do it, Esc: leave it", Style::new());
            }
            None if prompt.purpose == Purpose::GoTo => {
                let forms =
                    "a number, seconds since the session began (12.5 s), or a time in UTC (14:05)";
                self.text(0, error_y, forms, Style::new());
            }
            None => self.text(0, error_y, "Enter: do it, Esc: leave it", Style::new()),
        }
        Some((u16::try_from(before - shift).unwrap_or_default(), line_y))
    }

    /// Draws a line across the whole screen.
    pub(super) fn row(&mut self, y: u16, text: &str, style: Style) {
        let width = usize::from(self.area.width);
        self.text(0, y, &format!("{text:<width$}"), style);
    }

    pub(super) fn text(&mut self, x: u16, y: u16, text: &str, style: Style) {
        self.limited(x, y, text, self.area.right(), style);
    }

    pub(super) fn cut(&mut self, x: u16, y: u16, text: &str, width: u16, style: Style) {
        self.limited(x, y, text, x.saturating_add(width), style);
    }

    pub(super) fn limited(&mut self, x: u16, y: u16, text: &str, right: u16, style: Style) {
        let right = right.min(self.area.right());
        let shown: String;
        let text = if self.ascii && !text.is_ascii() {
            shown = text.chars().map(like).collect();
            &shown
        } else {
            text
        };
        if y < self.area.bottom() && x < right {
            self.buffer.set_stringn(x, y, text, usize::from(right - x), style);
        }
    }
}

/// Returns the views with their places in the first line and their texts, as far as a screen has room for them.
pub(super) fn tabs(app: &App, width: u16) -> Vec<(u16, View, String)> {
    let views = [
        (View::Packets, Action::Packets),
        (View::Sessions, Action::Sessions),
        (View::Conversation, Action::Conversation),
        (View::Statistics, Action::Statistics),
        (View::Timeline, Action::Timeline),
        (View::Held, Action::Held),
        (View::Sent, Action::Sent),
        (View::Help, Action::Keys),
    ];
    let held = app.held.list.packets().len();
    let tabs = views.into_iter().filter(|(view, _)| app.shared.live || *view != View::Held);
    let tabs = tabs.filter_map(|(view, action)| {
        let binding = Binding::of(action)?;
        let (key, name) = (binding.key_names(), binding.name);
        let count =
            if view == View::Held && held > 0 { format!(" ({held})") } else { String::new() };
        Some((view, format!(" {key} {name}{count} ")))
    });
    let tabs: Vec<(View, String)> = tabs.collect();
    let needed: usize = tabs.iter().map(|(_, name)| name.len()).sum();
    // Where there is no room for the spaces, the last one, which leads to all keys, still has to be seen.
    let tight = needed > usize::from(width) + 1;
    let tightest = needed.saturating_sub(tabs.len()) > usize::from(width) + 1;
    let tabs = tabs
        .into_iter()
        .filter(|(view, _)| !tightest || *view != View::Sent || app.view == View::Sent);
    let mut next = 0;
    let placed = tabs.map(|(view, name)| {
        let name = if tight { format!("{} ", name.trim()) } else { name };
        let x = next;
        next += u16::try_from(name.len()).unwrap_or(u16::MAX);
        (x, view, name)
    });
    placed.collect()
}

/// Returns the columns for which there is room.
pub(super) fn columns(shared: &Shared) -> Vec<Column> {
    let wide = shared.area.width >= 70;
    let columns = shared.columns.iter().cloned();
    columns.filter(|column| wide || Column::NARROW.contains(column)).collect()
}

/// Returns the parts of a line that fit on the screen one below the other.
pub(super) fn wrapped(line: &str, width: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest.take()?;
        let mut used = 0;
        let fits = line.char_indices().find(|(at, char)| {
            used += Span::raw(char.encode_utf8(&mut [0; 4]) as &str).width();
            // One that is wider than the screen is cut.
            used > width && *at > 0
        });
        let Some((end, _)) = fits else { return Some(line) };
        rest = Some(&line[end..]);
        Some(&line[..end])
    })
}

/// The head of a column.
pub(super) fn head(column: &Column, mode: TimeMode) -> &str {
    match (column, mode) {
        (Column::Number, _) => "no",
        (Column::Time, TimeMode::Relative) => "since start",
        (Column::Time, TimeMode::Delta) => "delta",
        (Column::Time, TimeMode::Absolute) => "time in UTC",
        (Column::Session, _) => "#",
        (Column::Direction, _) => "",
        (Column::Size, _) => "bytes",
        (column, _) => column.name(),
    }
}

/// A row of the list.
pub(super) fn row_line(
    snapshot: &Snapshot,
    number: u64,
    record: Option<Record>,
    previous: Option<u64>,
    mode: TimeMode,
    columns: &[Column],
) -> String {
    let (Some(row), Some(context)) = (snapshot.row(number), snapshot.context(number)) else {
        return String::new();
    };
    let since = |from: Timestamp| format!("{:.6}", row.at.since(from).as_secs_f64());
    let time = match mode {
        TimeMode::Relative => since(context.opened),
        TimeMode::Delta => {
            let previous = previous.and_then(|previous| snapshot.row(previous));
            since(previous.map_or(row.at, |previous| previous.at))
        }
        TimeMode::Absolute => {
            let text = row.at.to_string();
            text.get(11..23).unwrap_or(&text).to_owned()
        }
    };
    let arrow = if row.direction() == Direction::Serverbound { '→' } else { '←' };
    let mark = match row.outcome() {
        Outcome::Pass => ' ',
        Outcome::Drop => '✗',
        Outcome::Rewrite => '~',
        Outcome::Send => '+',
    };
    let name = snapshot.kind(number).map_or("?", |kind| kind.name());
    let text = |column: &Column| match column {
        Column::Number => column.padded(&row.seq().to_string()),
        Column::Time => column.padded(&time),
        Column::Session => column.padded(&context.session.to_string()),
        Column::Direction => column.padded(&arrow.to_string()),
        Column::State => column.padded(row.state().name()),
        Column::Id => {
            let id = snapshot.kind(number).map(|kind| format!("0x{:02x}", kind.id()));
            column.padded(&id.unwrap_or_default())
        }
        Column::Size => column.padded(&row.size.to_string()),
        Column::Wire => column.padded(&row.wire.to_string()),
        Column::Verdict => column.padded(row.outcome().name()),
        Column::Value(_) => column.padded(&column.value(record.as_ref())),
    };
    let mut line: String = columns.iter().map(text).collect();
    let is_mark = |comment: &String| comment.split("; ").any(|it| it == Annotation::MARK);
    let marked = record.as_ref().and_then(|it| it.comment.as_ref()).is_some_and(is_mark);
    let mark = if marked { '*' } else { mark };
    line.push_str(&format!("{mark}{}", Escaped(name)));
    if let Some(record) = record {
        let start = line.len();
        write_summary(&mut line, &record);
        if !line[start..].starts_with(' ') {
            line.insert(start, ' ');
        }
    } else {
        line.push_str(&format!(" ({})", words::MISSING));
    }
    line
}

/// The colour that is closest to that of packets, whatever the background of the terminal is.
pub(super) fn shade(color: HighlightColor) -> Color {
    match color {
        HighlightColor::Red => Color::Red,
        HighlightColor::Orange | HighlightColor::Yellow => Color::Yellow,
        HighlightColor::Green => Color::Green,
        HighlightColor::Blue => Color::Blue,
        HighlightColor::Purple => Color::Magenta,
        HighlightColor::Gray => Color::DarkGray,
    }
}

/// Returns the columns of a hex pane: offset, bytes, characters.
pub(super) const fn hex_width(row: usize) -> u16 {
    6 + 4 * row as u16
}

/// Returns a character of ASCII that looks like another one.
fn like(char: char) -> char {
    match char {
        char if char.is_ascii() => char,
        '→' => '>',
        '←' => '<',
        '↑' => '^',
        '↓' => 'v',
        '✗' => 'x',
        '…' => '~',
        '▲' => '^',
        '▁' | '▂' => '.',
        '▃' | '▄' | '▅' => ':',
        '▆' | '▇' | '█' => '#',
        _ => '?',
    }
}

/// Most lines above the one that is typed.
const MAX_LINES: usize = 12;

/// Bytes in a row of the hex pane, and where there is room.
pub(super) const HEX_ROW: usize = 8;
pub(super) const WIDE_HEX_ROW: usize = 16;

/// Width of a screen that has room for 16 bytes beside the fields.
const WIDE: u16 = 140;

/// Width of a screen that has room for fields and bytes side by side.
const NARROW: u16 = 60;
