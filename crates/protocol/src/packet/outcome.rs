use crate::schema::by_name;
use crate::wire::named;

named! {
    /// The fate of a packet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Outcome {
        /// Forwarded unchanged.
        Pass => "pass",
        /// Not forwarded.
        Drop => "drop",
        /// Not forwarded: the packet recorded next went in its place.
        Rewrite => "rewrite",
        /// Made and sent by the proxy.
        Send => "send",
    }

    /// All outcomes.
    pub const ALL;

    /// Returns the outcome's name in captures: `pass`, `drop`, `rewrite` or `send`.
    pub fn name;
}

impl Outcome {
    /// Returns whether the packet was received from a peer.
    #[must_use]
    pub fn came(self) -> bool {
        self != Self::Send
    }

    /// Returns whether the packet was sent on to the other peer.
    #[must_use]
    pub fn went(self) -> bool {
        matches!(self, Self::Pass | Self::Send)
    }
}

by_name!(Outcome);
