//! `--pipe`: programs that decide on packets, and those that fail to.

use std::io::Write as _;
use std::net::TcpStream;

use mitmcraft_protocol::codec::{Leg, Unit};
use mitmcraft_protocol::schema::{Direction, State, Value};

use crate::support::game::{Upstream, body, hello};
use crate::support::{PATIENCE, Program, fails, read_lines, refuses, root, scratch_file, text};

/// A client in the game, behind a proxy with a program.
struct Client {
    socket: TcpStream,
    leg: Leg,
}

impl Client {
    fn join(port: u16) -> Self {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.write_all(&hello(2)).unwrap();
        let mut client = Self { socket, leg: Leg::default() };
        client.next().expect("the login succeeds");
        client
    }

    fn says(&mut self, message: &str) {
        let value = Value::map([("message", Value::from(message))]);
        let said = body(State::Play, Direction::Serverbound, "chat", value);
        self.leg.encoder.send(&said);
        self.socket.write_all(self.leg.encoder.pending()).unwrap();
        let count = self.leg.encoder.pending().len();
        self.leg.encoder.advance(count);
    }

    /// The body of the next packet; `None` at the end.
    fn next(&mut self) -> Option<Vec<u8>> {
        use std::io::Read as _;
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        loop {
            if let Some(Unit::Frame(frame)) = self.leg.decoder.poll() {
                return Some(frame.body().unwrap().to_vec());
            }
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes).unwrap() {
                0 => return None,
                count => self.leg.decoder.receive(&bytes[..count]),
            }
        }
    }
}

