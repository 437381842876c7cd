use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::Excerpt;
use super::{Addresses, Preamble, PreambleError, PreambleRead, PreambleVersion};

/// Reads a line. Section 2.1.
pub(super) fn read(bytes: &[u8]) -> Result<PreambleRead, PreambleError> {
    if !bytes.iter().zip(PREFIX).all(|(byte, expected)| byte == expected) {
        return Err(PreambleError::Other(Excerpt::new(bytes)));
    }
    let within = &bytes[..bytes.len().min(LONGEST)];
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        if bytes.len() < LONGEST {
            return Ok(PreambleRead::Missing(1));
        }
        return Err(PreambleError::TooLong(Excerpt::new(bytes)));
    };
    let length = end + 1;
    let addresses = addresses(&bytes[PREFIX.len()..end]);
    let addresses = addresses.map_err(|error| error(Excerpt::new(&bytes[..length])))?;
    Ok(PreambleRead::Whole(Preamble { addresses, version: PreambleVersion::V1, length }))
}

/// Reads what follows `PROXY ` in a line without its line feed.
fn addresses(line: &[u8]) -> Result<Option<Addresses>, fn(Excerpt) -> PreambleError> {
    let line = line.strip_suffix(b"\r").ok_or(PreambleError::LineEnd as fn(_) -> _)?;
    let line = std::str::from_utf8(line).map_err(|_| PreambleError::NotText as fn(_) -> _)?;
    let mut words = line.split(' ');
    let family = words.next().unwrap_or_default();
    let address = |word: &str| -> Option<IpAddr> {
        match family {
            "TCP4" => word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            _ => word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        }
    };
    match family {
        // The rest of the line is to be ignored.
        "UNKNOWN" => return Ok(None),
        "TCP4" | "TCP6" => {}
        _ => return Err(PreambleError::TextFamily),
    }
    let source = words.next().and_then(address).ok_or(PreambleError::Address as fn(_) -> _)?;
    let destination = words.next().and_then(address).ok_or(PreambleError::Address as fn(_) -> _)?;
    let source_port = words.next().and_then(port).ok_or(PreambleError::Port as fn(_) -> _)?;
    let destination_port = words.next().and_then(port).ok_or(PreambleError::Port as fn(_) -> _)?;
    if words.next().is_some() {
        return Err(PreambleError::Trailing);
    }
    Ok(Some(Addresses {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    }))
}

/// Returns the line for two addresses of one address family.
pub(super) fn write(Addresses { source, destination }: Addresses) -> Vec<u8> {
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    let line = format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port());
    line.into_bytes()
}

/// Parses a port: digits only, no sign.
fn port(word: &str) -> Option<u16> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

const PREFIX: &[u8] = b"PROXY ";

/// Length of the longest line in bytes, with its end. Section 2.1.
const LONGEST: usize = 107;
