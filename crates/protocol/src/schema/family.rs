use super::by_name;

/// A group of protocols whose versions are numbered together: protocol 5 is 1.7.6 in the Java
/// family, and another protocol in Alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// The framed protocol of 1.7 and later.
    Java,
    /// The unframed protocol of Alpha 1.0.17 to 1.2.3.5, versions 1 to 6.
    Alpha,
    /// The unframed protocol of Beta 1.0 to 1.6.4, versions 7 to 78.
    Legacy,
    /// The Server List Ping before 1.7: one unframed message in each direction.
    LegacyPing,
    /// The Query protocol, over UDP.
    Query,
}

impl Family {
    /// All families. Captures refer to them by their position, so new ones are appended.
    pub const ALL: [Self; 5] =
        [Self::Java, Self::Alpha, Self::LegacyPing, Self::Query, Self::Legacy];

    /// Returns `java`, `alpha`, `legacy`, `legacy-ping` or `query`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::Alpha => "alpha",
            Self::Legacy => "legacy",
            Self::LegacyPing => "legacy-ping",
            Self::Query => "query",
        }
    }

    /// Returns whether sessions are a stream of packets without frames in one state, whose version the
    /// client's login tells.
    #[must_use]
    pub fn is_unframed_game(self) -> bool {
        matches!(self, Self::Alpha | Self::Legacy)
    }
}

by_name!(Family);
