use crate::schema::{Direction, by_name};
use crate::wire::named;

named! {
    /// The maker of a packet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Origin {
        /// The client.
        Client => "client",
        /// The server.
        Server => "server",
        /// The proxy itself, or one of its rules.
        Proxy => "proxy",
    }

    /// All origins.
    pub const ALL;

    /// Returns `client`, `server` or `proxy`.
    pub fn name;
}

impl Origin {
    /// Returns the peer that sends packets of a direction.
    #[must_use]
    pub fn of(direction: Direction) -> Self {
        match direction {
            Direction::Clientbound => Self::Server,
            Direction::Serverbound => Self::Client,
        }
    }
}

by_name!(Origin);
