//! The interface in a terminal, which Python provides.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;

use mitmcraft::codec::Leg;
use mitmcraft::schema::{Direction, State, Value};

use crate::support::game::{Upstream, body, first_body, hello};
use crate::support::{Program, read_lines, scratch_file, wait_for};

/// Runs a command on a terminal of 80 by 24. Each line on stdin is typed, with `~` for Enter and `<` for
/// Backspace. What the terminal shows is printed, each control sequence on a line of its own.
const TERMINAL: &str = r"
import fcntl, os, pty, struct, sys, termios, threading
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
def show():
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            return
        if not data:
            return
        sys.stdout.buffer.write(data.replace(b'\x1b[', b'\n\x1b['))
        sys.stdout.flush()
shown = threading.Thread(target=show)
shown.start()
def type_lines():
    for line in sys.stdin:
        os.write(terminal, line.rstrip('\n').replace('~', '\r').replace('<', '\x7f').encode())
threading.Thread(target=type_lines, daemon=True).start()
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
shown.join()
print('\nended with', code, flush=True)
";

/// Reads what is shown until a line has `text`, and returns that line.
fn until(terminal: &mut Program, text: &str) -> String {
    loop {
        let line = terminal.line();
        if line.contains(text) {
            return line;
        }
    }
}

#[test]
fn a_packet_is_held_edited_and_sent_on_in_a_terminal_which_is_then_as_before() {
    let upstream = Upstream::answering();
    let capture = scratch_file("screen.jsonl");
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_mitmcraft"), "proxy", &upstream.address]);
    command.args(["-l", "127.0.0.1:0", "-w", capture.to_str().unwrap()]);
    command.args(["--tui", "--intercept", "serverbound and chat"]);
    let mut terminal = Program::start("python3", command);
    let line = until(&mut terminal, "listening on ");
    let address = line.split("listening on ").nth(1).unwrap().split(',').next().unwrap();
    until(&mut terminal, "[?1049h");
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    let mut leg = Leg::default();
    let said = Value::map([("message", "hello".into())]);
    leg.encoder.send(&body(State::Play, Direction::Serverbound, "chat", said));
    client.write_all(leg.encoder.pending()).unwrap();
    until(&mut terminal, "(1)");
    terminal.tell("3");
    terminal.tell("e");
    until(&mut terminal, "\"message\"");
    terminal.tell("<<!\"}~");
    let recorded = || {
        let text = std::fs::read_to_string(&capture).unwrap_or_default();
        text.contains("hello!")
    };
    assert!(wait_for(recorded));
    terminal.tell("q");
    until(&mut terminal, "[?1049l");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
    let chats: Vec<_> = read_lines(&capture)
        .into_iter()
        .filter(|line| line["packet"] == "chat" && line["dir"] == "serverbound")
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            (text("verdict"), text("origin"), line["fields"]["message"].clone())
        })
        .collect();
    let expected = |verdict: &str, origin: &str, message: &str| {
        (verdict.to_owned(), origin.to_owned(), message.into())
    };
    assert_eq!(
        chats,
        [expected("rewrite", "client", "hello"), expected("send", "proxy", "hello!")]
    );
}
