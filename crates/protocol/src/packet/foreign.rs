/// Returns the name of another protocol that begins with these bytes, if it is one that clients send to a
/// server of the game by mistake, or that proxies send before the game's.
#[must_use]
pub fn foreign_protocol(bytes: &[u8]) -> Option<&'static str> {
    let begins = |start: &[u8]| bytes.starts_with(start);
    let http = |method: &&str| {
        bytes.strip_prefix(method.as_bytes()).is_some_and(|it| it.starts_with(b" "))
    };
    match bytes {
        _ if begins(b"HTTP/1.") || begins(b"PRI * HTTP/2") || METHODS.iter().any(http) => {
            Some("HTTP")
        }
        // A handshake record of any version (RFC 8446, section 5.1).
        [0x16, 0x03, 0x00..=0x04, ..] => Some("TLS"),
        _ if begins(b"SSH-") => Some("SSH"),
        _ if begins(b"PROXY ") => Some("a PROXY header (version 1)"),
        _ if begins(b"\r\n\r\n\0\r\nQUIT\n") => Some("a PROXY header (version 2)"),
        // A connection request (X.224) in a packet of ISO transport (RFC 2126).
        [0x03, 0x00, _, _, _, 0xe0, ..] => Some("RDP"),
        // Length, the client's number, the type of a login: ints in little-endian order.
        [low, high, 0, 0, _, _, _, _, 3, 0, 0, 0, ..]
            if u16::from_le_bytes([*low, *high]) >= SHORTEST_RCON =>
        {
            Some("RCON")
        }
        // RakNet's offline messages have this in their first bytes.
        _ if bytes.len() >= 17 && bytes[1..].windows(16).take(9).any(|it| it == RAKNET) => {
            Some("Minecraft: Bedrock Edition (RakNet)")
        }
        _ => None,
    }
}

/// Length that a message of RCON without text has: number, type, and two bytes of zero.
const SHORTEST_RCON: u16 = 10;

/// Methods of HTTP (RFC 9110, section 9).
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// The bytes by which RakNet recognizes its offline messages.
const RAKNET: [u8; 16] = [
    0x00, 0xff, 0xff, 0x00, 0xfe, 0xfe, 0xfe, 0xfe, 0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_known_by_their_first_bytes() {
        let ping = [&[1, 0, 0, 0, 0, 0, 0, 0, 9][..], &RAKNET, &[0; 8]].concat();
        for (bytes, name) in [
            (&b"GET / HTTP/1.1\r\n"[..], Some("HTTP")),
            (b"HTTP/1.1 204 No Content\r\n", Some("HTTP")),
            (b"\x16\x03\x01\x02\x00\x01", Some("TLS")),
            (b"SSH-2.0-OpenSSH_9.2\r\n", Some("SSH")),
            (&ping, Some("Minecraft: Bedrock Edition (RakNet)")),
            (b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08", Some("RDP")),
            (b"\x0e\0\0\0\x07\0\0\0\x03\0\0\0pass\0\0", Some("RCON")),
            (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", Some("a PROXY header (version 1)")),
            (b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", Some("a PROXY header (version 2)")),
            (b"\x05\x01\xff", None),
            (b"\x10\x00\x2f\x09localhost\x63\xdd\x02", None),
            (b"GETTING", None),
            (b"", None),
        ] {
            assert_eq!(foreign_protocol(bytes), name, "{bytes:02x?}");
        }
        let open = [&[5][..], &RAKNET, &[11]].concat();
        assert!(foreign_protocol(&open).is_some());
    }
}
