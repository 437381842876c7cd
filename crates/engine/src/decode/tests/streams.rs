//! Segments are reassembled into streams in any order; connections begin and end.

use bytes::Bytes;

use super::*;
use mitmcraft_protocol::codec::{Encoder, MemoryBudget};
use mitmcraft_protocol::packet::Content;

#[test]
fn segments_of_any_size_give_the_same_session() {
    let expected = undisturbed();
    for mss in [1, 7, 100, 1400] {
        assert_eq!(read(Talk::whole(mss, None).packets(), default()).0, expected, "{mss}");
    }
}

#[test]
fn disorder_repeats_and_overlaps_give_the_same_session() {
    let expected = undisturbed();
    let mut talk = Talk::whole(7, None);
    let mut packets = Vec::new();
    let ends = talk.segments.split_off(talk.segments.len() - 3);
    for pair in talk.segments.chunks(2) {
        // Each pair in reverse order, and each segment repeated later.
        packets.extend(pair.iter().rev().cloned());
        packets.extend(pair.iter().cloned());
    }
    talk.segments = [packets, ends].concat();
    assert_eq!(read(talk.packets(), default()).0, expected);

    let mut talk = Talk::whole(7, None);
    let data: Vec<Seg> = talk.segments.clone();
    for (i, segment) in talk.segments.iter_mut().enumerate() {
        let next = data.get(i + 1).filter(|next| next.from == segment.from);
        if let Some(next) = next.filter(|_| !segment.bytes.is_empty()) {
            segment.bytes.extend_from_slice(&next.bytes);
        }
    }
    assert_eq!(read(talk.packets(), default()).0, expected);
}

#[test]
fn a_direction_is_opaque_after_a_missing_segment() {
    let mut talk = Talk::whole(1400, None);
    let chats = talk.segments.iter().enumerate();
    let lost =
        chats.filter(|(_, it)| it.from == Side::Client && it.bytes.len() > 40).nth(5).unwrap().0;
    let missing = talk.segments.remove(lost).bytes.len();
    let (words, notices) = read(talk.packets(), default());
    let connection = first_connection();
    assert_eq!(
        notices,
        [DecodeNotice::Gap { connection, from: Side::Client, bytes: missing as u64 }]
    );
    let expected = undisturbed();
    let from_server = |words: &[String]| -> Vec<String> {
        words.iter().filter(|it| it.starts_with("1 <")).cloned().collect()
    };
    assert_eq!(from_server(&words), from_server(&expected));
    let gap = words.iter().position(|it| it.contains(" bytes are missing at byte ")).unwrap();
    assert!(words[gap].starts_with("1 > ! no longer understood: "), "{}", words[gap]);
    let after = words[gap..].iter().filter(|it| it.starts_with("1 >"));
    assert!(after.clone().count() > 5 && after.clone().all(|it| it.starts_with("1 > !")));
    assert!(words.last().unwrap().starts_with("1 close: closed by the "));
}

#[test]
fn packets_cut_by_a_snap_length_are_reported() {
    let mut packets = Talk::whole(1400, None).packets();
    for packet in &mut packets {
        packet.missing = packet.bytes.len().saturating_sub(100);
        packet.bytes.truncate(100);
    }
    let (words, notices) = read(packets, default());
    assert_eq!(notices[0], DecodeNotice::CutPackets);
    assert!(matches!(notices[1], DecodeNotice::Gap { from: Side::Client, .. }), "{notices:?}");
    assert!(words.iter().any(|it| it.contains("set_protocol")));
}

#[test]
fn a_connection_joined_in_the_middle_is_kept_on_the_games_port_only() {
    let talk = Talk::whole(1400, None);
    let joined = |ports| {
        let segments = talk.segments[20..].to_vec();
        Talk { ports, segments, encoders: PerSide::default(), ..Talk::new(1) }.packets()
    };
    let (words, notices) = read(joined((50_000, 25_565)), default());
    assert_eq!(words[0], "1 open");
    assert!(words[1..words.len() - 1].iter().all(|it| it.contains("begins within this")));
    let [DecodeNotice::Opaque { reason, .. }] = &notices[..] else { panic!("{notices:?}") };
    assert!(reason.to_string().contains("the recording begins within this connection"), "{reason}");
    assert_eq!(read(joined((50_000, 4000)), default()), (vec![], vec![]));
    let ports = TrafficOptions { ports: vec![4000], ..default() };
    let found = read(joined((50_000, 4000)), ports).0;
    assert_eq!(found.len(), words.len());
    assert!(found[1].starts_with("1 "), "{found:?}");
}

#[test]
fn a_session_whose_syn_was_not_recorded_is_whole() {
    let mut talk = Talk::whole(1400, None);
    talk.segments.drain(..3);
    assert_eq!(read(talk.packets(), default()).0, undisturbed());
}

#[test]
fn a_port_used_again_is_another_session_and_a_repeated_syn_is_not() {
    let first = Talk::whole(1400, None);
    let mut second = Talk::whole(1400, None);
    for segment in &mut second.segments {
        segment.seq = segment.seq.wrapping_add(12_345);
        segment.ack = segment.ack.wrapping_add(12_345);
    }
    let mut packets = first.packets();
    // The first one never ends.
    packets.truncate(packets.len() - 3);
    let syn = packets[0].clone();
    packets.insert(8, syn);
    packets.extend(second.packets());
    let (words, _) = read(packets, default());
    let sessions = |number: &str| words.iter().filter(|it| it.starts_with(number)).count();
    assert_eq!(sessions("1 "), sessions("2 "));
    assert!(words.contains(&"1 close: the port was reused".to_owned()));
    assert_eq!(words.last().unwrap(), "2 close: closed by the client");
}

