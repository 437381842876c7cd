use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::Start;
use super::{Addresses, Preamble, PreambleError, Read};

/// Reads a binary header. Section 2.2.
pub(super) fn read(bytes: &[u8]) -> Result<Read, PreambleError> {
    if !bytes.iter().zip(SIGNATURE).all(|(byte, wanted)| byte == wanted) {
        return Err(PreambleError::Other(Start::of(bytes)));
    }
    let Some([command, family, high, low]) = bytes.get(SIGNATURE.len()..FIXED) else {
        // One at a time as long as it may be something else.
        let certain = bytes.len() >= SIGNATURE.len();
        return Ok(Read::Missing(if certain { FIXED - bytes.len() } else { 1 }));
    };
    let local = match command {
        0x20 => true,
        0x21 => false,
        other => return Err(PreambleError::Command(*other)),
    };
    // Datagrams do not come over TCP, but the spec lists them: they concern us as little as UNIX.
    let wanted = match family {
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
    // The receiver of LOCAL must ignore what follows, also when it is less than the family has.
    if found < wanted && !local {
        return Err(PreambleError::Short { wanted, found });
    }
    // Behind the addresses there are TLVs, none of which changes who the client is.
    let Some(block) = bytes.get(FIXED..FIXED + found) else {
        return Ok(Read::Missing(FIXED + found - bytes.len()));
    };
    let addresses = match (local, family) {
        (false, 0x11) => Some(addresses::<4>(block)),
        (false, 0x21) => Some(addresses::<16>(block)),
        _ => None,
    };
    Ok(Read::Whole(Preamble { addresses, length: FIXED + found }))
}

/// The header for two addresses of one family.
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

/// Two addresses of so many bytes, and two ports.
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

/// Bytes up to the addresses.
const FIXED: usize = 16;

/// Bytes of addresses and TLVs that are waited for: a certificate may be among them, and senders
/// keep to a few KiB.
const MOST: usize = 16 << 10;
