//! Encryption and accounts: who is verified by whom, with real clients and real servers on both
//! sides of the proxy, and what is kept of it.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use mitmcraft::codec::KeyLogLine;
use support::{Program, scratch_file};

#[test]
fn a_key_log_has_a_line_for_each_leg_and_only_its_owner_can_read_it() {
    let mut server = Program::node("server.js", &["--port", "0", "--encrypt", "--sessions", "2"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let key_log = scratch_file("keys.log");
    let options = ["-l", "127.0.0.1:0", "-q", "--key-log", text(&key_log)];
    let mut proxy = Program::mitmcraft(&[&["proxy", &upstream], &options[..]].concat());
    let port = proxy.listening().to_string();
    for _ in 0..2 {
        Program::node("client.js", &["--port", &port]).succeed();
    }
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    let lines = std::fs::read_to_string(&key_log).unwrap();
    let mut challenges: Vec<_> =
        lines.lines().map(|line| line.parse::<KeyLogLine>().unwrap().challenge).collect();
    challenges.sort_unstable();
    challenges.dedup();
    assert_eq!(challenges.len(), 4, "two sessions of two legs, each with a token of its own");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&key_log).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_key_log_that_cannot_be_written_is_told_before_anything_begins() {
    let proxy = Program::mitmcraft(&["proxy", "127.0.0.1:1", "--key-log", "/nowhere/keys.log"]);
    let (status, said) = proxy.fail();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("`/nowhere/keys.log`") && said.contains("--key-log"), "{said}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
