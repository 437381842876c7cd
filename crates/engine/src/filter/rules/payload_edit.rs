//! Changes to the payload of a plugin channel, in the bytes that its packet carries.

use super::edit::{self, Change, Form};
use super::edit_path::EditPath;
use mitmcraft_protocol::schema::{PacketType, Payload, Protocol, Value};

/// Makes all changes to the payload in `body`, whose fields begin at offset `start`, and returns the new
/// body. The paths of the changes begin in the payload.
///
/// The payload has to fit the same layout again, or the change is an error.
pub(super) fn rewrite(
    protocol: &Protocol,
    packet: &PacketType,
    (body, start): (&[u8], usize),
    edits: &[&Change],
) -> Result<Vec<u8>, String> {
    let Some(Payload { layout, bytes, .. }) = protocol.payload(packet, body, start) else {
        return Err("`payload`: its channel has no layout that fits".to_owned());
    };
    let decoded = protocol.decode(layout, &body[..bytes.end], bytes.start);
    let value = decoded.map_err(|error| error.to_string())?;
    let data = edit::rewrite(protocol, layout, value, edits, Form::Payload)
        .map_err(|why| format!("`payload` of `{}`: {why}", layout.name()))?;
    let whole = protocol.decode(packet, body, start).map_err(|error| error.to_string())?;
    let change = (EditPath::data(), Some(Value::Bytes(data.into())));
    let body = edit::rewrite(protocol, packet, whole, &[&change], Form::Packet)?;
    let again = protocol.payload(packet, &body, start);
    if again.is_none_or(|again| !std::ptr::eq(again.layout, layout)) {
        let channel = layout.name();
        return Err(format!("`payload` of `{channel}` would not be read as such any more"));
    }
    Ok(body)
}
