use std::time::Duration;

use super::Watched;
use crate::capture::Record;
use crate::link::Side;
use mitmcraft_protocol::meaning::{DisconnectText, DisconnectTopic, disconnect_words};
use mitmcraft_protocol::packet::{Origin, Packet};
use mitmcraft_protocol::schema::{Family, State};
use mitmcraft_protocol::wire::named;

/// How a session ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Ending {
    /// The kind of the end.
    pub kind: EndKind,
    /// The time from the session's begin to its end.
    pub after: Duration,
    /// The reason in the capture; `None` if the capture ends before the session.
    pub reason: Option<String>,
    /// The words with which a peer ended it.
    pub words: Option<Words>,
}

/// The words with which a peer ended a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Words {
    /// The words as they came: a text, or a key with its arguments behind it.
    pub raw: String,
    /// The row of the words, if they are the game's or a common server's.
    pub known: Option<&'static DisconnectText>,
    /// The packet with the words; `None` if only the reason in the capture has them.
    pub packet: Option<Record>,
}

named! {
    /// A kind of end.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EndKind {
        /// The capture ends before the session.
        Open => "capture-ends",
        /// The client left.
        Left => "client-left",
        /// The client left at a packet that it refuses.
        Refused => "client-refused",
        /// The client was told to leave.
        Kicked => "disconnected",
        /// The server or the run stopped, or the player was sent to another server.
        Stopped => "stopped",
        /// The server closed the connection without a word.
        Dropped => "server-closed",
        /// The connection to the client broke.
        LostClient => "client-lost",
        /// The connection to the server broke.
        LostServer => "server-lost",
        /// The server could not be reached.
        Unreachable => "unreachable",
        /// The proxy ended it.
        Proxy => "proxy-ended",
    }

    /// All kinds.
    pub const ALL;

    /// Returns the name in JSON: `client-left`.
    pub fn name;
}

impl EndKind {
    /// Returns whether sessions end like this without a fault: the client left, the server stopped, or the
    /// capture ends.
    #[must_use]
    pub fn is_expected(self) -> bool {
        matches!(self, Self::Open | Self::Left | Self::Stopped)
    }

    /// Returns who usually ends a session like this.
    fn by(self) -> Option<&'static str> {
        match self {
            Self::Open | Self::LostClient | Self::LostServer => None,
            Self::Left | Self::Refused => Some("client"),
            Self::Kicked | Self::Dropped | Self::Unreachable => Some("server"),
            Self::Stopped | Self::Proxy => Some("proxy"),
        }
    }

    /// Returns the peer that ended it, or with which the connection broke.
    pub(super) fn side(self) -> Option<Side> {
        match self {
            Self::Left | Self::Refused | Self::LostClient => Some(Side::Client),
            Self::Kicked | Self::Dropped | Self::LostServer => Some(Side::Server),
            Self::Open | Self::Stopped | Self::Unreachable | Self::Proxy => None,
        }
    }
}

impl Ending {
    /// Finds out how a session ended.
    pub(super) fn of(session: &Watched) -> Self {
        let reason = session.close.as_ref().map(|(_, reason)| reason.clone());
        let at = session.close.as_ref().map_or(session.last_at, |(at, _)| *at);
        let after = at.since(session.context.opened);
        let told = reason.as_deref().and_then(|reason| reason.strip_prefix(DISCONNECTED));
        let words = match &session.disconnect {
            Some(record) => {
                let raw = record.packet.reason().or_else(|| told.map(str::to_owned));
                Words::new(raw.unwrap_or_default(), Some(record.clone()))
            }
            None => told.and_then(|raw| Words::new(raw.to_owned(), None)),
        };
        let kind = kind(session, reason.as_deref(), words.as_ref());
        Self { kind, after, reason, words }
    }

    /// Returns who ended the session: `client`, `server` or `proxy`; `None` if it goes on, or it is unknown.
    #[must_use]
    pub fn by(&self) -> Option<&'static str> {
        let packet = self.words.as_ref().and_then(|it| it.packet.as_ref());
        let is_server = packet.is_some_and(|it| it.packet.origin() == Origin::Server);
        match self.kind {
            EndKind::Stopped if is_server => Some("server"),
            kind => kind.by(),
        }
    }

    /// Returns what ended the session, in words: `disconnected by the server`.
    #[must_use]
    pub fn describe(&self) -> String {
        let text = match self.kind {
            EndKind::Open => "the capture ends before the session",
            EndKind::Left => "the client left",
            EndKind::Refused => "the client gave up",
            EndKind::Kicked => "disconnected by the server",
            EndKind::Stopped if self.by() == Some("server") => "the server stopped",
            EndKind::Dropped => "closed by the server without a word",
            EndKind::Stopped
            | EndKind::LostClient
            | EndKind::LostServer
            | EndKind::Unreachable
            | EndKind::Proxy => {
                return self.reason.clone().unwrap_or_default();
            }
        };
        match &self.words {
            Some(words) if !words.raw.is_empty() => format!("{text}: {}", words.text()),
            _ => text.to_owned(),
        }
    }

    /// Returns the kind of cause that the words name.
    pub(super) fn topic(&self) -> Option<DisconnectTopic> {
        Some(self.words.as_ref()?.known?.topic)
    }
}

