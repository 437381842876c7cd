//! Options of `proxy` that have to do with networks.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value as Json;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::refusing::Refusing;
use crate::support::{PATIENCE, Program, read_lines, refuses, scratch_file, text, wait_for};

#[test]
fn clients_of_the_metrics_that_say_nothing_hold_up_no_session() {
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["--metrics", "127.0.0.1:0"]);
    let port = proxy.listening();
    let address = metrics_address(&mut proxy);
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    proxy.interrupt();
    proxy.succeed();
    drop(silent);
}

#[test]
fn clients_of_the_metrics_that_say_nothing_make_room_for_a_scraper() {
    let mut proxy = Program::proxy("127.0.0.1:1", &["--metrics", "127.0.0.1:0"]);
    let address = metrics_address(&mut proxy);
    let mut silent: Vec<TcpStream> =
        (0..16).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let page = metrics(&address);
    assert!(page.contains("mitmcraft_sessions_open 0"), "{page}");
    // The first has made room, and the others are still there.
    assert_eq!(silent.remove(0).read(&mut [0]).unwrap(), 0);
    for client in &mut silent {
        client.set_nonblocking(true).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    proxy.interrupt();
    proxy.succeed();
}

#[test]
fn a_client_too_many_is_told_so_in_the_form_of_its_generation() {
    let upstream = Upstream::answering();
    let options = ["--max-sessions", "1", "--metrics", "127.0.0.1:0"];
    let mut proxy = Program::proxy(&upstream.address, &options);
    let port = proxy.listening();
    let address = metrics_address(&mut proxy);
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut first = connect();
    first.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut first)[0], 2);
    let alpha = b"\x02\0\x05Steve".to_vec();
    for request in [hello(2), hello(1), b"\xfe".to_vec(), b"\xfe\x01".to_vec(), alpha] {
        let mut surplus = connect();
        surplus.write_all(&request).unwrap();
        if request == hello(1) {
            surplus.write_all(b"\x09\x01\0\0\0\0\0\0\0\x05").unwrap();
        }
        let mut told = Vec::new();
        surplus.read_to_end(&mut told).unwrap();
        let text: String = told.iter().filter(|it| **it != 0).map(|it| char::from(*it)).collect();
        assert!(
            text.contains("the proxy is full: all of its 1 sessions"),
            "{request:02x?}: {text}"
        );
    }
    assert!(metrics(&address).contains("mitmcraft_errors_total{kind=\"full\"} 5\n"));
    drop(first);
    let served = wait_for(|| {
        let mut next = connect();
        next.write_all(&hello(2)).unwrap();
        first_body(&mut next)[0] == 2
    });
    assert!(served, "there is room again");
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("turned away")).collect();
    assert!(lines[0].contains("1 client: the proxy is full"), "{said}");
    assert!(lines.len() < 5 && lines[0].contains("`--max-sessions`"), "{said}");
}

#[test]
fn without_file_descriptors_every_client_is_told_so_and_the_operator_too() {
    let upstream = Upstream::answering();
    let mut command = std::process::Command::new("sh");
    let limited = "ulimit -n 40; exec \"$0\" \"$@\"";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
    command.args(["-l", "127.0.0.1:0", "-q", "--metrics", "127.0.0.1:0"]);
    let mut proxy = Program::start("mitmcraft", command);
    let port = proxy.listening();
    let address = metrics_address(&mut proxy);
    let mut clients = Vec::new();
    let mut refused = 0;
    for _ in 0..60 {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        let body = first_body(&mut client);
        if body[0] == 0 {
            let text = String::from_utf8_lossy(&body).into_owned();
            let reasons = ["the proxy is out of file descriptors", "Too many open files"];
            assert!(reasons.iter().any(|reason| text.contains(reason)), "{text}");
            refused += 1;
            continue;
        }
        clients.push(client);
    }
    assert!((30..60).contains(&refused), "{refused}");
    let page = metrics(&address);
    assert!(page.contains(&format!("mitmcraft_errors_total{{kind=\"descriptors\"}} {refused}\n")));
    let said = proxy.wait_for_error("turned away");
    assert!(said.contains("out of file descriptors") && said.contains("`ulimit -n`"), "{said}");
    drop(clients);
    proxy.interrupt();
    proxy.succeed();
}

