use mitmcraft_engine::capture::{Entry, FilePosition, Outcome, PcapSink, ReadError, Record};
use mitmcraft_protocol::packet::Origin;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use proptest::prelude::*;
use serde_json::json;

use super::{from_jsonl, from_pcapng, interleaved, put, to_jsonl, to_pcapng};
use crate::support::samples::*;
use crate::support::shared::Shared;

fn stage() -> Stage {
    Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565")
}

/// Returns the comments of a file, in order.
fn comments(file: &[u8]) -> Vec<String> {
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut comments = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        comments.extend(packet.options.iter().filter_map(|option| match option {
            EnhancedPacketOption::Comment(comment) => Some(comment.to_string()),
            _ => None,
        }));
    }
    comments
}

#[test]
fn reads_back_the_same_entries_as_jsonl() {
    let entries = interleaved(vec![
        everything(1, "127.0.0.1:51234", "192.0.2.7:25565"),
        everything(2, "[2001:db8::7]:51234", "[2001:db8::1]:25565"),
        everything(3, "127.0.0.1:51234", "192.0.2.7:25565"),
    ]);
    let (read, errors) = from_pcapng(&to_pcapng(&entries));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(read.len(), entries.len());
    assert_eq!(to_jsonl(&read), to_jsonl(&entries));
}

#[test]
fn query_reads_back_from_datagrams_and_from_lines_alike() {
    let entries = interleaved(vec![
        queries(1, "127.0.0.1:51234", "192.0.2.7:25565"),
        queries(2, "[2001:db8::7]:51234", "[2001:db8::1]:25565"),
        everything(3, "127.0.0.1:51234", "192.0.2.7:25565"),
    ]);
    let text = to_jsonl(&entries);
    let (read, errors) = from_jsonl(text.as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    let (streamed, errors) = from_pcapng(&to_pcapng(&entries));
    assert!(errors.is_empty(), "{errors:?}");
    for read in [read, streamed] {
        assert_eq!(to_jsonl(&read), text);
        for (read, written) in read.iter().zip(&entries) {
            let (Entry::Packet(read), Entry::Packet(written)) = (read, written) else { continue };
            let wire = |record: &Record| record.packet.frame().map(|frame| frame.wire().clone());
            if read.packet.context().session < 3 {
                assert_eq!(wire(read), wire(written), "{read:?}");
            }
        }
    }
}

/// A capture whose `wire` was less than its packet ended the program.
#[test]
fn a_datagram_that_udp_cannot_carry_is_kept_beside_the_stream() {
    let mut entries = queries(1, "127.0.0.1:51234", "192.0.2.7:25565");
    let packets = entries.iter_mut().filter_map(|entry| match entry {
        Entry::Packet(record) => Some(&mut record.packet),
        Entry::Event(_) => None,
    });
    for packet in packets {
        packet.replace_body(vec![b'x'; 70_000].into());
        packet.set_wire_size(10);
    }
    let (read, errors) = from_pcapng(&to_pcapng(&entries));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), to_jsonl(&entries));
}

#[test]
fn only_exceptional_packets_have_comments() {
    let mut stage = stage();
    stage.open();
    stage.body(Serverbound, Play, &[0x00, 0x05]);
    stage.body(Clientbound, Play, &[0x00, 0x05]).outcome = Outcome::Drop;
    stage.packet(Clientbound, Play, "set_compression", json!({"threshold": 256}));
    stage.body(Clientbound, Play, &[0x00, 0x06]);
    stage.rewrite(Serverbound, Play, &[0x00, 0x07], &[0x00, 0x08]);
    let made = stage.body(Clientbound, Play, &[0x00, 0x09]);
    made.outcome = Outcome::Send;
    made.packet.set_origin(Origin::Proxy);
    made.comment = Some("rule `x`".to_owned());
    stage.body(Clientbound, Play, &[0x00]);
    stage.body(Clientbound, Play, &[0x00, 0x05]);
    for _ in 0..10 {
        stage.body(Clientbound, Play, &[0x00, 0x05]).outcome = Outcome::Drop;
    }
    stage.close("over");
    let dropped = |seq: u64| {
        format!("before this, clientbound keep_alive, packet {seq}: dropped by the proxy\n")
    };
    assert_eq!(
        comments(&to_pcapng(&stage.entries)),
        [
            dropped(2)
                + "before this, clientbound set_compression, packet 3: left out: the view is \
                   neither encrypted nor compressed",
            "rewritten by the proxy: replaces packet 5".to_owned(),
            "made by the proxy\nrule `x`".to_owned(),
            "does not decode: keepAliveId: 1 byte needed, 0 left, at byte 1".to_owned(),
            (10..18).map(dropped).collect::<String>() + "and 2 more",
        ]
    );
}

