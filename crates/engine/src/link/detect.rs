use std::sync::Arc;

use super::preamble::{Preamble, PreambleRead};
use mitmcraft_protocol::packet::foreign_protocol;
use mitmcraft_protocol::schema::{Catalog, LEGACY_PING_ID, Protocol};
use mitmcraft_protocol::wire::{Encoding, Reader, WireError};

/// The protocol that the first bytes of a client reveal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detected {
    /// Too few bytes to decide.
    Unsure,
    /// A framed handshake, as sent since 1.7.
    Handshake,
    /// A frame with the id of a handshake, whose fields do not fill it.
    Malformed,
    /// A Server List Ping from before 1.7. `FE` and `FE 01` may still turn out to be the start of a
    /// handshake of 254 bytes, and are [`Unsure`](Self::Unsure).
    LegacyPing,
    /// A session without frames, with text in this encoding: modified UTF-8 from Alpha to Beta 1.4, then
    /// UTF-16. Its login packet contains the version.
    Unframed(Encoding),
    /// The handshake of a session without frames that begins with the protocol number, as from 1.3 to 1.6.
    Release(u8),
    /// A login without a handshake, with a number that no version has.
    UnknownLogin(i32),
    /// Anything else.
    Other,
}

/// Distinguishes the generations as early as the bytes allow, so that a peer that speaks another
/// protocol is never kept waiting for bytes that it will not send.
///
/// A handshake is `length 00 version host port(2) next(1)`, and its length is just the sum, or more if a mod
/// has added fields. Any other frame with id 0 is a malformed one, once it is whole: no server waits for it, so
/// it is [`urgent`]. `FE 01 00` starts a handshake of 254 bytes, any other `FE` is a ping from before 1.7; `01`
/// and `02` start logins from before 1.7: no framed handshake is that short. PROXY headers are skipped.
pub(crate) fn detect(bytes: &[u8]) -> Detected {
    let bytes = behind_preambles(bytes);
    match bytes.first() {
        Some(0x01) => return login(bytes),
        Some(0x02) => return old_handshake(bytes),
        _ if begins_preamble(bytes) => return Detected::Unsure,
        _ => {}
    }
    match shape(bytes) {
        Ok(Shape::Handshake) => Detected::Handshake,
        Err(WireError::Incomplete { .. }) => Detected::Unsure,
        Ok(_) | Err(_) if bytes.first() == Some(&LEGACY_PING_ID) => Detected::LegacyPing,
        Ok(Shape::Frame { size }) if foreign_protocol(bytes).is_none() => {
            if bytes.len() < size {
                Detected::Unsure
            } else {
                Detected::Malformed
            }
        }
        Ok(Shape::Frame { .. } | Shape::Other) | Err(_) => Detected::Other,
    }
}

/// Returns how many of these undecided bytes the server must see at once. `FE` and `FE 01` are complete pings,
/// whose sender waits for the answer. What may become a PROXY header or a malformed handshake may be anything
/// else as well.
pub(crate) fn urgent(bytes: &[u8]) -> usize {
    match bytes {
        [LEGACY_PING_ID] => 1,
        [LEGACY_PING_ID, 0x01] => 2,
        // One byte may be the length of a handshake.
        [LEGACY_PING_ID, ..] | [] | [_] => 0,
        _ if begins_preamble(bytes) => bytes.len(),
        _ => match shape(bytes) {
            Ok(Shape::Frame { .. }) => bytes.len(),
            _ => 0,
        },
    }
}

/// Returns what follows the PROXY headers that `bytes` begin with.
pub(crate) fn behind_preambles(mut bytes: &[u8]) -> &[u8] {
    while let Ok(PreambleRead::Whole(preamble)) = Preamble::read(bytes) {
        bytes = &bytes[preamble.length..];
    }
    bytes
}