#[test]
fn a_reset_outside_the_window_does_not_end_a_session() {
    let mut talk = Talk::new(1400);
    talk.log_in(None);
    let seq = talk.next.client;
    talk.next.client = seq.wrapping_add(1 << 31);
    talk.put(Side::Client, "R", &[]);
    talk.next.client = seq;
    talk.play();
    talk.put(Side::Server, "RA", &[]);
    talk.put(Side::Client, "A", &[]);
    let (words, _) = read(talk.packets(), default());
    assert_eq!(words.iter().filter(|it| it.contains("keep_alive")).count(), 40);
    assert_eq!(words.last().unwrap(), "1 close: lost the server: connection reset");
}

#[test]
fn sessions_interleave_and_other_traffic_is_left_out() {
    let mut sessions: Vec<Talk> = (0..3).map(|_| Talk::whole(50, None)).collect();
    let mut other = Talk::new(1400);
    other.put(Side::Client, "PA", b"GET / HTTP/1.1\r\n\r\n");
    other.put(Side::Server, "PA", b"HTTP/1.1 200 OK\r\n\r\n");
    other.end();
    sessions.push(other);
    let mut ssh = Talk::new(1400);
    ssh.put(Side::Server, "PA", b"SSH-2.0-x\r\n");
    sessions.push(ssh);
    for (i, talk) in sessions.iter_mut().enumerate() {
        talk.ports = (50_000 + i as u16, 30_000 + i as u16);
    }
    let mut packets: Vec<CapturedPacket> = sessions.iter().flat_map(Talk::packets).collect();
    packets.sort_by_key(|it| it.at);
    let expected = undisturbed();
    let mut traffic = Traffic::new(default());
    packets.iter().for_each(|it| traffic.handle(it));
    assert_eq!(traffic.counts().others, 2);
    let (words, _) = read(packets, default());
    for session in 1..4 {
        let own = words.iter().filter_map(|it| it.strip_prefix(&format!("{session} ")));
        let whole = expected.iter().filter_map(|it| it.strip_prefix("1 "));
        assert_eq!(own.collect::<Vec<_>>(), whole.collect::<Vec<_>>());
    }
    assert!(!words.iter().any(|it| it.starts_with('4')));
}

#[test]
fn the_number_of_tracked_connections_is_bounded() {
    let mut traffic = Traffic::new(default());
    let mut talk = Talk::new(1400);
    for i in 0..traffic::MAX_CONNECTIONS as u32 + 10 {
        talk.ports = (i as u16, 1000 + (i >> 16) as u16);
        traffic.handle(&captured(u64::from(i), ipv4(&talk.segments[0], talk.ports)));
    }
    assert!(traffic.connections.len() <= traffic::MAX_CONNECTIONS);
    assert_eq!(traffic.take_notices(), [DecodeNotice::Crowded { limit: traffic::MAX_CONNECTIONS }]);
}

#[test]
fn random_bytes_give_no_session_and_no_panic() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    for link in [1, 101, 113, 276, 0] {
        let mut traffic = Traffic::new(default());
        for length in 0..200 {
            let bytes: Bytes = (0..length).map(|_| random()).collect::<Vec<_>>().into();
            let link = LinkType::from_number(link);
            traffic.handle(&CapturedPacket { link, ..captured(0, bytes.to_vec()) });
        }
        traffic.finish();
        assert_eq!(traffic.counts().sessions, 0);
    }
}

#[test]
fn unfinished_packets_of_many_connections_stay_below_the_ceiling_and_are_recorded() {
    let memory = MemoryBudget::new(4 << 20);
    let mut traffic = Traffic::new(TrafficOptions { memory: memory.clone(), ..default() });
    let mut frame = Encoder::new();
    frame.send(&[7; 500_000]);
    let unfinished = &frame.pending()[..400_000];
    let talks = (0..40).map(|number| {
        let mut talk = Talk::new(1400);
        talk.ports.0 += number;
        talk.log_in(None);
        unfinished.chunks(60_000).for_each(|piece| talk.put(Side::Client, "PA", piece));
        talk
    });
    let mut packets: Vec<_> = talks.map(|talk| talk.packets().into_iter()).collect();
    let (mut entries, mut open) = (Vec::new(), true);
    while std::mem::take(&mut open) {
        for packet in packets.iter_mut().filter_map(Iterator::next) {
            traffic.handle(&packet);
            open = true;
            assert!(memory.used() <= memory.limit() + (128 << 10), "{}", memory.used());
        }
    }
    assert!(memory.streamed() > 0);
    traffic.finish();
    traffic.take_entries(&mut entries);
    let raw = |entry: &Entry| match entry.record()?.packet.content() {
        Content::Raw(bytes, _) => Some(bytes.len()),
        Content::Frame(_) => None,
    };
    assert_eq!(entries.iter().filter_map(raw).sum::<usize>(), 40 * 400_000);
    drop(traffic);
    assert_eq!(memory.used(), 0);
}
