use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::{PreambleError, v1, v2};

/// A PROXY header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preamble {
    /// The addresses in the header; `None` if it has none (`UNKNOWN`, `LOCAL`): those of the
    /// connection itself apply.
    pub addresses: Option<Addresses>,
    /// The version of the header.
    pub version: PreambleVersion,
    /// Length of the header in bytes.
    pub length: usize,
}

/// Result of [`Preamble::read`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreambleRead {
    /// The header is complete.
    Whole(Preamble),
    /// At least this many bytes of the header are missing. Reading no more than these consumes nothing
    /// that follows the header.
    Missing(usize),
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The address of the client.
    pub source: SocketAddr,
    /// The address that the client connected to.
    pub destination: SocketAddr,
}

impl Preamble {
    /// Reads the header of either version that `bytes` begin with.
    ///
    /// # Errors
    /// [`PreambleError`] as soon as the bytes cannot be a header.
    pub fn read(bytes: &[u8]) -> Result<PreambleRead, PreambleError> {
        match bytes.first() {
            None => Ok(PreambleRead::Missing(1)),
            Some(b'P') => v1::read(bytes),
            Some(_) => v2::read(bytes),
        }
    }
}

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PreambleVersion {
    /// A line of text.
    V1,
    /// Binary.
    #[default]
    V2,
}

impl fmt::Display for PreambleVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "version 1",
            Self::V2 => "version 2",
        })
    }
}

impl PreambleVersion {
    /// Returns the header for a connection between two addresses. If their families differ, the
    /// IPv4 address is mapped to IPv6.
    #[must_use]
    pub fn write(self, addresses: Addresses) -> Vec<u8> {
        let addresses = addresses.of_one_family();
        match self {
            Self::V1 => v1::write(addresses),
            Self::V2 => v2::write(addresses),
        }
    }
}

