use crate::auth::Profile;

/// Selects which leg is authenticated, and as whom. The account's token is not known to a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AuthMode {
    /// No account: both legs are encrypted if the server asks for it. A server that verifies
    /// accounts refuses the login.
    #[default]
    Offline,
    /// Every client plays as this account.
    Account {
        /// The account.
        profile: Profile,
        /// The encryption of the client's leg.
        client: ClientLeg,
    },
    /// Clients play as this account after proving who they are, as to a server in online mode.
    Verify {
        /// The account.
        profile: Profile,
        /// The players who may play as the account.
        admitted: Admitted,
    },
    /// Every client plays as the account of its own game, which lends it for this login: the game has
    /// told the session service, through the proxy, that it joins.
    Client {
        /// Advice to a player whose game has not.
        advice: String,
    },
}

/// The encryption of the leg of a client that is not verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientLeg {
    /// Encrypted if the server's leg is.
    #[default]
    AsServer,
    /// Never encrypted, so that a client without any account can play.
    Plain,
}

/// Selects the verified players who may play as the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Admitted {
    /// Only the account's own player.
    #[default]
    Owner,
    /// Every verified player.
    Anyone,
}

impl AuthMode {
    /// Returns the account that the server sees; `None` if there is none, or each client has its own.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Offline | Self::Client { .. } => None,
            Self::Account { profile, .. } | Self::Verify { profile, .. } => Some(profile),
        }
    }

    /// Returns the account that the verified player may not play as; `None` if they may.
    pub(super) fn refuses(&self, player: &Profile) -> Option<&Profile> {
        match self {
            Self::Verify { profile, admitted: Admitted::Owner } if player.id != profile.id => {
                Some(profile)
            }
            Self::Offline | Self::Account { .. } | Self::Verify { .. } | Self::Client { .. } => {
                None
            }
        }
    }

    /// Returns whether a client may know the secret of the server's leg: it plays as itself, or as an account
    /// that is its own.
    pub(super) fn shares_secret(&self) -> bool {
        match self {
            Self::Offline | Self::Client { .. } => true,
            Self::Verify { admitted, .. } => *admitted == Admitted::Owner,
            Self::Account { .. } => false,
        }
    }

    /// Returns whether a client that the server authenticates need not contact a session service.
    pub(super) fn spares_client(&self) -> bool {
        matches!(self, Self::Account { .. })
    }

    /// Returns whether the proxy answers the server's Encryption Request itself, hidden from the
    /// client.
    pub(super) fn answers_alone(&self) -> bool {
        matches!(self, Self::Verify { .. } | Self::Account { client: ClientLeg::Plain, .. })
    }
}
