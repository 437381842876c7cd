//! The proxy on a terminal, which Python provides.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;

use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::schema::{Direction, State, Value};

use crate::support::game::{Upstream, body, first_body, hello};
use crate::support::{Program, root, scratch_file, wait_for};

#[test]
fn a_terminal_collapses_repeated_packets_and_a_capture_does_not() {
    let upstream = Upstream::answering();
    for (options, everything) in [(&["--no-collapse"][..], true), (&["-Yplay", "--events"], false)]
    {
        let option = options[0];
        let capture = scratch_file("movement.jsonl");
        let mut command = Command::new("python3");
        // A separate terminal; its output goes to stdout.
        let script =
            "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
        command.args(["-c", script, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
        command.args(["-l", "127.0.0.1:0", "-w", capture.to_str().unwrap()]);
        command.args(["--metrics", "127.0.0.1:0"]).args(options);
        let mut terminal = Program::start("python3", command);
        let port: u16 = loop {
            let line = terminal.line();
            if let Some(address) = line.split("listening on ").nth(1) {
                break address
                    .split(',')
                    .next()
                    .unwrap()
                    .rsplit(':')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
            }
        };
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        first_body(&mut client);
        let mut leg = Leg::default();
        let grounded = Value::map([("onGround", Value::Bool(true))]);
        for _ in 0..200 {
            leg.encoder.send(&body(
                State::Play,
                Direction::Serverbound,
                "flying",
                grounded.clone(),
            ));
        }
        client.write_all(leg.encoder.pending()).unwrap();
        drop(client);
        let mut shown = 0;
        let mut many = 0;
        loop {
            let line = terminal.line();
            shown += usize::from(line.contains(" flying"));
            if let Some(count) = line.split(" ×").nth(1) {
                let digits: String = count.chars().take_while(char::is_ascii_digit).collect();
                many += digits.parse::<usize>().unwrap() - 1;
            }
            if line.contains("closed after") {
                break;
            }
        }
        assert_eq!(shown + many, 200, "{option}");
        assert_eq!(shown == 200, everything, "{option}: {shown} lines");
        // The entry is in the file within a second; the test waits for it.
        let recorded = || {
            let text = std::fs::read_to_string(&capture).unwrap_or_default();
            text.lines().filter(|line| line.contains("\"flying\"")).count()
        };
        assert!(wait_for(|| recorded() >= 200), "{option}: {} records", recorded());
        assert_eq!(recorded(), 200, "{option}");
        // Ctrl-C on its terminal.
        terminal.tell("\x03");
        terminal.succeed();
    }
}

/// Runs a command on a terminal of which only the line with the address is read, and ends it by
/// SIGTERM when a line comes on stdin.
const STOPPED: &str = "
import os, pty, signal, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = b''
while b'\\n' not in said:
    said += os.read(terminal, 1)
print(said.decode().strip(), flush=True)
sys.stdin.readline()
os.kill(child, signal.SIGTERM)
print('ended with', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
";

#[test]
fn a_stopped_terminal_delays_neither_sessions_nor_captures_nor_the_end() {
    let upstream = Upstream::answering();
    let capture = scratch_file("stopped.jsonl");
    let mut command = Command::new("python3");
    command.args(["-c", STOPPED, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
    command.args(["-l", "127.0.0.1:0", "-v", "-w", capture.to_str().unwrap()]);
    let mut terminal = Program::start("python3", command);
    let line = terminal.line();
    let address = line.split("listening on ").nth(1).unwrap().split(',').next().unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    // Several times what the terminal and its buffer hold.
    client.write_all(&b"\x0a\x01\x08griefing".repeat(50_000)).unwrap();
    let recorded = || {
        let text = std::fs::read_to_string(&capture).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"griefing\"")).count()
    };
    assert!(wait_for(|| recorded() == 50_000), "{} records", recorded());
    let mut other = TcpStream::connect(address).unwrap();
    other.write_all(&hello(2)).unwrap();
    first_body(&mut other);
    terminal.tell("end");
    assert_eq!(terminal.line(), "ended with 0");
}

/// Runs a command on a terminal of 60 columns and prints what it shows.
const NARROW: &str = "
import fcntl, os, pty, struct, sys, termios
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 60, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while said := os.read(terminal, 4096):
        sys.stdout.buffer.write(said)
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

#[test]
fn lines_are_cut_to_the_width_of_the_terminal() {
    let capture = root().join("captures/session-1.8.jsonl");
    let show = |more: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-c", NARROW, env!("CARGO_BIN_EXE_mitmcraft"), "show", "--color", "never"]);
        Program::start("python3", {
            command.arg(&capture).args(more);
            command
        })
        .succeed()
    };
    let widths =
        |shown: &str| -> Vec<usize> { shown.lines().map(|it| it.chars().count()).collect() };
    let (narrow, whole) = (show(&[]), show(&["--width", "none"]));
    assert_eq!(narrow.lines().count(), whole.lines().count());
    assert_eq!(widths(&narrow).into_iter().max(), Some(60));
    assert!(widths(&whole).into_iter().any(|it| it > 60));
    for (narrow, whole) in narrow.lines().zip(whole.lines()).filter(|(a, b)| a != b) {
        // Fields are cut before a remark, which is cut only if it is long.
        let (fields, remark) = narrow.split_once('…').unwrap();
        let rest = whole.strip_prefix(fields).unwrap();
        assert!(rest.contains(remark.trim_end_matches('…')), "{narrow}");
        assert!(remark.is_empty() || remark.starts_with("  //"), "{narrow}");
    }
}
