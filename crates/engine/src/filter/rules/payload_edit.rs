//! Changes to the payload of a plugin channel, in the bytes that its packet carries, and to the parts of a
//! handshake's host.

use super::EditError;
use super::edit::{self, Change, Form};
use super::edit_path::EditPath;
use mitmcraft_protocol::schema::{PacketType, Payload, Protocol, Role, Value};

/// Makes all changes to the payload in `body`, whose fields begin at offset `start`, and returns the new
/// body. The paths of the changes begin in the payload.
///
/// The payload has to fit the same layout again, or the change is an error.
pub(super) fn rewrite(
    protocol: &Protocol,
    packet: &PacketType,
    (body, start): (&[u8], usize),
    edits: &[&Change],
) -> Result<Vec<u8>, EditError> {
    let Some(Payload { layout, bytes, .. }) = protocol.payload(packet, body, start) else {
        return Err(EditError::NoLayout);
    };
    let value = protocol.decode(layout, &body[..bytes.end], bytes.start)?;
    let channel = || layout.name().clone();
    let data = edit::rewrite(protocol, layout, value, edits, Form::Payload)
        .map_err(|why| EditError::Payload { channel: channel(), cause: Box::new(why) })?;
    let whole = protocol.decode(packet, body, start)?;
    let change = match packet.role() {
        Some(Role::Handshake) => {
            // The layout has nothing but texts.
            (EditPath::field("serverHost"), Value::from(&*String::from_utf8_lossy(&data)))
        }
        _ => (EditPath::field("data"), Value::Bytes(data.into())),
    };
    let change = (change.0, Some(change.1));
    let body = edit::rewrite(protocol, packet, whole, &[&change], Form::Packet)?;
    let again = protocol.payload(packet, &body, start);
    if again.is_none_or(|again| !std::ptr::eq(again.layout, layout)) {
        return Err(EditError::PayloadLost(channel()));
    }
    Ok(body)
}
