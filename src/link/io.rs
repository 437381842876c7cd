use std::net::SocketAddr;

use super::{KeyMaterial, Notice, Transfer};
use crate::auth::{AuthError, Profile};
use crate::codec::KeyLogLine;
use crate::schema::Direction;

/// One of the two peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The game client.
    Client,
    /// The real server.
    Server,
}

impl Side {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Client, Self::Server];

    /// The peer that packets of that direction come from.
    #[must_use]
    pub fn from(direction: Direction) -> Self {
        match direction {
            Direction::Serverbound => Self::Client,
            Direction::Clientbound => Self::Server,
        }
    }

    /// The direction of what that peer sends.
    #[must_use]
    pub fn sends(self) -> Direction {
        match self {
            Self::Client => Direction::Serverbound,
            Self::Server => Direction::Clientbound,
        }
    }

    /// The other peer.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// `client` or `server`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// What has happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// The upstream connection is there; the server's address.
    Connected(SocketAddr),
    /// The upstream connection cannot be had, and why.
    Refused(String),
    /// Bytes came from that side.
    Received(Side, &'a [u8]),
    /// That side has sent all it will send.
    Closed(Side),
    /// The connection to that side is gone, both ways, and why.
    Lost(Side, String),
    /// The answer to [`Output::GenerateKey`].
    Key(Box<KeyMaterial>),
    /// The answer to [`Output::Join`].
    AccountJoined(Result<(), AuthError>),
    /// The answer to [`Output::HasJoined`]: who the player is.
    Verified(Result<Profile, AuthError>),
    /// The moment of [`Engine::poll_timeout`](super::Engine::poll_timeout) has come.
    Timeout,
    /// So many bytes of that side were not seen, when a session is only watched: nothing that it
    /// sends from here on can be understood.
    Missing(Side, u64),
    /// The first bytes of an observed connection were not seen.
    StartMissed,
    /// The run ends: close in order. Why, in words.
    Stop(String),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Connect to the upstream; answered by [`Input::Connected`] or [`Input::Refused`].
    Connect,
    /// Make an RSA key of 1024 bits and random numbers; answered by [`Input::Key`].
    GenerateKey,
    /// Tell the session service that the account joins the server of that hash; answered by
    /// [`Input::AccountJoined`].
    Join {
        /// As [`server_hash`](crate::auth::server_hash) makes it.
        server_hash: String,
    },
    /// Ask the session service whether the player of that name has joined the server of that hash;
    /// answered by [`Input::Verified`].
    HasJoined {
        /// The name that the client logs in with.
        name: String,
        /// As [`server_hash`](crate::auth::server_hash) makes it.
        server_hash: String,
    },
    /// What decrypts a leg from here on, for those who keep a key log.
    LogKey(KeyLogLine),
    /// Write all that is pending for that side, then say that no more comes.
    Shutdown(Side),
    /// Write all that is pending for that side, then close the connection.
    Close(Side),
    /// Tell the user.
    Notice(Notice),
    /// Expect that client to come back, and connect it to the target.
    Transfer(Box<Transfer>),
}
