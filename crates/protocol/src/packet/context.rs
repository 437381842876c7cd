use std::net::SocketAddr;
use std::sync::Arc;

use super::{SentRegistries, Timestamp};
use crate::schema::{Catalog, Family, Protocol};

/// The state shared by consecutive packets of a session. It is replaced as more becomes known.
///
/// The fields are public because no field depends on another one. A packet's cached id depends on
/// `protocol`; the packet shares its context through an [`Arc`], which
/// [`Packet::set_context`](super::Packet::set_context) replaces as a whole.
#[derive(Debug, Clone)]
pub struct Context {
    /// The session's number, from 1 within a run.
    pub session: u64,
    /// The time when the client connected.
    pub opened: Timestamp,
    /// The client's address.
    pub client: SocketAddr,
    /// The server's address, once connected.
    pub server: Option<SocketAddr>,
    /// The server as the user named it, `host:port`.
    pub upstream: String,
    /// The player's name, once known.
    pub player: Option<String>,
    /// The protocol by which packets are decoded.
    pub protocol: Arc<Protocol>,
    /// The protocol version that the client sent; `None` before the handshake.
    pub version: Option<i32>,
    /// `true` if `protocol` is that of another version, so that decoding is a guess.
    pub guess: bool,
    /// The registries that the server has sent.
    pub registries: Arc<SentRegistries>,
}

impl Context {
    /// Creates the context of a session that is just beginning: nothing is known of it but its number, the
    /// time, the client, and the protocol by which its first packets are decoded.
    #[must_use]
    pub fn new(
        session: u64,
        opened: Timestamp,
        client: SocketAddr,
        protocol: Arc<Protocol>,
    ) -> Self {
        Self {
            session,
            opened,
            client,
            server: None,
            upstream: String::new(),
            player: None,
            protocol,
            version: None,
            guess: false,
            registries: Arc::default(),
        }
    }

    /// Returns the newest game version with the client's protocol number, for example `1.20.4` or `24w03a`; if the
    /// number is unknown, that of the protocol by which packets are decoded.
    #[must_use]
    pub fn game_version(&self) -> &str {
        let own = self.version.filter(|_| self.guess && self.protocol.family() == Family::Java);
        own.and_then(Catalog::newest_name).unwrap_or_else(|| self.protocol.newest_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guessed_version_has_the_name_of_its_own_number() {
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let name = |number| {
            let found = Catalog::embedded().find(number).unwrap();
            let mut context = Context::new(1, Timestamp::default(), client, found.protocol);
            (context.version, context.guess) = (Some(number), !found.exact);
            context.game_version().to_owned()
        };
        assert_eq!(
            [765, (1 << 30) + 344, 725].map(name),
            ["1.20.4", "26.4-snapshot-6", "1.16-pre3"]
        );
        assert_eq!(name(i32::MAX), "26.3");
    }
}
