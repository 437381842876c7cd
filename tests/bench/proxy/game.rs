use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mitmcraft_protocol::codec::{Decoder, Frame, Leg, Unit};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use rsa::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};
use serde_json::{Value as Json, json};
use sha1::{Digest as _, Sha1};

use super::traffic::{THRESHOLD, Traffic, body};

/// A server of 1.8 that sends [`Traffic`] to a client that asks for it, and otherwise echoes.
///
/// The handshake's host says what a client wants: `crypt...` an encrypted login.
pub struct Server {
    pub address: SocketAddr,
}

/// The SHA-1 of a frame.
pub type Hash = [u8; 20];

/// A client of 1.8 in the game.
pub struct Client {
    socket: TcpStream,
    leg: Leg,
    buffer: Vec<u8>,
}

impl Server {
    pub fn start(traffic: &Traffic) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let traffic: Arc<[u8]> = traffic.bytes().into();
        let key = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 1024).unwrap();
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (traffic, key) = (Arc::clone(&traffic), key.clone());
                let serve = move || serve(socket.unwrap(), &traffic, &key);
                thread::Builder::new().stack_size(512 << 10).spawn(serve).unwrap();
            }
        });
        Self { address }
    }
}

/// Logs a client in and answers it until it goes.
fn serve(mut socket: TcpStream, traffic: &[u8], key: &RsaPrivateKey) -> Option<()> {
    socket.set_nodelay(true).unwrap();
    let mut leg = Leg::default();
    let start = (next(&mut socket, &mut leg)?, next(&mut socket, &mut leg)?).1;
    let start = read(State::Login, Direction::Serverbound, &start);
    let name = start.get("username").unwrap().as_text().unwrap().to_owned();
    let encrypted = name.starts_with("crypt");
    if encrypted {
        let der = RsaPublicKey::from(key).to_public_key_der().unwrap();
        let fields = json!({"serverId": "", "publicKey": BASE64_STANDARD.encode(der.as_bytes()),
            "verifyToken": BASE64_STANDARD.encode([1, 2, 3, 4])});
        say(
            &mut socket,
            &mut leg,
            State::Login,
            Direction::Clientbound,
            "encryption_begin",
            &fields,
        );
        let answer = read(State::Login, Direction::Serverbound, &next(&mut socket, &mut leg)?);
        let secret = answer.get("sharedSecret").unwrap().as_bytes().unwrap().clone();
        let secret = key.decrypt(Pkcs1v15Encrypt, &secret).unwrap();
        leg.set_cipher(secret[..].try_into().unwrap());
    }
    let fields = json!({ "threshold": THRESHOLD });
    say(&mut socket, &mut leg, State::Login, Direction::Clientbound, "compress", &fields);
    leg.set_compression(Some(THRESHOLD));
    let fields = json!({"uuid": "00000000-0000-0000-0000-000000000001", "username": name});
    say(&mut socket, &mut leg, State::Login, Direction::Clientbound, "success", &fields);
    while let Some(frame) = next(&mut socket, &mut leg) {
        if frame.body().unwrap() != ping() {
            // All of it is encrypted first: a peer that sends as slowly as it encrypts would make the proxy's reads
            // smaller than those of a plain session.
            if encrypted {
                leg.encoder.put(traffic);
                flush(&mut socket, &mut leg)?;
            } else {
                socket.write_all(traffic).ok()?;
            }
        } else {
            leg.encoder.forward(&frame);
            flush(&mut socket, &mut leg)?;
        }
    }
    None
}

