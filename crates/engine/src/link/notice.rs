use std::net::SocketAddr;

use super::{PreambleVersion, RulingError, Upstream};
use crate::auth::Profile;
use crate::filter::Message;

/// Something that the person who runs the proxy should know at once. The program that shows it
/// chooses the words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The server asks for encryption, and the proxy has no account to join it with. A server that
    /// verifies accounts refuses this login.
    WantsAccount {
        /// The server.
        upstream: Upstream,
    },
    /// The server let the account in without verifying it.
    NotVerified {
        /// The server.
        upstream: Upstream,
        /// The account's player name.
        player: String,
    },
    /// A verified player is not allowed to play as the account.
    NotAdmitted {
        /// The verified player.
        player: Profile,
        /// The account.
        account: Profile,
    },
    /// A client logs in to a server that verifies accounts, and its game has not lent its own.
    NotLent,
    /// The client's protocol version is unknown: its packets are decoded with another version's
    /// description.
    GuessedVersion {
        /// The protocol number in the handshake.
        version: i32,
        /// The protocol number of the description that is used.
        used: i32,
        /// The game versions of that description.
        name: String,
    },
    /// A client's first bytes are a PROXY header, which the proxy was not told to expect.
    UnaskedPreamble {
        /// The session's number.
        session: u64,
        /// The version of the header.
        version: PreambleVersion,
        /// The address of the client in it.
        source: SocketAddr,
    },
    /// A timeout has ended a session.
    TimedOut {
        /// The session's number.
        session: u64,
        /// Which timeout, and how long it is.
        reason: String,
    },
    /// The answer of the program that decides on packets cannot be carried out.
    Unapplied {
        /// The reason.
        reason: RulingError,
    },
    /// A filter has something to say.
    Filter(Message),
}
