//! The cost of a program that decides on packets: `cargo bench --bench pipe`.
//!
//! A client sends chat through the real proxy to a server that sends each message back. Without a program,
//! with one that is compiled (this one, started as `echo`) and with one in Python, each of which passes every
//! message of the client: round trips of one message at a time, and the rate of messages sent at once.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub, dead_code, missing_docs)]

#[path = "../support/game.rs"]
mod game;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use game::{body, hello};
use mitmcraft_protocol::codec::{Leg, Unit};
use mitmcraft_protocol::schema::{Direction, State, Value};

const PYTHON: &str = "import json, sys
for line in sys.stdin:
    print('{\"id\":%d,\"pass\":true}' % json.loads(line)['id'], flush=True)
";

const ROUNDS: usize = 5;
const ROUND_TRIPS: usize = 1_000;
const MESSAGES: usize = 20_000;

fn main() {
    if std::env::args().any(|argument| argument == "echo") {
        return echo();
    }
    let server = serve();
    let script = std::env::temp_dir().join(format!("mitmcraft-pipe-{}.py", std::process::id()));
    std::fs::write(&script, PYTHON).unwrap();
    let this = std::env::current_exe().unwrap();
    let programs = [
        ("no program", String::new()),
        ("compiled", format!("'{}' echo", this.display())),
        ("Python", format!("python3 '{}'", script.display())),
    ];
    println!("{:<12} {:>14} {:>8} {:>14}", "program", "p50 round trip", "p99", "messages/s");
    for (name, program) in programs {
        let mut proxy = Proxy::start(&server, &program);
        let (mut trips, mut rates) = (Vec::new(), Vec::new());
        let mut client = Client::join(&proxy.address);
        for _ in 0..ROUNDS {
            trips.extend((0..ROUND_TRIPS).map(|_| client.exchange(1)));
            rates.push(MESSAGES as f64 / client.exchange(MESSAGES).as_secs_f64());
        }
        trips.sort_unstable();
        rates.sort_by(f64::total_cmp);
        let micros = |part: usize| trips[trips.len() * part / 100].as_secs_f64() * 1e6;
        let (half, most, rate) = (micros(50), micros(99), rates[ROUNDS / 2]);
        println!("{name:<12} {half:>11.0} µs {most:>5.0} µs {rate:>14.0}");
        proxy.child.kill().unwrap();
        proxy.child.wait().unwrap();
    }
    std::fs::remove_file(script).unwrap();
}

/// Passes every packet.
fn echo() {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let id = line.strip_prefix("{\"id\":").and_then(|rest| rest.split_once(',')).unwrap().0;
        writeln!(stdout, "{{\"id\":{id},\"pass\":true}}").unwrap();
    }
}

struct Proxy {
    child: Child,
    address: String,
}

impl Proxy {
    /// Starts a proxy whose packets nobody records.
    fn start(server: &str, program: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mitmcraft"));
        command
            .args(["proxy", server, "-l", "127.0.0.1:0", "-q"])
            .env("XDG_CONFIG_HOME", "/nowhere");
        if !program.is_empty() {
            let condition = "serverbound and chat";
            command.args(["--pipe", program, "--pipe-where", condition, "--pipe-timeout", "20s"]);
            command.args(["--on-pipe-error", "close"]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.split("listening on ").nth(1).unwrap().split(',').next().unwrap().into();
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
        Self { child, address }
    }
}

struct Client {
    socket: TcpStream,
    leg: Leg,
}

impl Client {
    fn join(address: &str) -> Self {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.write_all(&hello(2)).unwrap();
        let mut client = Self { socket, leg: Leg::default() };
        client.receive(1);
        client
    }

    /// Sends messages at once, and returns the time until all have come back.
    fn exchange(&mut self, count: usize) -> Duration {
        let message = Value::map([("message", Value::from("hello from a benchmark"))]);
        let said = body(State::Play, Direction::Serverbound, "chat", message);
        let mut leg = Leg::default();
        for _ in 0..count {
            leg.encoder.send(&said);
        }
        let begun = Instant::now();
        let mut writing = self.socket.try_clone().unwrap();
        let bytes = leg.encoder.pending().to_vec();
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

/// Starts a server that answers each message with one.
fn serve() -> String {
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
