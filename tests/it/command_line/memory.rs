//! `--max-memory`: what peers send does not fill the memory.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::game::hello;
use crate::support::{Program, refuses, scratch_file, text, wait_for};

#[test]
fn unfinished_packets_of_many_clients_are_passed_on_in_pieces_at_the_ceiling() {
    let (upstream, received) = counting_server();
    let mut proxy = Program::proxy(&upstream, &["--max-memory", "4M"]);
    let port = proxy.listening();
    let mut clients: Vec<TcpStream> =
        (0..CLIENTS).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let hello = hello(2);
    for client in &mut clients {
        client.write_all(&hello).unwrap();
    }
    assert!(wait_for(|| received.load(Relaxed) > 0));
    let before = proxy.memory();

    // A frame of 2,000,000 bytes less the last 100,000.
    let part = [&[0x80, 0x89, 0x7a][..], &[7; 1_900_000]].concat();
    for client in &mut clients {
        client.write_all(&part).unwrap();
    }
    // What may still be held: the ceiling, and what every session has for nothing.
    let held = (4 << 20) + CLIENTS * (192 << 10);
    let all = CLIENTS * part.len();
    let arrived = || received.load(Relaxed) >= all - held;
    assert!(wait_for(arrived), "{} of {all} bytes", received.load(Relaxed));
    if let (Some(before), Some(now)) = (before, proxy.memory()) {
        assert!(now < before + (64 << 20), "{before} bytes have become {now}");
    }
    drop(clients);
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    assert!(said.contains("warning: the memory ceiling of 4M was reached: "), "{said}");
}

const CLIENTS: usize = 60;

/// Starts a server that reads and counts whatever it is sent, and answers with the first byte of a packet: many clients
/// that begin alike and get no answer are taken for a chain of proxies.
fn counting_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let received = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, counter) = (stream.unwrap(), Arc::clone(&counter));
            std::thread::spawn(move || {
                let mut bytes = vec![0; 64 << 10];
                stream.write_all(&[5]).unwrap();
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    counter.fetch_add(count, Relaxed);
                }
            });
        }
    });
    (address, received)
}

#[test]
fn more_open_sessions_than_fit_the_memory_are_read_with_a_warning_and_not_written() {
    let capture = scratch_file("crowd.jsonl");
    let open = |session: u64| {
        format!(
            "{{\"v\":2,\"event\":\"open\",\"session\":{session},\"time\":\"2026-11-20T12:31:04.1Z\",\
             \"client\":{{\"address\":\"127.0.0.1:51234\"}},\"upstream\":\"play.example.org:25565\"}}\n"
        )
    };
    std::fs::write(&capture, (1..=3000).map(open).collect::<String>()).unwrap();
    let memory = ["--max-memory", "1M"];
    let said = "more than 1024 sessions are open at once";
    for verb in ["show", "stats"] {
        let words = [&[verb, text(&capture)], &memory[..]].concat();
        let (printed, errors) = Program::mitmcraft(&words).succeed_with_errors();
        assert_eq!(errors.matches(said).count(), 1, "{verb}: {errors}");
        assert!(errors.contains("`--max-memory` raises the limit"), "{verb}: {errors}");
        assert!(verb != "show" || printed.lines().count() == 3000, "every entry is shown");
    }
    let out = scratch_file("crowd.pcapng");
    let convert = ["convert", text(&capture), text(&out)];
    for words in [convert, ["diff", text(&capture), text(&capture)]] {
        let errors = refuses(&[&words[..], &memory[..]].concat());
        assert!(errors.contains(said) && errors.contains("`--max-memory`"), "{words:?}: {errors}");
    }
    // With the default, all of them fit.
    Program::mitmcraft(&["convert", text(&capture), text(&scratch_file("all.pcapng"))]).succeed();
}
