use bytes::BytesMut;

use super::encryption::{HeldLogin, Joining, Purpose, Question};
use super::legacy_ping::LegacyPing;
use crate::link::Exchange;
use crate::packet::RawReason;

/// What a session itself waits for. What only one phase needs lives in its variant.
#[derive(Debug)]
pub(super) enum Phase {
    /// For the upstream connection, and for enough bytes to know what the client speaks.
    Detect {
        /// What the client has sent.
        held: BytesMut,
        /// How much of it the server has been sent.
        sent: usize,
        reach: Reach,
    },
    /// For nothing: frames go both ways.
    Frames,
    /// For a key of our own, and what it is wanted for.
    AwaitKey(Box<Purpose>),
    /// For the client's shared secret, and what it is asked for. What the server says now is not
    /// encrypted, and goes through.
    AwaitSecret(Box<(Exchange, Question)>),
    /// For the session service to say who the client is.
    AwaitVerified(Box<HeldLogin>),
    /// For the session service to know that the account joins.
    AwaitJoined(Box<Joining>),
    /// For the Encryption Response of a session that is only watched; by what its key is found.
    AwaitResponse([u8; 4]),
    /// For enough of what the server encrypts to tell which of these secrets it has.
    ChooseSecret(Vec<[u8; 16]>),
    /// For the answer to a Server List Ping from before 1.7.
    LegacyPing(LegacyPing),
    /// For nothing: bytes go both ways, not understood, and why.
    Relay(RawReason),
    /// For the client to ask, so that it can be told that there is no server.
    Refused(Refusal),
    /// For nothing more: both connections have ended.
    Over,
}

/// A session whose upstream could not be reached.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Why, for the player.
    pub(super) reason: String,
    /// The ping from before 1.7 that waits for its end.
    pub(super) ping: Option<LegacyPing>,
}

/// Whether the upstream is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// Not known yet.
    Unknown,
    Connected,
    /// It is not, and why.
    Refused(String),
}