/// Returns whether a PROXY header begins, but does not end.
fn begins_preamble(bytes: &[u8]) -> bool {
    !bytes.is_empty() && matches!(Preamble::read(bytes), Ok(PreambleRead::Missing(_)))
}

/// Decides about bytes that are ambiguous when no more come before they are answered.
pub(crate) fn detect_last(bytes: &[u8]) -> Detected {
    match (detect(bytes), bytes.first()) {
        (Detected::Unsure, Some(&LEGACY_PING_ID)) => Detected::LegacyPing,
        (Detected::Unsure, _) => Detected::Other,
        (detected, _) => detected,
    }
}

/// Returns whether the first bytes of a client are the game's; `None` if they are too few to tell.
/// `last`: no more come before the server speaks.
#[must_use]
pub fn is_minecraft(bytes: &[u8], last: bool) -> Option<bool> {
    let detected = if last { detect_last(bytes) } else { detect(bytes) };
    match detected {
        Detected::Unsure => None,
        // Connections of other protocols, and recordings that begin in the middle, have such frames.
        Detected::Other | Detected::Malformed => Some(false),
        Detected::Handshake
        | Detected::LegacyPing
        | Detected::Unframed(_)
        | Detected::Release(_)
        | Detected::UnknownLogin(_) => Some(true),
    }
}

/// Returns the description for the packets before the login of a session without frames: they are the
/// same in all versions with that encoding of text.
pub(crate) fn any_unframed(catalog: &Catalog, text: Encoding) -> Arc<Protocol> {
    match text {
        Encoding::Utf16 => catalog.legacy(ANY_WIDE).protocol,
        _ => catalog.alpha(ANY_NARROW).protocol,
    }
}

/// What the first bytes of a frame make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A handshake.
    Handshake,
    /// A frame of this size with id 0, whose fields do not fill it.
    Frame { size: usize },
    /// No frame, or one with another id.
    Other,
}

fn shape(bytes: &[u8]) -> Result<Shape, WireError> {
    let mut reader = Reader::new(bytes);
    if reader.peek() == Some(LEGACY_PING_ID) && reader.rest().get(1).is_some_and(|next| *next != 1)
    {
        return Ok(Shape::Other);
    }
    let length = reader.varint()?.value;
    let start = reader.position();
    let size = match usize::try_from(length) {
        Ok(length) if (SHORTEST..=LONGEST).contains(&length) => start + length,
        _ => return Ok(Shape::Other),
    };
    if reader.u8()? != 0 {
        return Ok(Shape::Other);
    }
    let malformed = Shape::Frame { size };
    let host = match reader.varint().and_then(|_| reader.varint()) {
        Ok(host) => host.value,
        Err(error @ WireError::Incomplete { .. }) if bytes.len() < size => return Err(error),
        Err(_) => return Ok(malformed),
    };
    let left = size.checked_sub(reader.position() + PORT_AND_NEXT);
    let (Ok(host), Some(left)) = (usize::try_from(host), left) else { return Ok(malformed) };
    if host == left {
        return Ok(Shape::Handshake);
    }
    // A mod's fields may follow. Other protocols have no host there.
    if host == 0 || host > left {
        return Ok(malformed);
    }
    let first = reader.u8()?;
    Ok(if first.is_ascii_alphanumeric() || first == b'[' { Shape::Handshake } else { malformed })
}

/// Recognizes `01 version(4) ..`, a login without a handshake before it.
fn login(bytes: &[u8]) -> Detected {
    match *bytes {
        [_, first, ..] if first != 0 => Detected::Other,
        [_, _, second, ..] if second != 0 => Detected::Other,
        [_, a, b, c, d, ..] => match i32::from_be_bytes([a, b, c, d]) {
            FIRST_NARROW..=LAST_NARROW => Detected::Unframed(Encoding::ModifiedUtf8),
            FIRST_WIDE..=LAST_WIDE => Detected::Unframed(Encoding::Utf16),
            version => Detected::UnknownLogin(version),
        },
        _ => Detected::Unsure,
    }
}

