//! Recordings made in memory: whole conversations of the game, cut into segments, disordered,
//! fragmented, in every link type and file format.

use std::net::IpAddr;

use bytes::Bytes;
use etherparse::{IpFragOffset, IpNumber, Ipv4Header, Ipv6FragmentHeader, PacketBuilder};

use super::*;
use crate::capture::{Entry, EventKind};
use crate::codec::{Encoder, KeyLogLine, KeyRing};
use crate::filter::Timestamp;
use crate::query::{Kind, Request};
use crate::schema::{Catalog, Direction, State, Value};
use crate::session::Side;

const CLIENT: &str = "192.0.2.1";
const SERVER: &str = "192.0.2.2";
const ISN: [u32; 2] = [u32::MAX - 40, 7_000_000];
const MILLISECOND: u64 = 1_000_000;

/// A TCP segment between the two.
#[derive(Debug, Clone)]
struct Seg {
    from: Side,
    seq: u32,
    ack: u32,
    flags: &'static str,
    bytes: Vec<u8>,
}

/// What two peers say, cut into segments of at most `mss` bytes.
struct Talk {
    version: i32,
    ports: (u16, u16),
    encoders: [Encoder; 2],
    next: [u32; 2],
    mss: usize,
    segments: Vec<Seg>,
}

impl Talk {
    fn new(mss: usize) -> Self {
        let mut talk = Self {
            version: 47,
            ports: (50_000, 25_565),
            encoders: Default::default(),
            next: ISN,
            mss,
            segments: Vec::new(),
        };
        talk.put(Side::Client, "S", &[]);
        talk.put(Side::Server, "SA", &[]);
        talk.put(Side::Client, "A", &[]);
        talk
    }

    fn put(&mut self, from: Side, flags: &'static str, bytes: &[u8]) {
        let (seq, ack) = (self.next[from as usize], self.next[from.other() as usize]);
        self.segments.push(Seg { from, seq, ack, flags, bytes: bytes.to_vec() });
        let counted = bytes.len() as u32 + u32::from(flags.contains(['S', 'F']));
        self.next[from as usize] = seq.wrapping_add(counted);
    }

    fn says(&mut self, from: Side, state: State, name: &str, value: serde_json::Value) {
        let protocol = Catalog::embedded().find(self.version).unwrap().protocol;
        let packet = protocol.named(state, from.sends(), name).unwrap();
        let body = protocol.encode(packet, &Value::from_json(&value)).unwrap();
        let encoder = &mut self.encoders[from as usize];
        encoder.send(&body);
        let bytes = encoder.pending().to_vec();
        encoder.advance(bytes.len());
        for piece in bytes.chunks(self.mss) {
            self.put(from, "PA", piece);
        }
        // The peer acknowledges.
        self.put(from.other(), "A", &[]);
    }

    fn log_in(&mut self, secret: Option<[u8; 16]>) {
        use serde_json::json;
        let handshake = json!({
            "protocolVersion": 47, "serverHost": "mc.example.org", "serverPort": 25565,
            "nextState": 2,
        });
        self.says(Side::Client, State::Handshaking, "set_protocol", handshake);
        self.says(Side::Client, State::Login, "login_start", json!({"username": "Steve"}));
        if let Some(secret) = secret {
            let request = json!({"serverId": "", "publicKey": "MDA=", "verifyToken": "3q2+7w=="});
            self.says(Side::Server, State::Login, "encryption_begin", request);
            let response = json!({"sharedSecret": "AAAA", "verifyToken": "AAAA"});
            self.says(Side::Client, State::Login, "encryption_begin", response);
            self.encoders.iter_mut().for_each(|it| it.set_cipher(&secret));
        }
        self.says(Side::Server, State::Login, "compress", json!({"threshold": 64}));
        self.encoders.iter_mut().for_each(|it| it.set_compression(Some(64)));
        let success = json!({"uuid": "069a79f4-44e9-4726-a5be-fca90e38aaf5", "username": "Steve"});
        self.says(Side::Server, State::Login, "success", success);
    }

