use std::fmt;

/// A generation of the Server List Ping, named after the version that introduced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Form {
    /// Since 1.7: framed packets, a status in JSON, and a ping for the latency.
    #[default]
    V1_7,
    /// 1.6: `FE 01 FA` and the requested host.
    V1_6,
    /// 1.4 and 1.5: `FE 01`.
    V1_4,
    /// Beta 1.8 to 1.3: `FE`.
    Beta,
}

impl Form {
    /// All forms, newest first: the order in which a server of unknown version is tried.
    pub const ALL: [Self; 4] = [Self::V1_7, Self::V1_6, Self::V1_4, Self::Beta];

    /// Returns `1.7`, `1.6`, `1.4` or `beta`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V1_7 => "1.7",
            Self::V1_6 => "1.6",
            Self::V1_4 => "1.4",
            Self::Beta => "beta",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