/// A client that takes all file descriptors could otherwise play on without being recorded.
#[test]
fn every_session_that_reaches_the_server_has_its_file_however_many_clients_there_are() {
    let upstream = Upstream::answering();
    let folder = scratch_file("few-descriptors");
    std::fs::create_dir(&folder).unwrap();
    let pattern = folder.join("{session}.jsonl");
    let mut command = std::process::Command::new("sh");
    let limited = "ulimit -n 128; exec \"$0\" \"$@\"";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
    command.args(["-l", "127.0.0.1:0", "-q", "-w", text(&pattern)]);
    let mut proxy = Program::start("mitmcraft", command);
    let port = proxy.listening();
    let mut players = Vec::new();
    for _ in 0..45 {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        if first_body(&mut client)[0] == 2 {
            players.push(client);
        }
    }
    let played = players.len();
    assert!((5..45).contains(&played), "{played}");
    drop(players);
    proxy.interrupt();
    proxy.succeed();
    let files = std::fs::read_dir(&folder).unwrap().map(|file| read_lines(&file.unwrap().path()));
    let logged_in =
        |lines: &Vec<_>| lines.iter().any(|line: &serde_json::Value| line["packet"] == "success");
    assert_eq!(files.filter(logged_in).count(), played);
}

#[test]
fn the_soft_limit_of_file_descriptors_is_no_limit() {
    let upstream = Upstream::answering();
    let mut command = std::process::Command::new("sh");
    let limited = "ulimit -S -n 40; exec \"$0\" \"$@\"";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
    command.args(["-l", "127.0.0.1:0", "-q"]);
    let mut proxy = Program::start("mitmcraft", command);
    let port = proxy.listening();
    let mut clients = Vec::new();
    for _ in 0..60 {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        assert_eq!(first_body(&mut client)[0], 2);
        clients.push(client);
    }
    proxy.interrupt();
    proxy.succeed();
}

/// Returns the address of the metrics that the proxy reports on stderr.
fn metrics_address(proxy: &mut Program) -> String {
    let url = proxy.wait_for_error("metrics on ");
    url.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned()
}

/// Returns the page of the metrics.
fn metrics(address: &str) -> String {
    let mut scraper = TcpStream::connect(address).unwrap();
    scraper.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut page = String::new();
    scraper.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn a_busy_metrics_port_is_named_with_a_free_one() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let said = refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "--metrics", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    assert!(said.contains("is free: `--metrics 127.0.0.1:"), "{said}");
}

#[test]
fn the_real_client_comes_through_two_proxies_by_the_proxy_protocol() {
    for version in ["out", "out=v1"] {
        let upstream = Upstream::answering();
        let capture = scratch_file("inner.jsonl");
        let mut inner =
            Program::proxy(&upstream.address, &["--proxy-protocol", "in", "-w", text(&capture)]);
        let towards = format!("127.0.0.1:{}", inner.listening());
        let mut outer = Program::proxy(&towards, &["--proxy-protocol", version]);
        let mut client = TcpStream::connect(("127.0.0.1", outer.listening())).unwrap();
        let address = client.local_addr().unwrap().to_string();
        client.write_all(&hello(2)).unwrap();
        assert_eq!(first_body(&mut client)[0], 2);
        for proxy in [outer, inner] {
            proxy.interrupt();
            proxy.succeed();
        }
        let lines = read_lines(&capture);
        assert_eq!(lines[1]["event"], "open");
        assert_eq!(lines[1]["client"]["address"], address.as_str(), "{version}");
        assert!(lines.iter().any(|line| line["packet"] == "login_start"), "{version}");
    }
}

#[test]
fn a_client_without_a_proxy_header_is_refused_and_that_is_recorded() {
    let upstream = Upstream::answering();
    let capture = scratch_file("refused.jsonl");
    let mut proxy =
        Program::proxy(&upstream.address, &["--proxy-protocol", "in", "-w", text(&capture)]);
    let port = proxy.listening();
    // A header and a login in one piece, cut anywhere, are as good as two.
    let whole = [b"PROXY TCP4 192.0.2.7 192.0.2.1 5 25565\r\n".to_vec(), hello(2)].concat();
    let mut good = TcpStream::connect(("127.0.0.1", port)).unwrap();
    good.write_all(&whole).unwrap();
    assert_eq!(first_body(&mut good)[0], 2);
    let mut bad = TcpStream::connect(("127.0.0.1", port)).unwrap();
    bad.write_all(&hello(2)).unwrap();
    let mut rest = Vec::new();
    let _ = bad.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{rest:?}");
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    assert_eq!(lines[1]["client"]["address"], "192.0.2.7:5");
    let reason = reason(&lines, 2);
    assert!(reason.contains("has no PROXY header: it begins with"), "{reason}");
}

