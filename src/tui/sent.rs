use std::sync::Arc;

use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::draw::{Layout, row_line};
use super::pane::{Input, Pane};
use super::selected_row::FIRST_ROW;
use super::{Painter, Shared};
use crate::view::{Action, Cursor, List, SLICE, replies, sent_packets};

/// The packets that people have sent, and the replies to the selected one.
#[derive(Debug, Default)]
pub(super) struct SentPane {
    /// `None` until the pane is opened.
    sent: Option<Sent>,
}

/// The list of packets that people have sent, and the replies to the selected one: the packets of the other
/// direction within a second.
#[derive(Debug)]
struct Sent {
    list: List,
    cursor: Cursor,
    /// The rows of the replies to the selected packet.
    replies: Vec<u64>,
    /// The row of the packet whose replies are listed, and the number of stored packets when they were searched.
    looked: Option<(u64, u64)>,
}

impl Pane for SentPane {
    fn open(&mut self, shared: &mut Shared) {
        let list = sent_packets(Arc::clone(&shared.store), &shared.catalog);
        let cursor = Cursor::new(shared.height);
        self.sent = Some(Sent { list, cursor, replies: Vec::new(), looked: None });
    }

    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        let Some(Sent { list, cursor, .. }) = &mut self.sent else { return false };
        let row = cursor.selected();
        match input {
            Input::Move(rows) => cursor.move_by(list, rows),
            Input::Click(at) if at.y >= FIRST_ROW => {
                cursor.select_shown(list, usize::from(at.y - FIRST_ROW));
            }
            Input::Do(Action::Follow) => cursor.set_follows(!cursor.follows()),
            Input::Do(Action::Open) => row.into_iter().for_each(|row| shared.go_to(row)),
            _ => return false,
        }
        true
    }

    fn advance(&mut self, shared: &mut Shared) -> bool {
        let ended = shared.store.is_complete();
        self.sent.as_mut().is_some_and(|sent| sent.advance(ended))
    }

    fn fit(&mut self, shared: &mut Shared, area: Rect) {
        shared.set_height(Layout::new(area).list.height.into());
        if let Some(sent) = &mut self.sent {
            sent.cursor.set_height(&sent.list, shared.height);
        }
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        let Some(sent) = &self.sent else { return };
        let (list, layout) = (&sent.list, Layout::new(painter.area));
        if list.count() == 0 {
            let none = "what people send appears here: r sends a packet of the list again";
            return painter.text(0, 1, none, Style::new());
        }
        let columns = painter.heads(shared);
        let snapshot = list.snapshot();
        let line =
            |row: u64| row_line(snapshot, row, snapshot.record(row), None, shared.time, &columns);
        for (y, row) in (layout.list.y..).zip(sent.cursor.visible(list)) {
            let chosen = sent.cursor.selected() == Some(row);
            painter.row(y, &line(row), if chosen { Style::new().reversed() } else { Style::new() });
        }
        let title = match sent.replies.len() {
            0 => "-- nothing came back within a second ".to_owned(),
            1 => "-- 1 packet came back within a second ".to_owned(),
            count => format!("-- {count} packets came back within a second "),
        };
        let width = usize::from(painter.area.width);
        let y = layout.fields.y.saturating_sub(1);
        painter.text(0, y, &format!("{title:-<width$}"), Style::new());
        for (y, row) in (layout.fields.y..layout.fields.bottom()).zip(&sent.replies) {
            painter.row(y, &line(*row), Style::new());
        }
    }

    fn row(&self, _shared: &Shared) -> Option<u64> {
        self.sent.as_ref()?.cursor.selected()
    }
}

impl Sent {
    /// Adds the packets that have been stored since. Returns `true` if there is more to do at once.
    fn advance(&mut self, ended: bool) -> bool {
        let busy = self.list.advance(SLICE);
        self.cursor.settle(&self.list, ended);
        let snapshot = self.list.snapshot();
        let looked = self.cursor.selected().map(|row| (row, snapshot.end()));
        if looked != self.looked {
            self.looked = looked;
            self.replies = looked.map(|(row, _)| replies(snapshot, row)).unwrap_or_default();
        }
        busy
    }
}