    fn play(&mut self) {
        use serde_json::json;
        for id in 0..20 {
            let keep_alive = json!({"keepAliveId": id});
            self.says(Side::Server, State::Play, "keep_alive", keep_alive.clone());
            self.says(Side::Client, State::Play, "keep_alive", keep_alive);
            // Digits that hardly deflate.
            let text: String = (1..id * 10).map(|it| (it * it * 7919 % 9973).to_string()).collect();
            self.says(Side::Client, State::Play, "chat", json!({"message": text}));
        }
    }

    fn end(&mut self) {
        self.put(Side::Client, "FA", &[]);
        self.put(Side::Server, "FA", &[]);
        self.put(Side::Client, "A", &[]);
    }

    /// A whole session.
    fn whole(mss: usize, secret: Option<[u8; 16]>) -> Self {
        let mut talk = Self::new(mss);
        talk.log_in(secret);
        talk.play();
        talk.end();
        talk
    }

    /// The segments as IPv4 packets, a millisecond apart.
    fn packets(&self) -> Vec<Captured> {
        let each = self.segments.iter().enumerate();
        each.map(|(i, it)| captured(i as u64 * MILLISECOND, ipv4(it, self.ports))).collect()
    }
}

fn captured(at: u64, packet: Vec<u8>) -> Captured {
    let at = Timestamp(1_700_000_000_123_456_789 + at);
    Captured { at, link: Link::Ip, bytes: packet.into(), missing: 0 }
}

fn address(side: Side) -> IpAddr {
    if side == Side::Client { CLIENT } else { SERVER }.parse().unwrap()
}

fn ipv4(segment: &Seg, ports: (u16, u16)) -> Vec<u8> {
    let (IpAddr::V4(from), IpAddr::V4(to)) = (address(segment.from), address(segment.from.other()))
    else {
        panic!("an IPv4 address")
    };
    tcp(PacketBuilder::ipv4(from.octets(), to.octets(), 64), segment, ports)
}

fn ipv6(segment: &Seg, ports: (u16, u16)) -> Vec<u8> {
    let [from, to] = [segment.from, segment.from.other()].map(|side| [side as u8 + 1; 16]);
    tcp(PacketBuilder::ipv6(from, to, 64), segment, ports)
}

fn tcp(
    builder: etherparse::PacketBuilderStep<etherparse::IpHeaders>,
    segment: &Seg,
    (client, server): (u16, u16),
) -> Vec<u8> {
    let (from, to) = match segment.from {
        Side::Client => (client, server),
        Side::Server => (server, client),
    };
    let mut builder = builder.tcp(from, to, segment.seq, 65_000);
    for flag in segment.flags.chars() {
        builder = match flag {
            'S' => builder.syn(),
            'F' => builder.fin(),
            'P' => builder.psh(),
            'R' => builder.rst(),
            _ => builder.ack(segment.ack),
        };
    }
    let mut out = Vec::new();
    builder.write(&mut out, &segment.bytes).unwrap();
    out
}

/// What a recording comes to: a word for each packet and session, and the notices.
fn read(
    packets: impl IntoIterator<Item = Captured>,
    options: TrafficOptions,
) -> (Vec<String>, Vec<String>) {
    let mut traffic = Traffic::new(options);
    let (mut entries, mut notices) = (Vec::new(), Vec::new());
    for packet in packets {
        traffic.handle(&packet);
        traffic.take_entries(&mut entries);
        notices.extend(traffic.take_notices());
    }
    traffic.finish();
    traffic.take_entries(&mut entries);
    notices.extend(traffic.take_notices());
    (entries.iter().map(word).collect(), notices.iter().map(ToString::to_string).collect())
}

