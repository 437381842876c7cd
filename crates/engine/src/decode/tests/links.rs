//! The layers around a segment: link types, fragments, both versions of IP.

use etherparse::{IpFragOffset, IpNumber, Ipv4Header, Ipv6FragmentHeader};

use super::*;

#[test]
fn every_link_type_is_read() {
    let expected = undisturbed();
    let talk = Talk::whole(1400, None);
    let ethernet = |kinds: &[u8]| [&[2; 12], kinds].concat();
    let mut heads: Vec<(u32, Vec<u8>, Vec<u8>)> = vec![
        (1, ethernet(&[0x08, 0x00]), ethernet(&[0x86, 0xdd])),
        (
            1,
            ethernet(&[0x81, 0, 0, 7, 0x08, 0x00]),
            ethernet(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x86, 0xdd]),
        ),
        (113, [&[0; 14][..], &[0x08, 0x00]].concat(), [&[0; 14][..], &[0x86, 0xdd]].concat()),
        (276, [&[0x08, 0x00][..], &[0; 18]].concat(), [&[0x86, 0xdd][..], &[0; 18]].concat()),
        (0, vec![2, 0, 0, 0], vec![30, 0, 0, 0]),
        (108, vec![0, 0, 0, 2], vec![0, 0, 0, 24]),
    ];
    heads.extend([12, 14, 101].map(|raw| (raw, Vec::new(), Vec::new())));
    for (link, v4, v6) in heads {
        for (head, version) in [(v4, 4), (v6, 6)] {
            let wrap = |(i, segment): (usize, &Seg)| {
                let packet = match version {
                    4 => ipv4(segment, talk.ports),
                    _ => ipv6(segment, talk.ports),
                };
                // Ethernet pads short frames.
                let padding: &[u8] = if link == 1 { &[0; 6] } else { &[] };
                let bytes = [&head[..], &packet, padding].concat();
                let link = LinkType::from_number(link);
                CapturedPacket { link, ..captured(i as u64 * MILLISECOND, bytes) }
            };
            let found = read(talk.segments.iter().enumerate().map(wrap), default());
            assert_eq!(found, (expected.clone(), vec![]), "link type {link}, IPv{version}");
        }
    }
}

#[test]
fn other_link_types_are_reported_once() {
    let packet =
        |_| CapturedPacket { link: LinkType::from_number(127), ..captured(0, vec![1; 60]) };
    let (words, notices) = read((0..3).map(packet), default());
    assert!(words.is_empty());
    assert_eq!(notices, [DecodeNotice::LinkType(127)]);
}

#[test]
fn fragments_of_both_ip_versions_are_reassembled_in_any_order() {
    let expected = undisturbed();
    let talk = Talk::whole(1400, None);
    for version in [4, 6] {
        let mut packets = Vec::new();
        for (i, segment) in talk.segments.iter().enumerate() {
            let mut parts = match version {
                4 => fragments4(&ipv4(segment, talk.ports), i as u16),
                _ => fragments6(&ipv6(segment, talk.ports), i as u32),
            };
            parts.reverse();
            packets.extend(parts.into_iter().map(|it| captured(i as u64 * MILLISECOND, it)));
        }
        assert!(packets.len() > talk.segments.len() * 2);
        assert_eq!(read(packets, default()).0, expected, "IPv{version}");
    }
}

#[test]
fn an_ipv6_packet_that_ends_within_its_extensions_is_passed_over() {
    let talk = Talk::whole(1400, None);
    let packet = ipv6(&talk.segments[0], talk.ports);
    let mut head = packet[..40].to_vec();
    head[6] = 0;
    // Hop-by-hop options, and another extension that is missing or cut off.
    for next in [43, 44, 51, 60] {
        for rest in [&[][..], &[6], &[6, 0xff, 0, 0, 0, 0, 0, 0]] {
            let packet = [&head[..], &[next, 0, 1, 4, 0, 0, 0, 0], rest].concat();
            let (words, notices) = read([captured(0, packet)], default());
            assert!(words.is_empty() && notices.is_empty(), "{words:?} {notices:?}");
        }
    }
}

/// Fragments a packet after every 16 bytes of payload.
fn fragments4(packet: &[u8], identification: u16) -> Vec<Vec<u8>> {
    let (header, payload) = Ipv4Header::from_slice(packet).unwrap();
    let count = payload.len().div_ceil(16);
    let pieces = payload.chunks(16).enumerate();
    pieces
        .map(|(i, piece)| {
            let mut header = header.clone();
            header.identification = identification;
            header.dont_fragment = false;
            header.more_fragments = i + 1 < count;
            header.fragment_offset = IpFragOffset::try_new(i as u16 * 2).unwrap();
            header.set_payload_len(piece.len()).unwrap();
            header.header_checksum = header.calc_header_checksum();
            [&header.to_bytes()[..], piece].concat()
        })
        .collect()
}

fn fragments6(packet: &[u8], identification: u32) -> Vec<Vec<u8>> {
    let (head, payload) = packet.split_at(40);
    let count = payload.len().div_ceil(16);
    let pieces = payload.chunks(16).enumerate();
    pieces
        .map(|(i, piece)| {
            let offset = IpFragOffset::try_new(i as u16 * 2).unwrap();
            let fragment =
                Ipv6FragmentHeader::new(IpNumber::TCP, offset, i + 1 < count, identification);
            let mut head = head.to_vec();
            // Hop-by-hop options precede it; the length includes them.
            head[4..6].copy_from_slice(&(8 + 8 + piece.len() as u16).to_be_bytes());
            head[6] = 0;
            let hop_by_hop = [44, 0, 1, 4, 0, 0, 0, 0];
            [&head[..], &hop_by_hop, &fragment.to_bytes(), piece].concat()
        })
        .collect()
}
