//! A run that records nothing counts what it forwards.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::schema::{Direction, State, Value};

use crate::support::game::{Upstream, body, first_body, hello};
use crate::support::{Program, scratch_file, text};

#[test]
fn the_summary_of_a_run_is_the_same_with_and_without_a_capture() {
    let server = Upstream::answering();
    let capture = scratch_file("unrecorded.jsonl");
    let unrecorded = summary(&server, &[]);
    assert_eq!(unrecorded, summary(&server, &["-w", text(&capture)]));
    let row = |name: &str| {
        let found = unrecorded.lines().find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("no {name}: {unrecorded}")).trim_start().to_owned()
    };
    assert!(row("→ play arm_animation").starts_with("300 "), "{unrecorded}");
    assert!(row("→ play chat").starts_with("2 "), "{unrecorded}");
    assert!(row("total").starts_with("305 "), "{unrecorded}");
}

/// Plays a session and returns the table that the proxy prints at its end.
fn summary(server: &Upstream, options: &[&str]) -> String {
    let mut proxy = Program::proxy(&server.address, options);
    let mut socket = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    socket.write_all(&hello(2)).unwrap();
    first_body(&mut socket);
    let mut leg = Leg::default();
    let play = |name, value| body(State::Play, Direction::Serverbound, name, value);
    for _ in 0..2 {
        for _ in 0..150 {
            leg.encoder.send(&play("arm_animation", Value::map([])));
        }
        leg.encoder.send(&play("chat", Value::map([("message", Value::from("hello"))])));
    }
    socket.write_all(leg.encoder.pending()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    proxy.interrupt();
    let (status, errors) = proxy.fail();
    assert!(status.success(), "{status}: {errors}");
    let table = errors.find("packets ").unwrap_or_else(|| panic!("no table: {errors}"));
    let end = errors.rfind("total").unwrap_or(errors.len());
    errors[table..end + "total".len()].to_owned()
}
