//! The views of the terminal interface: switching between them, moving the selection, and their text.

use std::sync::Arc;

use super::draw::wrapped;
use super::{App, Sent, Timeline, View, summary};
use crate::view::{Comparison, Conversation, Cursor, Explanation, List, Statistics};

impl App {
    pub(super) fn follow(&mut self) {
        let (_, cursor) = self.shown_list();
        cursor.set_follows(!cursor.follows());
    }

    /// Returns the list of the view with its cursor: that of all packets unless the view has one of its own.
    fn shown_list(&mut self) -> (&List, &mut Cursor) {
        match (self.view, &mut self.conversation, &mut self.sent) {
            (View::Conversation, Some((conversation, cursor)), _) => (conversation.list(), cursor),
            (View::Sent, _, Some(sent)) => (&sent.list, &mut sent.cursor),
            _ => (&self.list, &mut self.cursor),
        }
    }

    /// Lists the packets of the selected session, or of all again.
    pub(super) fn open_selected_session(&mut self) {
        let session = self.sessions.get(self.session).map(|it| it.context.session);
        let shown = &self.list.selection().sessions;
        let sessions = session.filter(|it| !shown.contains(it)).into_iter().collect();
        self.list.set_sessions(sessions);
        self.show(View::Packets);
    }

    /// Explains the selected session, or that of the selected packet.
    pub(super) fn explain(&mut self) {
        let selected = self.sessions.get(self.session).map(|it| it.context.session);
        let of_packet = || Some(self.list.snapshot().context(self.cursor.selected()?)?.session);
        let session = if self.view == View::Sessions { selected } else { of_packet().or(selected) };
        self.explanation = session.and_then(|session| Explanation::new(&self.store, session));
        match &self.explanation {
            Some(_) => self.show(View::Explanation),
            None => "there is no session to explain".clone_into(&mut self.status),
        }
    }

    /// Returns the row of the selected packet: of those that were sent, or of the list.
    pub(super) fn shown_row(&self) -> Option<u64> {
        match &self.sent {
            Some(sent) if self.view == View::Sent => sent.cursor.selected(),
            _ => self.cursor.selected(),
        }
    }

    /// Shows the packet of the selected line, of the conversation or of what was sent, in the list.
    pub(super) fn open_line(&mut self) {
        let Some(row) = self.shown_list().1.selected() else { return };
        self.cursor.select(&self.list, row);
        self.show(View::Packets);
    }

    pub(super) fn show(&mut self, view: View) {
        self.view = view;
        self.details_focused = false;
        self.first_row = 0;
        self.statistics = None;
        if view != View::Explanation {
            self.explanation = None;
        }
        match view {
            View::Conversation => {
                let height = self.cursor.height();
                let (store, catalog) = (Arc::clone(&self.store), &self.catalog);
                let conversation = Conversation::new(store, &self.list, catalog);
                self.conversation = Some((conversation, Cursor::new(height)));
            }
            View::Statistics => self.statistics = Some(Statistics::default()),
            View::Timeline => self.timeline = Some(Timeline::default()),
            View::Sent => {
                let (store, height) = (Arc::clone(&self.store), self.cursor.height());
                self.sent = Some(Sent::new(store, &self.catalog, height));
            }
            _ => {}
        }
        self.write_lines();
    }

    /// Writes the lines of a view that is only text.
    pub(super) fn write_lines(&mut self) {
        self.lines = match (self.view, &self.statistics) {
            (View::Statistics, Some(it)) if !it.is_complete() => vec!["counting ..".to_owned()],
            (View::Statistics, Some(statistics)) => summary::statistics(statistics.stats()),
            (View::Comparison, _) => {
                let details = |row: Option<u64>| self.list.snapshot().details(row?);
                match details(self.marked).zip(details(self.cursor.selected())) {
                    Some((one, other)) => {
                        summary::comparison(&one, &other, &Comparison::new(&one, &other))
                    }
                    None => {
                        vec!["m marks a packet; x compares it with the selected one".to_owned()]
                    }
                }
            }
            (View::Explanation, _) => match self.explanation.as_ref().map(Explanation::lines) {
                Some([]) => vec!["explaining ..".to_owned()],
                lines => lines.unwrap_or_default().to_vec(),
            },
            (View::Help, _) => summary::keys(),
            _ => Vec::new(),
        };
    }

    pub(super) fn move_by(&mut self, rows: i64) {
        let few = isize::try_from(rows).unwrap_or_default();
        match (self.view, &mut self.details) {
            (View::Packets, Some(details)) if self.details_focused => details.move_by(few),
            (View::Packets | View::Conversation | View::Sent, _) => {
                let (list, cursor) = self.shown_list();
                cursor.move_by(list, rows);
            }
            (View::Sessions, _) => {
                let last = self.sessions.len().saturating_sub(1);
                self.session = self.session.saturating_add_signed(few).min(last);
            }
            (View::Held, _) => {
                let last = self.held.packets().len().saturating_sub(1);
                self.held_packet = self.held_packet.saturating_add_signed(few).min(last);
            }
            (_, _) => {
                let rows: usize = self.lines.iter().map(|it| wrapped(it, self.width).count()).sum();
                // The last screen is full.
                let last = rows.saturating_sub(self.height.max(1));
                self.first_row = self.first_row.saturating_add_signed(few).min(last);
            }
        }
    }
}
