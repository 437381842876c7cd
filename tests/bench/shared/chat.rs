//! A server of 1.8 that answers each message with one, its clients, and the proxy between them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mitmcraft_protocol::codec::{Leg, Unit};
use mitmcraft_protocol::schema::{Direction, State, Value};

use super::game::{body, hello};

/// Is the program of `--pipe` that passes every packet.
pub fn echo() {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let id = line.strip_prefix("{\"id\":").and_then(|rest| rest.split_once(',')).unwrap().0;
        writeln!(stdout, "{{\"id\":{id},\"pass\":true}}").unwrap();
    }
}

pub struct Proxy {
    child: Child,
    pub address: String,
}

impl Proxy {
    /// Starts a proxy whose packets nobody records.
    pub fn start(server: &str, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mitmcraft"));
        command
            .args(["proxy", server, "-l", "127.0.0.1:0", "-q"])
            .env("XDG_CONFIG_HOME", "/nowhere");
        command.args(options);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let address = (&mut stderr).lines().map(Result::unwrap).find_map(|line| {
            let (_, rest) = line.split_once("listening on ")?;
            Some(rest.split(',').next()?.to_owned())
        });
        let address = address.expect("the proxy listens");
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
        Self { child, address }
    }

    pub fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A client of 1.8 in the game.
pub struct Client {
    socket: TcpStream,
    leg: Leg,
}

impl Client {
    pub fn join(address: &str) -> Self {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.write_all(&hello(2)).unwrap();
        let mut client = Self { socket, leg: Leg::default() };
        client.receive(1);
        client
    }

    /// Sends messages at once, and returns the time until all have come back.
    pub fn exchange(&mut self, text: &str, count: usize) -> Duration {
        let bytes = messages(text, count);
        let begun = Instant::now();
        let mut writing = self.socket.try_clone().unwrap();
        if count == 1 {
            writing.write_all(&bytes).unwrap();
            self.receive(1);
            return begun.elapsed();
        }
        let writer = std::thread::spawn(move || writing.write_all(&bytes).unwrap());
        self.receive(count);
        writer.join().unwrap();
        begun.elapsed()
    }

    /// Sends messages without an end, and reads what comes, until it is dropped.
    pub fn flood(self, text: &str) -> Flood {
        let bytes = messages(text, 1000);
        let [mut writing, mut reading] = [(); 2].map(|()| self.socket.try_clone().unwrap());
        std::thread::spawn(move || while writing.write_all(&bytes).is_ok() {});
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(1..) = reading.read(&mut bytes) {}
        });
        Flood(self.socket)
    }

    fn receive(&mut self, count: usize) {
        let mut bytes = vec![0; 64 << 10];
        let mut left = count;
        while left > 0 {
            let count = self.socket.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "the session has ended");
            self.leg.decoder.receive(&bytes[..count]);
            while let Some(Unit::Frame(_)) = self.leg.decoder.poll() {
                left -= 1;
            }
        }
    }
}

/// A client that sends as fast as it can.
pub struct Flood(TcpStream);

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Returns the bytes of so many chat messages.
fn messages(text: &str, count: usize) -> Vec<u8> {
    let message = Value::map([("message", Value::from(text))]);
    let said = body(State::Play, Direction::Serverbound, "chat", message);
    let mut leg = Leg::default();
    (0..count).for_each(|_| drop(leg.encoder.send(&said)));
    leg.encoder.pending().to_vec()
}

/// Starts a server that answers each message with one.
pub fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let success = Value::map([("uuid", Value::from("")), ("username", Value::from("Steve"))]);
    let success = body(State::Login, Direction::Clientbound, "success", success);
    let said = Value::map([("message", Value::from("{}")), ("position", Value::Int(0))]);
    let said = body(State::Play, Direction::Clientbound, "chat", said);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, success, said) = (socket.unwrap(), success.clone(), said.clone());
            socket.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                let (mut leg, mut frames) = (Leg::default(), 0);
                let mut bytes = vec![0; 64 << 10];
                while let Ok(count @ 1..) = socket.read(&mut bytes) {
                    leg.decoder.receive(&bytes[..count]);
                    while let Some(Unit::Frame(_)) = leg.decoder.poll() {
                        frames += 1;
                        if frames > 1 {
                            leg.encoder.send(if frames == 2 { &success } else { &said });
                        }
                    }
                    if socket.write_all(leg.encoder.pending()).is_err() {
                        return;
                    }
                    let count = leg.encoder.pending().len();
                    leg.encoder.advance(count);
                }
            });
        }
    });
    address
}
