//! The unframed messages of a ping before 1.7.

use std::sync::Arc;

use super::{Form, PingError};
use mitmcraft_protocol::schema::{
    Catalog, DecodeCause, Direction, EncodeError, LEGACY_PING_ID, Protocol, State, Value,
};
use mitmcraft_protocol::wire::{Reader, WireError};

/// Encodes the client's request in one form.
pub(super) fn request(
    form: Form,
    version: u8,
    host: &str,
    port: u16,
) -> Result<Vec<u8>, EncodeError> {
    let mut fields = Vec::new();
    if form != Form::Beta {
        fields.push(("payload", Value::Int(1)));
    }
    if form == Form::V1_6 {
        let host: Vec<u16> = host.encode_utf16().take(MAX_HOST).collect();
        fields.extend([
            ("pluginId", Value::Int(PLUGIN_MESSAGE.into())),
            ("channel", Value::from(CHANNEL)),
            ("protocolVersion", Value::Int(version.into())),
            ("serverHost", Value::from(String::from_utf16_lossy(&host).as_str())),
            ("serverPort", Value::Int(port.into())),
        ]);
    }
    encode(Direction::Serverbound, "legacy_server_list_ping", &Value::map(fields))
}

/// Encodes the message that carries a response text, truncating a text that is too long.
pub(super) fn answer(text: &str) -> Result<Vec<u8>, EncodeError> {
    let units: Vec<u16> = text.encode_utf16().take(usize::from(u16::MAX)).collect();
    let text = Value::from(String::from_utf16_lossy(&units).as_str());
    encode(Direction::Clientbound, "kick_disconnect", &Value::map([("reason", text)]))
}

/// Returns the text of a response, or `None` if it is incomplete. Bytes after the response are
/// ignored.
pub(super) fn read_answer(bytes: &[u8]) -> Result<Option<String>, PingError> {
    let Some(id) = bytes.first() else { return Ok(None) };
    let protocol = protocol();
    let Ok((packet, start)) = protocol.identify(State::Status, Direction::Clientbound, bytes)
    else {
        return Err(PingError::NoAnswer(*id));
    };
    let end = match protocol.measure(packet, bytes, start) {
        Ok(end) => end,
        Err(error) => {
            return match &error.cause {
                DecodeCause::Wire(wire) if wire.is_incomplete() => Ok(None),
                _ => Err(error.into()),
            };
        }
    };
    let value = protocol.decode(packet, &bytes[..end], start)?;
    Ok(Some(value.get("reason").and_then(Value::as_text).unwrap_or("").to_owned()))
}

/// Returns the fields of a response text, or `None` if it is not a status.
pub(super) fn parts(answer: &str) -> Option<Value> {
    let body = self::answer(answer).ok()?;
    let protocol = protocol();
    let identified = protocol.identify(State::Status, Direction::Clientbound, &body).ok()?;
    let value = protocol.decode(identified.0, &body, identified.1).ok()?;
    value.get("motd").is_some().then_some(value)
}

fn encode(direction: Direction, name: &str, value: &Value) -> Result<Vec<u8>, EncodeError> {
    let protocol = protocol();
    let packet = protocol.named(State::Status, direction, name);
    protocol.encode(packet.expect("both messages are described"), value)
}

fn protocol() -> Arc<Protocol> {
    Catalog::embedded().legacy_ping()
}

/// The form of a request, judged by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestForm {
    /// A complete request of a form before 1.7.
    Form(Form),
    /// A complete request, unless more bytes make it a newer form.
    Perhaps(Form),
    /// Too few bytes to tell.
    Unsure,
    /// Not a request of a form before 1.7.
    Other,
}

/// Determines the form of a request by the bytes after the first.
pub(super) fn request_form(bytes: &[u8]) -> RequestForm {
    match bytes {
        [] => RequestForm::Unsure,
        [LEGACY_PING_ID] => RequestForm::Perhaps(Form::Beta),
        [LEGACY_PING_ID, 1] => RequestForm::Perhaps(Form::V1_4),
        [LEGACY_PING_ID, 1, PLUGIN_MESSAGE, rest @ ..] => match plugin_message(rest) {
            Ok(()) => RequestForm::Form(Form::V1_6),
            Err(_) => RequestForm::Perhaps(Form::V1_6),
        },
        // The start of a frame of 254 bytes.
        [LEGACY_PING_ID, 1, 0, ..] => RequestForm::Other,
        [LEGACY_PING_ID, 1, ..] => RequestForm::Form(Form::V1_4),
        [LEGACY_PING_ID, ..] => RequestForm::Form(Form::Beta),
        _ => RequestForm::Other,
    }
}

fn plugin_message(bytes: &[u8]) -> Result<(), WireError> {
    let mut reader = Reader::new(bytes);
    let channel = reader.u16()?;
    reader.take(usize::from(channel) * 2)?;
    let length = reader.u16()?;
    reader.take(length.into())?;
    Ok(())
}

/// Packet id of the plugin message that 1.6 appends to the ping of 1.4.
const PLUGIN_MESSAGE: u8 = 0xfa;

/// Channel of that plugin message.
const CHANNEL: &str = "MC|PingHost";

/// Longest host in UTF-16 units: a host name has at most 253, and the length of the whole message
/// must fit into 16 bits.
const MAX_HOST: usize = 1024;
