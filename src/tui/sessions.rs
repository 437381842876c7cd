use ratatui_core::style::{Modifier, Style};

use super::pane::{Input, Pane};
use super::{Painter, Shared, View};
use crate::store::StoredSession;
use crate::view::{Action, words};
use mitmcraft_engine::text::Escaped;

/// The list of sessions.
#[derive(Debug, Default)]
pub(super) struct SessionsPane {
    /// The place of the selected one.
    place: usize,
}

impl Pane for SessionsPane {
    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        match input {
            Input::Move(rows) => self.place = moved(self.place, rows, shared.sessions.len()),
            Input::Do(Action::Open) => {
                let shown = &shared.list.selection().sessions;
                let session = self.session(shared).filter(|it| !shown.contains(it));
                // That of all sessions again, if it is shown already.
                shared.list.set_sessions(session.into_iter().collect());
                shared.goes_to = Some(View::Packets);
            }
            _ => return false,
        }
        true
    }

    fn advance(&mut self, shared: &mut Shared) -> bool {
        self.place = self.place.min(shared.sessions.len().saturating_sub(1));
        false
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        painter.text(
            0,
            1,
            "   #  player           version  packets      bytes  from -> to",
            Style::new().add_modifier(Modifier::UNDERLINED),
        );
        let first = (self.place + 1).saturating_sub(shared.height);
        let shown = shared.sessions.iter().enumerate().skip(first).take(shared.height);
        for (y, (place, session)) in (2..).zip(shown) {
            let style = if place == self.place { Style::new().reversed() } else { Style::new() };
            painter.row(y, &line(session, shared), style);
        }
    }

    fn session(&self, shared: &Shared) -> Option<u64> {
        shared.sessions.get(self.place).map(|it| it.context.session)
    }
}

/// Returns a place of so many ones after a movement.
pub(super) fn moved(place: usize, rows: i64, count: usize) -> usize {
    let rows = isize::try_from(rows).unwrap_or_default();
    place.saturating_add_signed(rows).min(count.saturating_sub(1))
}

/// Returns a session as a line.
fn line(session: &StoredSession, shared: &Shared) -> String {
    let context = &session.context;
    let state = match (&session.closed, &session.legs) {
        (Some(_), _) => "closed",
        (None, Some(legs)) => legs.state.name(),
        (None, None) => "opening",
    };
    let waits = session.waits.as_ref().map(|it| format!("; {it}")).unwrap_or_default();
    let shown = shared.list.selection().sessions.contains(&context.session);
    format!(
        "{:>4}  {:<16} {:<8} {:>7} {:>10}  {} -> {} {state}{}{waits}",
        context.session,
        Escaped(context.player.as_deref().unwrap_or("-")).to_string(),
        context.version.map_or("?", |_| words::version(context)),
        session.packets,
        session.bytes,
        context.client,
        Escaped(&context.upstream),
        if shown { " (shown)" } else { "" },
    )
}
