use bytes::BytesMut;

use super::encryption::{Joining, Purpose, Question};
use super::incoming::Incoming;
use super::legacy_ping::LegacyPing;
use super::verification::HeldLogin;
use crate::link::Exchange;
use mitmcraft_protocol::packet::{Packet, RawReason, Timestamp};

/// The phase of a session: what it waits for, with the data that only this phase needs.
#[derive(Debug)]
pub(super) enum Phase {
    /// Waiting for the upstream connection, and for enough bytes to know what the client speaks.
    Detect(Detection),
    /// Relaying: frames are forwarded in both directions.
    Frames,
    /// Waiting for an RSA key of the proxy's own.
    AwaitKey(Box<Purpose>),
    /// Waiting for the client's shared secret. What the server says meanwhile is not encrypted, and
    /// is forwarded.
    AwaitSecret(Box<AwaitedSecret>),
    /// Waiting for the server to say, on another connection, whether it enforces signed chat. The Login
    /// Start has the player's key.
    AwaitPolicy(Box<Incoming>),
    /// Waiting until this time for the session service to say who the client is.
    AwaitVerified(Box<HeldLogin>, Timestamp),
    /// Waiting until this time for the session service to accept that the account joins.
    AwaitJoined(Box<Joining>, Timestamp),
    /// Waiting for the Encryption Response of an observed session; its key is found by these bytes.
    AwaitResponse([u8; 4]),
    /// Waiting for enough of the server's encrypted bytes to tell which of these secrets fits.
    ChooseSecret(Vec<[u8; 16]>),
    /// Waiting for the answer to a Server List Ping from before 1.7.
    LegacyPing(LegacyPing),
    /// Forwarding bytes that are not understood, for this reason.
    Relay(RawReason),
    /// Waiting for the client's request, to answer that the server cannot be reached.
    Refused(Refusal),
}

/// The data of [`Phase::Detect`].
#[derive(Debug, Default)]
pub(super) struct Detection {
    /// The bytes that the client has sent.
    pub(super) held: BytesMut,
    pub(super) reach: Reach,
    /// The time at which a ping that could still grow counts as complete.
    pub(super) settle: Option<Timestamp>,
}

/// The data of [`Phase::AwaitSecret`].
#[derive(Debug)]
pub(super) struct AwaitedSecret {
    pub(super) exchange: Exchange,
    pub(super) question: Question,
    /// The time at which to give up, if the client is asked by the proxy alone.
    pub(super) until: Option<Timestamp>,
}

/// A session whose upstream could not be reached.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The reason shown to the player.
    pub(super) reason: String,
    /// The incomplete ping from before 1.7, if the client sends one.
    pub(super) ping: Option<LegacyPing>,
    /// The time at which to stop waiting for the client.
    pub(super) linger: Timestamp,
}

/// The state of the upstream connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Reach {
    #[default]
    Unknown,
    Connected,
    /// It failed for this reason; when to stop waiting for the client.
    Refused(String, Timestamp),
}

impl Reach {
    /// Returns when to stop waiting for a client whose server cannot be reached.
    pub(super) fn linger(&self) -> Option<Timestamp> {
        match self {
            Self::Refused(_, linger) => Some(*linger),
            Self::Unknown | Self::Connected => None,
        }
    }
}

/// Leaves a phase that matches a pattern for [`Phase::Frames`], and evaluates to its data; to `None` in any
/// other phase, which stays.
macro_rules! leave {
    ($phase:expr, $pattern:pat => $data:expr) => {
        match std::mem::replace(&mut $phase, Phase::Frames) {
            $pattern => Some($data),
            other => {
                $phase = other;
                None
            }
        }
    };
}
pub(super) use leave;

impl Phase {
    /// Returns the packet of a login that waits, and what it waits for, if there is one.
    pub(super) fn waiting(&self) -> Option<(&Packet, &'static str)> {
        match self {
            Self::AwaitKey(purpose) => match &**purpose {
                Purpose::Show(packet, _) | Purpose::Answer(packet, _) => Some((packet, KEY)),
                Purpose::Verify(login) => Some((login.packet()?, KEY)),
            },
            Self::AwaitPolicy(login) => Some((&login.packet, "the server's policy was known")),
            Self::AwaitSecret(awaited) => match &awaited.question {
                Question::Verify(login) => Some((login.packet()?, VERIFIED)),
                Question::Server(_) => None,
            },
            Self::AwaitVerified(login, _) => Some((login.packet()?, VERIFIED)),
            Self::AwaitJoined(joining, _) => {
                Some((joining.response.as_ref()?, "the account had joined"))
            }
            _ => None,
        }
    }

    /// Returns whether what the server says has to wait because the client is not verified.
    pub(super) fn holds_server(&self) -> bool {
        match self {
            Self::AwaitSecret(awaited) => match &awaited.question {
                Question::Verify(login) => login.holds_server(),
                Question::Server(_) => false,
            },
            Self::AwaitVerified(login, _) => login.holds_server(),
            _ => false,
        }
    }

    /// Returns when the phase's own timer expires.
    pub(super) fn timer(&self) -> Option<Timestamp> {
        match self {
            Self::Detect(detection) => {
                detection.settle.into_iter().chain(detection.reach.linger()).min()
            }
            Self::AwaitSecret(awaited) => awaited.until,
            Self::AwaitVerified(_, until) | Self::AwaitJoined(_, until) => Some(*until),
            Self::LegacyPing(ping) => ping.settle,
            Self::Refused(refusal) => {
                let settle = refusal.ping.as_ref().and_then(|ping| ping.settle);
                settle.into_iter().chain([refusal.linger]).min()
            }
            Self::Frames
            | Self::AwaitKey(_)
            | Self::AwaitPolicy(_)
            | Self::AwaitResponse(_)
            | Self::ChooseSecret(_)
            | Self::Relay(_) => None,
        }
    }
}

const KEY: &str = "there was a key";

const VERIFIED: &str = "the player was verified";
