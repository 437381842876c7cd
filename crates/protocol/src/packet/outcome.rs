use crate::schema::by_name;

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Forwarded unchanged.
    Pass,
    /// Not forwarded.
    Drop,
    /// Not forwarded: the packet recorded next went in its place.
    Rewrite,
    /// Made and sent by the proxy.
    Send,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 4] = [Self::Pass, Self::Drop, Self::Rewrite, Self::Send];

    /// Returns the outcome's name in captures: `pass`, `drop`, `rewrite` or `send`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Drop => "drop",
            Self::Rewrite => "rewrite",
            Self::Send => "send",
        }
    }

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
