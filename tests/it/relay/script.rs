use std::fmt;

use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::schema::{Direction, State, Value};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::RngCore as _;

use crate::support::game::{body, hello};

/// The actions of both ends of a session: the client's steps and the server's.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) sides: [Vec<Step>; 2],
}

/// A step of an end.
pub(super) enum Step {
    Send(Vec<u8>),
    /// Milliseconds.
    Pause(u64),
    /// Waits until this number of bytes has come.
    Read(usize),
    /// Waits for the end of what the other end sends.
    Wait,
    /// Closes the sending direction.
    Close,
    /// Discards the connection: RST.
    Reset,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(bytes) => write!(f, "Send({} bytes)", bytes.len()),
            Self::Pause(milliseconds) => write!(f, "Pause({milliseconds})"),
            Self::Read(bytes) => write!(f, "Read({bytes})"),
            Self::Wait => f.write_str("Wait"),
            Self::Close => f.write_str("Close"),
            Self::Reset => f.write_str("Reset"),
        }
    }
}

impl Script {
    /// Makes a script: what is sent is of any state, up to any byte, cut and delayed anywhere.
    pub(super) fn new(random: &mut ChaCha20Rng) -> Self {
        let mut streams = streams(random);
        let cut = below(random, 4);
        if cut < 2 {
            let length = below(random, streams[cut].len() + 1);
            streams[cut].truncate(length);
        }
        let mut sides = streams.map(|stream| steps(random, &stream));
        let chosen = below(random, 2);
        match below(random, 4) {
            // One end answers after the other has closed its side.
            0 | 1 => {
                let place = below(random, sides[chosen].len());
                sides[chosen].insert(place, Step::Wait);
            }
            2 => {
                let place = below(random, sides[chosen].len());
                sides[chosen].truncate(place);
                sides[chosen].push(Step::Reset);
            }
            _ => {}
        }
        Self { sides }
    }

    /// Makes the scripts in which one end closes or resets the connection behind its last bytes: each end,
    /// in the state of four kinds of streams, from a server that has answered or not.
    pub(super) fn endings(random: &mut ChaCha20Rng) -> Vec<Self> {
        let mut scripts = Vec::new();
        for kind in [HTTP, ALPHA, STATUS, GAME] {
            for choice in 0..8 {
                let (ends, resets, answers) = (choice & 1, choice & 2 != 0, choice & 4 != 0);
                let mut streams = streams_of(kind, random);
                if !answers {
                    streams[1].clear();
                }
                let [client, server] = streams;
                let mut sides = [
                    vec![Step::Send(client.clone()), Step::Read(server.len())],
                    vec![Step::Read(client.len()), Step::Send(server)],
                ];
                sides[ends].push(if resets { Step::Reset } else { Step::Close });
                scripts.push(Self { sides });
            }
        }
        scripts
    }

    /// Returns all bytes that an end sends.
    pub(super) fn sent(&self, side: usize) -> Vec<u8> {
        let steps = self.sides[side].iter().filter_map(|step| match step {
            Step::Send(bytes) => Some(&bytes[..]),
            _ => None,
        });
        steps.collect::<Vec<_>>().concat()
    }

    /// Returns `true` if an end discards the connection.
    pub(super) fn resets(&self) -> bool {
        self.sides.iter().flatten().any(|step| matches!(step, Step::Reset))
    }
}

/// Cuts a stream into pieces with pauses between some of them; then the end.
fn steps(random: &mut ChaCha20Rng, stream: &[u8]) -> Vec<Step> {
    let most = [3, 40, 1500, 70_000][below(random, 4)].max(stream.len() / 30);
    let mut steps = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, left) = rest.split_at((1 + below(random, most)).min(rest.len()));
        steps.push(Step::Send(piece.to_vec()));
        rest = left;
        if below(random, 3) == 0 {
            steps.push(Step::Pause(below(random, 3) as u64));
        }
    }
    steps.push(Step::Close);
    steps
}

/// Makes the bytes that the client and the server send.
fn streams(random: &mut ChaCha20Rng) -> [Vec<u8>; 2] {
    let kind = below(random, 8);
    streams_of(kind, random)
}

/// Makes the bytes that the client and the server send, of a kind below 8.
fn streams_of(kind: usize, random: &mut ChaCha20Rng) -> [Vec<u8>; 2] {
    let noise = |random: &mut ChaCha20Rng| {
        let mut bytes = vec![0; below(random, 3000)];
        random.fill_bytes(&mut bytes);
        bytes
    };
    match kind {
        0 => [noise(random), noise(random)],
        HTTP => [b"GET / HTTP/1.1\r\n\r\n".to_vec(), b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()],
        2 => {
            let request: &[u8] = [&[0xfe][..], &[0xfe, 1]][below(random, 2)];
            [request.to_vec(), b"\xff\0\x05\0A\0\xa7\x001\0\xa7\x002".to_vec()]
        }
        ALPHA => {
            let client =
                b"\x02\0\x05Steve\x01\0\0\0\x05\0\x05Steve\0\x01p\0\0\0\0\0\0\0\0\0\x03\0\x02hi";
            let server =
                b"\x02\0\x01-\x01\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x05\0\x03\0\x02ho\xff\0\x03bye";
            [client.to_vec(), server.to_vec()]
        }
        STATUS => {
            let mut leg = Leg::default();
            let info = Value::map([("response", Value::from("{}"))]);
            leg.encoder.send(&body(State::Status, Direction::Clientbound, "server_info", info));
            [hello(1), leg.encoder.pending().to_vec()]
        }
        _ => game(random),
    }
}

// Kinds of streams.
const HTTP: usize = 1;
const ALPHA: usize = 3;
const STATUS: usize = 4;
const GAME: usize = 5;

/// A login and some of the game, compressed or not.
fn game(random: &mut ChaCha20Rng) -> [Vec<u8>; 2] {
    let (mut client, mut server) = (Leg::default(), Leg::default());
    let clientbound = |state, name, value| body(state, Direction::Clientbound, name, value);
    if below(random, 2) == 0 {
        let threshold = Value::map([("threshold", Value::Int(64))]);
        server.encoder.send(&clientbound(State::Login, "compress", threshold));
        client.set_compression(Some(64));
        server.set_compression(Some(64));
    }
    let success = Value::map([("uuid", Value::from("")), ("username", Value::from("Steve"))]);
    server.encoder.send(&clientbound(State::Login, "success", success));
    for _ in 0..below(random, 20) {
        let text = "word ".repeat(below(random, 800));
        let said = Value::map([("message", Value::from(&text[..text.len().min(500)]))]);
        client.encoder.send(&body(State::Play, Direction::Serverbound, "chat", said));
        let shown = Value::map([("message", Value::from(&*text)), ("position", Value::Int(0))]);
        server.encoder.send(&clientbound(State::Play, "chat", shown));
    }
    [[hello(2), client.encoder.pending().to_vec()].concat(), server.encoder.pending().to_vec()]
}

/// Returns a number below `end`.
fn below(random: &mut ChaCha20Rng, end: usize) -> usize {
    random.next_u32() as usize % end
}
