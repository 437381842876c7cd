use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use mitmcraft::codec::Leg;
use mitmcraft::schema::{Direction, State, Value};

use crate::support::game::{Upstream, body, first_body, hello};
use crate::support::{Program, root, scratch_file, wait_for};

#[test]
fn a_second_interrupt_ends_at_once() {
    // A server that says more than the client reads: the first interrupt waits for the client.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        while socket.write_all(&[0; 65536]).is_ok() {}
    });
    let mut proxy = Program::mitmcraft(&["proxy", &upstream, "-l", "127.0.0.1:0", "-q"]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(b"hello\r\n").unwrap();
    assert_ne!(client.read(&mut [0; 16]).unwrap(), 0);
    proxy.interrupt();
    proxy.wait_for_error("Ctrl-C again ends at once");
    proxy.interrupt();
    let (status, _) = proxy.finish();
    assert_eq!(status.code(), Some(130));
}

#[test]
fn whoever_closes_the_pipe_has_seen_enough() {
    let capture = root().join("captures/session-1.8.jsonl");
    let capture = capture.to_str().unwrap();
    let pages = scratch_file("man");
    for arguments in [
        vec!["show", capture],
        vec!["protocols"],
        vec!["protocols", "47"],
        vec!["config"],
        vec!["completions", "bash"],
        vec!["man", pages.to_str().unwrap()],
        vec!["--help"],
        vec!["proxy", "--help"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mitmcraft"));
        command.args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn a_proxy_whose_screen_goes_away_ends_with_0() {
    let upstream = Upstream::answering();
    let mut command = Command::new("sh");
    let script = format!(
        "{{ {} proxy {} -l 127.0.0.1:0; echo ended $? >&2; }} | head -n 1",
        env!("CARGO_BIN_EXE_mitmcraft"),
        upstream.address
    );
    command.args(["-c", &script]);
    let mut shell = Program::start("sh", command);
    let port = shell.listening();
    // A line after the first finds nobody; how many lines one read of the first takes, nobody knows.
    let mut clients = Vec::new();
    while clients.len() < 500 && !shell.errors().contains("ended ") {
        let Ok(mut client) = TcpStream::connect(("127.0.0.1", port)) else { break };
        let _ = client.write_all(&hello(2));
        clients.push(client);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(shell.wait_for_error("ended "), "ended 0");
    drop(clients);
    assert!(shell.succeed().contains("opened"));
}

#[test]
fn colour_is_where_it_is_wanted_and_nowhere_else() {
    let capture = root().join("captures/session-1.8.jsonl");
    let lines: [&[&str]; 3] =
        [&["show", capture.to_str().unwrap()], &["--help"], &["proxy", "a b"]];
    for line in lines {
        for (variables, option, wanted) in [
            (&[][..], None, false),
            (&[("CLICOLOR_FORCE", "1")][..], None, true),
            (&[("CLICOLOR_FORCE", "1")][..], Some("never"), false),
            (&[("NO_COLOR", "1")][..], None, false),
            (&[("NO_COLOR", "1")][..], Some("always"), true),
            (&[("MITMCRAFT_COLOR", "always")][..], None, true),
        ] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_mitmcraft"));
            command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").args(line);
            command.envs(variables.iter().copied());
            command.args(option.map(|option| format!("--color={option}")));
            let output = command.output().unwrap();
            let all = [output.stdout, output.stderr].concat();
            let colored = all.windows(2).any(|bytes| bytes == b"\x1b[");
            assert_eq!(colored, wanted, "{line:?} {variables:?} {option:?}");
        }
    }
}

#[test]
fn on_a_terminal_what_repeats_is_one_line_and_a_capture_has_all_of_it() {
    let upstream = Upstream::answering();
    for (option, everything) in [("--no-collapse", true), ("-Yplay", false)] {
        let capture = scratch_file("movement.jsonl");
        let mut command = Command::new("python3");
        // A terminal of its own; what is shown there goes to stdout.
        let script =
            "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
        command.args(["-c", script, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
        command.args(["-l", "127.0.0.1:0", option, "-w", capture.to_str().unwrap()]);
        command.args(["--metrics", "127.0.0.1:0"]);
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
        // Within a second it is in the file: that is the promise, and the test waits for the fact.
        let recorded = || {
            let text = std::fs::read_to_string(&capture).unwrap_or_default();
            text.lines().filter(|line| line.contains("\"flying\"")).count()
        };
        assert!(wait_for(|| recorded() >= 200), "{option}: {} records", recorded());
        assert_eq!(recorded(), 200, "{option}");
    }
}
