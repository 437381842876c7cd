//! Handmade sessions with everything that a capture can hold.

use std::sync::Arc;

use bytes::Bytes;
use mitmcraft_engine::capture::{
    Entry, Event, EventKind, LegState, Outcome, Record, Summary, open_capture,
};
use mitmcraft_protocol::codec::{Decoder, Encoder, Frame, Limits, Unit};
use mitmcraft_protocol::packet::{Content, Context, Origin, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, Protocol, State, Value, query_magic};
use serde_json::{Value as Json, json};

use super::root;

pub(crate) use Direction::{Clientbound, Serverbound};
pub(crate) use State::{Handshaking, Login, Play, Status};

/// 2026-11-20T12:31:04.100000123Z, at which the first session opens.
pub(crate) const OPENED: u64 = 1_795_177_864_100_000_123;

/// A session under construction.
pub(crate) struct Stage {
    pub(crate) context: Context,
    pub(crate) at: Timestamp,
    pub(crate) entries: Vec<Entry>,
    seq: u64,
}

impl Stage {
    pub(crate) fn new(session: u64, client: &str, server: &str) -> Self {
        let opened = Timestamp(OPENED + (session - 1) * 1_500_000_000);
        let context = Context {
            server: Some(server.parse().unwrap()),
            upstream: "play.example.org:25565".to_owned(),
            version: Some(47),
            ..Context::new(session, opened, client.parse().unwrap(), java_47())
        };
        Self { context, at: opened, entries: Vec::new(), seq: 0 }
    }

    pub(crate) fn event(&mut self, kind: EventKind) {
        let context = Arc::new(self.context.clone());
        self.entries.push(Entry::Event(Event { context, at: self.at, kind }));
    }

    pub(crate) fn open(&mut self) {
        let server = self.context.server.take();
        self.event(EventKind::Open);
        self.context.server = server;
    }

    pub(crate) fn state(&mut self, state: State, threshold: Option<usize>, encrypted: bool) {
        self.event(EventKind::State(LegState {
            state,
            client_threshold: threshold,
            server_threshold: threshold,
            client_encrypted: encrypted,
            server_encrypted: encrypted,
        }));
    }

    pub(crate) fn close(&mut self, reason: &str) {
        self.at.0 += 1_000_000_001;
        self.event(EventKind::Close(Summary {
            reason: reason.to_owned(),
            serverbound_packets: 3,
            clientbound_packets: 5,
            serverbound_bytes: 400,
            clientbound_bytes: 50_000,
        }));
    }

    pub(crate) fn content(
        &mut self,
        direction: Direction,
        state: State,
        content: Content,
    ) -> &mut Record {
        self.seq += 1;
        self.at.0 += 1_234_567;
        let context = Arc::new(self.context.clone());
        let packet = Packet::new(context, self.seq, self.at, direction, state, content);
        self.entries.push(Entry::Packet(Record::passed(packet)));
        let Some(Entry::Packet(record)) = self.entries.last_mut() else { unreachable!() };
        record
    }

    pub(crate) fn body(&mut self, direction: Direction, state: State, body: &[u8]) -> &mut Record {
        let body = Bytes::copy_from_slice(body);
        self.content(direction, state, Content::Frame(Frame::from_body(body)))
    }

    pub(crate) fn packet(
        &mut self,
        direction: Direction,
        state: State,
        name: &str,
        fields: Json,
    ) -> &mut Record {
        let body = encode_by(&self.context.protocol, direction, state, name, &fields);
        self.body(direction, state, &body)
    }

    pub(crate) fn raw(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        reason: RawReason,
    ) -> &mut Record {
        let content = Content::Raw(Bytes::copy_from_slice(bytes), reason);
        self.content(direction, Play, content)
    }

    /// A rewritten packet: the received one and the one sent in its place.
    pub(crate) fn rewrite(&mut self, direction: Direction, state: State, came: &[u8], went: &[u8]) {
        let record = self.body(direction, state, came);
        record.outcome = Outcome::Rewrite;
        let of = record.packet.seq();
        let record = self.body(direction, state, went);
        record.outcome = Outcome::Send;
        record.packet.set_origin(Origin::Proxy);
        record.of = Some(of);
    }
}

