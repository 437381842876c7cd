use std::sync::Arc;

use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::pane::{Input, Pane};
use super::{Painter, Shared};
use crate::view::{Action, Conversation, ConversationLine, Cursor, SLICE};
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::packet::{Outcome, StyledText};
use mitmcraft_protocol::schema::Direction;

/// What players and servers say.
#[derive(Debug, Default)]
pub(super) struct ConversationPane {
    /// The conversation and its selected line; `None` until it is opened.
    opened: Option<(Conversation, Cursor)>,
}

impl Pane for ConversationPane {
    fn open(&mut self, shared: &mut Shared) {
        let store = Arc::clone(&shared.store);
        let conversation = Conversation::new(store, &shared.list, &shared.catalog);
        self.opened = Some((conversation, Cursor::new(shared.height)));
    }

    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        let Some((conversation, cursor)) = &mut self.opened else { return false };
        match input {
            Input::Move(rows) => cursor.move_by(conversation.list(), rows),
            Input::Click(at) if at.y > 0 => {
                cursor.select_shown(conversation.list(), usize::from(at.y - 1));
            }
            Input::Do(Action::Follow) => cursor.set_follows(!cursor.follows()),
            Input::Do(Action::Open) => {
                if let Some(row) = cursor.selected() {
                    shared.go_to(row);
                }
            }
            _ => return false,
        }
        true
    }

    fn advance(&mut self, shared: &mut Shared) -> bool {
        let Some((conversation, cursor)) = &mut self.opened else { return false };
        // Asked first: what comes between the two is not missed.
        let ended = shared.store.is_complete();
        let busy = conversation.advance(&shared.list, SLICE);
        cursor.settle(conversation.list(), ended);
        busy
    }

    fn fit(&mut self, shared: &mut Shared, area: Rect) {
        shared.set_height(area.height.saturating_sub(4).into());
        if let Some((conversation, cursor)) = &mut self.opened {
            cursor.set_height(conversation.list(), shared.height);
        }
    }

    fn draw(&self, painter: &mut Painter<'_>, _shared: &Shared) {
        let Some((conversation, cursor)) = &self.opened else { return };
        for (y, line) in (1..).zip(conversation.lines(cursor.top(), cursor.height())) {
            let chosen = cursor.selected() == Some(line.row);
            let style = if chosen { Style::new().reversed() } else { Style::new() };
            painter.row(y, &said(&line), style);
        }
    }

    fn row(&self, _shared: &Shared) -> Option<u64> {
        self.opened.as_ref()?.1.selected()
    }
}

/// A line of the conversation.
fn said(line: &ConversationLine) -> String {
    let packet = &line.record.packet;
    let arrow = if packet.direction() == Direction::Serverbound { '→' } else { '←' };
    let plain = |text: &Option<StyledText>| text.as_ref().map(StyledText::plain);
    let player = || packet.context().player.clone().filter(|_| arrow == '→');
    let sender = plain(&line.sender).or_else(player).map(|it| format!("{}: ", Escaped(it)));
    let mark = match line.record.outcome {
        Outcome::Pass => String::new(),
        other => format!("[{}] ", other.name()),
    };
    let text = plain(&line.text).unwrap_or_else(|| "(does not decode)".to_owned());
    let (session, sender) = (packet.context().session, sender.unwrap_or_default());
    format!("#{session} {arrow} {mark}{sender}{}", Escaped(text))
}
