use std::net::IpAddr;

use etherparse::PacketBuilder;
use serde_json::json;

use crate::decode::{CapturedPacket, LinkType};
use crate::link::{PerSide, Side};
use mitmcraft_protocol::codec::Encoder;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, State, Value};

pub(super) const CLIENT: &str = "192.0.2.1";

pub(super) const SERVER: &str = "192.0.2.2";

pub(super) const ISN: PerSide<u32> = PerSide { client: u32::MAX - 40, server: 7_000_000 };

pub(super) const MILLISECOND: u64 = 1_000_000;

/// A TCP segment between the two peers.
#[derive(Debug, Clone)]
pub(super) struct Seg {
    pub(super) from: Side,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// A conversation of two peers, in segments of at most `mss` bytes.
pub(super) struct Talk {
    pub(super) version: i32,
    pub(super) ports: (u16, u16),
    pub(super) encoders: PerSide<Encoder>,
    pub(super) next: PerSide<u32>,
    pub(super) mss: usize,
    pub(super) segments: Vec<Seg>,
}

impl Talk {
    pub(super) fn new(mss: usize) -> Self {
        let mut talk = Self {
            version: 47,
            ports: (50_000, 25_565),
            encoders: PerSide::default(),
            next: ISN,
            mss,
            segments: Vec::new(),
        };
        talk.put(Side::Client, "S", &[]);
        talk.put(Side::Server, "SA", &[]);
        talk.put(Side::Client, "A", &[]);
        talk
    }

    pub(super) fn put(&mut self, from: Side, flags: &'static str, bytes: &[u8]) {
        let (seq, ack) = (self.next[from], self.next[from.other()]);
        self.segments.push(Seg { from, seq, ack, flags, bytes: bytes.to_vec() });
        let counted = bytes.len() as u32 + u32::from(flags.contains(['S', 'F']));
        self.next[from] = seq.wrapping_add(counted);
    }

    pub(super) fn says(&mut self, from: Side, state: State, name: &str, value: serde_json::Value) {
        let protocol = Catalog::embedded().find(self.version).unwrap().protocol;
        let packet = protocol.named(state, from.sends(), name).unwrap();
        let body = protocol.encode(packet, &Value::from_json(&value)).unwrap();
        let encoder = &mut self.encoders[from];
        encoder.send(&body);
        let bytes = encoder.pending().to_vec();
        encoder.advance(bytes.len());
        for piece in bytes.chunks(self.mss) {
            self.put(from, "PA", piece);
        }
        // The peer acknowledges.
        self.put(from.other(), "A", &[]);
    }

    /// The handshake of a login.
    pub(super) fn greet(&mut self) {
        let handshake = json!({
            "protocolVersion": self.version, "serverHost": "mc.example.org", "serverPort": 25565,
            "nextState": 2,
        });
        self.says(Side::Client, State::Handshaking, "set_protocol", handshake);
    }

    /// Sends an Encryption Request with the token `deadbeef`.
    pub(super) fn ask_for_encryption(&mut self) {
        let request = json!({"serverId": "", "publicKey": "MDA=", "verifyToken": "3q2+7w=="});
        self.says(Side::Server, State::Login, "encryption_begin", request);
    }

    pub(super) fn log_in(&mut self, secret: Option<[u8; 16]>) {
        self.greet();
        self.says(Side::Client, State::Login, "login_start", json!({"username": "Steve"}));
        if let Some(secret) = secret {
            self.ask_for_encryption();
            let response = json!({"sharedSecret": "AAAA", "verifyToken": "AAAA"});
            self.says(Side::Client, State::Login, "encryption_begin", response);
            Side::ALL.into_iter().for_each(|side| self.encoders[side].set_cipher(&secret));
        }
        self.says(Side::Server, State::Login, "compress", json!({"threshold": 64}));
        Side::ALL.into_iter().for_each(|side| self.encoders[side].set_compression(Some(64)));
        let success = json!({"uuid": "069a79f4-44e9-4726-a5be-fca90e38aaf5", "username": "Steve"});
        self.says(Side::Server, State::Login, "success", success);
    }

    pub(super) fn play(&mut self) {
        for id in 0..20 {
            let keep_alive = json!({"keepAliveId": id});
            self.says(Side::Server, State::Play, "keep_alive", keep_alive.clone());
            self.says(Side::Client, State::Play, "keep_alive", keep_alive);
            // Digits that hardly compress.
            let text: String = (1..id * 10).map(|it| (it * it * 7919 % 9973).to_string()).collect();
            self.says(Side::Client, State::Play, "chat", json!({"message": text}));
        }
    }

    pub(super) fn end(&mut self) {
        self.put(Side::Client, "FA", &[]);
        self.put(Side::Server, "FA", &[]);
        self.put(Side::Client, "A", &[]);
    }

    /// Creates a complete session.
    pub(super) fn whole(mss: usize, secret: Option<[u8; 16]>) -> Self {
        let mut talk = Self::new(mss);
        talk.log_in(secret);
        talk.play();
        talk.end();
        talk
    }

    /// Returns the segments as IPv4 packets, a millisecond apart.
    pub(super) fn packets(&self) -> Vec<CapturedPacket> {
        let each = self.segments.iter().enumerate();
        each.map(|(i, it)| captured(i as u64 * MILLISECOND, ipv4(it, self.ports))).collect()
    }
}

pub(super) fn captured(at: u64, packet: Vec<u8>) -> CapturedPacket {
    let at = Timestamp(1_700_000_000_123_456_789 + at);
    CapturedPacket { at, link: LinkType::Ip, bytes: packet.into(), missing: 0 }
}

pub(super) fn address(side: Side) -> IpAddr {
    if side == Side::Client { CLIENT } else { SERVER }.parse().unwrap()
}

pub(super) fn ipv4(segment: &Seg, ports: (u16, u16)) -> Vec<u8> {
    let (IpAddr::V4(from), IpAddr::V4(to)) = (address(segment.from), address(segment.from.other()))
    else {
        panic!("an IPv4 address")
    };
    tcp(PacketBuilder::ipv4(from.octets(), to.octets(), 64), segment, ports)
}

pub(super) fn ipv6(segment: &Seg, ports: (u16, u16)) -> Vec<u8> {
    let [from, to] = [segment.from, segment.from.other()].map(|side| [side as u8 + 1; 16]);
    tcp(PacketBuilder::ipv6(from, to, 64), segment, ports)
}

pub(super) fn tcp(
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