/// A session with everything: events, packets of every state, of every outcome and origin, large
/// and undecodable ones, and bytes without packets.
pub(crate) fn everything(session: u64, client: &str, server: &str) -> Vec<Entry> {
    let mut stage = Stage::new(session, client, server);
    stage.context.version = None;
    stage.open();
    let handshake = |host: &str| {
        let fields =
            json!({"protocolVersion": 47, "serverHost": host, "serverPort": 25565, "nextState": 2});
        encode(Serverbound, Handshaking, "set_protocol", &fields)
    };
    stage.rewrite(
        Serverbound,
        Handshaking,
        &handshake("localhost"),
        &handshake("play.example.org"),
    );
    stage.context.version = Some(47);
    stage.state(Login, None, false);
    stage.packet(Serverbound, Login, "login_start", json!({"username": "Notch"}));
    stage.context.player = Some("Notch".to_owned());
    let request = |key: &str| {
        let fields = json!({"serverId": "", "publicKey": key, "verifyToken": "AQIDBA=="});
        encode(Clientbound, Login, "encryption_begin", &fields)
    };
    stage.rewrite(Clientbound, Login, &request("AAAA"), &request("BBBB"));
    let response = json!({"sharedSecret": "AAAA", "verifyToken": "AAAA"});
    stage.packet(Serverbound, Login, "encryption_begin", response);
    stage.state(Login, None, true);
    stage.packet(Clientbound, Login, "compress", json!({"threshold": 256}));
    stage.state(Login, Some(256), true);
    let uuid = "b50ad385-829d-3141-a216-7e7d7539ba7f";
    stage.packet(Clientbound, Login, "success", json!({"uuid": uuid, "username": "Notch"}));
    stage.state(Play, Some(256), true);

    stage.packet(Serverbound, Play, "chat", json!({"message": "hello \u{1b}[31m\"w\u{f6}rld\""}));
    let large = chunk(130_000);
    stage.content(Clientbound, Play, Content::Frame(compressed(&large, 256)));
    let huge = stage.packet(Clientbound, Play, "map_chunk", chunk_fields(300_000));
    huge.comment = Some("a rule's comment, with \u{201c}quotes\u{201d}".to_owned());
    let content = Content::Frame(compressed(&[0x00, 0x05], 256));
    stage.content(Clientbound, Play, content);
    let time = json!({"age": 1, "time": -6000});
    let dropped = stage.packet(Clientbound, Play, "update_time", time);
    dropped.outcome = Outcome::Drop;
    dropped.comment = Some("rule `no time`".to_owned());
    let made = stage.packet(
        Clientbound,
        Play,
        "chat",
        json!({"message": "{\"text\":\"pong\"}", "position": 0}),
    );
    made.outcome = Outcome::Send;
    made.packet.set_origin(Origin::Proxy);
    for length in [1, 3, 40, 300] {
        stage.packet(Serverbound, Play, "chat", json!({"message": "x".repeat(length)}));
    }

    stage.body(Clientbound, Play, &[0x7f, 1, 2, 3]);
    stage.body(Clientbound, Play, &[0x00, 0x05, 0xff]);
    stage.body(Serverbound, Play, &[0x04, 1, 2, 3]);
    stage.body(Serverbound, Play, &[]);
    stage.body(Serverbound, Play, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    let corrupt = received(&[6, 5, 0x78, 0x9c, 0xff, 0xff, 0xff], 256, 1000);
    stage.content(Clientbound, Play, Content::Frame(corrupt));
    let bomb = received(compressed(&chunk(5000), 256).wire(), 256, 1000);
    stage.content(Clientbound, Play, Content::Frame(bomb));
    let headless = received(&[0], 256, 1000);
    stage.content(Clientbound, Play, Content::Frame(headless)).outcome = Outcome::Drop;

    stage.context.guess = true;
    stage.packet(Clientbound, Play, "keep_alive", json!({"keepAliveId": 77}));
    stage.context.guess = false;
    let piece = |left| RawReason::Oversize { frame: 70_003, left };
    stage.raw(Clientbound, &[&[0xf3, 0xa2, 0x04][..], &[7; 70_000]].concat(), piece(3));
    stage.raw(Clientbound, &[8; 3], piece(0));
    stage.raw(Serverbound, b"GET / HTTP/1.1\r\n\r\n", RawReason::NotMinecraft);
    stage.raw(Serverbound, &[9; 10], RawReason::Opaque("frame length, it \"says\"".into()));
    stage.raw(Serverbound, &[], RawReason::Opaque("nothing".into()));
    stage.raw(Serverbound, &[1, 2], RawReason::Opaque("dropped".into())).outcome = Outcome::Drop;
    stage.packet(Clientbound, Play, "kick_disconnect", json!({"reason": "\"bye\""}));
    stage.raw(Clientbound, &[5, 1], RawReason::CutOff);
    let time = json!({"age": 2, "time": 3});
    stage.packet(Clientbound, Play, "update_time", time).outcome = Outcome::Drop;
    stage.close("the server closed the connection");
    stage.entries
}

/// A Query client: datagrams of every kind, outcome and origin.
pub(crate) fn queries(session: u64, client: &str, server: &str) -> Vec<Entry> {
    let mut stage = Stage::new(session, client, server);
    stage.context.protocol = Catalog::embedded().query();
    stage.context.version = None;
    stage.event(EventKind::Open);
    let datagram = |direction, datagram: &[u8]| {
        let magic = query_magic(direction).len();
        Content::Frame(Frame::datagram(Bytes::copy_from_slice(datagram), magic))
    };
    let requests: [&[u8]; 3] = [
        b"\xfe\xfd\x09\0\0\0\x01",
        b"\xfe\xfd\0\0\0\0\x01\0\0\0\x07",
        b"\xfe\xfd\0\0\0\0\x01\0\0\0\x07\0\0\0\0",
    ];
    let full = b"\0\0\0\0\x01splitnum\0\x80\0hostname\0A Server\0map\0\0\0\x01player_\0\0Notch\0\0";
    let basic = b"\0\0\0\0\x01A Server\0SMP\0world\x001\x0020\0\xdd\x63127.0.0.1\0";
    let answers: [&[u8]; 3] = [b"\x09\0\0\0\x017\0", basic, full];
    for (request, answer) in requests.into_iter().zip(answers) {
        stage.content(Serverbound, Status, datagram(Serverbound, request));
        stage.content(Clientbound, Status, datagram(Clientbound, answer));
    }
    let dropped = stage.content(Serverbound, Status, datagram(Serverbound, requests[0]));
    dropped.outcome = Outcome::Drop;
    let came = stage.content(Serverbound, Status, datagram(Serverbound, requests[0]));
    came.outcome = Outcome::Rewrite;
    let of = came.packet.seq();
    let went = stage.content(Serverbound, Status, datagram(Serverbound, requests[1]));
    (went.outcome, went.of) = (Outcome::Send, Some(of));
    went.packet.set_origin(Origin::Proxy);
    stage.content(Clientbound, Status, datagram(Clientbound, &full[..40]));
    for garbage in [&b"garbage"[..], b"", &[7; 65_507], &[8; 65_527]] {
        let content = Content::Raw(Bytes::copy_from_slice(garbage), RawReason::NotMinecraft);
        stage.content(Serverbound, Status, content);
    }
    stage.close("silent for too long");
    stage.entries
}

/// An `update_light` of 1.20.4, whose light is a list of lists of bytes.
pub(crate) fn light() -> Vec<Entry> {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.context.protocol = Catalog::embedded().find(765).unwrap().protocol;
    let protocol = Arc::clone(&stage.context.protocol);
    let packet = protocol.named(Play, Clientbound, "update_light").unwrap();
    let fields = json!({
        "chunkX": 1, "chunkZ": 2,
        "skyLightMask": [1], "blockLightMask": [], "emptySkyLightMask": [],
        "emptyBlockLightMask": [], "skyLight": ["AQL/"], "blockLight": [],
    });
    let body = protocol.encode(packet, &Value::from_json(&fields)).unwrap();
    stage.body(Clientbound, Play, &body);
    stage.entries
}

/// Reads the entries of a capture in the repository.
pub(crate) fn repository_capture(file: &str) -> Vec<Entry> {
    let path = root().join("captures").join(file);
    open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap).collect()
}

