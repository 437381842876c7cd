use std::fmt;
use std::str::FromStr;

use super::UnknownName;

/// The protocols that count their versions together: 5 means one thing in 1.7 and another in Alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// 1.7 and later: framed.
    Java,
    /// Alpha 1.0.17 to 1.2.3.5, versions 1 to 6: no frames.
    Alpha,
    /// Server List Ping before 1.7: one message each way.
    LegacyPing,
    /// The Query protocol, over UDP.
    Query,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Java, Self::Alpha, Self::LegacyPing, Self::Query];

    /// `java`, `alpha`, `legacy-ping` or `query`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::Alpha => "alpha",
            Self::LegacyPing => "legacy-ping",
            Self::Query => "query",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Family {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| UnknownName(text.into()))
    }
}
