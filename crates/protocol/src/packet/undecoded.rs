use super::RawReason;
use super::foreign::foreign_protocol;
use crate::codec::CodecError;
use crate::schema::DecodeError;

/// The reason why a packet has no decoded fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecoded {
    /// The packet is not a frame.
    #[error("{0}")]
    Raw(RawReason),
    /// The packet belongs to another protocol, of this name, and so does its connection.
    #[error("not Minecraft but {0}: relayed as it came")]
    Foreign(&'static str),
    /// The frame cannot be opened.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The body does not match its id.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl Undecoded {
    /// Returns why bytes are no packet.
    pub(super) fn of_raw(bytes: &[u8], reason: &RawReason) -> Self {
        match (reason, foreign_protocol(bytes)) {
            (RawReason::NotMinecraft, Some(name)) => Self::Foreign(name),
            _ => Self::Raw(reason.clone()),
        }
    }

    /// Returns the offset in the body at which decoding stopped.
    #[must_use]
    pub fn at(&self) -> usize {
        match self {
            Self::Decode(error) => error.at,
            Self::Raw(_) | Self::Foreign(_) | Self::Codec(_) => 0,
        }
    }
}
