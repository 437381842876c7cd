use crate::auth::Profile;

/// Who authenticates where. The account's token is not the session's business.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AuthMode {
    /// Nobody: both legs are as the server asks, and there is no account. A server that verifies
    /// accounts refuses the login.
    #[default]
    Offline,
    /// Towards the server the player is this account, whoever the client is.
    Account {
        /// The account.
        profile: Profile,
        /// What the client sees of the encryption.
        client: ClientLeg,
    },
    /// The same, and only for a client that proves who it is, as it would to a server in online
    /// mode.
    Verify {
        /// The account.
        profile: Profile,
        /// Who may play as it.
        admitted: Admitted,
    },
}

/// The leg of a client that is not verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientLeg {
    /// Encrypted when the server's leg is.
    #[default]
    AsServer,
    /// Never encrypted: also a client without any account can play.
    Plain,
}

/// Which verified players may play as the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Admitted {
    /// The account's own.
    #[default]
    Owner,
    /// All.
    Anyone,
}

impl AuthMode {
    /// The account that the server sees; None: there is none.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Offline => None,
            Self::Account { profile, .. } | Self::Verify { profile, .. } => Some(profile),
        }
    }

    /// Returns the account that the verified player may not play as; `None` if they may.
    pub(super) fn refuses(&self, player: &Profile) -> Option<&Profile> {
        match self {
            Self::Verify { profile, admitted: Admitted::Owner } if player.id != profile.id => {
                Some(profile)
            }
            Self::Offline | Self::Account { .. } | Self::Verify { .. } => None,
        }
    }

    /// Returns whether the proxy answers the server's Encryption Request itself, hidden from the
    /// client.
    pub(super) fn answers_alone(&self) -> bool {
        matches!(self, Self::Verify { .. } | Self::Account { client: ClientLeg::Plain, .. })
    }
}
