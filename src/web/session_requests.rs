//! What a [`Viewer`] answers about sessions.

use super::Viewer;
use crate::view::SessionQuery;
use crate::view::protocol::{Answer, SessionInfo, SessionMark};

impl Viewer {
    /// Returns at most `count` of the sessions that `query` selects, from `start` on, or the last ones. The session
    /// `anchor` comes with them, wherever it is.
    pub(super) fn sessions(
        &self,
        query: &SessionQuery,
        start: Option<usize>,
        count: Option<usize>,
        anchor: Option<u64>,
    ) -> Answer {
        let forgotten = usize::try_from(self.store.forgotten_sessions()).unwrap_or(usize::MAX);
        let all = self.store.sessions();
        let pings = all.iter().filter(|it| query.is_ping(it)).count();
        let mark = SessionMark::of(&all);
        let anchored = all.iter().find(|it| Some(it.context.session) == anchor);
        let anchored = anchored.map(|it| Box::new(SessionInfo::from(it)));
        let found = query.select(all);
        let count = count.unwrap_or(MAX_SESSIONS).min(MAX_SESSIONS);
        let before = found.len().saturating_sub(count);
        let first = start.unwrap_or(before).min(found.len());
        let left_out = if start.is_none() { forgotten.saturating_add(first) } else { forgotten };
        let end = first.saturating_add(count).min(found.len());
        Answer::Sessions {
            sessions: found[first..end].iter().map(SessionInfo::from).collect(),
            left_out,
            total: found.len(),
            pings,
            mark,
            anchor: found.iter().position(|it| Some(it.context.session) == anchor),
            anchored,
        }
    }
}

/// Most sessions of a message.
const MAX_SESSIONS: usize = 1000;
