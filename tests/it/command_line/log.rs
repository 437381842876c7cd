//! What sessions notice of captures that cannot be written: nothing.

use std::fs::File;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, read_lines, scratch_file, text};

pub(super) fn log_in(port: u16) -> TcpStream {
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    client
}

#[test]
fn a_pipe_whose_reader_has_stopped_is_reported_and_delays_neither_sessions_nor_the_end() {
    let pipe = scratch_file("stopped.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let good = scratch_file("good.jsonl");
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&pipe), "-w", text(&good)]);
    let _reader = File::open(&pipe).unwrap();
    let port = proxy.listening();
    let mut client = log_in(port);
    let chat = b"\x0a\x01\x08griefing".repeat(10_000);
    client.write_all(&chat).unwrap();
    let said = proxy.wait_for_error("has taken nothing");
    assert!(said.contains("stopped.jsonl") && said.contains("--on-full drop"), "{said}");
    log_in(port);
    proxy.interrupt();
    let (status, said) = proxy.fail();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("it has taken nothing for 3 s, and"), "{said}");
}

#[test]
fn a_file_that_cannot_be_created_affects_its_session_only() {
    let folder = scratch_file("sessions");
    std::fs::create_dir(&folder).unwrap();
    File::create(folder.join("1")).unwrap();
    let upstream = Upstream::answering();
    let pattern = folder.join("{session}").join("capture.jsonl");
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&pattern)]);
    let port = proxy.listening();
    drop(log_in(port));
    let said = proxy.wait_for_error("cannot create the capture of session 1");
    assert!(said.contains("it is not recorded"), "{said}");
    drop(log_in(port));
    proxy.interrupt();
    let (status, said) = proxy.fail();
    // What is missing shows in the exit code.
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("is incomplete: "), "{said}");
    let lines = read_lines(&folder.join("2/capture.jsonl"));
    assert_eq!(lines.last().unwrap()["event"], "close");
}

#[test]
fn a_client_that_sends_nothing_gets_no_file() {
    let folder = scratch_file("silent");
    let upstream = Upstream::answering();
    let pattern = folder.join("{session}.jsonl");
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&pattern)]);
    let port = proxy.listening();
    for _ in 0..3 {
        drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    }
    drop(log_in(port));
    proxy.interrupt();
    proxy.succeed();
    let files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(files, ["4.jsonl"]);
}