/// The examples answer `!ping` themselves, for many sessions at once: each gets its own answer.
#[test]
fn the_examples_answer_in_every_session() {
    let upstream = Upstream::answering();
    for (interpreter, example) in [("python3", "filter.py"), ("node", "filter.js")] {
        let example = root().join("examples/pipe").join(example);
        let pipe = format!("{interpreter} \"{}\"", text(&example));
        let options = ["--pipe", &pipe, "--pipe-where", "chat", "--pipe-timeout", "20s"];
        let mut proxy = Program::proxy(&upstream.address, &options);
        let port = proxy.listening();
        let mut clients: Vec<Client> = (0..20).map(|_| Client::join(port)).collect();
        for round in 0..3 {
            for client in &mut clients {
                client.says("!ping");
            }
            for client in &mut clients {
                let answer = client.next().unwrap();
                assert!(String::from_utf8_lossy(&answer).contains("pong"), "{interpreter} {round}");
            }
        }
        proxy.interrupt();
        let (_, said) = proxy.succeed_with_errors();
        let of_pipe: Vec<_> = said.lines().filter(|line| line.contains("--pipe")).collect();
        let [counts] = of_pipe[..] else { panic!("{interpreter}: {said}") };
        assert!(counts.contains("60 dropped") && counts.contains(" 0 undecided"), "{counts}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_begins() {
    let capture = scratch_file("kept.jsonl");
    std::fs::write(&capture, "kept").unwrap();
    let proxy = ["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0"];
    for (options, wanted) in [
        (&["--pipe", "x"][..], "`--pipe` has no effect without `--pipe-where`"),
        (&["--pipe-where", "chat"], "`--pipe-where` has no effect without `--pipe`"),
        (&["--on-pipe-error", "close"], "`--on-pipe-error` has no effect without `--pipe`"),
        (&["--pipe", "'a", "--pipe-where", "chat"], "`--pipe`: a quote is not closed"),
        (&["--pipe", " ", "--pipe-where", "chat"], "`--pipe` names no program"),
        (&["--pipe", "x", "--pipe-where", "chta"], "`--pipe-where`: "),
        (&["--pipe", "x", "--pipe-where", "chat", "--pipe-timeout", "1m"], "at most 20s"),
    ] {
        let said = refuses(&[&proxy[..], options].concat());
        assert!(said.contains(wanted), "{options:?}: {said}");
    }
    let options = ["--pipe", "no-such-program x", "--pipe-where", "chat"];
    let rest = ["-w", text(&capture), "--overwrite"];
    let said = fails(&[&proxy[..], &options, &rest].concat(), 2);
    assert!(said.contains("cannot start `no-such-program`, see `--pipe`"), "{said}");
    assert_eq!(std::fs::read_to_string(&capture).unwrap(), "kept");
}

/// Programs in the shell's language.
#[cfg(unix)]
mod faults {
    use super::*;
    use crate::support::wait_for;

    fn proxied(program: &str, more: &[&str]) -> (Upstream, Program, u16) {
        let upstream = Upstream::answering();
        let script = scratch_file("program.sh");
        std::fs::write(&script, program).unwrap();
        let pipe = format!("sh {}", text(&script));
        let options = ["--pipe", &pipe, "--pipe-where", "serverbound and chat"];
        let mut proxy = Program::proxy(&upstream.address, &[&options[..], more].concat());
        let port = proxy.listening();
        (upstream, proxy, port)
    }

    #[test]
    fn a_program_that_fails_is_reported_with_its_last_words_and_started_again() {
        for (program, wanted) in [
            (
                "read x; echo oops >&2; exit 3",
                "has ended (exit status: 3) (the last line of its stderr: `oops`)",
            ),
            ("read x; echo hello; sleep 100", "wrote a line that is not an answer: expected value"),
            (
                "read x; echo '{\"id\":7,\"pass\":true}'; sleep 100",
                "answered 7, which was not asked",
            ),
            ("sleep 100", "took longer than 0.3 s for a packet"),
            // Endless output, without a line feed.
            ("read x; yes | tr -d '\\n'", "wrote 33554432 bytes without a line feed"),
        ] {
            for action in ["pass", "close"] {
                let capture = scratch_file("fault.jsonl");
                let timeout = if program.starts_with("sleep") { "300ms" } else { "20s" };
                let more =
                    ["--pipe-timeout", timeout, "--on-pipe-error", action, "-w", text(&capture)];
                let (_upstream, mut proxy, port) = proxied(program, &more);
                let mut client = Client::join(port);
                client.says("one");
                let said = proxy.wait_for_error("it is started again in 0.5 s");
                assert!(said.contains(wanted), "{program}: {said}");
                assert!(said.contains("; 1 packet undecided, see `--on-pipe-error`"), "{said}");
                if action == "close" {
                    let goodbye = client.next().unwrap();
                    let goodbye = String::from_utf8_lossy(&goodbye).into_owned();
                    assert!(goodbye.contains("a packet could not be checked"), "{goodbye}");
                    assert_eq!(client.next(), None);
                }
                // Another session goes on, and so does the run.
                Client::join(port);
                proxy.interrupt();
                proxy.succeed();
                let lines = read_lines(&capture);
                let chat = lines.iter().find(|it| it["packet"] == "chat").unwrap();
                let verdict = if action == "pass" { "pass" } else { "drop" };
                assert_eq!(chat["verdict"], verdict, "{program}");
                let comment = chat["comment"].as_str().unwrap();
                assert!(comment.starts_with("not decided by `pipe`: the program "), "{comment}");
            }
        }
    }

    /// It answers once it has been started again.
    #[test]
    fn a_program_that_is_started_again_decides_again() {
        let flag = scratch_file("flag");
        let program = format!(
            "if [ ! -e {0} ]; then touch {0}; exit 1; fi\n\
             while read x; do id=${{x#*:}}; echo \"{{\\\"id\\\":${{id%%,*}},\\\"drop\\\":true}}\"; done",
            text(&flag)
        );
        let capture = scratch_file("again.jsonl");
        let more = ["-w", text(&capture), "--pipe-timeout", "20s"];
        let (_upstream, mut proxy, port) = proxied(&program, &more);
        proxy.wait_for_error("has ended (exit status: 1)");
        let mut client = Client::join(port);
        let dropped = || {
            let text = std::fs::read_to_string(&capture).unwrap_or_default();
            text.contains("\"verdict\":\"drop\"")
        };
        assert!(wait_for(|| {
            client.says("again");
            dropped()
        }));
        proxy.interrupt();
        proxy.succeed();
    }

    /// The program of a run that is interrupted ends at the end of its stdin, behind all sessions.
    #[test]
    fn an_interrupt_ends_the_sessions_first_and_then_the_program() {
        for signal in ["INT", "TERM"] {
            let end = scratch_file("end");
            let program =
                format!("while read x; do :; done; echo goodbye >&2; echo done > {}", text(&end));
            let more = ["--pipe-timeout", "20s", "--drain", "100ms"];
            let (_upstream, proxy, port) = proxied(&program, &more);
            let mut client = Client::join(port);
            client.says("one");
            proxy.signal(signal);
            let (_, said) = proxy.succeed_with_errors();
            let of_it: Vec<&str> =
                said.lines().filter(|it| it.contains("the program of")).collect();
            assert_eq!(of_it, ["warning: the program of `--pipe`: goodbye"], "{said}");
            assert_eq!(std::fs::read_to_string(&end).unwrap(), "done\n");
            while client.next().is_some() {}
        }
    }

    /// Nobody else waits for a program that reads nothing: neither sessions without such packets, nor the log.
    #[test]
    fn a_program_that_reads_nothing_holds_only_the_packets_that_match() {
        let capture = scratch_file("holds.jsonl");
        let more = ["-w", text(&capture), "--pipe-timeout", "20s"];
        let (_upstream, proxy, port) = proxied("sleep 100", &more);
        let mut held = Client::join(port);
        // More than is read of a client while the program has not answered.
        for number in 0..5000 {
            held.says(&format!("{number:0>100}"));
        }
        let _other = Client::join(port);
        let recorded = || {
            let text = std::fs::read_to_string(&capture).unwrap_or_default();
            text.matches("\"packet\":\"success\"").count() == 2
        };
        assert!(wait_for(recorded), "the log goes on");
        proxy.interrupt();
        proxy.succeed();
        let lines = read_lines(&capture);
        let chats = lines.iter().filter(|it| it["packet"] == "chat" && it["verdict"] == "pass");
        let numbers = chats.map(|it| it["fields"]["message"].as_str().unwrap().parse().unwrap());
        let numbers: Vec<usize> = numbers.collect();
        assert!((65..2000).contains(&numbers.len()), "what was read goes on at the end");
        assert!(numbers.iter().copied().eq(0..numbers.len()), "{numbers:?}");
    }

    /// It has started others, and has ended itself, by a fault or at the end of its stdin.
    #[test]
    fn no_program_that_it_has_started_outlives_a_program() {
        for last in ["read x; exit 1", "while read x; do :; done; exit 0"] {
            let pids = scratch_file("pids");
            let begin = format!(
                "for i in 1 2 3; do sleep 1000 & echo $! >> {}; done\necho started >&2\n{last}",
                text(&pids)
            );
            let (_upstream, mut proxy, port) = proxied(&begin, &["--pipe-timeout", "20s"]);
            proxy.wait_for_error("the program of `--pipe`: started");
            let started = std::fs::read_to_string(&pids).unwrap();
            let runs = |pid: &str| {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
                stat.is_ok_and(|it| !it.contains(") Z "))
            };
            assert!(started.lines().count() == 3 && started.lines().all(runs));
            if last.contains("exit 1") {
                Client::join(port).says("one");
                proxy.wait_for_error("has ended (exit status: 1)");
                assert!(wait_for(|| !started.lines().any(runs)), "{started}");
            }
            proxy.interrupt();
            proxy.succeed();
            let started = std::fs::read_to_string(&pids).unwrap();
            assert!(wait_for(|| !started.lines().any(runs)), "{started}");
        }
    }

    /// What docs/security.md says of it.
    #[test]
    fn a_program_gets_only_packets_that_match_and_no_shell_reads_its_command() {
        let [script, words, read, created] =
            ["program.sh", "words", "read", "created"].map(scratch_file);
        let program = format!(
            "printf '%s\\n' \"$@\" > {}\nread x; echo \"$x\" > {}\n\
             echo '{{\"id\":1,\"drop\":true}}'; cat >> {}",
            text(&words),
            text(&read),
            text(&read)
        );
        std::fs::write(&script, program).unwrap();
        let upstream = Upstream::answering();
        let pipe = format!("sh {} ; touch {} $(id) '$HOME'", text(&script), text(&created));
        let options = ["--pipe", &pipe, "--pipe-where", "chat and message == \"one\""];
        let mut proxy = Program::proxy(&upstream.address, &options);
        let port = proxy.listening();
        let mut client = Client::join(port);
        for message in ["two", "one", "three"] {
            client.says(message);
        }
        let asked = || std::fs::read_to_string(&read).is_ok_and(|it| it.ends_with('\n'));
        assert!(wait_for(asked));
        proxy.interrupt();
        proxy.succeed();
        let lines = read_lines(&read);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["fields"]["message"], "one");
        let words = std::fs::read_to_string(&words).unwrap();
        assert_eq!(words, format!(";\ntouch\n{}\n$(id)\n$HOME\n", text(&created)));
        assert!(!created.exists());
    }
}