impl Addresses {
    /// Maps an IPv4 address to IPv6 if the other address is IPv6: a header has one address family.
    fn of_one_family(self) -> Self {
        if self.source.is_ipv4() == self.destination.is_ipv4() {
            return self;
        }
        let mapped = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => (ip.to_ipv6_mapped(), address.port()).into(),
            IpAddr::V6(_) => address,
        };
        Self { source: mapped(self.source), destination: mapped(self.destination) }
    }
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::super::error::Excerpt;
    use super::*;

    /// A header with the source and the destination that it names.
    type Example = (Vec<u8>, Option<(&'static str, &'static str)>);

    /// Examples of section 2.1, and real bytes of version 2, as HAProxy and AWS send them.
    fn headers() -> Vec<Example> {
        let v4 = ("192.168.0.1:56324", "192.168.0.11:443");
        let v6 = ("[2001:db8::1]:4124", "[2001:db8::2]:25565");
        let most = "PROXY TCP6 ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";
        let most = most.replace("ffff:f...f:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        let all = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
        let unknown = "PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";
        let unknown = unknown.replace("ffff:f...f:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        assert_eq!((most.len(), unknown.len()), (104, 107));
        vec![
            (b"PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n".to_vec(), Some(v4)),
            (b"PROXY TCP6 2001:db8::1 2001:db8::2 4124 25565\r\n".to_vec(), Some(v6)),
            (most.into_bytes(), Some((all, all))),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (unknown.into_bytes(), None),
            (
                hex!("0d0a0d0a000d0a515549540a 21 11 000c c0a80001 c0a8000b dc04 01bb").to_vec(),
                Some(v4),
            ),
            (
                hex!(
                    "0d0a0d0a000d0a515549540a 21 21 0024
                      20010db8000000000000000000000001 20010db8000000000000000000000002 101c 63dd"
                )
                .to_vec(),
                Some(v6),
            ),
            // With the TLVs PP2_TYPE_CRC32C, PP2_TYPE_AUTHORITY and one of AWS (0xea).
            (
                hex!(
                    "0d0a0d0a000d0a515549540a 21 11 002f c0a80001 c0a8000b dc04 01bb
                      03 0004 fd16ee60 02 0009 6c6f63616c686f7374
                      ea 000d 01 767063653031323334353637"
                )
                .to_vec(),
                Some(v4),
            ),
            // LOCAL: a health check, with and without addresses.
            (hex!("0d0a0d0a000d0a515549540a 20 00 0000").to_vec(), None),
            (
                hex!("0d0a0d0a000d0a515549540a 20 11 000c 00000000 00000000 0000 0000").to_vec(),
                None,
            ),
            // AF_UNSPEC, and TCP over UNIX sockets.
            (hex!("0d0a0d0a000d0a515549540a 21 00 0003 040000").to_vec(), None),
            ([&hex!("0d0a0d0a000d0a515549540a 21 31 00d8")[..], &[0x2f; 216]].concat(), None),
        ]
    }

    #[test]
    fn reads_the_headers_of_the_specification_however_they_are_cut() {
        for (header, expected) in headers() {
            let stream = [&header[..], b"\x10\x00\x2f\x09PROXY"].concat();
            for size in [1, 7, usize::MAX] {
                let mut end = 0_usize;
                let read = loop {
                    end = end.saturating_add(size).min(stream.len());
                    if let PreambleRead::Whole(read) = Preamble::read(&stream[..end]).unwrap() {
                        break read;
                    }
                };
                assert_eq!(read.length, header.len(), "{header:?}");
                let expected = expected.map(|(source, destination)| Addresses {
                    source: source.parse().unwrap(),
                    destination: destination.parse().unwrap(),
                });
                assert_eq!(read.addresses, expected, "{header:?}");
            }
        }
    }

    #[test]
    fn no_header_is_whole_before_its_last_byte() {
        for (header, _) in headers() {
            for end in 0..header.len() {
                let Ok(PreambleRead::Missing(count)) = Preamble::read(&header[..end]) else {
                    panic!("{end} of {header:?}")
                };
                assert!(
                    (1..=header.len() - end).contains(&count),
                    "{count} at {end} of {header:?}"
                );
            }
        }
    }

    #[test]
    fn refuses_what_is_no_header_as_soon_as_that_is_clear() {
        let signature = hex!("0d0a0d0a000d0a515549540a");
        let v2 = |rest: &[u8]| [&signature[..], rest].concat();
        for (bytes, said) in [
            (hex!("10 00 2f 09").to_vec(), "it begins with `\\x10\\x00/\\t`"),
            (b"PRIXY".to_vec(), "it begins with `PRIXY`"),
            (b"\r\n\r\n\0\r\nX".to_vec(), "it begins with `\\r\\n\\r\\n\\x00\\r\\nX`"),
            (b"PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n".to_vec(), "unknown address family in version 1"),
            (b"PROXY TCP4 1.2.3.4 ::1 1 2\r\n".to_vec(), "invalid address in version 1"),
            (b"PROXY TCP4 01.2.3.4 1.2.3.4 1 2\r\n".to_vec(), "invalid address in version 1"),
            (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n".to_vec(), "invalid port in version 1"),
            (b"PROXY TCP4 1.2.3.4 1.2.3.4 +1 2\r\n".to_vec(), "invalid port in version 1"),
            (b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n".to_vec(), "invalid port in version 1"),
            (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n".to_vec(), "more than two ports in version 1"),
            (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n".to_vec(), "ends without a carriage return"),
            (b"PROXY \xff\r\n".to_vec(), "not text"),
            ([&b"PROXY UNKNOWN "[..], &[b'x'; 100]].concat(), "more than 107 bytes"),
            (v2(&hex!("11 11 000c")), "unknown version and command 0x11"),
            (v2(&hex!("22 11 000c")), "version and command 0x22"),
            (v2(&hex!("21 41 000c")), "family and transport 0x41"),
            (v2(&hex!("21 13 000c")), "family and transport 0x13"),
            (v2(&hex!("21 11 000b")), "11 bytes of addresses, but the address family needs 12"),
            (v2(&hex!("21 21 0023")), "35 bytes of addresses, but the address family needs 36"),
            (v2(&hex!("21 11 ffff")), "65535 bytes of addresses are too many"),
        ] {
            let error = Preamble::read(&bytes).unwrap_err().to_string();
            assert!(error.contains(said), "{error}, not {said}");
        }
        let excerpt = Excerpt::new(&[0; 100]);
        assert!(excerpt.to_string().len() < 200);
    }

    #[test]
    fn what_is_written_reads_back() {
        for (source, destination) in [
            ("1.2.3.4:5", "6.7.8.9:25565"),
            ("[2001:db8::1]:65535", "[::1]:1"),
            ("1.2.3.4:5", "[2001:db8::1]:25565"),
        ] {
            let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
            let addresses = Addresses { source, destination };
            for version in [PreambleVersion::V1, PreambleVersion::V2] {
                let header = version.write(addresses);
                let PreambleRead::Whole(read) = Preamble::read(&header).unwrap() else {
                    panic!("{header:?}")
                };
                assert_eq!(read.addresses, Some(addresses.of_one_family()));
                assert_eq!(read.length, header.len());
            }
        }
    }

    #[test]
    fn writes_the_bytes_of_the_specification() {
        let source = "192.168.0.1:56324".parse().unwrap();
        let destination = "192.168.0.11:443".parse().unwrap();
        let addresses = Addresses { source, destination };
        let line = b"PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n";
        assert_eq!(PreambleVersion::V1.write(addresses), line);
        let binary = hex!("0d0a0d0a000d0a515549540a 21 11 000c c0a80001 c0a8000b dc04 01bb");
        assert_eq!(PreambleVersion::V2.write(addresses), binary);
    }
}