#[test]
fn a_second_session_between_the_same_addresses_gets_another_port() {
    let session = |id| {
        let mut stage = Stage::new(id, "127.0.0.1:65535", "192.0.2.7:25565");
        stage.open();
        stage.body(Serverbound, Play, &[0x00, 0x05]);
        stage.close("over");
        stage.entries
    };
    let file = to_pcapng(&[session(1), session(2), session(3)].concat());
    let expected = |port| {
        format!("shown with client port {port}: an earlier session used the real one, 65535")
    };
    assert_eq!(comments(&file), [expected(49_152), expected(49_153)]);
    let (read, _) = from_pcapng(&file);
    assert!(read.iter().all(|entry| entry.context().client.port() == 65_535));
}

#[test]
fn sessions_of_one_address_never_mix_however_many_there_are() {
    let packet = |id: u64, byte: u8| {
        let mut stage = Stage::new(id, "127.0.0.1:51234", "192.0.2.7:25565");
        stage.body(Serverbound, Play, &[0x00, byte]);
        stage.entries.remove(0)
    };
    let event = |id: u64, is_open: bool| {
        let mut stage = Stage::new(id, "127.0.0.1:51234", "192.0.2.7:25565");
        if is_open {
            stage.open()
        } else {
            stage.close("over")
        }
        stage.entries.remove(0)
    };
    let (sessions, open) = (200_000, 1_000);
    let mut entries = Vec::new();
    for id in 1..=sessions + open {
        if id <= sessions {
            entries.extend([event(id, true), packet(id, 1)]);
        }
        if let Some(earlier) = id.checked_sub(open).filter(|id| *id > 0) {
            entries.extend([packet(earlier, 2), event(earlier, false)]);
        }
    }
    let (read, errors) = from_pcapng(&to_pcapng(&entries));
    assert!(errors.is_empty(), "{} errors, {:?}", errors.len(), errors.first());
    assert_eq!(read.len(), entries.len());
    for (read, written) in read.iter().zip(&entries) {
        assert_eq!(read.context().session, written.context().session);
        assert_eq!(read.context().client, written.context().client);
        let (Entry::Packet(read), Entry::Packet(written)) = (read, written) else { continue };
        assert_eq!(read.packet.body().unwrap(), written.packet.body().unwrap());
    }
}

#[test]
fn a_comment_longer_than_an_option_reads_back_whole() {
    let mut stage = stage();
    let comment = "\u{e9}".repeat(100_000);
    stage.open();
    stage.body(Serverbound, Play, &[0x00, 0x05]).comment = Some(comment.clone());
    stage.body(Serverbound, Play, &[0x00, 0x05]);
    let file = to_pcapng(&stage.entries);
    assert_eq!(comments(&file), ["\u{e9}".repeat(2000)]);
    let (read, errors) = from_pcapng(&file);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), to_jsonl(&stage.entries));
}

#[test]
fn a_dropped_packet_of_several_megabytes_reads_back() {
    let mut stage = stage();
    stage.open();
    stage.body(Clientbound, Play, &chunk(3 << 20)).outcome = Outcome::Drop;
    stage.body(Clientbound, Play, &chunk(3 << 20));
    let (read, errors) = from_pcapng(&to_pcapng(&stage.entries));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), to_jsonl(&stage.entries));
}

#[test]
fn a_truncated_file_gives_all_complete_entries_and_an_error() {
    let mut stage = stage();
    stage.open();
    stage.body(Serverbound, Play, &[0x00, 0x05]);
    let before = to_pcapng(&stage.entries).len();
    stage.body(Clientbound, Play, &[0x7f; 30]);
    stage.body(Clientbound, Play, &[0x00, 0x05]).outcome = Outcome::Drop;
    let file = to_pcapng(&stage.entries);
    let last = to_pcapng(&stage.entries[..3]).len();
    for end in before..=file.len() {
        let (entries, errors) = from_pcapng(&file[..end]);
        let count = if end == file.len() {
            4
        } else if end >= last {
            3
        } else {
            2
        };
        assert_eq!(entries.len(), count, "at {end}");
        match &errors[..] {
            [] => assert!([before, last, file.len()].contains(&end)),
            [ReadError::CutOff(FilePosition::Byte(byte))] => {
                let start = if end > last { last } else { before };
                assert_eq!(usize::try_from(*byte).unwrap(), start);
            }
            other => panic!("{other:?}"),
        }
    }
    for end in 0..16 {
        assert!(matches!(from_pcapng(&file[..end]).1[..], [ReadError::CutOff(_)]), "at {end}");
    }
}

