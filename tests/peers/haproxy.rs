//! A real HAProxy in front of the proxy and behind it: the server learns the player's own address.

#![cfg(unix)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use crate::support::game::hello;
use crate::support::{Program, read_lines, scratch_file, text};

#[test]
#[ignore = "needs the system's HAProxy: `tests/run --long`"]
fn a_player_behind_haproxy_keeps_its_address_on_the_way_to_the_server() {
    for sent in ["send-proxy", "send-proxy-v2"] {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let (behind, port) = haproxy("accept-proxy", server.local_addr().unwrap(), sent);
        let capture = scratch_file("haproxy.jsonl");
        let options = ["--proxy-protocol", "in,out", "--keep-host", "-w", text(&capture)];
        let mut proxy = Program::proxy(&format!("127.0.0.1:{port}"), &options);
        let listening = SocketAddr::from(([127, 0, 0, 1], proxy.listening()));
        let (in_front, port) = haproxy("", listening, sent);
        let (player, header) = through(port, &server);
        // HAProxy took it from the proxy's header, and the proxy from that of the other HAProxy.
        assert_eq!(source_of(&header), player, "{sent}: {header:?}");
        drop(in_front);
        drop(behind);
        proxy.interrupt();
        proxy.succeed();
        let lines = read_lines(&capture);
        assert!(
            lines.iter().any(|line| line["client"]["address"] == player.to_string()),
            "{lines:?}"
        );
        let names: Vec<_> = lines.iter().filter_map(|line| line["packet"].as_str()).collect();
        assert_eq!(names[..2], ["set_protocol", "login_start"], "{lines:?}");
    }
}

#[test]
#[ignore = "needs the system's HAProxy: `tests/run --long`"]
fn a_header_of_haproxy_that_was_not_asked_for_is_passed_on_and_named() {
    for sent in ["send-proxy", "send-proxy-v2"] {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let capture = scratch_file("unasked.jsonl");
        let upstream = server.local_addr().unwrap().to_string();
        let mut proxy = Program::proxy(&upstream, &["--keep-host", "-w", text(&capture)]);
        let listening = SocketAddr::from(([127, 0, 0, 1], proxy.listening()));
        let (in_front, port) = haproxy("", listening, sent);
        let (player, header) = through(port, &server);
        assert_eq!(source_of(&header), player, "{sent}: {header:?}");
        drop(in_front);
        proxy.interrupt();
        let (_, said) = proxy.succeed_with_errors();
        assert!(said.contains("PROXY header"), "{said}");
        let lines = read_lines(&capture);
        let names: Vec<_> = lines.iter().filter_map(|line| line["packet"].as_str()).collect();
        assert_eq!(names, ["set_protocol", "login_start"], "{lines:?}");
    }
}

/// Starts a HAProxy in front of a server, to which it sends headers, and returns its port.
fn haproxy(accepts: &str, server: SocketAddr, sends: &str) -> (Program, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = scratch_file("haproxy.cfg");
    let rules = format!(
        "defaults\n mode tcp\n timeout connect 10s\n timeout client 60s\n timeout server 60s\n\
         listen game\n bind fd@3 {accepts}\n server one {server} {sends}\n"
    );
    fs::write(&config, rules).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "exec haproxy -db -f \"$0\" 3<&0 0</dev/null", text(&config)]);
    let program = Program::start_with("haproxy", {
        command.stdin(Stdio::from(OwnedFd::from(listener)));
        command
    });
    (program, port)
}

/// Says hello through a HAProxy. Returns the address from which it did, and what the server got before that.
fn through(port: u16, server: &TcpListener) -> (SocketAddr, Vec<u8>) {
    let mut player = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let hello = hello(2);
    player.write_all(&hello).unwrap();
    let (mut socket, _) = server.accept().unwrap();
    let mut got = Vec::new();
    let mut byte = [0];
    while !got.ends_with(&hello) {
        assert_eq!(socket.read(&mut byte).unwrap(), 1, "{got:?}");
        got.push(byte[0]);
    }
    got.truncate(got.len() - hello.len());
    (player.local_addr().unwrap(), got)
}

/// Returns the source in a header, as haproxy.org's `proxy-protocol.txt` has it: a line, or bytes of version 2 for
/// TCP over IPv4.
fn source_of(header: &[u8]) -> SocketAddr {
    if let Some(line) = header.strip_prefix(b"PROXY TCP4 ") {
        let line = std::str::from_utf8(line).unwrap();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        return format!("{}:{}", words[0], words[2]).parse().unwrap();
    }
    let (signature, rest) = header.split_at(12);
    assert_eq!((signature, &rest[..2]), (&b"\r\n\r\n\0\r\nQUIT\n"[..], &[0x21, 0x11][..]));
    let source: [u8; 4] = rest[4..8].try_into().unwrap();
    SocketAddr::from((source, u16::from_be_bytes(rest[12..14].try_into().unwrap())))
}
