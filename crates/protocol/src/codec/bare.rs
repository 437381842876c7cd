use std::sync::Arc;

use super::CodecError;
use crate::schema::{DecodeCause, DecodeError, Direction, Protocol, State};
use crate::wire::WireError;

/// Finds packet boundaries in an unframed stream by measuring each packet against its schema.
#[derive(Debug, Clone)]
pub struct Bare {
    protocol: Arc<Protocol>,
    state: State,
    direction: Direction,
    /// Bytes that the packet at the front has at least, as found by the last measurement; 1 if it
    /// was not measured yet. Fewer bytes are not measured.
    needed: usize,
}

impl Bare {
    /// Creates a measurer for the packets of one state and direction of `protocol`.
    #[must_use]
    pub fn new(protocol: Arc<Protocol>, state: State, direction: Direction) -> Self {
        Self { protocol, state, direction, needed: 1 }
    }

    /// Returns the length of the packet at the front of `bytes`, or `None` if more bytes are
    /// needed. `at` is the offset of `bytes` in the stream, `limit` the longest packet that may be
    /// buffered.
    ///
    /// A packet is measured again only once the bytes that the last attempt asked for have arrived,
    /// so that one received byte by byte is not measured for each byte.
    pub(super) fn measure(
        &mut self,
        bytes: &[u8],
        at: u64,
        limit: usize,
    ) -> Result<Option<usize>, CodecError> {
        if bytes.len() < self.needed {
            return Ok(None);
        }
        let error = match self.end(bytes) {
            // Too long even if all of it is here: how the stream is cut must make no difference.
            Ok(needed) if needed > limit => {
                return Err(CodecError::BareLimit { needed, limit, at });
            }
            Ok(end) => {
                self.needed = 1;
                return Ok(Some(end));
            }
            Err(error) => error,
        };
        match error.cause {
            DecodeCause::Wire(WireError::Incomplete { needed, left }) => {
                self.needed = (bytes.len() - left).saturating_add(needed);
                if self.needed > limit {
                    return Err(CodecError::BareLimit { needed: self.needed, limit, at });
                }
                Ok(None)
            }
            DecodeCause::UnknownId { id, .. } => Err(CodecError::UnknownPacket { id, at }),
            _ => {
                let end = at.saturating_add(u64::try_from(error.at).unwrap_or(u64::MAX));
                Err(CodecError::Unmeasured { at: end, error: Box::new(error) })
            }
        }
    }

    /// Returns a lower bound of the length of the unfinished packet.
    pub(super) fn needed(&self) -> usize {
        self.needed
    }

    fn end(&self, bytes: &[u8]) -> Result<usize, DecodeError> {
        let (packet, start) = self.protocol.identify(self.state, self.direction, bytes)?;
        self.protocol.measure(packet, bytes, start)
    }
}
