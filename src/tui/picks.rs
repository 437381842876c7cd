//! Things that the person picks: fields to filter by, to list and to copy; several packets; marks.

use super::{App, Column, View};
use crate::store::Annotation;
use crate::view::{Action, Combination, PickedField, SortKey};
use mitmcraft_engine::lang::Vocabulary;

impl App {
    /// Does something with the selected field.
    pub(super) fn act_on_field(&mut self, action: Action) {
        let details = self.details.as_ref().filter(|_| self.view == View::Packets);
        let picked = details.map(|it| PickedField::new(&it.details, it.field, &self.catalog));
        let Some(field) = picked.flatten() else {
            self.status = "select a field that the filter language has a name for".to_owned();
            return;
        };
        let how = match action {
            Action::FieldFilter => Combination::Only,
            Action::FieldAnd => Combination::And,
            Action::FieldOr => Combination::Or,
            Action::FieldNot => Combination::Not,
            Action::FieldColumn => return self.toggle_column(&field.column),
            Action::CopyPath => return self.copy(field.column),
            Action::CopyBytes => return self.copy(field.hex),
            Action::CopyJson => return self.copy(field.json),
            _ => return self.copy(field.text),
        };
        self.combine(how, field.condition);
    }

    fn toggle_column(&mut self, name: &str) {
        let before = self.columns.len();
        self.columns.retain(|column| column.name() != name);
        if self.columns.len() == before {
            self.columns.extend(Column::parse(name, &self.catalog).unwrap_or_default());
        }
    }

    fn copy(&mut self, text: String) {
        self.status = format!("copied: {text}");
        self.copied = Some(text);
    }

    /// Adds the packet to the selection, or removes it, and goes to the next.
    pub(super) fn choose(&mut self) {
        let Some(row) = self.cursor.selected().filter(|_| self.view == View::Packets) else {
            return;
        };
        if !self.chosen.remove(&row) {
            self.chosen.insert(row);
        }
        self.cursor.move_by(&self.list, 1);
        self.status = match self.chosen.len() {
            1 => "1 packet is selected".to_owned(),
            count => format!("{count} packets are selected"),
        };
    }

    /// Returns the rows that commands act on.
    pub(super) fn targets(&self) -> Vec<u64> {
        match self.chosen.is_empty() || self.view == View::Sent {
            true => self.shown_row().into_iter().collect(),
            false => self.chosen.iter().copied().collect(),
        }
    }

    /// Marks the selected packets, or unmarks them if all are marked.
    pub(super) fn mark(&mut self) {
        let rows = self.targets();
        let noted = self.store.annotations();
        let marked = !rows.iter().all(|row| noted.get(row).is_some_and(|it| it.marked));
        self.marked = self.cursor.selected();
        for row in rows {
            let note = noted.get(&row).cloned().unwrap_or_default();
            self.store.annotate(row, Annotation { marked, ..note });
        }
        self.details = None;
    }

    /// Hides the selected packets.
    pub(super) fn hide(&mut self) {
        if self.view == View::Packets {
            self.targets().into_iter().for_each(|row| self.list.hide(row));
            self.chosen.clear();
            self.cursor.set_follows(false);
        }
    }

    /// Goes to the next marked packet, or to the previous one.
    pub(super) fn go_to_mark(&mut self, back: bool) {
        let Some(row) = self.cursor.selected() else { return };
        match self.list.next_mark(row, back) {
            Some(row) => {
                self.cursor.select(&self.list, row);
                self.show(View::Packets);
            }
            None => self.status = "there is no other marked packet in the list".to_owned(),
        }
    }

    /// Leaves out all packets so far, and the sessions that have ended.
    pub(super) fn clear(&mut self) {
        self.list.clear(None);
        let ended = self.sessions.iter().filter(|it| it.closed.is_some());
        self.cleared.extend(ended.map(|it| it.context.session));
        self.chosen.clear();
    }

    /// Shows what was hidden or cleared.
    pub(super) fn show_hidden(&mut self) {
        self.list.show_hidden();
        self.cleared.clear();
    }

    /// Returns what a line says about the order: a column, with `-` before it for the greatest first.
    ///
    /// # Errors
    /// The place that is wrong, and why.
    pub(super) fn sort_of(&self, text: &str) -> Result<Option<(SortKey, bool)>, (usize, String)> {
        let text = text.trim();
        let by = text.strip_prefix('-').unwrap_or(text);
        if by.is_empty() {
            return Ok(None);
        }
        let key = SortKey::parse(by, &Vocabulary::new(&self.catalog));
        let key = key.map_err(|error| (text.len() - by.len() + error.span.start, error.message))?;
        Ok(Some((key, by.len() < text.len())))
    }
}
