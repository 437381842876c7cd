//! Draws the sessions, what is held, and the conversation.

use ratatui_core::style::{Modifier, Style};

use super::{App, Painter};
use crate::view::{ConversationLine, words};
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::packet::{Outcome, StyledText};
use mitmcraft_protocol::schema::Direction;

impl Painter<'_> {
    pub(super) fn sessions(&mut self, app: &App) {
        self.text(
            0,
            1,
            "   #  player           version  packets      bytes  from -> to",
            Style::new().add_modifier(Modifier::UNDERLINED),
        );
        let height = usize::from(self.area.height.saturating_sub(4));
        let first = (app.session + 1).saturating_sub(height);
        for (y, (place, session)) in
            (2..).zip(app.sessions.iter().enumerate().skip(first).take(height))
        {
            let context = &session.context;
            let state = match (&session.closed, &session.legs) {
                (Some(_), _) => "closed",
                (None, Some(legs)) => legs.state.name(),
                (None, None) => "opening",
            };
            let line = format!(
                "{:>4}  {:<16} {:<8} {:>7} {:>10}  {} -> {} {state}{}",
                context.session,
                Escaped(context.player.as_deref().unwrap_or("-")).to_string(),
                context.version.map_or("?", |_| words::version(context)),
                session.packets,
                session.bytes,
                context.client,
                Escaped(&context.upstream),
                if app.list.selection().sessions.contains(&context.session) {
                    " (shown)"
                } else {
                    ""
                },
            );
            let chosen = place == app.session;
            self.row(y, &line, if chosen { Style::new().reversed() } else { Style::new() });
        }
    }

    pub(super) fn held(&mut self, app: &App) {
        let condition = match &app.held.condition {
            Some(condition) => format!(
                "holding `{}`{}; {} attached",
                Escaped(&condition.condition),
                if condition.overtaken { ", later packets overtake" } else { "" },
                app.held.interfaces
            ),
            None => "nothing is to be held: i sets a condition".to_owned(),
        };
        self.text(0, 1, &condition, Style::new().add_modifier(Modifier::UNDERLINED));
        let height = usize::from(self.area.height.saturating_sub(4));
        let first = (app.held_packet + 1).saturating_sub(height);
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        for (y, (place, packet)) in
            (2..).zip(app.held.packets().enumerate().skip(first).take(height))
        {
            let age = now.saturating_sub(packet.since.into()) / 1000;
            let note = match (packet.decided, packet.in_order) {
                (Some(decided), _) => format!("[{}] ", decided.name()),
                (None, Some(why)) => format!("[{why}] "),
                (None, None) => String::new(),
            };
            let way = if packet.dir == Direction::Serverbound { '→' } else { '←' };
            let line = format!(
                "{age:>5} s #{} {:>4} {way} {:<6} {} {note}{}",
                packet.session,
                packet.held,
                packet.state.name(),
                Escaped(packet.packet.as_deref().unwrap_or_default()),
                Escaped(&packet.summary)
            );
            let chosen = place == app.held_packet;
            self.row(y, &line, if chosen { Style::new().reversed() } else { Style::new() });
        }
    }

    pub(super) fn conversation(&mut self, app: &App) {
        let Some((conversation, cursor)) = &app.conversation else { return };
        for (y, line) in (1..).zip(conversation.lines(cursor.top(), cursor.height())) {
            let chosen = cursor.selected() == Some(line.row);
            let style = if chosen { Style::new().reversed() } else { Style::new() };
            self.row(y, &said(&line), style);
        }
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