impl Words {
    fn new(raw: String, packet: Option<Record>) -> Option<Self> {
        let known = DisconnectText::find(&raw);
        (packet.is_some() || !raw.is_empty()).then_some(Self { raw, known, packet })
    }

    /// Returns the words as a player reads them: of a key its English text, with the key behind it.
    #[must_use]
    pub fn text(&self) -> String {
        disconnect_words(&self.raw).into_owned()
    }
}

fn kind(session: &Watched, reason: Option<&str>, words: Option<&Words>) -> EndKind {
    let stops =
        words.and_then(|it| it.known).is_some_and(|it| it.topic == DisconnectTopic::Stopped);
    let is_by = |origin| {
        words.and_then(|it| it.packet.as_ref()).is_some_and(|it| it.packet.origin() == origin)
    };
    let Some(reason) = reason else {
        return match words {
            Some(_) if stops => EndKind::Stopped,
            Some(_) if is_by(Origin::Server) => EndKind::Kicked,
            Some(_) if is_by(Origin::Client) => EndKind::Left,
            _ => EndKind::Open,
        };
    };
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| reason.starts_with(prefix));
    if stops || is_stopped(reason) || session.is_transferred && begins(&CLOSED) {
        EndKind::Stopped
    } else if begins(&["cannot reach "]) {
        EndKind::Unreachable
    } else if is_by(Origin::Server) || is_kick(reason) {
        EndKind::Kicked
    } else if begins(&["lost the server"]) {
        EndKind::LostServer
    } else if begins(&CLOSED_BY_CLIENT) || is_by(Origin::Client) || is_asked_only(session) {
        // A list of servers is closed by either side when it knows enough.
        EndKind::Left
    } else if begins(&["lost the client"]) {
        EndKind::LostClient
    } else if begins(&["closed by the server"]) {
        EndKind::Dropped
    } else if is_cut(reason) {
        EndKind::Open
    } else {
        EndKind::Proxy
    }
}

/// Returns whether a session of that reason ended with the run.
pub(super) fn is_stopped(reason: &str) -> bool {
    STOPPED.iter().any(|prefix| reason.starts_with(prefix))
}

/// Returns whether a session of that reason may have gone on.
pub(super) fn is_cut(reason: &str) -> bool {
    CUT.iter().any(|prefix| reason.starts_with(prefix))
}

/// Returns whether a session of that reason was ended by the server, with words for the player.
pub(super) fn is_kick(reason: &str) -> bool {
    reason.starts_with(DISCONNECTED.trim_end_matches(": "))
}

/// Returns whether a connection broke in a session of that reason.
pub(super) fn is_lost(reason: &str) -> bool {
    reason.starts_with("lost the ")
}

/// Returns whether a session is a Server List Ping or a Query.
fn is_asked_only(session: &Watched) -> bool {
    let is_query = session.context.protocol.family() == Family::Query;
    let is_status = |packet: &Packet| packet.state() == State::Status;
    is_query || session.last.clientbound.as_ref().is_some_and(|it| is_status(&it.packet))
}

/// What precedes the words of a server in the reason of a session.
const DISCONNECTED: &str = "disconnected by the server: ";

/// The reasons of sessions that the client ended; the visit is that of `lint`.
const CLOSED_BY_CLIENT: [&str; 3] =
    ["closed by the client", "both sides closed", "the visit has ended"];

/// The reasons of sessions that a peer closed.
const CLOSED: [&str; 3] = ["closed by the client", "closed by the server", "both sides closed"];

/// The reasons of sessions that ended with the run.
const STOPPED: [&str; 4] =
    ["stopped by the user", "the demo is over", "the run drains", "the run has ended"];

/// The reasons of sessions that may have gone on.
const CUT: [&str; 3] =
    ["the recording ends", "the port was reused", "made room for another connection"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::is_own;

    #[test]
    fn redaction_keeps_the_reasons_that_are_told_apart() {
        let told = CLOSED_BY_CLIENT.iter().chain(&CLOSED).chain(&STOPPED).chain(&CUT);
        for reason in told.chain(&["lost the client", "lost the server"]) {
            assert!(is_own(reason), "{reason}");
        }
        assert!(is_own(DISCONNECTED));
    }
}
