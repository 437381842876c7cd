use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Command, KeyMaterial, NetworkError, Notice, Ruling, Transfer, Unruled};
use crate::auth::{AuthError, Profile};
use mitmcraft_protocol::codec::KeyLogLine;
use mitmcraft_protocol::packet::Cause;
use mitmcraft_protocol::schema::Direction;
use mitmcraft_protocol::wire::named;

named! {
    /// One of the two peers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "test-support", derive(ts_rs::TS))]
    pub enum Side {
        /// The game client.
        Client => "client",
        /// The real server.
        Server => "server",
    }
    /// Both sides, the client first.
    pub const ALL;
    /// Returns `client` or `server`.
    pub fn name;
}

impl Side {
    /// Returns the peer that sends packets in `direction`.
    #[must_use]
    pub fn from(direction: Direction) -> Self {
        match direction {
            Direction::Serverbound => Self::Client,
            Direction::Clientbound => Self::Server,
        }
    }

    /// Returns the direction of the packets that this peer sends.
    #[must_use]
    pub fn sends(self) -> Direction {
        match self {
            Self::Client => Direction::Serverbound,
            Self::Server => Direction::Clientbound,
        }
    }

    /// Returns the other peer.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Something that happened, as a driver tells an [`Engine`](super::Engine). Engines ignore what they do
/// not know.
#[derive(Debug)]
pub enum Input<'a> {
    /// The upstream connection is open, to this address.
    Connected(SocketAddr),
    /// The upstream connection failed, for this reason.
    Refused(Cause),
    /// The client is turned away, for this reason: no upstream connection is made.
    TurnedAway(Cause),
    /// Bytes arrived from a side.
    Received(Side, &'a [u8]),
    /// A side has closed its sending direction.
    Closed(Side),
    /// The connection to a side is lost in both directions, for this reason.
    Lost(Side, NetworkError),
    /// The answer to [`Output::GenerateKey`].
    Key(Box<KeyMaterial>),
    /// The answer to [`Output::Join`].
    AccountJoined(Result<(), AuthError>),
    /// The answer to [`Output::AskPolicy`]: whether the server enforces signed chat; `None` if it does
    /// not say.
    Policy(Option<bool>),
    /// The answer to [`Output::HasJoined`]: the verified player.
    Verified(Result<Profile, AuthError>),
    /// The time of [`Engine::poll_timeout`](super::Engine::poll_timeout) has come.
    Timeout,
    /// This number of bytes of a side is missing from an observed session: nothing that the side
    /// sends from here on can be decoded.
    Missing(Side, u64),
    /// The first bytes of an observed connection are missing.
    StartMissed,
    /// A person wants something done.
    Command(Command),
    /// The answer to the [`Question`](super::Question) with this number.
    Ruled(u64, Result<Ruling, Unruled>),
    /// The run ends for this reason: close the connections in order.
    Stop(Cause),
}

/// Something that an [`Engine`](super::Engine) wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Connect to the upstream; answered by [`Input::Connected`] or [`Input::Refused`].
    Connect,
    /// Generate a 1024-bit RSA key and random numbers; answered by [`Input::Key`].
    GenerateKey,
    /// Tell the session service that the account joins the server with this hash; answered by
    /// [`Input::AccountJoined`].
    Join {
        /// The hash, as [`server_hash`](crate::auth::server_hash) computes it.
        server_hash: String,
        /// The hash with which the client has joined, if the account is the one that its game lends.
        lent: Option<String>,
    },
    /// Ask the server's status, on a connection of its own, whether the server enforces signed chat;
    /// answered by [`Input::Policy`].
    AskPolicy,
    /// Ask the session service whether the player of this name has joined the server with this
    /// hash; answered by [`Input::Verified`].
    HasJoined {
        /// The name that the client logs in with.
        name: String,
        /// The hash, as [`server_hash`](crate::auth::server_hash) computes it.
        server_hash: String,
    },
    /// Append a line to the key log, if there is one: it decrypts a leg from here on.
    LogKey(KeyLogLine),
    /// Write everything pending for a side, then close the sending direction.
    Shutdown(Side),
    /// Write everything pending for a side, then close the connection.
    Close(Side),
    /// Write everything pending for a side, then reset the connection, as the other side was.
    Reset(Side),
    /// Tell the user.
    Notice(Notice),
    /// Expect that client to come back, and connect it to the target.
    Transfer(Box<Transfer>),
}
