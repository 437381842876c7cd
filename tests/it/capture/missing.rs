//! pcapng stores what a reader cannot derive, and only when it changes: its size, and files from which
//! packets were removed.

use mitmcraft_engine::capture::{Entry, EntryError, ReadError};
use mitmcraft_protocol::packet::Content;

use super::{from_pcapng, to_jsonl, to_pcapng};
use crate::support::samples::*;

/// A game of small packets in both directions, on legs with compression.
fn game(packets: usize) -> Vec<Entry> {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.open();
    for number in 0..packets {
        let direction = if number % 3 == 0 { Serverbound } else { Clientbound };
        // A plugin's message. With its length, 5 to 61 bytes in the stream: 33 in the mean.
        let id = if direction == Serverbound { 0x17 } else { 0x3f };
        let body = [&[id, 1, b'x'], &vec![7; number % 57 + 1][..]].concat();
        stage.content(direction, Play, Content::Frame(compressed(&body, 256)));
    }
    stage.entries
}

#[test]
fn a_frame_of_a_game_takes_at_most_130_bytes() {
    let (short, long) = (to_pcapng(&game(610)), to_pcapng(&game(6710)));
    let per_frame = (long.len() - short.len()) as f64 / 6100.0;
    assert!(per_frame <= 123.0, "{per_frame}");
    let (read, errors) = from_pcapng(&long);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), to_jsonl(&game(6710)));
}

/// As `editcap -c` cuts a file: only packets and interfaces.
#[test]
fn every_part_of_a_cut_file_decodes_what_it_can_and_says_how_much_of_which_connection_is_missing() {
    let file = to_pcapng(&game(300));
    let blocks = blocks(&file);
    let kind = |place: &usize| file[blocks[*place].start];
    let heads: Vec<u8> = (0..blocks.len())
        .filter(|place| matches!(kind(place), 0x0a | 1))
        .flat_map(|place| file[blocks[place].clone()].to_vec())
        .collect();
    let packets: Vec<usize> = (0..blocks.len()).filter(|place| kind(place) == 6).collect();
    let (mut read, mut unread) = (0, 0);
    for part in packets.chunks(50) {
        let part = part.iter().flat_map(|place| file[blocks[*place].clone()].to_vec());
        let part: Vec<u8> = heads.iter().copied().chain(part).collect();
        let (entries, errors) = from_pcapng(&part);
        read += entries.iter().filter_map(Entry::record).count();
        for error in errors {
            let ReadError::Entry(_, EntryError::NoHead { connection, packets }) = error else {
                panic!("{error}")
            };
            assert!(connection.starts_with("127.0.0.1:51234 to "), "{connection}");
            unread += packets as usize;
        }
    }
    assert_eq!(read + unread, 300);
    assert!(read > 150, "{read}");
}

/// Returns the ranges of a file's blocks.
fn blocks(file: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < file.len() {
        let length = u32::from_le_bytes(file[start + 4..start + 8].try_into().unwrap());
        blocks.push(start..start + length as usize);
        start += length as usize;
    }
    blocks
}

#[test]
fn packets_after_a_gap_are_read_from_where_they_are_described_again() {
    let entries = game(300);
    let file = to_pcapng(&entries);
    let blocks = blocks(&file);
    let packets: Vec<usize> = (0..blocks.len())
        .filter(|place| file[blocks[*place].start] == 6 && blocks[*place].len() > 100)
        .collect();
    for gap in [1, 2, 3] {
        let removed = &packets[100..100 + gap];
        let kept = (0..blocks.len()).filter(|place| !removed.contains(place));
        let damaged: Vec<u8> =
            kept.flat_map(|place| file[blocks[place].clone()].to_vec()).collect();
        let (read, errors) = from_pcapng(&damaged);
        let [ReadError::Entry(_, EntryError::NoHead { connection, packets })] = &errors[..] else {
            panic!("{gap}: {errors:?}")
        };
        assert_eq!(&**connection, "127.0.0.1:51234 to 192.0.2.7:25565");
        // All that is missing is the gap and what is counted.
        assert_eq!(entries.len() - read.len(), gap + *packets as usize, "{gap}");
        // All before the gap, and all but a few after it, each exactly as it was.
        let missing = entries.len() - read.len();
        assert!((gap..gap + 100).contains(&missing), "{gap}: {missing}");
        let written = to_jsonl(&entries);
        for line in to_jsonl(&read).lines() {
            assert!(written.lines().any(|it| it == line), "{gap}: {line}");
        }
    }
}

#[test]
fn a_session_alone_is_read_from_a_file_of_several() {
    let mut other = Stage::new(2, "127.0.0.1:51235", "192.0.2.7:25565");
    other.open();
    for _ in 0..100 {
        other.body(Clientbound, Play, &[0x00, 0x05]);
    }
    let entries = super::interleaved(vec![game(100), other.entries]);
    let file = to_pcapng(&entries);
    // Local blocks and the other session's frames are removed, as Wireshark does that saves a stream.
    let port = 51_234u16.to_be_bytes();
    let kept = blocks(&file).into_iter().filter(|block| {
        let block = &file[block.clone()];
        let kind = u32::from_le_bytes(block[..4].try_into().unwrap());
        kind != 0x8000_0bad && (kind != 6 || block.windows(2).any(|it| it == port))
    });
    let saved: Vec<u8> = kept.flat_map(|block| file[block].to_vec()).collect();
    let (read, errors) = from_pcapng(&saved);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(read.len(), 100);
    let seqs = read.iter().filter_map(Entry::record).map(|record| record.packet.seq());
    assert!(seqs.eq(1..=100));
}

#[test]
fn another_version_is_refused_with_its_number() {
    let written = to_pcapng(&game(5));
    let place = |text: &[u8]| written.windows(text.len()).position(|it| it == text).unwrap();
    let mut later = written.clone();
    later[place(b"mitmcraft capture 2") + 18] = b'3';
    // The first version was only in the lines.
    let mut first = written.clone();
    first[place(b"mitmcraft capture 2")] = b'M';
    first[place(b"{\"v\":2,\"event\":\"capture\"") + 5] = b'1';
    for (file, writer) in [(later, "3, which a later release"), (first, "1, which no release")] {
        let (read, errors) = from_pcapng(&file);
        assert!(read.is_empty());
        assert_eq!(errors.len(), 1, "{errors:?}");
        let said = errors[0].to_string();
        let expected =
            format!("format version {writer} of mitmcraft wrote: only version 2 is read");
        assert!(said.ends_with(&expected), "{said}");
    }
}