fn word(entry: &Entry) -> String {
    let session = entry.context().session;
    match entry {
        Entry::Event(event) => match &event.kind {
            EventKind::Close(summary) => format!("{session} close: {}", summary.reason),
            kind => format!("{session} {}", kind.name()),
        },
        Entry::Packet(record) => {
            let packet = &record.packet;
            let arrow = if packet.direction == Direction::Serverbound { ">" } else { "<" };
            match (packet.packet(), packet.error()) {
                (Some(known), None) => {
                    let mut json = Vec::new();
                    packet.write_json(&mut json).unwrap();
                    let json = String::from_utf8(json).unwrap();
                    format!("{session} {arrow} {} {json}", known.name())
                }
                (_, error) => format!("{session} {arrow} ! {}", error.unwrap()),
            }
        }
    }
}

fn default() -> TrafficOptions {
    TrafficOptions::default()
}

/// What the session is when nothing disturbs it.
fn undisturbed() -> Vec<String> {
    let (words, notices) = read(Talk::whole(1400, None).packets(), default());
    assert_eq!(notices, [""; 0]);
    assert_eq!(words[..2], ["1 open", &words[1]]);
    assert!(words[1].starts_with("1 > set_protocol {\"protocolVersion\":47"), "{}", words[1]);
    assert_eq!(words.iter().filter(|word| word.contains("keep_alive")).count(), 40);
    assert_eq!(words.iter().filter(|word| word.contains("> chat")).count(), 20);
    assert_eq!(words.last().unwrap(), "1 close: closed by the client");
    words
}

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
        // Each two the wrong way round, each again later, with bytes of the next behind.
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
                // Ethernet fills up short frames.
                let padding: &[u8] = if link == 1 { &[0; 6] } else { &[] };
                let bytes = [&head[..], &packet, padding].concat();
                let link = Link::from_number(link);
                Captured { link, ..captured(i as u64 * MILLISECOND, bytes) }
            };
            let found = read(talk.segments.iter().enumerate().map(wrap), default());
            assert_eq!(found, (expected.clone(), vec![]), "link type {link}, IPv{version}");
        }
    }
}

#[test]
fn other_link_types_are_told_once() {
    let packet = |_| Captured { link: Link::from_number(127), ..captured(0, vec![1; 60]) };
    let (words, notices) = read((0..3).map(packet), default());
    assert!(words.is_empty());
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("link type 127"), "{notices:?}");
}

#[test]
fn fragments_of_both_ip_versions_are_put_together_in_any_order() {
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

/// Cuts a packet after each 16 bytes of what it carries.
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
            // Hop-by-hop options before it, which the length counts too.
            head[4..6].copy_from_slice(&(8 + 8 + piece.len() as u16).to_be_bytes());
            head[6] = 0;
            let hop_by_hop = [44, 0, 1, 4, 0, 0, 0, 0];
            [&head[..], &hop_by_hop, &fragment.to_bytes(), piece].concat()
        })
        .collect()
}

#[test]
fn a_missing_segment_is_a_gap_behind_which_that_direction_is_opaque() {
    let mut talk = Talk::whole(1400, None);
    let chats = talk.segments.iter().enumerate();
    let lost =
        chats.filter(|(_, it)| it.from == Side::Client && it.bytes.len() > 40).nth(5).unwrap().0;
    let missing = talk.segments.remove(lost).bytes.len();
    let (words, notices) = read(talk.packets(), default());
    let told = format!(
        "session 1, {CLIENT}:50000 to {SERVER}:25565: {missing} bytes of the client are missing in \
         the recording: what it sends after them is not understood"
    );
    assert_eq!(notices, [told]);
    let expected = undisturbed();
    let from_server = |words: &[String]| -> Vec<String> {
        words.iter().filter(|it| it.starts_with("1 <")).cloned().collect()
    };
    assert_eq!(from_server(&words), from_server(&expected));
    let gap = words.iter().position(|it| it.contains(" bytes are missing at byte ")).unwrap();
    assert!(words[gap].starts_with("1 > ! no longer understood: "), "{}", words[gap]);
    let behind = words[gap..].iter().filter(|it| it.starts_with("1 >"));
    assert!(behind.clone().count() > 5 && behind.clone().all(|it| it.starts_with("1 > !")));
    assert!(words.last().unwrap().starts_with("1 close: closed by the "));
}

