use serde::{Deserialize, Serialize};

use super::millis;
use crate::store::StoredSession;
use crate::view::words;
use mitmcraft_engine::capture::LegState;
use mitmcraft_engine::text::end_reason;
use mitmcraft_protocol::schema::State;

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SessionInfo {
    /// Its number.
    pub session: u64,
    /// The capture that it is in, if several are shown.
    pub capture: Option<String>,
    /// The name of the player, once known.
    pub player: Option<String>,
    /// The address of the client.
    pub client: String,
    /// The address of the server, once connected.
    pub server: Option<String>,
    /// The server as it was named.
    pub upstream: String,
    /// The name of its version.
    pub version: String,
    /// The protocol number of its version.
    pub protocol: Option<i32>,
    /// `true` if its version is not known, so that everything decoded is a guess.
    pub guess: bool,
    /// The state of its legs, once known.
    pub legs: Option<LegsInfo>,
    /// The number of packets that the peers sent.
    pub packets: u64,
    /// Their bytes, inflated.
    pub bytes: u64,
    /// Their bytes on the wire.
    pub wire: u64,
    /// When it began, in milliseconds since 1970.
    pub opened: f64,
    /// The time of its last packet or event.
    pub last: f64,
    /// What its client waits for, or waited for at the end, if it does not get into the world.
    pub waits: Option<String>,
    /// Why it has ended, in words as players read them; `None` while it is open.
    pub closed: Option<String>,
}

/// The state of a session and of both its legs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LegsInfo {
    /// The state of the packets that follow.
    pub state: State,
    /// The leg to the client.
    pub client: LegInfo,
    /// The leg to the server.
    pub server: LegInfo,
}

/// The state of one leg.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LegInfo {
    /// The compression threshold in bytes; `None` without compression.
    pub threshold: Option<usize>,
    /// `true` if it is encrypted.
    pub encrypted: bool,
}

/// A kind of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SessionKind {
    /// Those with a player, or that may get one.
    Players,
    /// Those of them that are open.
    Open,
    /// Those of them that have ended.
    Ended,
    /// Those that only asked for the server's status.
    Pings,
}

/// The order of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SessionOrder {
    /// By number: the order in which they began.
    Number,
    /// By the name of the player.
    Player,
    /// By the address of the client.
    Client,
    /// By the number of packets.
    Packets,
    /// By the number of bytes, inflated.
    Bytes,
    /// By the time of the last packet or event.
    Last,
}

/// A moment in a list of sessions: those that have ended by then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SessionMark {
    /// The number of the newest session.
    pub session: u64,
    /// The time at which a session ended last, in milliseconds since 1970.
    pub ended: f64,
}

impl SessionMark {
    /// Returns the mark of all sessions that have ended; `None` if none has.
    #[must_use]
    pub fn of(sessions: &[StoredSession]) -> Option<Self> {
        let session = sessions.iter().map(|it| it.context.session).max()?;
        let ended = sessions.iter().filter_map(|it| it.closed.as_ref()).map(|(at, _)| *at).max()?;
        Some(Self { session, ended: millis(ended) })
    }

    /// Returns `true` for a session that had ended then.
    #[must_use]
    pub fn has(&self, session: &StoredSession) -> bool {
        let ended = session.closed.as_ref().is_some_and(|(at, _)| millis(*at) <= self.ended);
        ended && session.context.session <= self.session
    }
}

impl From<&StoredSession> for SessionInfo {
    fn from(session: &StoredSession) -> Self {
        let context = &session.context;
        Self {
            session: context.session,
            capture: session.capture.as_deref().map(str::to_owned),
            player: context.player.clone(),
            client: context.client.to_string(),
            server: context.server.map(|server| server.to_string()),
            upstream: context.upstream.clone(),
            version: words::version(context).to_owned(),
            protocol: context.version,
            guess: context.guess,
            legs: session.legs.as_ref().map(LegsInfo::from),
            packets: session.packets,
            bytes: session.bytes,
            wire: session.wire,
            opened: millis(context.opened),
            last: millis(session.last),
            waits: session.waits.clone(),
            closed: session
                .closed
                .as_ref()
                .map(|(_, summary)| end_reason(&summary.reason).into_owned()),
        }
    }
}

impl From<&LegState> for LegsInfo {
    fn from(legs: &LegState) -> Self {
        let leg = |threshold, encrypted| LegInfo { threshold, encrypted };
        Self {
            state: legs.state,
            client: leg(legs.client_threshold, legs.client_encrypted),
            server: leg(legs.server_threshold, legs.server_encrypted),
        }
    }
}
