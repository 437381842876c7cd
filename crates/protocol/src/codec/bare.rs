use std::sync::Arc;

use super::CodecError;
use crate::schema::{DecodeCause, DecodeError, Direction, Family, Protocol, Release, Role, State};
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
        let end = self.protocol.measure(packet, bytes, start)?;
        let release = self.protocol.release();
        if packet.role() != Some(Role::JoinGame)
            || release.family() != Family::Legacy
            || release < Release::V1_3
        {
            return Ok(end);
        }
        self.login_end(bytes, end)
    }

    /// Returns the end of a login of 1.3 to 1.6 that would end at `end` in the game's layout. Between peers with
    /// Forge, the dimension is an int, not a byte.
    fn login_end(&self, bytes: &[u8], end: usize) -> Result<usize, DecodeError> {
        let Some((start, after)) = bytes.split_at_checked(end) else { return Ok(end) };
        let Some(&[dimension, second, height, _]) = start.last_chunk() else { return Ok(end) };
        let is_int = dimension == second && matches!(dimension, 0x00 | 0xff);
        if !is_int {
            return Ok(end);
        }
        // The game's layout has the difficulty after the dimension, then a height that is unused.
        if !is_difficulty(second) || !is_height(height) {
            return match after.len() < WIDER {
                true => Err(incomplete(bytes, end + WIDER)),
                false => Ok(end + WIDER),
            };
        }
        // A peaceful overworld, or an int. Behind the former, there is the id of a packet.
        match *after {
            [] => Ok(end),
            [difficulty, ..] if !is_difficulty(difficulty) => Ok(end),
            [_, height, ..] if !is_height(height) => Ok(end),
            [_] | [_, _] => Err(incomplete(bytes, end + WIDER)),
            [_, _, _] => Ok(end + WIDER),
            // No server begins with a keep-alive; the letters of a chat message begin with a zero.
            [_, _, _, id, ..] => {
                let packet = self.protocol.packet(self.state, self.direction, id.into());
                let begins = id != 0 && packet.is_some();
                Ok(if begins { end + WIDER } else { end })
            }
        }
    }
}

fn is_difficulty(byte: u8) -> bool {
    byte <= 3
}

/// Returns whether a byte may be the height of the world in a login, which servers since 1.3 do not use.
fn is_height(byte: u8) -> bool {
    matches!(byte, 0 | 128)
}

fn incomplete(bytes: &[u8], needed: usize) -> DecodeError {
    let needed = needed - bytes.len();
    DecodeError::new(bytes.len(), WireError::Incomplete { needed, left: 0 }.into())
}

/// The bytes by which the int of a dimension is longer than a byte.
const WIDER: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Catalog;

    /// A login with what stands in place of the dimension, and the other numbers behind it.
    fn login(dimension: &[u8], difficulty: u8) -> Vec<u8> {
        let start = [&[1, 0, 0, 0, 7, 0, 2, 0, b'a', 0, b'b', 1][..], dimension].concat();
        [&start[..], &[difficulty, 0, 20]].concat()
    }

    fn ends(version: i32, bytes: &[u8]) -> Vec<usize> {
        let protocol = Catalog::embedded().legacy(version).protocol;
        let mut bare = Bare::new(protocol, State::Play, Direction::Clientbound);
        let (mut ends, mut at) = (Vec::new(), 0);
        while let Ok(Some(end)) = bare.measure(&bytes[at..], 0, 1 << 20) {
            ends.push(end);
            at += end;
        }
        ends
    }

    #[test]
    fn the_dimension_of_a_login_between_peers_with_forge_is_an_int() {
        let spawn = [6, 0, 0, 0, 1, 0, 0, 0, 64, 0, 0, 0, 2];
        let alive = [0, 0, 0, 0, 99];
        let chat = [3, 0, 2, 0, b'h', 0, b'i'];
        for version in [39, 47, 51, 61, 74, 78] {
            for difficulty in 0..=3 {
                for dimension in [0_i32, 1, -1, 7, 100, 255, 1000, -100] {
                    let forge = login(&dimension.to_be_bytes(), difficulty);
                    let sent = [&forge[..], &spawn, &alive, &chat].concat();
                    let expected = [forge.len(), spawn.len(), alive.len(), chat.len()];
                    assert_eq!(
                        ends(version, &sent),
                        expected,
                        "{version} {dimension} {difficulty}"
                    );
                    assert_eq!(ends(version, &forge), [forge.len()], "{version} {dimension}");
                }
                for dimension in [0, 1, -1_i8] {
                    let plain = login(&dimension.to_be_bytes(), difficulty);
                    assert_eq!(ends(version, &plain), [plain.len()], "{version} {dimension}");
                    for next in [&spawn[..], &chat, &alive] {
                        let sent = [&plain[..], next, &spawn].concat();
                        let expected = [plain.len(), next.len(), spawn.len()];
                        assert_eq!(ends(version, &sent), expected, "{version} {dimension}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_int_in_a_login_is_an_unusual_form_of_the_dimension() {
        let protocol = Catalog::embedded().legacy(61).protocol;
        for (dimension, number) in [(&[0, 0, 0, 7][..], 7), (&[255; 4], -1), (&[1], 1)] {
            let body = login(dimension, 2);
            let (packet, start) =
                protocol.identify(State::Play, Direction::Clientbound, &body).unwrap();
            let value = protocol.decode(packet, &body, start).unwrap();
            assert_eq!(value.get("dimension").and_then(crate::schema::Value::as_int), Some(number));
            assert_eq!(protocol.encode(packet, &value).unwrap(), body);
        }
    }
}