#[test]
fn what_a_snap_length_cuts_off_is_told() {
    let mut packets = Talk::whole(1400, None).packets();
    for packet in &mut packets {
        packet.missing = packet.bytes.len().saturating_sub(100);
        packet.bytes.truncate(100);
    }
    let (words, notices) = read(packets, default());
    assert!(notices[0].contains("tcpdump -s 0"), "{notices:?}");
    assert!(notices[1].contains("of the client are missing"), "{notices:?}");
    assert!(words.iter().any(|it| it.contains("set_protocol")));
}

#[test]
fn a_connection_joined_in_the_middle_is_kept_on_the_games_port_only() {
    let talk = Talk::whole(1400, None);
    let joined = |ports| {
        let segments = talk.segments[20..].to_vec();
        Talk { ports, segments, encoders: Default::default(), ..Talk::new(1) }.packets()
    };
    let (words, notices) = read(joined((50_000, 25_565)), default());
    assert_eq!(words[0], "1 open");
    assert!(words[1..words.len() - 1].iter().all(|it| it.contains("begins within this")));
    assert!(notices[0].contains("the recording begins within this connection"), "{notices:?}");
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
    assert!(words.contains(&"1 close: its port was used again".to_owned()));
    assert_eq!(words.last().unwrap(), "2 close: closed by the client");
}

#[test]
fn a_reset_ends_a_session_unless_it_is_far_off() {
    let mut talk = Talk::new(1400);
    talk.log_in(None);
    let seq = talk.next[0];
    talk.next[0] = seq.wrapping_add(1 << 31);
    talk.put(Side::Client, "R", &[]);
    talk.next[0] = seq;
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
    let mut packets: Vec<Captured> = sessions.iter().flat_map(Talk::packets).collect();
    packets.sort_by_key(|it| it.at);
    let expected = undisturbed();
    let mut traffic = Traffic::new(default());
    packets.iter().for_each(|it| traffic.handle(it));
    assert_eq!(traffic.seen().others, 2);
    let (words, _) = read(packets, default());
    for session in 1..4 {
        let own = words.iter().filter_map(|it| it.strip_prefix(&format!("{session} ")));
        let whole = expected.iter().filter_map(|it| it.strip_prefix("1 "));
        assert_eq!(own.collect::<Vec<_>>(), whole.collect::<Vec<_>>());
    }
    assert!(!words.iter().any(|it| it.starts_with('4')));
}

#[test]
fn an_encrypted_session_is_decrypted_with_the_right_one_of_its_tokens_secrets() {
    let plain = undisturbed();
    let token = [0xde, 0xad, 0xbe, 0xef];
    for others in [vec![], vec![[1; 16], [2; 16]]] {
        for mss in [1, 50, 1400] {
            let mut keys = KeyRing::default();
            for secret in others.iter().chain([&[9; 16]]) {
                keys.add(KeyLogLine::new(&token, *secret));
            }
            let (words, notices) = read(
                Talk::whole(mss, Some([9; 16])).packets(),
                TrafficOptions { keys, ..default() },
            );
            assert_eq!(notices, [""; 0]);
            let rest: Vec<_> =
                words.iter().filter(|it| !it.contains("encryption_begin")).cloned().collect();
            assert_eq!(words.len() - rest.len(), 2);
            // One more change of state: encrypted.
            assert_eq!(rest.len(), plain.len() + 1, "{rest:?}");
            let packets = |words: &[String]| -> Vec<String> {
                words.iter().filter(|it| !it.ends_with(" state")).cloned().collect()
            };
            assert_eq!(packets(&rest), packets(&plain));
        }
    }
}

