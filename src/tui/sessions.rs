use ratatui_core::style::{Modifier, Style};

use super::pane::{Input, Pane};
use super::{Painter, Purpose, Shared, View};
use crate::store::StoredSession;
use crate::view::{Action, words};
use mitmcraft_engine::text::Escaped;

/// The list of sessions.
#[derive(Debug, Default)]
pub(super) struct SessionsPane {
    /// The place of the selected one.
    place: usize,
    /// The words that a session has to have; none for all of them.
    words: Vec<String>,
}

impl Pane for SessionsPane {
    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        match input {
            Input::Move(rows) => self.place = moved(self.place, rows, self.listed(shared).count()),
            Input::Click(at) if at.y >= FIRST_ROW => {
                let place = self.first(shared) + usize::from(at.y - FIRST_ROW);
                self.place = place.min(self.listed(shared).count().saturating_sub(1));
            }
            Input::Do(Action::Search) => shared.ask(Purpose::Sessions, self.words.join(" ")),
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
        self.place = moved(self.place, 0, self.listed(shared).count());
        false
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        painter.text(
            0,
            1,
            "   #  player           version  packets      bytes  from -> to",
            Style::new().add_modifier(Modifier::UNDERLINED),
        );
        let shown = self.listed(shared).enumerate().skip(self.first(shared)).take(shared.height);
        for (y, (place, session)) in (FIRST_ROW..).zip(shown) {
            let style = if place == self.place { Style::new().reversed() } else { Style::new() };
            painter.row(y, &line(session, shared), style);
        }
    }

    fn session(&self, shared: &Shared) -> Option<u64> {
        self.listed(shared).nth(self.place).map(|it| it.context.session)
    }
}

impl SessionsPane {
    /// Lists only sessions that have all of these words, in any letter case.
    pub(super) fn search(&mut self, shared: &mut Shared, words: &str) {
        self.words = words.split_whitespace().map(str::to_lowercase).collect();
        self.place = 0;
        let (listed, all) = (self.listed(shared).count(), shared.sessions.len());
        shared.status = match self.words.is_empty() {
            true => "all sessions are listed".to_owned(),
            false => format!("{listed} of {all} sessions; an empty search lists all"),
        };
    }

    fn listed<'a>(&'a self, shared: &'a Shared) -> impl Iterator<Item = &'a StoredSession> {
        shared.sessions.iter().filter(|session| {
            self.words.is_empty() || {
                let line = line(session, shared).to_lowercase();
                self.words.iter().all(|word| line.contains(word))
            }
        })
    }

    /// Returns the first place on the screen: the selected one is on it.
    fn first(&self, shared: &Shared) -> usize {
        (self.place + 1).saturating_sub(shared.height)
    }
}

/// The row of the screen with the first session.
const FIRST_ROW: u16 = 2;

/// Returns the index `rows` further down than `place` (up if negative), within a list of `count` entries.
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
