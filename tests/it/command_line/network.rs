//! Options of `proxy` that have to do with networks.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value as Json;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::refusing::Refusing;
use crate::support::{Program, read_lines, refuses, scratch_file, text};

#[test]
fn clients_of_the_metrics_that_say_nothing_hold_up_no_session() {
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["--metrics", "127.0.0.1:0"]);
    let port = proxy.listening();
    let url = proxy.wait_for_error("metrics on ");
    let address = url.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    proxy.interrupt();
    proxy.succeed();
    drop(silent);
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
        assert_eq!(lines[0]["event"], "open");
        assert_eq!(lines[0]["client"], address.as_str(), "{version}");
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
    assert_eq!(lines[0]["client"], "192.0.2.7:5");
    let reason = reason(&lines, 2);
    assert!(reason.contains("has no PROXY header: it begins with"), "{reason}");
}

#[test]
fn a_silent_client_is_let_go_after_the_login_timeout_and_the_reason_names_it() {
    let upstream = Upstream::answering();
    let capture = scratch_file("timeout.jsonl");
    let write = text(&capture);
    let mut proxy = Program::proxy(&upstream.address, &["--timeout", "login=0.2", "-w", write]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    let told = proxy.wait_for_error("session 1 is closed");
    assert!(told.contains("(timeout `login`)"), "{told}");
    proxy.interrupt();
    proxy.succeed();
    let reason = reason(&read_lines(&capture), 1);
    assert_eq!(reason, "nothing came for 0.2 s (timeout `login`)");
}

#[test]
fn the_proxy_does_not_connect_to_itself() {
    // Nobody else gets the port, and the proxy could listen there.
    let held = Refusing::tcp();
    let said = refuses(&["proxy", &held.address(), "-l", &held.address()]);
    assert!(said.contains("is the address that the proxy itself listens on"), "{said}");
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

/// What the client says is in the proxy's hands before the server is connected.
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
