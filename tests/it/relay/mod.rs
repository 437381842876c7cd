//! Random sessions through the proxy and without it: what each end receives is the same.

mod end;
mod script;
#[cfg(unix)]
mod unrecorded;

use std::net::{TcpListener, TcpStream};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde_json::Value as Json;

use crate::support::{PATIENCE, Program, read_lines, scratch_file, text};
use end::{Ending, Got};
use script::Script;

/// Plays `RELAY_SESSIONS` sessions, 200 unless given.
#[test]
fn each_end_of_a_relayed_session_gets_what_it_gets_without_a_proxy() {
    let sessions = std::env::var("RELAY_SESSIONS").ok().and_then(|it| it.parse().ok());
    let each = sessions.unwrap_or(200_u64).div_ceil(WORKERS);
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            // A new capture now and then, so that none becomes too large to be read at once.
            scope.spawn(move || {
                for first in (0..each).step_by(500) {
                    let seeds = (first..each.min(first + 500)).map(|it| it * WORKERS + worker);
                    compare(&seeds.collect::<Vec<_>>());
                }
            });
        }
    });
}

/// Linux says whether the bytes before a reset have left.
#[cfg(target_os = "linux")]
#[test]
fn an_end_arrives_as_it_was_made_behind_the_last_bytes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let capture = scratch_file("endings.jsonl");
    let mut proxy = Program::proxy(&server.to_string(), &["--keep-host", "-w", text(&capture)]);
    let port = proxy.listening();
    for seed in 0..10 {
        for script in Script::endings(&mut ChaCha20Rng::seed_from_u64(seed)) {
            let direct = play(&script, TcpStream::connect(server).unwrap(), &listener);
            let relayed =
                play(&script, TcpStream::connect(("127.0.0.1", port)).unwrap(), &listener);
            assert!(direct == relayed, "seed {seed}: {direct:?}, {relayed:?}, {script:?}");
            for side in [0, 1] {
                assert_eq!(relayed[side].bytes, script.sent(1 - side), "seed {seed}: {script:?}");
            }
        }
    }
    proxy.interrupt();
    proxy.succeed();
    let dropped = |line: &&Json| line["verdict"] == "drop";
    assert_eq!(read_lines(&capture).iter().filter(dropped).collect::<Vec<_>>(), [0; 0]);
}

/// Plays the sessions of these seeds, one after the other.
fn compare(seeds: &[u64]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let capture = scratch_file("relay.jsonl");
    let options = ["--keep-host", "-w", text(&capture)];
    let mut proxy = Program::proxy(&server.to_string(), &options);
    let port = proxy.listening();
    let mut played = Vec::new();
    for seed in seeds {
        let script = Script::new(&mut ChaCha20Rng::seed_from_u64(*seed));
        let direct = play(&script, TcpStream::connect(server).unwrap(), &listener);
        let relayed = play(&script, TcpStream::connect(("127.0.0.1", port)).unwrap(), &listener);
        for (side, sender) in [(0, 1), (1, 0)] {
            let (direct, relayed, sent) = (&direct[side], &relayed[side], &script.sent(sender));
            if script.resets() {
                let got = String::from_utf8_lossy(&relayed.bytes);
                // A connection that is reset at once may not have been established for the proxy.
                let fits = sent.starts_with(&relayed.bytes) || relayed.is_refusal();
                assert!(fits, "seed {seed}: {got:?}, {script:?}");
            } else {
                assert_eq!(direct.bytes, *sent, "seed {seed}, without a proxy: {script:?}");
                assert_eq!(direct.ending, Ending::Closed, "seed {seed}: {script:?}");
                assert!(direct == relayed, "seed {seed}: {direct:?}, {relayed:?}, {script:?}");
            }
        }
        played.push((*seed, script, relayed));
    }
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    let lines = read_lines(&capture);
    for (number, (seed, script, got)) in played.iter().enumerate() {
        let lines = || lines.iter().filter(|line| line["session"] == number + 1);
        let close = lines().find(|line| line["event"] == "close");
        let close = close.unwrap_or_else(|| panic!("seed {seed} has no end: {said}"));
        for (sender, direction) in [(0, "serverbound"), (1, "clientbound")] {
            let came = |line: &&Json| line["dir"] == direction && line["origin"] != "proxy";
            let wires = lines().filter(came);
            let recorded: u64 = wires.map(|line| line["wire"].as_u64().unwrap()).sum();
            assert_eq!(close["bytes"][direction], recorded, "seed {seed}: {script:?}");
            let (sent, got) = (script.sent(sender).len(), &got[1 - sender]);
            let least = match script.resets() {
                true if got.is_refusal() => 0,
                true => got.bytes.len(),
                false => sent,
            };
            let possible = least as u64..=sent as u64;
            assert!(
                possible.contains(&recorded),
                "seed {seed}: {recorded}, {possible:?}, {script:?}"
            );
        }
    }
}

/// Plays a session: what the client and the server got.
fn play(script: &Script, client: TcpStream, listener: &TcpListener) -> [Got; 2] {
    let (server, _) = listener.accept().unwrap();
    for socket in [&client, &server] {
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    std::thread::scope(|scope| {
        let server = scope.spawn(|| end::run(server, &script.sides[1]));
        let client = end::run(client, &script.sides[0]);
        [client, server.join().unwrap()]
    })
}

const WORKERS: u64 = 4;
