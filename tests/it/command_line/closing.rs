//! The last bytes of connections: each end gets through the proxy what it gets without it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::schema::{Direction, State, Value};

use crate::support::game::{Upstream, body, first_body, hello, logged_in};
use crate::support::{Program, read_lines, root, scratch_file, text};

/// Which end closes first, while the other keeps sending 2,000 packets per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closer {
    Client,
    Server,
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    /// Closing the socket.
    Close,
    /// Closing the sending direction, then the socket.
    Shutdown,
    /// Discarding the connection: RST.
    Reset,
}

#[test]
fn the_last_words_of_a_server_arrive_while_the_client_is_sending() {
    for ending in [Ending::Close, Ending::Shutdown, Ending::Reset] {
        arrive(Closer::Server, ending);
    }
}

#[test]
fn the_last_words_of_a_client_arrive_while_the_server_is_sending() {
    for ending in [Ending::Close, Ending::Shutdown, Ending::Reset] {
        arrive(Closer::Client, ending);
    }
}

/// Plays sessions directly and through a proxy: in all the last bytes arrive, and the capture has
/// them.
fn arrive(closer: Closer, ending: Ending) {
    let (server, served) = serve(closer, ending);
    let play = |address: &str, times: usize| {
        (0..times).filter(|_| play_client(address, closer, ending)).count()
    };
    let arrived = |played: usize, times: usize| match closer {
        Closer::Server => played,
        Closer::Client => served.iter().take(times).filter(|arrived| *arrived).count(),
    };
    assert_eq!(arrived(play(&server, RUNS), RUNS), RUNS, "without a proxy");
    let capture = scratch_file(&format!("{closer:?}-{ending:?}.jsonl"));
    let mut proxy = Program::proxy(&server, &["-w", text(&capture)]);
    let address = format!("127.0.0.1:{}", proxy.listening());
    let played = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| play(&address, RUNS))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let all = THREADS * RUNS;
    let arrived = arrived(played, all);
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let recorded = lines.iter().filter(|line| line["fields"].to_string().contains(LAST));
    assert_eq!((arrived, recorded.count()), (all, all), "{closer:?} {ending:?}");
}

/// Starts a server of the game. Returns its address, and for each session in which the client closes
/// first whether its last bytes arrived.
fn serve(closer: Closer, ending: Ending) -> (String, Receiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, served) = channel();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (socket, sender) = (socket.unwrap(), sender.clone());
            std::thread::spawn(move || play_server(socket, closer, ending, &sender));
        }
    });
    (address, served)
}

fn play_server(mut socket: TcpStream, closer: Closer, ending: Ending, served: &Sender<bool>) {
    let mut leg = logged_in(&mut socket);
    let success = Value::map([("uuid", Value::from("")), ("username", Value::from("Steve"))]);
    leg.encoder.send(&body(State::Login, Direction::Clientbound, "success", success));
    socket.write_all(leg.encoder.pending()).unwrap();
    match closer {
        Closer::Server => closes(socket, &kick(), ending),
        Closer::Client => served.send(sends_on(socket, &update_time(), &chat(LAST))).unwrap(),
    }
}

/// Plays a session as the client. Returns whether the server's last bytes arrived.
fn play_client(address: &str, closer: Closer, ending: Ending) -> bool {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.write_all(&hello(2)).unwrap();
    match closer {
        Closer::Server => {
            first_body(&mut socket);
            sends_on(socket, &chat("still here"), &kick())
        }
        Closer::Client => {
            closes(socket, &chat(LAST), ending);
            true
        }
    }
}

/// Keeps sending until the peer is gone. Returns whether what it sent ends with `last`.
fn sends_on(mut socket: TcpStream, packet: &[u8], last: &[u8]) -> bool {
    let mut sending = socket.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while sending.write_all(packet).is_ok() {
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let (mut got, mut bytes) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = socket.read(&mut bytes) {
            got.extend_from_slice(&bytes[..count]);
        }
        // This fails if the connection was reset, which ends the sending too.
        let _ = socket.shutdown(Shutdown::Both);
        got.ends_with(last)
    })
}