/// Recognizes `02 length(2) name`; from 1.3 on `02 version(1) length(2) name host port(4)`. A name
/// is shorter than 256 characters, and no character of modified UTF-8 begins with a zero.
fn old_handshake(bytes: &[u8]) -> Detected {
    match *bytes {
        [_, 0, 0, ..] => Detected::Unframed(Encoding::ModifiedUtf8),
        [_, 0, _, 0, ..] => Detected::Unframed(Encoding::Utf16),
        [_, 0, _, _, ..] => Detected::Unframed(Encoding::ModifiedUtf8),
        [_, 0, ..] => Detected::Unsure,
        [_, version, 0, ..] => Detected::Release(version),
        [_, _, _, ..] => Detected::Other,
        _ => Detected::Unsure,
    }
}

/// The numbers from Alpha 1.0.17 to Beta 1.4, whose text is modified UTF-8.
const FIRST_NARROW: i32 = 1;
const LAST_NARROW: i32 = 10;

/// The numbers from Beta 1.5 to 1.2.5, whose text is UTF-16. Later versions log in with a handshake.
const FIRST_WIDE: i32 = 11;
const LAST_WIDE: i32 = 29;

/// The version of the Alpha protocol document.
const ANY_NARROW: i32 = 5;

/// Beta 1.7.3.
const ANY_WIDE: i32 = 14;

/// Length of the port and the next state, in bytes.
const PORT_AND_NEXT: usize = 3;

/// Length of the shortest malformed handshake: id and version, and a byte that may be the host's length.
/// RDP begins with the length 3.
const SHORTEST: usize = 4;

