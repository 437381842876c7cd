//! Draws the sessions, what is held, the conversation, what was sent, and what belongs to the line that is typed.

use ratatui_core::style::{Modifier, Style};

use super::draw::{Layout, row_line, shade};
use super::{App, Painter, Purpose};
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
            let waits = session.waits.as_ref().map(|it| format!("; {it}")).unwrap_or_default();
            let line = format!(
                "{:>4}  {:<16} {:<8} {:>7} {:>10}  {} -> {} {state}{}{waits}",
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
            None => "no condition holds packets: i sets one".to_owned(),
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

    /// Draws what people have sent, and below it what came back for the selected packet.
    pub(super) fn sent(&mut self, app: &App, layout: Layout) {
        let Some(sent) = &app.sent else { return };
        let list = &sent.list;
        if list.count() == 0 {
            let none = "what people send appears here: r sends a packet of the list again";
            return self.text(0, 1, none, Style::new());
        }
        let columns = self.heads(app);
        let snapshot = list.snapshot();
        let row = |painter: &mut Self, y: u16, row: u64, style: Style| {
            let record = snapshot.record(row);
            painter.row(y, &row_line(snapshot, row, record, None, app.time, &columns), style);
        };
        for (y, number) in (layout.list.y..).zip(sent.cursor.visible(list)) {
            let chosen = sent.cursor.selected() == Some(number);
            row(self, y, number, if chosen { Style::new().reversed() } else { Style::new() });
        }
        let title = match sent.replies.len() {
            0 => "-- nothing came back within a second ".to_owned(),
            1 => "-- 1 packet came back within a second ".to_owned(),
            count => format!("-- {count} packets came back within a second "),
        };
        let width = usize::from(self.area.width);
        self.text(0, layout.fields.y.saturating_sub(1), &format!("{title:-<width$}"), Style::new());
        for (y, number) in (layout.fields.y..layout.fields.bottom()).zip(&sent.replies) {
            row(self, y, *number, Style::new());
        }
    }

    /// Draws what belongs to the line that is typed, above it: the actions that it finds, the colours that it names,
    /// or why it may be wrong to enter it.
    pub(super) fn above_prompt(&mut self, app: &App) {
        let Some(prompt) = &app.prompt else { return };
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
            let typed = app.colors_of(&prompt.text);
            for it in typed.as_ref().unwrap_or(&app.highlights).iter().take(room) {
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

/// Most lines above the one that is typed.
const MAX_LINES: usize = 12;
