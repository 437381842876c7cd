use std::str::FromStr;

use mitmcraft::proxy::PreambleVersion;

/// Where the PROXY protocol is spoken: `in`, `out`, `out=v1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreambleSide {
    /// Clients begin with a header.
    In,
    /// Servers are sent one.
    Out(PreambleVersion),
}

impl PreambleSide {
    /// What is sent to servers, if anything.
    pub(crate) fn sent(sides: &[Self]) -> Option<PreambleVersion> {
        sides.iter().rev().find_map(|side| match side {
            Self::In => None,
            Self::Out(version) => Some(*version),
        })
    }
}

impl FromStr for PreambleSide {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=').unwrap_or((text, "")) {
            ("in", "") => Ok(Self::In),
            ("out", "") => Ok(Self::Out(PreambleVersion::default())),
            ("out", version) => Ok(Self::Out(version.parse()?)),
            _ => Err(format!("`{text}` is no side of it: want `in`, `out`, `out=v1` or `out=v2`")),
        }
    }
}