impl Client {
    /// Connects and logs in.
    pub fn login(address: SocketAddr, encrypted: bool) -> Self {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        let mut leg = Leg::default();
        let up = Direction::Serverbound;
        let fields = json!({"protocolVersion": 47, "serverHost": "localhost", "serverPort": 25565,
            "nextState": 2});
        say(&mut socket, &mut leg, State::Handshaking, up, "set_protocol", &fields);
        let name = if encrypted { "crypt" } else { "plain" };
        say(&mut socket, &mut leg, State::Login, up, "login_start", &json!({ "username": name }));
        loop {
            let frame = next(&mut socket, &mut leg).expect("the login goes on");
            let body = frame.body().unwrap();
            let value = read(State::Login, Direction::Clientbound, &frame);
            match body[0] {
                0x01 => {
                    let der = value.get("publicKey").unwrap().as_bytes().unwrap().clone();
                    let token = value.get("verifyToken").unwrap().as_bytes().unwrap().clone();
                    let key = RsaPublicKey::from_public_key_der(&der).unwrap();
                    let secret = *b"0123456789abcdef";
                    let seal = |bytes: &[u8]| {
                        let random = &mut rsa::rand_core::OsRng;
                        BASE64_STANDARD.encode(key.encrypt(random, Pkcs1v15Encrypt, bytes).unwrap())
                    };
                    let fields =
                        json!({"sharedSecret": seal(&secret), "verifyToken": seal(&token)});
                    say(&mut socket, &mut leg, State::Login, up, "encryption_begin", &fields);
                    leg.set_cipher(&secret);
                }
                0x02 => return Self { socket, leg, buffer: vec![0; 256 << 10] },
                0x03 => leg.set_compression(Some(THRESHOLD)),
                id => panic!("packet {id} in the login: {value:?}"),
            }
        }
    }

    /// Returns the address that it has connected to.
    pub fn address(&self) -> SocketAddr {
        self.socket.peer_addr().unwrap()
    }

    /// Asks for the server's traffic, and compares a hash of every packet with that of the one sent.
    pub fn receive(&mut self, hashes: &[Hash]) {
        self.send(&[0x00, 0x01]);
        let mut done = 0;
        while done < hashes.len() {
            let count = self.socket.read(&mut self.buffer).unwrap();
            assert_ne!(count, 0, "the connection ended within the traffic");
            self.leg.decoder.receive(&self.buffer[..count]);
            while let Some(unit) = self.leg.decoder.poll() {
                assert!(hashes[done] == hash(unit.wire()), "packet {done} has changed");
                done += 1;
            }
        }
    }

    /// Reads so much traffic without comparing it, for a proxy that frames it again.
    pub fn receive_frames(&mut self, frames: usize) {
        self.send(&[0x00, 0x01]);
        for _ in 0..frames {
            next(&mut self.socket, &mut self.leg).expect("the connection goes on");
        }
    }

    /// Sends a small packet and waits for it to come back.
    pub fn ping(&mut self) {
        self.send(&ping());
        let frame = next(&mut self.socket, &mut self.leg).expect("the connection goes on");
        assert_eq!(frame.body().unwrap(), ping());
    }

    fn send(&mut self, body: &[u8]) {
        self.leg.encoder.send(body);
        flush(&mut self.socket, &mut self.leg).unwrap();
    }
}

/// A keep-alive, which both directions have with the same id.
fn ping() -> Vec<u8> {
    body(State::Play, Direction::Serverbound, "keep_alive", &json!({"keepAliveId": 1_000_000}))
}

/// Returns the hash of each frame.
pub fn hashes(traffic: &Traffic) -> Vec<Hash> {
    let mut decoder = Decoder::default();
    decoder.set_compression(Some(THRESHOLD));
    decoder.receive(traffic.bytes());
    std::iter::from_fn(|| decoder.poll()).map(|unit| hash(unit.wire())).collect()
}

fn hash(frame: &[u8]) -> Hash {
    Sha1::digest(frame).into()
}

fn next(socket: &mut TcpStream, leg: &mut Leg) -> Option<Frame> {
    let mut bytes = [0; 16 << 10];
    loop {
        if let Some(unit) = leg.decoder.poll() {
            let Unit::Frame(frame) = unit else { panic!("{unit:?}") };
            return Some(frame);
        }
        let count = socket.read(&mut bytes).ok().filter(|count| *count > 0)?;
        leg.decoder.receive(&bytes[..count]);
    }
}

fn read(state: State, direction: Direction, frame: &Frame) -> Value {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let body = frame.body().unwrap();
    let (packet, start) = protocol.identify(state, direction, &body).unwrap();
    protocol.decode(packet, &body, start).unwrap()
}

fn say(
    socket: &mut TcpStream,
    leg: &mut Leg,
    state: State,
    direction: Direction,
    name: &str,
    fields: &Json,
) {
    leg.encoder.send(&body(state, direction, name, fields));
    flush(socket, leg).unwrap();
}

fn flush(socket: &mut TcpStream, leg: &mut Leg) -> Option<()> {
    socket.write_all(leg.encoder.pending()).ok()?;
    let count = leg.encoder.pending().len();
    leg.encoder.advance(count);
    Some(())
}