#[test]
fn without_its_key_both_directions_are_opaque_and_the_token_is_named() {
    for (keys, why) in [
        (KeyRing::default(), "encrypted, and no key log has the verify token `deadbeef`"),
        (
            {
                let mut keys = KeyRing::default();
                keys.add(KeyLogLine::new(&[0xde, 0xad, 0xbe, 0xef], [1; 16]));
                keys
            },
            "encrypted, and none of the key log's secrets for its token fits",
        ),
    ] {
        let packets = Talk::whole(1400, Some([9; 16])).packets();
        let (words, notices) = read(packets, TrafficOptions { keys, ..default() });
        assert_eq!(notices, [format!("session 1, {CLIENT}:50000 to {SERVER}:25565: {why}")]);
        let response = words.iter().position(|it| it.contains("> encryption_begin")).unwrap();
        let behind = &words[response + 1..words.len() - 1];
        assert!(behind.len() > 40);
        assert!(behind.iter().all(|it| it.ends_with(why)), "{behind:?}");
    }
}

#[test]
fn what_a_server_says_before_encryption_has_begun_is_plain() {
    let mut talk = Talk::new(1400);
    let handshake = serde_json::json!({
        "protocolVersion": 47, "serverHost": "h", "serverPort": 1, "nextState": 2,
    });
    talk.says(Side::Client, State::Handshaking, "set_protocol", handshake);
    let request =
        serde_json::json!({"serverId": "", "publicKey": "MDA=", "verifyToken": "3q2+7w=="});
    talk.says(Side::Server, State::Login, "encryption_begin", request);
    let reason = serde_json::json!({"reason": "\"Took too long\""});
    talk.says(Side::Server, State::Login, "disconnect", reason);
    talk.put(Side::Server, "FA", &[]);
    talk.put(Side::Client, "FA", &[]);
    let (words, notices) = read(talk.packets(), default());
    assert_eq!(notices, [""; 0]);
    assert!(words.iter().any(|it| it.starts_with("1 < disconnect")), "{words:?}");
}

#[test]
fn a_ping_from_before_1_7_is_told_by_its_answer() {
    for request in [&b"\xfe"[..], b"\xfe\x01"] {
        let mut talk = Talk::new(1400);
        talk.ports = (50_000, 4000);
        talk.put(Side::Client, "PA", request);
        let answer: Vec<u8> = "A server§3§20".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let answer = [&b"\xff\x00\x0d"[..], &answer].concat();
        talk.put(Side::Server, "PA", &answer);
        talk.end();
        let (words, notices) = read(talk.packets(), default());
        assert_eq!(notices, [""; 0]);
        let packets: Vec<_> =
            words.iter().filter(|it| it.contains(" > ") || it.contains(" < ")).collect();
        assert_eq!(packets.len(), 2, "{words:?}");
        assert!(packets[0].starts_with("1 > ") && !packets[0].contains('!'), "{words:?}");
        assert!(packets[1].contains("A server§3§20"), "{words:?}");
    }
}

#[test]
fn a_session_of_alpha_has_its_version_by_its_login() {
    let mut talk = Talk::new(3);
    for (side, bytes) in [
        (Side::Client, &b"\x02\x00\x05Steve"[..]),
        (Side::Server, b"\x02\x00\x01-"),
        (Side::Client, b"\x01\x00\x00\x00\x02\x00\x05Steve\x00\x00"),
        (Side::Server, b"\x01\x00\x00\x00\x07\x00\x00\x00\x00"),
        (Side::Server, b"\x00\x03\x00\x02hi"),
    ] {
        for piece in bytes.chunks(3) {
            talk.put(side, "PA", piece);
        }
    }
    talk.end();
    let (words, notices) = read(talk.packets(), default());
    assert_eq!(notices, [""; 0]);
    let packets: Vec<_> =
        words.iter().filter(|it| it.contains(" > ") || it.contains(" < ")).collect();
    assert_eq!(packets.len(), 6, "{words:?}");
    assert!(packets.iter().all(|it| !it.contains('!')), "{words:?}");
    assert!(packets[5].contains("hi"), "{words:?}");
}

