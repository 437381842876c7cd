//! The two file formats, including truncated and damaged files.

use super::*;

/// A classic pcap file.
fn pcap(packets: &[CapturedPacket], link: u32, nanos: bool, big: bool) -> Vec<u8> {
    let word = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let magic: u32 = if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let version: [u8; 4] = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut file = [word(magic), version, word(0), word(0), word(64), word(link)].concat();
    for packet in packets {
        let (seconds, fraction) = (packet.at.0 / 1_000_000_000, packet.at.0 % 1_000_000_000);
        let fraction = if nanos { fraction } else { fraction / 1000 };
        let length = packet.bytes.len() as u32;
        for number in [seconds as u32, fraction as u32, length, length + packet.missing as u32] {
            file.extend_from_slice(&word(number));
        }
        file.extend_from_slice(&packet.bytes);
    }
    file
}

/// A pcapng file whose interface declares this resolution of timestamps, if any.
fn pcapng(packets: &[CapturedPacket], link: u16, resolution: Option<u8>, big: bool) -> Vec<u8> {
    let word = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let half = |number: u16| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let block = |kind: u32, body: &[u8]| {
        let length = word(12 + body.len().next_multiple_of(4) as u32);
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        [&word(kind)[..], &length, body, &padding, &length].concat()
    };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let mut interface = [&half(link)[..], &half(0), &word(64)].concat();
    if let Some(resolution) = resolution {
        interface.extend([&half(9)[..], &half(1), &[resolution, 0, 0, 0], &[0; 4]].concat());
    }
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    for packet in packets {
        let units = match resolution {
            None => packet.at.0 / 1000,
            Some(9) => packet.at.0,
            Some(0x8a) => (u128::from(packet.at.0) * 1024 / 1_000_000_000) as u64,
            Some(other) => panic!("{other}"),
        };
        let length = packet.bytes.len() as u32;
        let head = [0, (units >> 32) as u32, units as u32, length, length + packet.missing as u32];
        let head: Vec<u8> = head.iter().flat_map(|it| word(*it)).collect();
        file.extend(block(6, &[&head[..], &packet.bytes].concat()));
        // A block without packets.
        file.extend(block(5, &[0; 12]));
    }
    file
}

fn read_file(file: &[u8]) -> Vec<CapturedPacket> {
    PcapReader::new(file).map(Result::unwrap).collect()
}

#[test]
fn both_formats_are_read_in_both_byte_orders_with_any_unit_of_time() {
    let mut packets = Talk::whole(1400, None).packets();
    packets[3].missing = 17;
    let rounded = |unit: u64| -> Vec<CapturedPacket> {
        let round = |it: &CapturedPacket| CapturedPacket {
            at: Timestamp(it.at.0 / unit * unit),
            ..it.clone()
        };
        packets.iter().map(round).collect()
    };
    for big in [false, true] {
        assert_eq!(read_file(&pcap(&packets, 101, true, big)), packets);
        assert_eq!(read_file(&pcap(&packets, 101, false, big)), rounded(1000));
        assert_eq!(read_file(&pcapng(&packets, 101, Some(9), big)), packets);
        assert_eq!(read_file(&pcapng(&packets, 101, None, big)), rounded(1000));
        let binary = read_file(&pcapng(&packets, 101, Some(0x8a), big));
        for (read, packet) in binary.iter().zip(&packets) {
            assert!(packet.at.0 - read.at.0 < 1_000_000, "{packet:?} {read:?}");
        }
    }
}

#[test]
fn a_truncated_file_is_read_up_to_the_cut() {
    let packets = Talk::whole(1400, None).packets();
    for file in [pcap(&packets, 101, false, false), pcapng(&packets, 101, Some(9), false)] {
        // The bytes after the last packet may belong to another block.
        let cut = &file[..file.len() - 40];
        let mut read: Vec<_> = PcapReader::new(cut).collect();
        let last = read.pop().unwrap().unwrap_err();
        assert!(matches!(last, PcapReadError::CutOff(_)), "{last}");
        assert!(last.to_string().starts_with("block at byte "), "{last}");
        assert_eq!(read.len(), packets.len() - 1);
        for length in 0..file.len().min(300) {
            let ended = PcapReader::new(&file[..length]).last();
            let whole = matches!(ended, None | Some(Ok(_)));
            let fault = matches!(ended, Some(Err(PcapReadError::CutOff(_) | PcapReadError::Empty)));
            assert!(whole || fault, "{length}: {ended:?}");
        }
    }
}

#[test]
fn damage_is_an_error_and_ends_the_file() {
    let packets = Talk::whole(1400, None).packets();
    let mut file = pcapng(&packets, 101, Some(9), false);
    let middle = file.len() - 400;
    file[middle..].fill(0xee);
    let mut read: Vec<_> = PcapReader::new(&file[..]).collect();
    let last = read.pop().unwrap().unwrap_err();
    assert!(matches!(last, PcapReadError::Damaged(..)), "{last}");
    assert!(read.len() > 10 && read.iter().all(Result::is_ok));
}

#[test]
fn other_files_are_rejected() {
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"{\"v\":1}", "it is a capture in JSON lines"),
        (b"hello", "unknown first bytes"),
    ] {
        let fault = PcapReader::new(bytes).next().unwrap().unwrap_err().to_string();
        assert!(fault.starts_with("not a pcap or pcapng file: ") && fault.contains(why), "{fault}");
    }
}
