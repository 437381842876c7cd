//! The messages of a ping before 1.7, which nothing frames.

use super::{Form, PingError};
use crate::wire::{Encoding, Reader, WireError, Writer};

/// What a client sends, in the form that it has.
pub(super) fn request(form: Form, protocol: u8, host: &str, port: u16) -> Vec<u8> {
    let mut out = Writer::new();
    out.u8(PING);
    if form != Form::Beta {
        out.u8(1);
    }
    if form == Form::V1_6 {
        let host: Vec<u16> = host.encode_utf16().take(MAX_HOST).collect();
        out.u8(PLUGIN_MESSAGE);
        text(&mut out, &CHANNEL.encode_utf16().collect::<Vec<_>>());
        // Protocol, the host with its length, and the port; the host is limited above.
        out.u16(7 + 2 * host.len() as u16).u8(protocol);
        text(&mut out, &host);
        out.i32(port.into());
    }
    out.into_bytes()
}

/// The message that carries an answer's text. What is too long for it is cut.
pub(super) fn answer(answer: &str) -> Vec<u8> {
    let units: Vec<u16> = answer.encode_utf16().take(usize::from(u16::MAX)).collect();
    let mut out = Writer::new();
    out.u8(KICK);
    text(&mut out, &units);
    out.into_bytes()
}

/// The text of an answer, once all of it is there.
pub(super) fn read_answer(bytes: &[u8]) -> Result<String, PingError> {
    let mut reader = Reader::new(bytes);
    let id = reader.u8()?;
    if id != KICK {
        return Err(PingError::NoAnswer(id));
    }
    let units = usize::from(reader.u16()?);
    let text = reader.take(units * 2)?;
    Ok(Encoding::Utf16.decode_lossy(text).into_owned())
}

/// What a client that begins like this asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A form from before 1.7, whole.
    Form(Form),
    /// One that this could be all of; more bytes would make it a newer one.
    Perhaps(Form),
    /// Too little to be anything.
    Unsure,
    /// Nothing from before 1.7.
    Other,
}

/// Tells the forms apart by what follows the first byte.
pub(super) fn asked(bytes: &[u8]) -> Asked {
    match bytes {
        [] => Asked::Unsure,
        [PING] => Asked::Perhaps(Form::Beta),
        [PING, 1] => Asked::Perhaps(Form::V1_4),
        [PING, 1, PLUGIN_MESSAGE, rest @ ..] => match plugin_message(rest) {
            Ok(()) => Asked::Form(Form::V1_6),
            Err(_) => Asked::Perhaps(Form::V1_6),
        },
        // A frame of 254 bytes begins like this.
        [PING, 1, 0, ..] => Asked::Other,
        [PING, 1, ..] => Asked::Form(Form::V1_4),
        [PING, ..] => Asked::Form(Form::Beta),
        _ => Asked::Other,
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

fn text(out: &mut Writer, units: &[u16]) {
    // Its makers limit it.
    out.u16(units.len() as u16);
    for unit in units {
        out.u16(*unit);
    }
}

/// The id of the request.
const PING: u8 = 0xfe;

/// The id of the answer, which is that of a kick.
const KICK: u8 = 0xff;

/// The id of what 1.6 puts behind the ping of 1.4.
const PLUGIN_MESSAGE: u8 = 0xfa;

/// The channel of it.
const CHANNEL: &str = "MC|PingHost";

/// UTF-16 units of a host: a name has at most 253, and the length of all must fit 16 bits.
const MAX_HOST: usize = 1024;
