//! The framed packets of a ping since 1.7. Handshake and status are the same in all versions, so
//! one protocol serves all of them.

use std::sync::Arc;

use super::PingError;
use mitmcraft_protocol::codec::{Decoder, Frame, Unit};
use mitmcraft_protocol::schema::{Catalog, Direction, EncodeError, Protocol, Role, State, Value};

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

/// Decodes the next packet, if it is complete: its role in this state, its name and its fields.
pub(super) fn next(
    decoder: &mut Decoder,
    state: State,
    direction: Direction,
) -> Result<Option<(Option<Role>, String, Value)>, PingError> {
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
    let value = protocol.decode(packet, &body, start)?;
    Ok(Some((packet.role(), packet.name().to_string(), value)))
}

/// Version whose tables are used; the handshake and the status are the same in all.
pub(super) const VERSION: i32 = 47;

fn protocol() -> Arc<Protocol> {
    let found = Catalog::embedded().find(VERSION);
    found.expect("the catalog has the version that is embedded").protocol
}