/// Length of the longest handshake: a session that has not been detected holds more.
const LONGEST: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    const NARROW: Detected = Detected::Unframed(Encoding::ModifiedUtf8);

    const WIDE: Detected = Detected::Unframed(Encoding::Utf16);

    const LOGIN: &[u8] = &hex!("0f 00 2f 09 6c6f63616c686f7374 63dd 02");

    #[test]
    fn knows_a_handshake_once_its_host_has_a_length() {
        assert_eq!(detect(LOGIN), Detected::Handshake);
        assert_eq!(detect(&LOGIN[..4]), Detected::Handshake);
        for length in 0..4 {
            assert_eq!(detect(&LOGIN[..length]), Detected::Unsure, "{length}");
        }
    }

    #[test]
    fn knows_a_handshake_without_a_host() {
        assert_eq!(detect(&hex!("06 00 2f 00 63dd 01")), Detected::Handshake);
    }

    #[test]
    fn knows_what_is_no_handshake_without_waiting() {
        for other in [
            &b"GE"[..],
            b"SSH-2.0",
            &hex!("16 03 01"),
            &hex!("02 48 54"),
            &hex!("01 47"),
            &hex!("01 00 7f"),
            &hex!("ffffffffff 01"),
            &hex!("ffff7f 00"),
            &hex!("00"),
            &hex!("03 00 00 13"),
            // RCON, and a PROXY header that is none.
            &hex!("0e000000 07000000 03000000 70617373 0000"),
            b"PROXX",
        ] {
            assert_eq!(detect(other), Detected::Other, "{other:02x?}");
        }
    }

    #[test]
    fn a_frame_with_the_id_of_a_handshake_is_a_malformed_one_once_it_is_whole() {
        for (frame, known_at) in [
            // The host's length is too short, too long, negative; as two bytes; there is no next state.
            (&hex!("0f 00 2f 0a 6c6f63616c686f7374 63dd 02")[..], 4),
            (&hex!("0f 00 2f ffffffff0f 6c6f636174 63dd 02"), 8),
            (&hex!("10 00 2f 0009 6c6f63616c686f7374 63dd 02"), 4),
            (&hex!("0e 00 2f 09 6c6f63616c686f7374 63dd"), 4),
            (&hex!("0b 00 ffffffffffff 63dd 63dd"), 7),
            (&hex!("04 00 2f 00 01"), 4),
        ] {
            for end in 1..frame.len() {
                assert_eq!(detect(&frame[..end]), Detected::Unsure, "{frame:02x?} {end}");
                let urgent = urgent(&frame[..end]);
                assert_eq!(urgent, if end < known_at { 0 } else { end }, "{frame:02x?} {end}");
            }
            assert_eq!(detect(frame), Detected::Malformed, "{frame:02x?}");
        }
    }

    #[test]
    fn fields_behind_those_of_a_handshake_are_part_of_it() {
        let frame = hex!("14 00 2f 09 6c6f63616c686f7374 63dd 02 04 6e656f66");
        assert_eq!(detect(&frame[..4]), Detected::Unsure);
        assert_eq!((detect(&frame[..5]), urgent(&frame[..5])), (Detected::Handshake, 0));
    }

    #[test]
    fn proxy_headers_are_skipped() {
        let line = b"PROXY TCP4 192.0.2.1 192.0.2.2 50000 25565\r\n";
        let binary = hex!("0d0a0d0a000d0a515549540a 21 11 000c c0000201 c0000202 c350 63dd");
        for header in [&line[..], &binary, &[&line[..], &binary].concat()] {
            for (behind, detected) in [
                (LOGIN, Detected::Handshake),
                (&hex!("02 4e 0005 0053")[..], Detected::Release(78)),
                (b"GE", Detected::Other),
                (b"", Detected::Unsure),
            ] {
                assert_eq!(detect(&[header, behind].concat()), detected, "{behind:02x?}");
            }
        }
        for header in [&line[..], &binary] {
            for end in 1..header.len() {
                assert_eq!(detect(&header[..end]), Detected::Unsure);
                assert_eq!(urgent(&header[..end]), if end > 1 { end } else { 0 });
            }
        }
    }

    #[test]
    fn tells_old_pings_from_a_handshake_of_254_bytes() {
        assert_eq!(detect(&hex!("fe")), Detected::Unsure);
        assert_eq!(detect(&hex!("fe fa")), Detected::LegacyPing);
        assert_eq!(detect(&hex!("fe 01")), Detected::Unsure);
        assert_eq!(detect(&hex!("fe 01 fa")), Detected::LegacyPing);
        assert_eq!(detect(&hex!("fe 01 00 2f")), Detected::Unsure);
        assert_eq!(detect(&hex!("fe 01 00 2f f7 01")), Detected::Handshake);
        assert_eq!(detect(&hex!("fe 01 00 2f f7 02")), Detected::LegacyPing);
        assert_eq!(urgent(&hex!("fe")), 1);
        assert_eq!(urgent(&hex!("fe 01")), 2);
        assert_eq!(urgent(&hex!("fe 01 00")), 0);
        assert_eq!(detect_last(&hex!("fe 01 00")), Detected::LegacyPing);
        assert_eq!(urgent(&hex!("0f 00")), 0);
    }

    #[test]
    fn tells_the_logins_from_before_1_7_apart() {
        for (bytes, detected) in [
            (&hex!("02 0005 53 74657665")[..], NARROW),
            (&hex!("02 0000"), NARROW),
            (&hex!("02 0005 00 53"), WIDE),
            (&hex!("02 4e 0005 0053"), Detected::Release(78)),
            (&hex!("01 00000001"), NARROW),
            (&hex!("01 0000000a 0005"), NARROW),
            (&hex!("01 0000000e"), WIDE),
            (&hex!("01 0000001e"), Detected::UnknownLogin(30)),
        ] {
            assert_eq!(detect(bytes), detected, "{bytes:02x?}");
            assert_eq!(detect(&bytes[..1]), Detected::Unsure);
            assert_eq!(detect(&bytes[..2]), Detected::Unsure);
        }
    }
}
