use thiserror::Error;

use super::{RequestError, Response, XboxError};
use mitmcraft_protocol::packet::Cause;

/// The reason why an account cannot be used. No message contains a secret or a UUID.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// A service cannot be reached.
    #[error("cannot reach {service}: {cause}; is it down, or its address wrong?")]
    Unreachable {
        /// Host of the service.
        service: String,
        /// Why.
        cause: RequestError,
    },
    /// A service reports that it is down (5xx).
    #[error("{service} is down (status {status}): try again later")]
    Down {
        /// Host of the service.
        service: String,
        /// The HTTP status.
        status: u16,
    },
    /// A service limits the rate of requests (429).
    #[error("{service} is asked too often: wait a few minutes")]
    TooMany {
        /// Host of the service.
        service: String,
    },
    /// The access token is not accepted.
    #[error(
        "the account's access token is refused: it has expired or belongs to another account; log \
         in again, or use a new token"
    )]
    Token,
    /// The access token that a game uses and lends is not accepted.
    #[error(
        "the game's access token is refused: it has expired; restart the game from its launcher"
    )]
    LentToken,
    /// The account may not play online.
    #[error("the account may not join servers: its Xbox settings forbid multiplayer")]
    Multiplayer,
    /// The account is banned.
    #[error("the account is banned from playing online")]
    Banned,
    /// A player could not be verified.
    #[error(
        "`{name}` is not verified: the session server has not seen this player join; restart the \
         game, or use the session server of the player's account"
    )]
    NotJoined {
        /// The player's name.
        name: String,
    },
    /// The client's game has not joined the session through the proxy.
    #[error("the game has not lent its account")]
    NotLent,
    /// The account has no player profile.
    #[error(
        "the account has no Minecraft profile: it does not own the Java Edition, or has not chosen a \
         name on minecraft.net yet"
    )]
    NoProfile,
    /// A service answered in an unexpected way.
    #[error("unexpected answer of {service} (status {status}): is its address right?")]
    Answer {
        /// Host of the service.
        service: String,
        /// The HTTP status.
        status: u16,
    },
    /// Microsoft refuses the login.
    #[error("Microsoft refuses the login ({code})")]
    Login {
        /// The OAuth error code, in lower case.
        code: String,
    },
    /// Microsoft does not accept the client id.
    #[error("Microsoft does not know this client id, or does not allow it to use device codes")]
    UnknownClient,
    /// Minecraft's services do not accept the client id.
    #[error(
        "Minecraft's services do not accept this client id: its owner must request permission at \
         https://aka.ms/mce-reviewappid"
    )]
    UnapprovedClient,
    /// Xbox Live refuses the account.
    #[error("{cause} (XErr {number})")]
    Xbox {
        /// The number of the error.
        number: u64,
        /// Its meaning.
        cause: XboxError,
    },
    /// The device code was not used in time.
    #[error("the code expired before it was used")]
    CodeExpired,
    /// The user declined the login.
    #[error("the login was declined in the browser")]
    Declined,
    /// The refresh token is not accepted.
    #[error("the account's login has expired or was revoked: log in again")]
    LoginExpired,
    /// A renewed login could not be stored, so that the next run has to log in again.
    #[error("cannot store the renewed login: {cause}")]
    NotStored {
        /// Why.
        cause: Cause,
    },
}

impl AuthError {
    /// Returns the error of an account that a game lends: its user cannot log in anywhere else.
    pub fn of_lent(self) -> Self {
        if self == Self::Token { Self::LentToken } else { self }
    }

    /// Returns the error of a response that is not a success and has no other meaning.
    pub(super) fn of(service: &str, response: &Response) -> Self {
        let service = service.to_owned();
        match response.status {
            401 => Self::Token,
            429 => Self::TooMany { service },
            status @ 500.. => Self::Down { service, status },
            status => Self::Answer { service, status },
        }
    }
}
