use std::str::FromStr;

use mitmcraft_engine::link::PreambleVersion;

/// A connection on which the PROXY protocol is used: `in`, `out`, `out=v1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreambleSide {
    /// Clients send a header.
    In,
    /// Servers are sent a header.
    Out(PreambleVersion),
}

impl PreambleSide {
    /// Returns the version of the header sent to servers, if any.
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
            ("out", "v1") => Ok(Self::Out(PreambleVersion::V1)),
            ("out", "v2") => Ok(Self::Out(PreambleVersion::V2)),
            _ => Err(format!("invalid side `{text}`: expected `in`, `out`, `out=v1` or `out=v2`")),
        }
    }
}