/// Reads some packets, sends `last`, and closes.
fn closes(mut socket: TcpStream, last: &[u8], ending: Ending) {
    socket.read_exact(&mut [0; 300]).unwrap();
    socket.write_all(last).unwrap();
    match ending {
        Ending::Close => {}
        Ending::Shutdown => socket.shutdown(Shutdown::Write).unwrap(),
        Ending::Reset => {
            socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}

/// As `systemctl restart` does with `--drain`.
#[cfg(unix)]
#[test]
fn a_run_that_drains_lets_players_go_on_and_refuses_new_ones() {
    let upstream = Upstream::answering();
    let capture = scratch_file("drained.jsonl");
    let options = ["--drain", "1h", "-w", text(&capture)];
    let mut proxy = Program::proxy(&upstream.address, &options);
    let port = proxy.listening();
    let log_in = || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        let body = first_body(&mut client);
        (client, body)
    };
    let (mut player, body) = log_in();
    assert_eq!(body[0], 2);
    // Neither is waited for.
    let mut silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut pinging = TcpStream::connect(("127.0.0.1", port)).unwrap();
    pinging.write_all(&hello(1)).unwrap();
    // The server has answered: the session is known to ask for the status.
    first_body(&mut pinging);
    proxy.signal("TERM");
    proxy.wait_for_error("draining: no new players");
    let (_, body) = log_in();
    let said = String::from_utf8_lossy(&body).into_owned();
    assert!(body[0] == 0 && said.contains("shutting down"), "{said}");
    for other in [&mut silent, &mut pinging] {
        other.read_to_end(&mut Vec::new()).unwrap();
    }
    player.write_all(&chat("still here")).unwrap();
    player.shutdown(Shutdown::Write).unwrap();
    let _ = player.read_to_end(&mut Vec::new());
    proxy.succeed();
    assert!(std::fs::read_to_string(&capture).unwrap().contains("still here"));
}

/// A limit of the shell is a full disk, and not the end of the run.
#[cfg(unix)]
#[test]
fn a_capture_that_reaches_the_limit_of_files_ends_neither_the_run_nor_a_session() {
    let upstream = Upstream::answering();
    let capture = scratch_file("limited.jsonl");
    let mut command = std::process::Command::new("bash");
    // Of 16 blocks of 1 KiB.
    let limited = r#"ulimit -f 16; exec "$0" "$@""#;
    command.args(["-c", limited, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
    command.args(["-l", "127.0.0.1:0", "-w", text(&capture), "--on-log-error", "drop"]);
    let mut proxy = Program::start("limited", command);
    let port = proxy.listening();
    let mut player = TcpStream::connect(("127.0.0.1", port)).unwrap();
    player.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut player)[0], 2);
    for _ in 0..200 {
        player.write_all(&chat("something that fills the disk")).unwrap();
    }
    let said = proxy.wait_for_error("limited.jsonl");
    assert!(said.contains("cannot") && said.contains("large"), "{said}");
    let mut other = TcpStream::connect(("127.0.0.1", port)).unwrap();
    other.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut other)[0], 2);
    proxy.interrupt();
    let (status, said) = proxy.fail();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("is incomplete: "), "{said}");
    let length = std::fs::metadata(&capture).unwrap().len();
    assert!((8 << 10..=16 << 10).contains(&length), "{length}");
}

/// The same limit under a command that only reads and writes files.
#[cfg(unix)]
#[test]
fn a_conversion_that_reaches_the_limit_of_files_says_so() {
    let capture = scratch_file("limited-conversion.jsonl");
    let from = root().join("captures/session-1.20.4-wire.pcapng");
    let mut command = std::process::Command::new("bash");
    let limited = r#"ulimit -f 16; exec "$0" "$@""#;
    command.args(["-c", limited, env!("CARGO_BIN_EXE_mitmcraft"), "convert", text(&from)]);
    command.arg(&capture);
    let converted = command.output().unwrap();
    let said = String::from_utf8(converted.stderr).unwrap();
    assert_eq!(converted.status.code(), Some(2), "{said}");
    assert!(said.contains("limited-conversion.jsonl") && said.contains("large"), "{said}");
}

/// A second signal does not wait for the players.
#[cfg(unix)]
#[test]
fn a_second_signal_ends_a_run_that_drains() {
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["--drain", "1h"]);
    let mut player = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    player.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut player)[0], 2);
    proxy.signal("TERM");
    proxy.wait_for_error("draining: no new players");
    proxy.signal("TERM");
    let mut told = Vec::new();
    let _ = player.read_to_end(&mut told);
    assert!(String::from_utf8_lossy(&told).contains("shutting down"));
    proxy.succeed();
}

fn framed(direction: Direction, name: &str, fields: Value) -> Vec<u8> {
    let mut leg = Leg::default();
    leg.encoder.send(&body(State::Play, direction, name, fields));
    leg.encoder.pending().to_vec()
}

fn kick() -> Vec<u8> {
    let reason = Value::map([("reason", Value::from(format!("{{\"text\":\"{LAST}\"}}").as_str()))]);
    framed(Direction::Clientbound, "kick_disconnect", reason)
}

fn chat(message: &str) -> Vec<u8> {
    framed(Direction::Serverbound, "chat", Value::map([("message", Value::from(message))]))
}

fn update_time() -> Vec<u8> {
    let time = Value::map([("age", Value::Int(1)), ("time", Value::Int(1))]);
    framed(Direction::Clientbound, "update_time", time)
}

const LAST: &str = "last words";

/// Sessions at a time.
const THREADS: usize = 8;

/// Sessions one after the other.
const RUNS: usize = 25;