#[test]
fn a_client_whose_header_is_refused_reaches_no_server() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let mut proxy = Program::proxy(&address, &["--proxy-protocol", "in,out"]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    let _ = client.read_to_end(&mut Vec::new());
    proxy.interrupt();
    proxy.succeed();
    server.set_nonblocking(true).unwrap();
    assert_eq!(server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_silent_client_is_let_go_after_the_login_timeout_and_the_reason_names_it() {
    let upstream = Upstream::answering();
    let capture = scratch_file("timeout.jsonl");
    let write = text(&capture);
    let mut proxy = Program::proxy(&upstream.address, &["--timeout", "login=0.2", "-w", write]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    let told = proxy.wait_for_error("session 1 is closed");
    assert!(told.contains("(timeout `login`)"), "{told}");
    proxy.interrupt();
    proxy.succeed();
    let reason = reason(&read_lines(&capture), 1);
    assert_eq!(reason, "nothing came for 0.2 s (timeout `login`)");
}

/// As a laptop that is suspended.
#[test]
fn a_process_that_is_stopped_for_longer_than_a_timeout_reads_what_came_meanwhile() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut proxy = Program::proxy(&address, &["--timeout", "idle=5"]);
    let port = proxy.listening();
    let mut connections: Vec<(TcpStream, TcpStream)> = (0..8)
        .map(|_| {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(b"not Minecraft").unwrap();
            let (mut server, _) = listener.accept().unwrap();
            server.read_exact(&mut [0; 13]).unwrap();
            (client, server)
        })
        .collect();
    proxy.signal("STOP");
    for (client, _) in &mut connections {
        client.write_all(b"!").unwrap();
    }
    std::thread::sleep(Duration::from_millis(5500));
    proxy.signal("CONT");
    for (_, server) in &mut connections {
        server.read_exact(&mut [0]).unwrap();
    }
    proxy.interrupt();
    proxy.succeed();
}

#[test]
fn the_proxy_does_not_connect_to_itself() {
    // Nobody else gets the port, and the proxy could listen there.
    let held = Refusing::tcp();
    let address = held.address();
    let port = address.rsplit(':').next().unwrap();
    for (server, listen) in [
        (address.clone(), address.clone()),
        (format!("localhost:{port}"), address.clone()),
        (format!("localhost:{port}"), format!("0.0.0.0:{port}")),
        (address.clone(), format!("[::]:{port}")),
        (format!("[::ffff:127.0.0.1]:{port}"), address.clone()),
    ] {
        let said = refuses(&["proxy", &server, "-l", &listen]);
        let expected = "is the address that the proxy itself listens on";
        assert!(said.contains(expected), "{server} {listen}: {said}");
    }
}

#[test]
fn a_chain_of_proxies_that_leads_back_ends() {
    // In place of a second proxy, whose server is the first one.
    let second = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = second.local_addr().unwrap().to_string();
    let mut proxy = Program::proxy(&upstream, &[]);
    let first = ("127.0.0.1", proxy.listening());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for from in second.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            let (Ok(from), Ok(to)) = (from, TcpStream::connect(first)) else { return };
            let ways = [(&from, &to), (&to, &from)];
            for (mut from, mut to) in
                ways.map(|(a, b)| (a.try_clone().unwrap(), b.try_clone().unwrap()))
            {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    let mut client = TcpStream::connect(first).unwrap();
    client.write_all(&hello(2)).unwrap();
    let answer = String::from_utf8_lossy(&first_body(&mut client)).into_owned();
    assert!(answer.contains("a proxy behind this one leads back to it"), "{answer}");
    let count = connections.load(Ordering::Relaxed);
    assert!((16..40).contains(&count), "{count} connections");
    proxy.interrupt();
    proxy.succeed();
}

#[test]
fn a_connection_that_was_not_redirected_is_told_so() {
    let mut proxy = Program::mitmcraft(&["proxy", "--transparent", "-l", "127.0.0.1:0", "-q"]);
    let said = proxy.wait_for_error("listening on ");
    assert!(said.ends_with("forwarding to the original destination of each client"), "{said}");
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    let answer = String::from_utf8_lossy(&first_body(&mut client)).into_owned();
    let reasons = ["was not redirected here", "was made to the proxy itself"];
    assert!(reasons.iter().any(|reason| answer.contains(reason)), "{answer}");
    proxy.interrupt();
    proxy.succeed();
    let said = refuses(&["proxy"]);
    assert!(said.contains("UPSTREAM"), "{said}");
}

/// The proxy has read everything from the client before the server is connected.
#[test]
fn a_client_that_closes_its_side_at_once_is_decoded_and_its_handshake_names_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let capture = scratch_file("half-closed.jsonl");
    let mut proxy = Program::proxy(&address, &["-w", text(&capture)]);
    let port = proxy.listening();
    for _ in 0..32 {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        server.read_to_end(&mut got).unwrap();
        let got = String::from_utf8_lossy(&got).into_owned();
        assert!(got.contains("127.0.0.1") && got.contains("Steve"), "{got:?}");
    }
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let logins = lines.iter().filter(|line| line["packet"] == "login_start");
    assert_eq!(logins.count(), 32);
    assert!(!lines.iter().any(|line| line["raw"].is_string()), "{lines:?}");
}

fn reason(lines: &[Json], session: u64) -> String {
    let close = lines.iter().find(|line| line["event"] == "close" && line["session"] == session);
    close.unwrap()["reason"].as_str().unwrap().to_owned()
}
