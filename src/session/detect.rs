use crate::wire::{Reader, WireError};

/// What the first bytes of a client say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detected {
    /// Too few to tell.
    Unsure,
    /// A framed handshake, as since 1.7.
    Handshake,
    /// Something else.
    Other,
}

/// Tells a framed handshake from everything else as early as the bytes allow, so that a peer that
/// speaks another protocol is never kept waiting for bytes that it will not send.
///
/// A handshake is `length 00 version host port(2) next(1)`, and its length must be just the sum.
/// `FE 01 00` begins one of 254 bytes, any other `FE` is a ping from before 1.7; `01` and `02` begin
/// logins from before 1.7: no framed handshake is that short.
pub(super) fn detect(bytes: &[u8]) -> Detected {
    let mut reader = Reader::new(bytes);
    match handshake(&mut reader) {
        Ok(true) => Detected::Handshake,
        // A lone `FE` is a whole ping: its server must see it now.
        Err(WireError::Incomplete { .. }) if bytes != [0xfe] => Detected::Unsure,
        Ok(false) | Err(_) => Detected::Other,
    }
}

fn handshake(reader: &mut Reader<'_>) -> Result<bool, WireError> {
    if reader.peek() == Some(0xfe) && reader.rest().get(1).is_some_and(|next| *next != 1) {
        return Ok(false);
    }
    let length = reader.varint()?.value;
    if length < SHORTEST {
        return Ok(false);
    }
    let start = reader.position();
    if reader.u8()? != 0 {
        return Ok(false);
    }
    reader.varint()?;
    let host = reader.varint()?.value;
    let before_host = reader.position() - start;
    let sum = i64::try_from(before_host).unwrap_or(i64::MAX) + i64::from(host) + PORT_AND_NEXT;
    Ok(host >= 0 && sum == i64::from(length))
}

/// Bytes of the port and the next state.
const PORT_AND_NEXT: i64 = 3;

/// Id, version, an empty host, port and next state.
const SHORTEST: i32 = 6;

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

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
    fn knows_what_is_no_handshake_without_waiting() {
        for other in [
            &b"GE"[..],
            b"SSH-2.0",
            &hex!("16 03 01"),
            &hex!("02 00 05"),
            &hex!("01 00"),
            &hex!("0f 00 2f 0a"),
            &hex!("0f 00 2f ffffffff0f"),
            &hex!("ffffffffff 01"),
            &hex!("00"),
        ] {
            assert_eq!(detect(other), Detected::Other, "{other:02x?}");
        }
    }

    #[test]
    fn tells_old_pings_from_a_handshake_of_254_bytes() {
        assert_eq!(detect(&hex!("fe")), Detected::Other);
        assert_eq!(detect(&hex!("fe fa")), Detected::Other);
        assert_eq!(detect(&hex!("fe 01")), Detected::Unsure);
        assert_eq!(detect(&hex!("fe 01 fa")), Detected::Other);
        assert_eq!(detect(&hex!("fe 01 00 2f f7 01")), Detected::Handshake);
    }
}
