use thiserror::Error;

use super::Response;

/// Why an account is of no use, and what to do about it. No secret and no UUID is in any of them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AuthError {
    /// There is no connection to a service.
    #[error("cannot reach {service}: {cause}; is it down, or its address wrong?")]
    Unreachable {
        /// Its host.
        service: String,
        /// What the system says.
        cause: String,
    },
    /// It says that it cannot now.
    #[error("{service} is down (it answers {status}): try again later")]
    Down {
        /// Its host.
        service: String,
        /// The HTTP status.
        status: u16,
    },
    /// It has been asked too often.
    #[error("{service} wants to be asked less often: wait a few minutes")]
    TooMany {
        /// Its host.
        service: String,
    },
    /// It does not take the token.
    #[error(
        "the account's access token is refused: it has expired, or is another account's; run \
         `mitmcraft login` again, or give a fresh token"
    )]
    Token,
    /// The account may not play online.
    #[error("the account may not join servers: its Xbox settings forbid multiplayer")]
    Multiplayer,
    /// The account is banned.
    #[error("the account is banned from playing online")]
    Banned,
    /// A player is not who it says.
    #[error(
        "`{name}` is not verified: the session server knows of no such player who has just joined; \
         restart the game, or use the session server of the player's account, see `--session-server`"
    )]
    NotJoined {
        /// The name.
        name: String,
    },
    /// There is no such player, or the account has not bought the game.
    #[error(
        "the account has no Minecraft profile: it does not own the Java Edition, or has not chosen a \
         name on minecraft.net yet"
    )]
    NoProfile,
    /// An answer that makes no sense.
    #[error("{service} answers {status}, which no such service does: is its address right?")]
    Answer {
        /// Its host.
        service: String,
        /// The HTTP status.
        status: u16,
    },
    /// What Microsoft or Xbox says, in plain words.
    #[error("{0}")]
    Refused(String),
    /// The login was not finished in time.
    #[error("the code has expired before it was used: run `mitmcraft login` again")]
    CodeExpired,
    /// The user said no.
    #[error("the login was declined in the browser")]
    Declined,
    /// The account must be logged in anew.
    #[error("the account's login has expired or was withdrawn: run `mitmcraft login` again")]
    LoginExpired,
}

impl AuthError {
    /// Of an answer that is no success and means nothing else.
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
