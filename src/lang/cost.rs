/// What it takes to find something out, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cost {
    /// What is at hand for every packet.
    Nothing,
    /// Which packet it is: may inflate a few bytes.
    Packet,
    /// Some of the body.
    Body,
    /// Some of the body, and a search in it.
    Search,
    /// A decode of everything.
    Everything,
}

impl Cost {
    /// With something to do that depends on how long the value is.
    pub(super) fn with_work(self) -> Self {
        if self == Self::Body { Self::Search } else { self }
    }
}
