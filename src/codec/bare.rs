use std::sync::Arc;

use super::CodecError;
use crate::schema::{DecodeCause, Direction, Protocol, State};
use crate::wire::WireError;

/// Finds where packets end that nothing delimits: what they consist of tells.
#[derive(Debug, Clone)]
pub struct Bare {
    protocol: Arc<Protocol>,
    state: State,
    direction: Direction,
    /// Bytes of the packet that must be there before it is worth a look; found by the last one.
    needed: usize,
}

impl Bare {
    /// Measures the packets of that state and direction.
    #[must_use]
    pub fn new(protocol: Arc<Protocol>, state: State, direction: Direction) -> Self {
        Self { protocol, state, direction, needed: 1 }
    }

    /// Bytes of the packet at the front of `bytes`, or None when more must come. Looks only when
    /// what the last look has asked for is there, so that a packet that comes byte by byte is not
    /// measured with each. `at`: where in the stream `bytes` begins.
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
            Ok(end) => {
                self.needed = 1;
                return Ok(Some(end));
            }
            Err(error) => error,
        };
        match error.cause {
            DecodeCause::Wire(WireError::Incomplete { needed, left }) => {
                self.needed = (bytes.len() - left).saturating_add(needed);
                match self.needed > limit {
                    true => Err(CodecError::BareLimit { needed: self.needed, limit, at }),
                    false => Ok(None),
                }
            }
            DecodeCause::UnknownId { id, .. } => Err(CodecError::UnknownPacket { id, at }),
            _ => {
                let end = at.saturating_add(u64::try_from(error.at).unwrap_or(u64::MAX));
                Err(CodecError::Unmeasured { at: end, cause: error.to_string() })
            }
        }
    }

    /// Bytes that the unfinished packet has at least.
    pub(super) fn needed(&self) -> usize {
        self.needed
    }

    fn end(&self, bytes: &[u8]) -> Result<usize, crate::schema::DecodeError> {
        let (packet, start) = self.protocol.identify(self.state, self.direction, bytes)?;
        self.protocol.measure(packet, bytes, start)
    }
}
