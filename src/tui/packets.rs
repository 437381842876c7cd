use std::sync::Arc;

use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Modifier, Style};

use super::draw::{Layout, columns, row_line, shade};
use super::lines::order;
use super::pane::{Input, Pane};
use super::{Column, Painter, Purpose, Shared};
use crate::proxy::ColorStore;
use crate::view::{Action, Combination, Highlights, PickedField};

/// The list of packets, above the fields and bytes of the selected one.
#[derive(Debug, Default)]
pub(super) struct PacketsPane {
    /// `true` if the fields have the keys.
    pub(super) focused: bool,
    /// The screen.
    area: Rect,
    pub(super) highlights: Arc<Highlights>,
    /// The store that keeps the colours; `None` if the terminal may not show any.
    pub(super) colors: Option<ColorStore>,
    /// The sort key of the list, as the person typed it.
    pub(super) sort: String,
}

impl Pane for PacketsPane {
    fn open(&mut self, _shared: &mut Shared) {
        self.focused = false;
    }

    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        let action = match input {
            Input::Do(action) => action,
            Input::Move(rows) => {
                let fields = self.layout().fields;
                match shared.details.as_mut().filter(|_| self.focused) {
                    Some(details) => {
                        details.move_by(isize::try_from(rows).unwrap_or_default(), fields);
                    }
                    None => shared.cursor.move_by(&shared.list, rows),
                }
                return true;
            }
            Input::Click(at) => {
                self.click(shared, at);
                return true;
            }
        };
        match action {
            Action::Back if self.focused => self.focused = false,
            Action::Open | Action::NextPane => {
                self.focused = !self.focused && shared.details.is_some();
            }
            Action::Select => choose(shared),
            Action::FieldFilter
            | Action::FieldAnd
            | Action::FieldOr
            | Action::FieldNot
            | Action::FieldColumn
            | Action::CopyValue
            | Action::CopyPath
            | Action::CopyBytes
            | Action::CopyJson => act_on_field(shared, action),
            _ => return false,
        }
        true
    }

    fn fit(&mut self, shared: &mut Shared, area: Rect) {
        self.area = area;
        let height = self.layout().list.height;
        if height > 0 {
            shared.set_height(height.into());
        }
    }

    fn page(&self, shared: &Shared) -> usize {
        match &shared.details {
            Some(details) if self.focused => details.page(self.layout().fields),
            _ => shared.height,
        }
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        let layout = self.layout();
        let columns = if layout.list.height > 0 { painter.heads(shared) } else { Vec::new() };
        let snapshot = shared.list.snapshot();
        let before = shared.cursor.top().checked_sub(1);
        let mut previous = before.and_then(|index| shared.list.nth(index));
        let lines = layout.list.y..layout.list.bottom();
        for (y, row) in lines.zip(shared.cursor.visible(&shared.list)) {
            let record = snapshot.record(row);
            let color = record.as_ref().and_then(|record| self.highlights.of(record));
            let line = row_line(snapshot, row, record, previous, shared.time, &columns);
            previous = Some(row);
            let selected = shared.cursor.selected() == Some(row);
            let style = match (selected, self.focused) {
                (true, false) => Style::new().reversed(),
                (true, true) => Style::new().add_modifier(Modifier::BOLD),
                (false, _) if shared.chosen.contains(&row) => {
                    Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
                }
                (false, _) => Style::new(),
            };
            painter.row(y, &line, color.map_or(style, |color| style.fg(shade(color))));
        }
        if let Some(details) = shared.details.as_ref().filter(|_| layout.fields.height > 0) {
            details.draw(painter, layout, self.focused);
        }
    }

    fn row(&self, shared: &Shared) -> Option<u64> {
        shared.cursor.selected()
    }

    fn rows(&self, shared: &Shared) -> Vec<u64> {
        match shared.chosen.is_empty() {
            true => self.row(shared).into_iter().collect(),
            false => shared.chosen.iter().copied().collect(),
        }
    }
}

impl PacketsPane {
    fn layout(&self) -> Layout {
        Layout::one_pane(self.area, self.focused)
    }

