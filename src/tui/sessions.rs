use ratatui_core::style::{Modifier, Style};

use super::pane::{Input, Pane};
use super::selected_row::{FIRST_ROW, SelectedRow};
use super::{Painter, Purpose, Shared, View};
use crate::store::StoredSession;
use crate::view::{Action, SessionQuery, words};
use mitmcraft_engine::text::Escaped;

/// The list of sessions.
#[derive(Debug, Default)]
pub(super) struct SessionsPane {
    /// The words that sessions are searched for.
    query: SessionQuery,
    listed: Vec<StoredSession>,
    selected: SelectedRow,
}

impl Pane for SessionsPane {
    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        match input {
            Input::Do(Action::Search) => shared.ask(Purpose::Sessions, self.query.text.clone()),
            Input::Do(Action::Open) => {
                let shown = &shared.list.selection().sessions;
                let session = self.session(shared).filter(|it| !shown.contains(it));
                // That of all sessions again, if it is shown already.
                shared.list.set_sessions(session.into_iter().collect());
                shared.goes_to = Some(View::Packets);
            }
            input => return self.selected.act(&self.numbers(), shared, input),
        }
        true
    }

    fn advance(&mut self, shared: &mut Shared) -> bool {
        self.list(shared);
        false
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        painter.text(
            0,
            1,
            "   #  player           version  packets      bytes  from -> to",
            Style::new().add_modifier(Modifier::UNDERLINED),
        );
        let top = self.selected.top(shared);
        let shown = self.listed.iter().enumerate().skip(top).take(shared.height);
        for (y, (place, session)) in (FIRST_ROW..).zip(shown) {
            let selected = place == self.selected.place();
            let style = if selected { Style::new().reversed() } else { Style::new() };
            painter.row(y, &line(session, shared), style);
        }
    }

    fn session(&self, _shared: &Shared) -> Option<u64> {
        self.selected.number()
    }
}

impl SessionsPane {
    /// Lists only sessions that have all words of a text.
    pub(super) fn search(&mut self, shared: &mut Shared, text: String) {
        self.query.text = text;
        self.list(shared);
        let (listed, all) = (self.listed.len(), shared.sessions.len());
        shared.status = match self.query.text.trim() {
            "" => "all sessions are listed".to_owned(),
            _ => format!("{listed} of {all} sessions; an empty search lists all"),
        };
    }

    fn list(&mut self, shared: &Shared) {
        self.listed = self.query.select(shared.sessions.clone());
        self.selected.settle(&self.numbers());
    }

    fn numbers(&self) -> Vec<u64> {
        self.listed.iter().map(|it| it.context.session).collect()
    }
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
