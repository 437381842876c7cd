use std::net::IpAddr;

use etherparse::{
    EtherType, IpAuthHeaderSlice, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice,
    Ipv6RawExtHeaderSlice, LaxNetSlice, LaxSlicedPacket, ip_number,
};

use super::datagram::Datagram;
use super::fragments::{Fragments, Key};
use super::{CapturedPacket, LinkType};

/// Returns the packet's payload, or `None` if it is not IP or a fragment of an incomplete packet.
pub(super) fn datagram(captured: &CapturedPacket, fragments: &mut Fragments) -> Option<Datagram> {
    let sliced = slice(captured)?;
    let (from, to): (IpAddr, IpAddr);
    let (fragment, identification) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            (from, to) = (header.source_addr().into(), header.destination_addr().into());
            let place = (header.fragments_offset(), header.more_fragments());
            (Some(place), u32::from(header.identification()))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            (from, to) = (header.source_addr().into(), header.destination_addr().into());
            let fragment = fragment_header(ip.extensions());
            let identification = fragment.as_ref().map_or(0, |it| it.identification());
            (fragment.map(|it| (it.fragment_offset(), it.more_fragments())), identification)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let payload = sliced.ip_payload()?;
    let protocol = payload.ip_number.0;
    let mut datagram = Datagram {
        at: captured.at,
        from,
        to,
        protocol,
        bytes: captured.bytes.slice_ref(payload.payload),
        missing: captured.missing,
    };
    if payload.fragmented {
        let key = Key { from, to, identification, protocol };
        datagram.bytes = fragments.add(captured.at, key, fragment?, payload.payload)?;
    }
    Some(datagram)
}

/// Returns the fragment header among the extensions of IPv6.
///
/// The iterator of `etherparse` reads beyond the packet if that is cut off within an extension, so
/// each header is checked here.
fn fragment_header<'a>(
    extensions: &Ipv6ExtensionsSlice<'a>,
) -> Option<Ipv6FragmentHeaderSlice<'a>> {
    let (mut kind, mut rest) = (extensions.first_header()?, extensions.slice());
    loop {
        let length;
        (kind, length) = match kind {
            ip_number::IPV6_FRAG => return Ipv6FragmentHeaderSlice::from_slice(rest).ok(),
            ip_number::IPV6_HOP_BY_HOP | ip_number::IPV6_ROUTE | ip_number::IPV6_DEST_OPTIONS => {
                let header = Ipv6RawExtHeaderSlice::from_slice(rest).ok()?;
                (header.next_header(), header.slice().len())
            }
            ip_number::AUTH => {
                let header = IpAuthHeaderSlice::from_slice(rest).ok()?;
                (header.next_header(), header.slice().len())
            }
            _ => return None,
        };
        rest = &rest[length..];
    }
}

/// Parses the headers of any supported link type.
fn slice(captured: &CapturedPacket) -> Option<LaxSlicedPacket<'_>> {
    let bytes = &*captured.bytes;
    let ether_type = |at: usize| bytes.get(at..)?.first_chunk().map(|it| u16::from_be_bytes(*it));
    let after = |kind: Option<u16>, header: usize| {
        let kind = kind?;
        Some(LaxSlicedPacket::from_ether_type(EtherType(kind), bytes.get(header..)?))
    };
    match captured.link {
        LinkType::Ethernet => after(ether_type(12), 14),
        LinkType::Ip => LaxSlicedPacket::from_ip(bytes).ok(),
        LinkType::Cooked => after(ether_type(14), 16),
        LinkType::Cooked2 => after(ether_type(0), 20),
        // The family's number differs between systems; the IP version is in the header after it.
        LinkType::Loopback => LaxSlicedPacket::from_ip(bytes.get(4..)?).ok(),
        LinkType::Other(_) => None,
    }
}

pub(super) const TCP: u8 = ip_number::TCP.0;
pub(super) const UDP: u8 = ip_number::UDP.0;
