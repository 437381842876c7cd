//! The clients, each of which goes from one session to the next.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mitmcraft_engine::ping::{Form, Ping};
use mitmcraft_protocol::codec::{Leg, Unit};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, State, Value};
use rsa::pkcs8::DecodePublicKey as _;
use rsa::{Pkcs1v15Encrypt, RsaPublicKey};
use socket2::SockRef;

use super::Sums;
use crate::support::PATIENCE;
use crate::support::game::{body, fields};

pub(super) fn run(number: u64, port: u16, running: &RwLock<()>, over: &AtomicBool, sums: &Sums) {
    for turn in number.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let session = running.read().unwrap();
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        match turn % 10 {
            0..=3 => play(socket, turn, sums),
            4 => ping(socket, Form::ALL[(turn / 10 % 4) as usize]),
            5 => {
                // Nonsense, and the end.
                let nonsense: Vec<u8> =
                    (0..turn % 900).map(|it| ((it * turn) >> 3) as u8).collect();
                let _ = socket.write_all(&nonsense);
                let _ = socket.shutdown(Shutdown::Write);
                let _ = socket.read_to_end(&mut Vec::new());
            }
            6 => {
                let _ = socket.write_all(&login("Gone"));
                reset(&socket);
            }
            7 => {
                // The server resets in the middle of the game.
                let _ = socket.write_all(&login("Reset"));
                let _ = socket.write_all(b"\x08\x00\x01\x05reset");
                let _ = socket.read_to_end(&mut Vec::new());
            }
            8 => {
                // A login and the end at once.
                let _ = socket.write_all(&login("Half"));
                let _ = socket.shutdown(Shutdown::Write);
                let _ = socket.read_to_end(&mut Vec::new());
            }
            _ => drop(socket.write_all(&login("Short")[..20])),
        }
        drop(session);
        std::thread::sleep(Duration::from_millis(turn * 7 % 60));
    }
}

/// A login and some chat; the server's every byte is read.
fn play(mut socket: TcpStream, turn: u64, sums: &Sums) {
    let mut leg = Leg::default();
    let mut got = (0, 0);
    let encrypted = turn.is_multiple_of(3);
    let mut sent = login(if encrypted { ENCRYPTED } else { "Good" });
    socket.write_all(&sent).unwrap();
    if encrypted {
        let response = respond(&mut socket, &mut leg, &mut got);
        socket.write_all(&response).unwrap();
        sent.extend(response);
    }
    // Compression begins with the packet after the first, or after encryption.
    while got.1 < 2 + u64::from(encrypted) {
        assert!(read(&mut socket, &mut leg, &mut got), "closed during the login");
    }
    let chats = turn % 13;
    for chat in 0..chats {
        let text = "hello ".repeat((chat * turn % 90) as usize);
        let chat = Value::map([("message", Value::from(text.as_str()))]);
        leg.encoder.send(&body(State::Play, Direction::Serverbound, "chat", chat));
        let pending = leg.encoder.pending().to_vec();
        leg.encoder.advance(pending.len());
        socket.write_all(&pending).unwrap();
        sent.extend(pending);
    }
    socket.shutdown(Shutdown::Write).unwrap();
    while read(&mut socket, &mut leg, &mut got) {}
    sums.add((sent.len() as u64, got.0), (2 + chats + u64::from(encrypted), got.1));
}

/// Reads the Encryption Request, begins to encrypt, and returns the response.
fn respond(socket: &mut TcpStream, leg: &mut Leg, got: &mut (u64, u64)) -> Vec<u8> {
    let request = loop {
        let mut bytes = [0; 4096];
        let count = socket.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "closed before the Encryption Request");
        got.0 += count as u64;
        leg.decoder.receive(&bytes[..count]);
        if let Some(Unit::Frame(frame)) = leg.decoder.poll() {
            break frame.body().unwrap();
        }
    };
    got.1 += 1;
    let request = fields(State::Login, Direction::Clientbound, &request);
    let field = |name| request.get(name).unwrap().as_bytes().unwrap().clone();
    let key = RsaPublicKey::from_public_key_der(&field("publicKey")).unwrap();
    let secret = *b"0123456789abcdef";
    let seal = |bytes: &[u8]| {
        let sealed = key.encrypt(&mut rsa::rand_core::OsRng, Pkcs1v15Encrypt, bytes);
        Value::Bytes(sealed.unwrap().into())
    };
    let response =
        Value::map([("sharedSecret", seal(&secret)), ("verifyToken", seal(&field("verifyToken")))]);
    leg.encoder.send(&body(State::Login, Direction::Serverbound, "encryption_begin", response));
    let bytes = leg.encoder.pending().to_vec();
    leg.encoder.advance(bytes.len());
    leg.set_cipher(&secret);
    bytes
}

/// Reads once, and counts bytes and packets. Returns `false` at the end.
fn read(socket: &mut TcpStream, leg: &mut Leg, got: &mut (u64, u64)) -> bool {
    let mut bytes = [0; 4096];
    let count = socket.read(&mut bytes).unwrap();
    got.0 += count as u64;
    leg.decoder.receive(&bytes[..count]);
    while let Some(Unit::Frame(frame)) = leg.decoder.poll() {
        got.1 += 1;
        if got.1 <= 2 && frame.threshold().is_none() && frame.body().unwrap()[0] == SET_COMPRESSION
        {
            leg.set_compression(Some(256));
        }
    }
    count > 0
}

/// Pings until there is a status.
fn ping(mut socket: TcpStream, form: Form) {
    let mut ping = Ping::new(Timestamp(1), form, "localhost", 25565).unwrap();
    let mut bytes = [0; 4096];
    loop {
        socket.write_all(&ping.take_output()).unwrap();
        let count = socket.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "no answer to {form}");
        if let Some(status) = ping.handle_received(Timestamp(2), &bytes[..count]).unwrap() {
            return assert!(status.description.contains("soak"), "{status:?}");
        }
    }
}

/// A handshake and a login of 1.8.
fn login(name: &str) -> Vec<u8> {
    let mut leg = Leg::default();
    let handshake = Value::map([
        ("protocolVersion", Value::Int(47)),
        ("serverHost", Value::from("localhost")),
        ("serverPort", Value::Int(25566)),
        ("nextState", Value::Int(2)),
    ]);
    let name = Value::map([("username", Value::from(name))]);
    for (state, packet, fields) in
        [(State::Handshaking, "set_protocol", handshake), (State::Login, "login_start", name)]
    {
        leg.encoder.send(&body(state, Direction::Serverbound, packet, fields));
    }
    leg.encoder.pending().to_vec()
}

/// The player whose sessions are encrypted.
pub(super) const ENCRYPTED: &str = "Secret";

const SET_COMPRESSION: u8 = 3;

/// Discards a connection: RST.
pub(super) fn reset(socket: &TcpStream) {
    SockRef::from(socket).set_linger(Some(Duration::ZERO)).unwrap();
}