#[test]
fn a_frame_truncated_between_its_segments_is_not_returned() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &chunk(100_000));
    let file = to_pcapng(&stage.entries);
    let (entries, errors) = from_pcapng(&file[..66_000]);
    assert!(entries.is_empty());
    assert!(matches!(errors[..], [ReadError::CutOff(_)]), "{errors:?}");
}

#[test]
fn a_pcapng_file_of_another_program_is_reported_as_such() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &[0x00, 0x05]);
    let mut file = to_pcapng(&stage.entries);
    let pen = 32_473u32.to_le_bytes();
    while let Some(at) = file.windows(4).rposition(|bytes| bytes == pen) {
        file[at] ^= 1;
    }
    let (entries, errors) = from_pcapng(&file);
    assert!(entries.is_empty());
    assert!(matches!(errors[..], [ReadError::Foreign]), "{errors:?}");
    let (_, errors) = from_pcapng(b"{\"v\":2,\"session\":1}");
    assert!(matches!(errors[..], [ReadError::Damaged(FilePosition::Byte(0), _)]), "{errors:?}");
}

#[test]
fn classic_pcap_has_the_same_frames_with_nanoseconds() {
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    let shared = Shared::default();
    put(PcapSink::new(shared.clone()).unwrap(), &entries);
    let classic = shared.bytes();
    let mut classic = PcapReader::new(&classic[..]).unwrap();
    let file = to_pcapng(&entries);
    let mut blocks = PcapNgReader::new(&file[..]).unwrap();
    let mut count = 0;
    while let Some(block) = blocks.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        let other = classic.next_packet().unwrap().unwrap();
        assert_eq!(other.data, packet.data);
        assert_eq!(other.timestamp, packet.timestamp);
        count += 1;
    }
    assert!(classic.next_packet().is_none());
    assert!(count > entries.len() / 2);
}

#[test]
fn flushed_data_is_a_complete_file() {
    use mitmcraft_engine::capture::{PcapngSink, Sink as _};
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    let shared = Shared::default();
    let mut sink = PcapngSink::new(shared.clone()).unwrap();
    assert!(from_pcapng(&shared.bytes()).1.is_empty());
    for (count, entry) in entries.iter().enumerate() {
        sink.write(entry).unwrap();
        if count % 3 == 0 {
            sink.flush().unwrap();
        }
        let (read, errors) = from_pcapng(&shared.bytes());
        assert!(errors.is_empty(), "{errors:?}");
        assert!(read.len() == count + 1 || count % 3 != 0);
    }
}

proptest! {
    #[test]
    fn any_session_reads_back(
        packets in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..40), any::<bool>(), 0..4usize, any::<u64>()),
            0..20,
        ),
    ) {
        let mut stage = stage();
        stage.open();
        for (body, clientbound, outcome, wire) in packets {
            let direction = if clientbound { Clientbound } else { Serverbound };
            let record = stage.body(direction, Play, &body);
            record.outcome = Outcome::ALL[outcome];
            record.packet.set_wire_size((wire % 1000 + 1) as usize);
        }
        let (read, errors) = from_pcapng(&to_pcapng(&stage.entries));
        prop_assert!(errors.is_empty(), "{:?}", errors);
        prop_assert_eq!(to_jsonl(&read), to_jsonl(&stage.entries));
    }

    #[test]
    fn a_damaged_file_is_an_error_and_no_panic(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut stage = stage();
        stage.open();
        stage.rewrite(Serverbound, Play, &[0x00, 0x07], &[0x00, 0x08]);
        stage.body(Clientbound, Play, &[0x00, 0x05]);
        stage.close("over");
        let mut file = to_pcapng(&stage.entries);
        let at = at.index(file.len());
        file[at] = byte;
        file.truncate(file.len() - cut.index(file.len()) / 8);
        let (entries, _) = from_pcapng(&file);
        prop_assert!(entries.len() <= stage.entries.len());
        let _ = entries.iter().map(Entry::at).count();
    }
}
