use std::fmt;
use std::sync::Arc;

use crate::codec::CodecError;

/// The reason why bytes are recorded without a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawReason {
    /// The connection is not Minecraft's, or of an unknown generation.
    NotMinecraft,
    /// The direction cannot be decoded from here on, for this reason.
    Opaque(String),
    /// A part of a frame above the size limit.
    Oversize {
        /// The length in bytes that the prefix declares.
        frame: usize,
        /// The number of bytes that follow this part.
        left: usize,
    },
    /// The connection ended within a frame.
    CutOff,
    /// A rule sent these bytes without a frame around them.
    Injected,
}

impl RawReason {
    /// Returns whether the stream that cannot be decoded any more is at fault: not a lack of a key, a gap in a
    /// recording, or a limit.
    #[must_use]
    pub fn is_fault_of_stream(&self) -> bool {
        matches!(self, Self::Opaque(why) if CodecError::is_fault_of_stream(why))
    }

    /// Returns the reason for bytes in which no packets are found, after `fault` if there was one.
    #[must_use]
    pub fn unreadable(fault: Option<Arc<CodecError>>) -> Self {
        fault.map_or(Self::NotMinecraft, |fault| Self::Opaque(fault.to_string()))
    }
}

impl fmt::Display for RawReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMinecraft => f.write_str("not Minecraft: relayed as it came"),
            Self::Opaque(why) => write!(f, "no longer understood: {why}"),
            Self::Oversize { frame, left } => {
                write!(f, "part of a frame of {frame} bytes, beyond the limit; {left} to come")
            }
            Self::CutOff => f.write_str("connection ended within a frame"),
            Self::Injected => f.write_str("sent by a rule, without a frame"),
        }
    }
}
