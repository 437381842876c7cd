use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::Excerpt;
use super::{Addresses, Preamble, PreambleError, PreambleRead, PreambleVersion};

/// Reads a binary header. Section 2.2.
pub(super) fn read(bytes: &[u8]) -> Result<PreambleRead, PreambleError> {
    if !bytes.iter().zip(SIGNATURE).all(|(byte, expected)| byte == expected) {
        return Err(PreambleError::Other(Excerpt::new(bytes)));
    }
    let Some([command, family, high, low]) = bytes.get(SIGNATURE.len()..FIXED) else {
        // One byte at a time until it is certain that this is a header.
        let certain = bytes.len() >= SIGNATURE.len();
        return Ok(PreambleRead::Missing(if certain { FIXED - bytes.len() } else { 1 }));
    };
    let local = match command {
        0x20 => true,
        0x21 => false,
        other => return Err(PreambleError::Command(*other)),
    };
    // The specification also lists datagrams and UNIX sockets, whose addresses are of no use here.
    let needed = match family {
        0x00 => 0,
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        0x31 | 0x32 => 216,
        other => return Err(PreambleError::Family(*other)),
    };
    let length = u16::from_be_bytes([*high, *low]);
    let found = usize::from(length);
    if found > MOST {
        return Err(PreambleError::Length(length));
    }
    // The addresses of LOCAL must be ignored, even if there are fewer bytes than the family needs.
    if found < needed && !local {
        return Err(PreambleError::Short { needed, found });
    }
    // TLVs may follow the addresses; none of them changes who the client is.
    let Some(block) = bytes.get(FIXED..FIXED + found) else {
        return Ok(PreambleRead::Missing(FIXED + found - bytes.len()));
    };
    let addresses = match (local, family) {
        (false, 0x11) => Some(addresses::<4>(block)),
        (false, 0x21) => Some(addresses::<16>(block)),
        _ => None,
    };
    let version = PreambleVersion::V2;
    Ok(PreambleRead::Whole(Preamble { addresses, version, length: FIXED + found }))
}

/// Returns the header for two addresses of one address family.
pub(super) fn write(Addresses { source, destination }: Addresses) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.push(0x21);
    match source {
        SocketAddr::V4(_) => header.extend([0x11, 0, 12]),
        SocketAddr::V6(_) => header.extend([0x21, 0, 36]),
    }
    for address in [source, destination] {
        match address.ip() {
            IpAddr::V4(ip) => header.extend(ip.octets()),
            IpAddr::V6(ip) => header.extend(ip.octets()),
        }
    }
    header.extend(source.port().to_be_bytes());
    header.extend(destination.port().to_be_bytes());
    header
}

/// Reads two addresses of `WIDTH` bytes each, and two ports.
fn addresses<const WIDTH: usize>(block: &[u8]) -> Addresses {
    let ip = |at: usize| -> IpAddr {
        let bytes = &block[at..at + WIDTH];
        match <[u8; 4]>::try_from(bytes) {
            Ok(octets) => Ipv4Addr::from(octets).into(),
            Err(_) => {
                let mut octets = [0; 16];
                octets.copy_from_slice(bytes);
                Ipv6Addr::from(octets).into()
            }
        }
    };
    let port = |at: usize| u16::from_be_bytes([block[at], block[at + 1]]);
    Addresses {
        source: SocketAddr::new(ip(0), port(2 * WIDTH)),
        destination: SocketAddr::new(ip(WIDTH), port(2 * WIDTH + 2)),
    }
}

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Length of the fixed part before the addresses.
const FIXED: usize = 16;

/// Maximum bytes of addresses and TLVs. Senders need a few KiB, if a certificate is among them.
const MOST: usize = 16 << 10;
