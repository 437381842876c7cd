use std::sync::Arc;
use std::time::Duration;

use crate::auth::Profile;
use crate::link::Upstream;
use mitmcraft_protocol::codec::Limits;
use mitmcraft_protocol::schema::Protocol;

/// Options of the visits to a server. Start with [`new`](Self::new).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VisitOptions {
    /// The version that the client speaks, 1.7 or later.
    pub protocol: Arc<Protocol>,
    /// The server, as the handshake names it.
    pub upstream: Upstream,
    /// The player.
    pub player: Profile,
    /// `true` if the player has an account, which the driver can join with
    /// ([`Output::Join`](crate::link::Output::Join)).
    pub has_account: bool,
    /// The time between two actions of the player.
    pub pause: Duration,
    /// The time that the server may take to do what a command asks for.
    pub patience: Duration,
    /// The time that the player stays at least.
    pub stay: Duration,
    /// Limits of what the server can make the client hold in memory.
    pub limits: Limits,
}

impl VisitOptions {
    /// Creates options for the visits of a player without an account.
    #[must_use]
    pub fn new(protocol: Arc<Protocol>, upstream: Upstream, name: &str) -> Self {
        Self {
            protocol,
            upstream,
            player: Profile::offline(name),
            has_account: false,
            pause: Duration::from_millis(250),
            patience: Duration::from_secs(2),
            stay: Duration::ZERO,
            limits: Limits::default(),
        }
    }
}