#[test]
fn a_transfer_is_what_the_server_has_said() {
    use serde_json::json;
    let mut talk = Talk::new(1400);
    talk.version = 766;
    let handshake = json!({
        "protocolVersion": 766, "serverHost": "here", "serverPort": 25565, "nextState": 2,
    });
    talk.says(Side::Client, State::Handshaking, "set_protocol", handshake);
    let player = json!({"username": "Steve", "playerUUID": "069a79f4-44e9-4726-a5be-fca90e38aaf5"});
    talk.says(Side::Client, State::Login, "login_start", player);
    let success = json!({
        "uuid": "069a79f4-44e9-4726-a5be-fca90e38aaf5", "username": "Steve", "properties": [],
        "strictErrorHandling": false,
    });
    talk.says(Side::Server, State::Login, "success", success);
    talk.says(Side::Client, State::Login, "login_acknowledged", json!({}));
    let elsewhere = json!({"host": "there", "port": 4000});
    talk.says(Side::Server, State::Configuration, "transfer", elsewhere);
    talk.end();
    let (words, _) = read(talk.packets(), default());
    let told = words.iter().filter(|it| it.contains("< transfer"));
    let told: Vec<_> = told.collect();
    assert_eq!(told, ["1 < transfer {\"host\":\"there\",\"port\":4000}"], "{words:?}");
}

#[test]
fn a_key_exchange_without_an_end_holds_little() {
    let mut talk = Talk::new(1400);
    let handshake = serde_json::json!({
        "protocolVersion": 47, "serverHost": "h", "serverPort": 1, "nextState": 2,
    });
    talk.says(Side::Client, State::Handshaking, "set_protocol", handshake);
    let request =
        serde_json::json!({"serverId": "", "publicKey": "MDA=", "verifyToken": "3q2+7w=="});
    talk.says(Side::Server, State::Login, "encryption_begin", request);
    for _ in 0..40 {
        talk.put(Side::Server, "PA", &[0; 60_000]);
    }
    let (words, notices) = read(talk.packets(), default());
    assert!(notices[0].ends_with("the key exchange has no end"), "{notices:?}");
    assert!(words.len() > 20);
}

#[test]
fn query_is_read_too() {
    let (client, server) = ("192.0.2.1:4000", "192.0.2.2:25565");
    let udp = |from: &str, to: &str, payload: &[u8]| {
        let [from, to] = [from, to].map(|it| it.parse::<std::net::SocketAddrV4>().unwrap());
        let mut out = Vec::new();
        PacketBuilder::ipv4(from.ip().octets(), to.ip().octets(), 64)
            .udp(from.port(), to.port())
            .write(&mut out, payload)
            .unwrap();
        captured(0, out)
    };
    let request = Request::Handshake { session: 1 }.encode().unwrap();
    let answer = b"\x09\0\0\0\x019513307\0";
    let stat = Request::Stat { kind: Kind::Basic, session: 1, token: 9_513_307 }.encode().unwrap();
    let packets = [
        udp(client, "192.0.2.3:53", b"no query"),
        udp(client, server, &request),
        udp(server, client, answer),
        udp(client, server, &stat),
        udp("192.0.2.9:1", client, b"from somebody else"),
    ];
    let (words, _) = read(packets, default());
    assert_eq!(
        words,
        [
            "1 open",
            "1 > handshake {\"sessionId\":1}",
            "1 < handshake {\"sessionId\":1,\"token\":\"9513307\"}",
            "1 > stat {\"sessionId\":1,\"token\":9513307}",
            "1 close: the recording ends",
        ]
    );
}

