/// Returns the name of another protocol that begins with these bytes, if it is one that clients send to a
/// server of the game by mistake.
pub(super) fn foreign_protocol(bytes: &[u8]) -> Option<&'static str> {
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
        // RakNet's offline messages have this in their first bytes.
        _ if bytes.len() >= 17 && bytes[1..].windows(16).take(9).any(|it| it == RAKNET) => {
            Some("Minecraft: Bedrock Edition (RakNet)")
        }
        _ => None,
    }
}

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
            (b"\x05\x01\xff", None),
            (b"GETTING", None),
            (b"", None),
        ] {
            assert_eq!(foreign_protocol(bytes), name, "{bytes:02x?}");
        }
        let open = [&[5][..], &RAKNET, &[11]].concat();
        assert!(foreign_protocol(&open).is_some());
    }
}
