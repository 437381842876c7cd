//! The framed packets of a ping since 1.7. Handshake and status are the same in all versions, so
//! one protocol serves all of them.

use std::sync::Arc;

use super::PingError;
use mitmcraft_protocol::codec::{Decoder, Frame, Unit};
use mitmcraft_protocol::schema::{
    Catalog, DecodeCause, DecodeError, Direction, EncodeError, Protocol, Role, State, Value,
};

/// Encodes a packet as a frame.
pub(super) fn frame(
    state: State,
    direction: Direction,
    role: Role,
    value: &Value,
) -> Result<Vec<u8>, EncodeError> {
    let protocol = protocol();
    let packet = protocol.role(state, direction, role).expect("the status has every role");
    let body = protocol.encode(packet, value)?;
    Ok(Frame::from_body(body.into()).wire().to_vec())
}

/// A packet of a ping.
#[derive(Debug)]
pub(super) struct Received {
    /// Its role in its state.
    pub(super) role: Option<Role>,
    pub(super) name: String,
    pub(super) value: Value,
    /// The number of bytes behind its last field.
    pub(super) left: usize,
}

/// Decodes the next packet, if it is complete.
pub(super) fn next(
    decoder: &mut Decoder,
    state: State,
    direction: Direction,
) -> Result<Option<Received>, PingError> {
    let frame = match decoder.poll() {
        None => return Ok(None),
        Some(Unit::Frame(frame)) => frame,
        Some(Unit::Piece { frame, .. }) => return Err(PingError::TooLong(frame)),
        Some(Unit::Opaque { bytes, reason }) => {
            return Err(match reason {
                Some(reason) => PingError::Codec(Arc::unwrap_or_clone(reason)),
                None => PingError::CutOff(bytes.len()),
            });
        }
    };
    let body = frame.body()?;
    let protocol = protocol();
    let (packet, start) = protocol.identify(state, direction, &body)?;
    let (value, left) = match protocol.decode(packet, &body, start) {
        // Mods append bytes of their own to the status.
        Err(DecodeError { at, cause: DecodeCause::Trailing(left), .. }) => {
            (protocol.decode(packet, &body[..at], start)?, left)
        }
        value => (value?, 0),
    };
    Ok(Some(Received { role: packet.role(), name: packet.name().to_string(), value, left }))
}

/// Version whose tables are used; the handshake and the status are the same in all.
pub(super) const VERSION: i32 = 47;

fn protocol() -> Arc<Protocol> {
    let found = Catalog::embedded().find(VERSION);
    found.expect("the catalog has the version that is embedded").protocol
}