/// A classic pcap file.
fn pcap(packets: &[Captured], link: u32, nanos: bool, big: bool) -> Vec<u8> {
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

/// A pcapng file whose interface counts time so, if it says how.
fn pcapng(packets: &[Captured], link: u16, resolution: Option<u8>, big: bool) -> Vec<u8> {
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
        // Something that says nothing of packets.
        file.extend(block(5, &[0; 12]));
    }
    file
}

fn read_file(file: &[u8]) -> Vec<Captured> {
    PcapReader::new(file).map(Result::unwrap).collect()
}

#[test]
fn both_formats_are_read_in_both_byte_orders_with_any_unit_of_time() {
    let mut packets = Talk::whole(1400, None).packets();
    packets[3].missing = 17;
    let rounded = |unit: u64| -> Vec<Captured> {
        let round = |it: &Captured| Captured { at: Timestamp(it.at.0 / unit * unit), ..it.clone() };
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
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let packets = Talk::whole(1400, None).packets();
    for file in [pcap(&packets, 101, false, false), pcapng(&packets, 101, Some(9), false)] {
        // Behind the last packet stands another block, if any.
        let cut = &file[..file.len() - 40];
        let mut read: Vec<_> = PcapReader::new(cut).collect();
        let last = read.pop().unwrap().unwrap_err();
        assert!(matches!(last, PcapFault::CutOff(_)), "{last}");
        assert!(last.to_string().starts_with("block at byte "), "{last}");
        assert_eq!(read.len(), packets.len() - 1);
        for length in 0..file.len().min(300) {
            let ended = PcapReader::new(&file[..length]).last();
            let whole = matches!(ended, None | Some(Ok(_)));
            let fault = matches!(ended, Some(Err(PcapFault::CutOff(_) | PcapFault::NoPcap(_))));
            assert!(whole || fault, "{length}: {ended:?}");
        }
    }
}

#[test]
fn damage_is_named_and_ends_the_file() {
    let packets = Talk::whole(1400, None).packets();
    let mut file = pcapng(&packets, 101, Some(9), false);
    let middle = file.len() - 400;
    file[middle..].fill(0xee);
    let mut read: Vec<_> = PcapReader::new(&file[..]).collect();
    let last = read.pop().unwrap().unwrap_err();
    assert!(matches!(last, PcapFault::Damaged(..)), "{last}");
    assert!(read.len() > 10 && read.iter().all(Result::is_ok));
}

#[test]
fn what_is_no_recording_is_refused() {
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"{\"v\":1}", "a capture as JSON lines, which `show` prints"),
        (b"hello", "something else"),
    ] {
        let fault = PcapReader::new(bytes).next().unwrap().unwrap_err().to_string();
        assert!(fault.starts_with("not a pcap or pcapng file: ") && fault.contains(why), "{fault}");
    }
}

#[test]
fn a_flood_of_connections_costs_no_more_than_the_table() {
    let mut traffic = Traffic::new(default());
    let mut talk = Talk::new(1400);
    for i in 0..traffic::MAX_CONNECTIONS as u32 + 10 {
        talk.ports = (i as u16, 1000 + (i >> 16) as u16);
        traffic.handle(&captured(u64::from(i), ipv4(&talk.segments[0], talk.ports)));
    }
    assert!(traffic.connections() <= traffic::MAX_CONNECTIONS);
    assert_eq!(traffic.take_notices(), [Notice::Crowded]);
}

#[test]
fn random_bytes_are_no_session_and_no_panic() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    for link in [1, 101, 113, 276, 0] {
        let mut traffic = Traffic::new(default());
        for length in 0..200 {
            let bytes: Bytes = (0..length).map(|_| random()).collect::<Vec<_>>().into();
            let link = Link::from_number(link);
            traffic.handle(&Captured { link, ..captured(0, bytes.to_vec()) });
        }
        traffic.finish();
        assert_eq!(traffic.seen().sessions, 0);
    }
}
