use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::Start;
use super::{Addresses, Preamble, PreambleError, Read};

/// Reads a line. Section 2.1.
pub(super) fn read(bytes: &[u8]) -> Result<Read, PreambleError> {
    if !bytes.iter().zip(PREFIX).all(|(byte, wanted)| byte == wanted) {
        return Err(PreambleError::Other(Start::of(bytes)));
    }
    let within = &bytes[..bytes.len().min(LONGEST)];
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        return match bytes.len() < LONGEST {
            true => Ok(Read::Missing(1)),
            false => Err(PreambleError::Long(Start::of(bytes))),
        };
    };
    let fault = |what| PreambleError::Line { what, line: Start::of(&bytes[..=end]) };
    let Some(line) = bytes[PREFIX.len()..end].strip_suffix(b"\r") else {
        return Err(fault("a line that ends without a carriage return"));
    };
    let line = std::str::from_utf8(line).map_err(|_| fault("no text"))?;
    let mut words = line.split(' ');
    let family = words.next().unwrap_or_default();
    let length = end + 1;
    let address = |word: Option<&str>| -> Option<IpAddr> {
        match (family, word?) {
            ("TCP4", word) => word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            (_, word) => word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        }
    };
    match family {
        // What follows is to be ignored.
        "UNKNOWN" => return Ok(Read::Whole(Preamble { addresses: None, length })),
        "TCP4" | "TCP6" => {}
        _ => return Err(fault("an unknown family")),
    }
    let no_address = || fault("no address of that family");
    let source = address(words.next()).ok_or_else(no_address)?;
    let destination = address(words.next()).ok_or_else(no_address)?;
    let source_port = port(words.next()).ok_or_else(|| fault("no port"))?;
    let destination_port = port(words.next()).ok_or_else(|| fault("no port"))?;
    if words.next().is_some() {
        return Err(fault("more than two ports"));
    }
    let addresses = Addresses {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    };
    Ok(Read::Whole(Preamble { addresses: Some(addresses), length }))
}

/// The line for two addresses of one family.
pub(super) fn write(Addresses { source, destination }: Addresses) -> Vec<u8> {
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    let line = format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port());
    line.into_bytes()
}

/// Digits alone: `+1` is none.
fn port(word: Option<&str>) -> Option<u16> {
    let word = word.filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))?;
    word.parse().ok()
}

const PREFIX: &[u8] = b"PROXY ";

/// Bytes of the longest line, with its end.
const LONGEST: usize = 107;
