//! The server: answers every ping and every login, and says something back to every chat message.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use mitmcraft_engine::ping::{Answerer, Form, Reply, Status};
use mitmcraft_protocol::codec::{Leg, Unit};
use mitmcraft_protocol::schema::{Direction, State, Value};
use rsa::pkcs8::EncodePublicKey as _;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};

use super::Sums;
use super::clients::{ENCRYPTED, reset};
use crate::support::game::{body, fields};

/// Returns the address.
pub(super) fn start(sums: &'static Sums) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let key = Arc::new(RsaPrivateKey::new(&mut rsa::rand_core::OsRng, KEY_BITS).unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (socket, key) = (socket.unwrap(), Arc::clone(&key));
            std::thread::spawn(move || serve(socket, &key, sums));
        }
    });
    address
}

fn serve(mut socket: TcpStream, key: &RsaPrivateKey, sums: &Sums) {
    let mut answerer = Answerer::new(Status::new(Form::V1_7, "soak"));
    let mut bytes = [0; 4096];
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    loop {
        let reply = match socket.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => answerer.handle_received(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => answerer.handle_quiet(),
            Err(_) => return,
        };
        match reply {
            Reply::Wait => {}
            Reply::Send(bytes) => drop(socket.write_all(&bytes)),
            Reply::Close(bytes) => return drop(socket.write_all(&bytes)),
            Reply::Other(held) => {
                socket.set_read_timeout(None).unwrap();
                return play(socket, held, key, sums);
            }
        }
    }
}

/// Plays with a client until that closes its side.
fn play(mut socket: TcpStream, held: Vec<u8>, key: &RsaPrivateKey, sums: &Sums) {
    let mut leg = Leg::default();
    let (mut received, mut sent) = (held.len() as u64, 0);
    let (mut frames, mut answers) = (0, 0);
    let (mut good, mut encrypted) = (false, false);
    leg.decoder.receive(&held);
    let mut bytes = [0; 4096];
    loop {
        while let Some(unit) = leg.decoder.poll() {
            let Unit::Frame(frame) = unit else { continue };
            let body = frame.body().unwrap_or_default();
            frames += 1;
            if frames == 2 {
                encrypted = body.ends_with(ENCRYPTED.as_bytes());
                good = encrypted || body.ends_with(b"Good");
            }
            if encrypted && frames == 2 {
                let der = RsaPublicKey::from(key).to_public_key_der().unwrap();
                let request = Value::map([
                    ("serverId", Value::from("")),
                    ("publicKey", Value::Bytes(der.as_bytes().to_vec().into())),
                    ("verifyToken", Value::Bytes(vec![1, 2, 3, 4].into())),
                ]);
                leg.encoder.send(&packet(State::Login, "encryption_begin", request));
                answers += 1;
            } else if frames == 2 + u64::from(encrypted) {
                if encrypted {
                    leg.set_cipher(&secret(key, &body));
                }
                let threshold = Value::map([("threshold", Value::Int(256))]);
                leg.encoder.send(&packet(State::Login, "compress", threshold));
                leg.set_compression(Some(256));
                let success =
                    Value::map([("uuid", Value::from("")), ("username", Value::from("Soak"))]);
                leg.encoder.send(&packet(State::Login, "success", success));
                answers += 2;
            } else if frames > 2 {
                if body.ends_with(b"reset") {
                    return reset(&socket);
                }
                let text = "x".repeat(body.len() * 7 % 3000);
                let message = Value::map([
                    ("message", Value::from(format!("\"{text}\"").as_str())),
                    ("position", Value::Int(0)),
                ]);
                leg.encoder.send(&packet(State::Play, "chat", message));
                answers += 1;
            }
        }
        let pending = leg.encoder.pending().to_vec();
        leg.encoder.advance(pending.len());
        if socket.write_all(&pending).is_err() {
            return;
        }
        sent += pending.len() as u64;
        match socket.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                received += count as u64;
                leg.decoder.receive(&bytes[..count]);
            }
            Err(_) => return,
        }
    }
    let kick = Value::map([("reason", Value::from("\"bye\""))]);
    leg.encoder.send(&packet(State::Play, "kick_disconnect", kick));
    if socket.write_all(leg.encoder.pending()).is_err() {
        return;
    }
    sent += leg.encoder.pending().len() as u64;
    if good {
        sums.add((received, sent), (frames, answers + 1));
    }
    let _ = socket.shutdown(Shutdown::Write);
}

/// Decrypts the shared secret of an Encryption Response.
fn secret(key: &RsaPrivateKey, body: &[u8]) -> [u8; 16] {
    let response = fields(State::Login, Direction::Serverbound, body);
    let secret = response.get("sharedSecret").unwrap().as_bytes().unwrap().clone();
    key.decrypt(Pkcs1v15Encrypt, &secret).unwrap()[..].try_into().unwrap()
}

/// Bits of the server's key, as those of the game's servers and of the proxy: every packet of the login is as
/// long on both legs.
const KEY_BITS: usize = 1024;

fn packet(state: State, name: &str, value: Value) -> Vec<u8> {
    body(state, Direction::Clientbound, name, value)
}
