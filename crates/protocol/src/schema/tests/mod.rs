//! Tests of the whole layer: every packet of every version, and unusual encodings one by one.

mod generate;
mod odd;
mod properties;

use super::{PacketType, Protocol};

/// Generates a valid body of that packet, id and fields, by the choices.
pub(crate) fn random_body(protocol: &Protocol, packet: &PacketType, choices: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    crate::wire::write_varint(&mut body, packet.id());
    body.extend(generate::Shapes::new(&protocol.types).make(packet.ty, choices).bytes);
    body
}
