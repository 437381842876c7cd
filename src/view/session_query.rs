use super::protocol::{SessionKind, SessionMark, SessionOrder};
use super::words;
use crate::store::StoredSession;
use mitmcraft_engine::text::end_reason;
use mitmcraft_protocol::schema::State;

/// Selects the sessions of a list, and orders them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionQuery {
    /// Words that a session has all of.
    pub text: String,
    /// The kind of sessions; `None` for all.
    pub only: Option<SessionKind>,
    /// What they are sorted by; `None` for their number.
    pub by: Option<SessionOrder>,
    /// `true` for the greatest value first.
    pub descending: bool,
    /// Leaves out those that had ended then.
    pub after: Option<SessionMark>,
}

impl SessionQuery {
    /// Returns those of some sessions that are selected, in their order.
    #[must_use]
    pub fn select(&self, mut sessions: Vec<StoredSession>) -> Vec<StoredSession> {
        let text = self.text.to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        sessions.retain(|it| self.has(it) && has_words(it, &words));
        match self.by.unwrap_or(SessionOrder::Number) {
            SessionOrder::Number => sessions.sort_by_key(|it| it.context.session),
            SessionOrder::Player => sessions.sort_by_cached_key(|it| {
                let player = it.context.player.as_ref().map(|name| name.to_lowercase());
                // Those without a player follow those with one.
                (player.is_none(), player)
            }),
            SessionOrder::Client => sessions.sort_by_key(|it| it.context.client),
            SessionOrder::Packets => sessions.sort_by_key(|it| it.packets),
            SessionOrder::Bytes => sessions.sort_by_key(|it| it.bytes),
            SessionOrder::Last => sessions.sort_by_key(|it| it.last),
        }
        if self.descending {
            sessions.reverse();
        }
        sessions
    }

    /// Returns `true` for a session that only asked for the server's status, and is not left out.
    #[must_use]
    pub fn is_ping(&self, session: &StoredSession) -> bool {
        is_ping(session) && !self.after.is_some_and(|mark| mark.has(session))
    }

    fn has(&self, session: &StoredSession) -> bool {
        let (ping, open) = (is_ping(session), session.closed.is_none());
        let fits = match self.only {
            None => true,
            Some(SessionKind::Players) => !ping,
            Some(SessionKind::Open) => !ping && open,
            Some(SessionKind::Ended) => !ping && !open,
            Some(SessionKind::Pings) => ping,
        };
        fits && !self.after.is_some_and(|mark| mark.has(session))
    }
}

fn is_ping(session: &StoredSession) -> bool {
    let state = session.legs.as_ref().map(|legs| legs.state);
    session.context.player.is_none() && state == Some(State::Status)
}

fn has_words(session: &StoredSession, words: &[&str]) -> bool {
    if words.is_empty() {
        return true;
    }
    let context = &session.context;
    let end = session.closed.as_ref().map(|(_, summary)| end_reason(&summary.reason));
    let server = context.server.map(|server| server.to_string());
    let parts = [
        Some(format!("#{}", context.session)),
        context.player.clone(),
        Some(context.client.to_string()),
        server,
        Some(context.upstream.clone()),
        Some(words::version(context).to_owned()),
        Some(end.map_or_else(|| "open".to_owned(), |end| format!("closed {end}"))),
        session.waits.clone(),
        session.capture.as_deref().map(str::to_owned),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().map(|it| it.to_lowercase()).collect();
    words.iter().all(|word| parts.iter().any(|part| part.contains(word)))
}
