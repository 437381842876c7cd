//! A minimal client and server of 1.8.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use mitmcraft_protocol::codec::{Leg, Unit};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// The time after which a program that does not end, a condition that does not become true or a socket that stays silent
/// is given up. It only bounds a test that hangs: nothing takes nearly as long, also on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A handshake and a login or a status request.
pub fn hello(next: i64) -> Vec<u8> {
    let mut leg = Leg::default();
    let handshake = Value::map([
        ("protocolVersion", Value::Int(47)),
        ("serverHost", Value::from("localhost")),
        ("serverPort", Value::Int(25566)),
        ("nextState", Value::Int(next)),
    ]);
    leg.encoder.send(&body(State::Handshaking, Direction::Serverbound, "set_protocol", handshake));
    let (state, name, value) = match next {
        1 => (State::Status, "ping_start", Value::map([])),
        _ => (State::Login, "login_start", Value::map([("username", Value::from("Steve"))])),
    };
    leg.encoder.send(&body(state, Direction::Serverbound, name, value));
    leg.encoder.pending().to_vec()
}

pub fn body(state: State, direction: Direction, name: &str, value: Value) -> Vec<u8> {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    protocol.encode(protocol.named(state, direction, name).unwrap(), &value).unwrap()
}

/// Returns the fields of a packet.
#[allow(dead_code, reason = "some programs do not use it")]
pub fn fields(state: State, direction: Direction, body: &[u8]) -> Value {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let (packet, start) = protocol.identify(state, direction, body).unwrap();
    protocol.decode(packet, body, start).unwrap()
}

pub fn first_body(socket: &mut TcpStream) -> Vec<u8> {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut leg = Leg::default();
    loop {
        let mut bytes = [0; 4096];
        let count = socket.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "closed before a frame came");
        leg.decoder.receive(&bytes[..count]);
        if let Some(Unit::Frame(frame)) = leg.decoder.poll() {
            return frame.body().unwrap().to_vec();
        }
    }
}

/// Reads the handshake and the name of a client that logs in.
#[allow(dead_code, reason = "some programs do not use it")]
pub fn logged_in(socket: &mut TcpStream) -> Leg {
    let (mut leg, mut frames) = (Leg::default(), 0);
    while frames < 2 {
        let mut bytes = [0; 4096];
        let count = socket.read(&mut bytes).unwrap();
        leg.decoder.receive(&bytes[..count]);
        while let Some(Unit::Frame(_)) = leg.decoder.poll() {
            frames += 1;
        }
    }
    leg
}

/// A server that accepts every login and sends nothing more.
pub struct Upstream {
    pub address: String,
}

impl Upstream {
    pub fn answering() -> Self {
        Self::answering_on("127.0.0.1:0")
    }

    pub fn answering_on(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let success =
                Value::map([("uuid", Value::from("")), ("username", Value::from("Steve"))]);
            let success = body(State::Login, Direction::Clientbound, "success", success);
            for socket in listener.incoming() {
                let (mut socket, success) = (socket.unwrap(), success.clone());
                std::thread::spawn(move || {
                    let mut leg = Leg::default();
                    let mut frames = 0;
                    let mut bytes = [0; 4096];
                    while let Ok(count) = socket.read(&mut bytes) {
                        if count == 0 {
                            return;
                        }
                        leg.decoder.receive(&bytes[..count]);
                        while let Some(unit) = leg.decoder.poll() {
                            frames += usize::from(matches!(unit, Unit::Frame(_)));
                        }
                        if frames == 2 {
                            frames += 1;
                            leg.encoder.send(&success);
                            socket.write_all(leg.encoder.pending()).unwrap();
                        }
                    }
                });
            }
        });
        Self { address }
    }
}