    fn click(&mut self, shared: &mut Shared, at: Position) {
        let layout = self.layout();
        if layout.list.contains(at) {
            self.focused = false;
            shared.cursor.select_shown(&shared.list, usize::from(at.y - layout.list.y));
        } else if at.y + 1 == layout.list.y && layout.list.height > 0 {
            self.sort_by(shared, at.x);
        } else if let Some(details) = &mut shared.details {
            self.focused |= details.click(layout, at, self.focused);
        }
    }

    /// Sorts the list by the column at a place of the heads: the least first, the greatest first, not at all.
    fn sort_by(&mut self, shared: &mut Shared, x: u16) {
        let mut right = 0;
        let column = columns(shared).into_iter().find(|column| {
            right += column.padded("").chars().count();
            usize::from(x) < right
        });
        let column = column.as_ref().map_or("packet", Column::name);
        let sort = match self.sort.strip_suffix(column) {
            Some("") => format!("-{column}"),
            Some("-") => String::new(),
            _ => column.to_owned(),
        };
        if let Ok(by) = order(&sort, &shared.catalog) {
            shared.list.sort(by);
            shared.status = match sort.strip_prefix('-') {
                _ if sort.is_empty() => "not sorted".to_owned(),
                Some(column) => format!("sorted by {column}, the greatest first"),
                None => format!("sorted by {column}, the least first"),
            };
            self.sort = sort;
        }
    }

    /// Asks in which colours packets are to be.
    pub(super) fn ask_colors(&self, shared: &mut Shared) {
        if self.colors.is_none() {
            "colours are switched off by an option, NO_COLOR or the terminal"
                .clone_into(&mut shared.status);
            return;
        }
        let texts =
            self.highlights.iter().map(|it| format!("{}: {}", it.color.name(), it.condition));
        let text = texts.collect::<Vec<_>>().join("; ");
        shared.ask(Purpose::Colors, text);
    }

    /// Shows packets in these colours, and keeps them for all screens and later runs. Returns where they are kept.
    pub(super) fn set_colors(&mut self, highlights: Highlights) -> Option<String> {
        self.highlights = Arc::new(highlights);
        let colors = self.colors.as_ref()?;
        Some(match (colors.save(&self.highlights), colors.path()) {
            (Err(error), _) => format!("until this ends: {error}"),
            (Ok(()), Some(path)) => format!("kept in `{}`", path.display()),
            (Ok(()), None) => "until this ends: an option or the configuration sets colours".into(),
        })
    }
}

/// Adds the packet to the selection, or removes it, and goes to the next.
fn choose(shared: &mut Shared) {
    let Some(row) = shared.cursor.selected() else { return };
    if !shared.chosen.remove(&row) {
        shared.chosen.insert(row);
    }
    shared.cursor.move_by(&shared.list, 1);
    shared.status = match shared.chosen.len() {
        1 => "1 packet is selected".to_owned(),
        count => format!("{count} packets are selected"),
    };
}

/// Does something with the selected field.
fn act_on_field(shared: &mut Shared, action: Action) {
    let details = shared.details.as_ref();
    let picked = details.map(|it| PickedField::new(&it.details, it.field, &shared.catalog));
    let Some(field) = picked.flatten() else {
        NO_FIELD.clone_into(&mut shared.status);
        return;
    };
    let how = match action {
        Action::FieldFilter => Combination::Only,
        Action::FieldAnd => Combination::And,
        Action::FieldOr => Combination::Or,
        Action::FieldNot => Combination::Not,
        Action::FieldColumn => return toggle_column(shared, &field.column),
        Action::CopyPath => return copy(shared, field.column),
        Action::CopyBytes => return copy(shared, field.hex),
        Action::CopyJson => return copy(shared, field.json),
        _ => return copy(shared, field.text),
    };
    shared.combine(how, field.condition);
}

fn toggle_column(shared: &mut Shared, name: &str) {
    let before = shared.columns.len();
    shared.columns.retain(|column| column.name() != name);
    if shared.columns.len() == before {
        shared.columns.extend(Column::parse(name, &shared.catalog).unwrap_or_default());
    }
}

fn copy(shared: &mut Shared, text: String) {
    shared.status = format!("copied: {text}");
    shared.copied = Some(text);
}

/// The status after an action on a field while none is selected.
pub(super) const NO_FIELD: &str = "select a field that the filter language has a name for";