pub(crate) fn java_47() -> Arc<Protocol> {
    Catalog::embedded().find(47).unwrap().protocol
}

pub(crate) fn encode(direction: Direction, state: State, name: &str, fields: &Json) -> Vec<u8> {
    encode_by(&java_47(), direction, state, name, fields)
}

fn encode_by(
    protocol: &Protocol,
    direction: Direction,
    state: State,
    name: &str,
    fields: &Json,
) -> Vec<u8> {
    let packet = protocol.named(state, direction, name).unwrap();
    protocol.encode(packet, &Value::from_json(fields)).unwrap()
}

/// A `map_chunk` with that many bytes of data, which hardly compress.
pub(crate) fn chunk(size: usize) -> Vec<u8> {
    encode(Clientbound, Play, "map_chunk", &chunk_fields(size))
}

pub(crate) fn chunk_fields(size: usize) -> Json {
    let mut state = 1u32;
    let base64: String = (0..size.div_ceil(3) * 4)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b"ABCDEFGHIJKLMNOP"[(state >> 28) as usize])
        })
        .collect();
    json!({"x": -9, "z": 12, "groundUp": true, "bitMap": 255, "chunkData": base64})
}

/// The frame of a body on a leg with that threshold.
pub(crate) fn compressed(body: &[u8], threshold: usize) -> Frame {
    let mut encoder = Encoder::new();
    encoder.set_compression(Some(threshold));
    encoder.send(body)
}

/// A received frame on a leg with that threshold and that limit.
pub(crate) fn received(wire: &[u8], threshold: usize, inflated: usize) -> Frame {
    let mut decoder = Decoder::new(Limits::new(Limits::default().frame, inflated));
    decoder.set_compression(Some(threshold));
    decoder.receive(wire);
    match decoder.poll() {
        Some(Unit::Frame(frame)) => frame,
        other => panic!("no frame: {other:?}"),
    }
}
