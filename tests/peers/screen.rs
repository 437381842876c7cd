//! The interface in a terminal, which Python provides.

use std::fs;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::Command;

use mitmcraft::tui::Screen;

use crate::support::{Program, mitmcraft, read_lines, scratch_file, text};

/// Runs a command on a terminal of 80 by 24. Each line on stdin is typed, with `~` for Enter and `<` for
/// Backspace; `!TERM` is a signal, `!HANGUP` closes the terminal. What the program writes is printed, each control
/// sequence on a line of its own, and then every row of the screen that has changed: only cells that change are
/// written. A program that has not ended after ten minutes is killed, and the screen is on stderr.
const TERMINAL: &str = r"
import codecs, fcntl, os, pty, re, struct, sys, termios, threading, unicodedata
decoder = codecs.getincrementaldecoder('utf-8')('replace')
rows, x, y, rest = [[' '] * 80 for _ in range(24)], 0, 0, ''
def draw(text):
    global x, y, rest
    rest, changed = rest + text, set()
    while rest:
        if rest[0] == '\x1b':
            control = re.match(r'\x1b(\[[0-9;?]*[@-~]|[^\[])', rest)
            if not control:
                break
            rest = rest[control.end():]
            if place := re.fullmatch(r'\x1b\[(\d+);(\d+)H', control[0]):
                y, x = int(place[1]) - 1, int(place[2]) - 1
            elif control[0].endswith('J'):
                rows[:] = [[' '] * 80 for _ in range(24)]
            continue
        letter, rest = rest[0], rest[1:]
        if letter == '\r':
            x = 0
        elif letter == '\n':
            y += 1
        elif x < 80 and y < 24:
            rows[y][x] = letter
            x += 2 if unicodedata.east_asian_width(letter) in 'WF' else 1
            changed.add(y)
    return changed
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
        sys.stdout.buffer.write(data.replace(b'\x1b[', b'\n\x1b[') + b'\n')
        for row in sorted(draw(decoder.decode(data))):
            sys.stdout.buffer.write(''.join(rows[row]).encode() + b'\n')
        sys.stdout.flush()
shown = threading.Thread(target=show)
shown.start()
def type_lines():
    for line in sys.stdin:
        if line.strip() == '!TERM':
            os.kill(child, 15)
            continue
        if line.strip() == '!HANGUP':
            os.close(terminal)
            continue
        os.write(terminal, line.rstrip('\n').replace('~', '\r').replace('<', '\x7f').encode())
threading.Thread(target=type_lines, daemon=True).start()
def give_up():
    sys.stderr.write('\n'.join(''.join(row) for row in rows))
    sys.stderr.flush()
    os.kill(child, 9)
    os._exit(1)
threading.Timer(600, give_up).start()
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
shown.join()
print('\nended with', code, flush=True)
os._exit(0)
";

/// Starts a command on a terminal.
pub(crate) fn on_terminal(command: &Command) -> Program {
    let mut python = Command::new("python3");
    python.args(["-c", TERMINAL]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    Program::start("python3", python)
}

/// Starts a proxy on a terminal, and returns it with its port.
fn proxy(upstream: &str, capture: &Path, options: &[&str]) -> (Program, String) {
    proxy_by(mitmcraft(), upstream, capture, options)
}

/// Starts a proxy like [`proxy`] by a command that has its environment.
fn proxy_by(
    mut command: Command,
    upstream: &str,
    capture: &Path,
    options: &[&str],
) -> (Program, String) {
    command.args(["proxy", upstream, "-l", "127.0.0.1:0", "-w", text(capture), "--tui"]);
    let mut terminal = on_terminal(command.args(options));
    let line = until(&mut terminal, "listening on ");
    let address = line.split("listening on ").nth(1).unwrap().split(',').next().unwrap();
    let port = address.rsplit(':').next().unwrap().to_owned();
    until(&mut terminal, "[?1049h");
    (terminal, port)
}

/// Reads what is shown until a line has `text`, and returns that line.
pub(crate) fn until(terminal: &mut Program, text: &str) -> String {
    loop {
        let line = terminal.line();
        if line.contains(text) {
            return line;
        }
    }
}

#[test]
fn a_packet_is_held_edited_and_sent_on_in_a_terminal_which_is_then_as_before() {
    let log = scratch_file("server.log");
    let mut server = Program::node("server.js", &["--port", "0", "--log", text(&log)]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("screen.jsonl");
    let held = ["--intercept", "serverbound and held_item_slot"];
    let (mut terminal, port) = proxy(&upstream, &capture, &held);
    let client = Program::node("client.js", &["--port", &port]);
    until(&mut terminal, "(1)");
    terminal.tell("6");
    terminal.tell("E");
    // Of the line that is edited; the list has `slotId=3`.
    until(&mut terminal, "Id\":3");
    terminal.tell("<<5}~");
    let client = client.succeed();
    assert!(client.contains("see you"), "{client}");
    server.succeed();
    terminal.tell("qq");
    until(&mut terminal, "[?1049l");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
    let log = read_lines(&log);
    let arrived = log.iter().filter(|it| it["name"] == "held_item_slot");
    let arrived: Vec<_> = arrived.filter_map(|it| it["body"].as_str()).collect();
    assert!(arrived.contains(&"090005") && !arrived.contains(&"090003"), "{arrived:?}");
    let slots: Vec<_> = read_lines(&capture)
        .into_iter()
        .filter(|line| line["packet"] == "held_item_slot" && line["dir"] == "serverbound")
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            (text("verdict"), text("origin"), line["fields"]["slotId"].as_i64())
        })
        .collect();
    let expected = |verdict: &str, origin: &str, slot: i64| {
        (verdict.to_owned(), origin.to_owned(), Some(slot))
    };
    assert_eq!(slots, [expected("rewrite", "client", 3), expected("send", "proxy", 5)]);
}

#[test]
fn a_held_packet_is_edited_in_the_editor_that_the_environment_names() {
    let log = scratch_file("server.log");
    let mut server = Program::node("server.js", &["--port", "0", "--log", text(&log)]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let (editor, seen) = (scratch_file("editor.sh"), scratch_file("seen.txt"));
    // It has the terminal as it was before, and its arguments before the file.
    let script = "#!/bin/sh\n{ echo \"$1\"; stty -a; cat \"$2\"; } > \"$SEEN\"\n\
                  sed -i 's/\"slotId\": 3/\"slotId\": 4/' \"$2\"\n";
    fs::write(&editor, script).unwrap();
    let mut command = mitmcraft();
    command.env("EDITOR", format!("sh {} --wait", text(&editor))).env("SEEN", &seen);
    command.env_remove("VISUAL");
    let held = ["--intercept", "serverbound and held_item_slot"];
    let capture = scratch_file("edited.jsonl");
    let (mut terminal, port) = proxy_by(command, &upstream, &capture, &held);
    let client = Program::node("client.js", &["--port", &port]);
    until(&mut terminal, "(1)");
    terminal.tell("6");
    terminal.tell("v");
    until(&mut terminal, "[?1049l");
    until(&mut terminal, "[?1049h");
    let client = client.succeed();
    assert!(client.contains("see you"), "{client}");
    server.succeed();
    terminal.tell("qq");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.starts_with("--wait\n"), "{seen}");
    assert!(seen.contains(" icanon") && seen.contains(" echo "), "a terminal for lines: {seen}");
    assert!(seen.contains("\"slotId\": 3"), "{seen}");
    let log = read_lines(&log);
    let arrived = log.iter().filter(|it| it["name"] == "held_item_slot");
    let arrived: Vec<_> = arrived.filter_map(|it| it["body"].as_str()).collect();
    assert!(arrived.contains(&"090004") && !arrived.contains(&"090003"), "{arrived:?}");
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let mut server = Program::node("server.js", &["--port", "0"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let mut command = mitmcraft();
    command.env("VISUAL", "false");
    let held = ["--intercept", "serverbound and held_item_slot"];
    let capture = scratch_file("unedited.jsonl");
    let (mut terminal, port) = proxy_by(command, &upstream, &capture, &held);
    let client = Program::node("client.js", &["--port", &port]);
    until(&mut terminal, "(1)");
    terminal.tell("6");
    terminal.tell("v");
    until(&mut terminal, "cannot run the editor: `false` failed");
    terminal.tell("F");
    assert!(client.succeed().contains("see you"));
    server.succeed();
    terminal.tell("qq");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
    let lines = read_lines(&capture);
    let slots =
        lines.iter().filter(|it| it["packet"] == "held_item_slot" && it["dir"] == "serverbound");
    let slots: Vec<_> =
        slots.map(|it| (it["verdict"].as_str(), it["fields"]["slotId"].as_i64())).collect();
    assert_eq!(slots, [(Some("pass"), Some(3))]);
}

#[test]
fn a_player_is_kicked_by_the_last_key_before_the_interface_is_left() {
    let log = scratch_file("server.log");
    let options = ["--port", "0", "--allow-quit", "--log", text(&log)];
    let mut server = Program::node("server.js", &options);
    let upstream = format!("127.0.0.1:{}", server.port());
    let held = ["--intercept", "serverbound and chat and message == \"bye\""];
    let (mut terminal, port) = proxy(&upstream, &scratch_file("kicked.jsonl"), &held);
    let client = Program::node("client.js", &["--port", &port]);
    until(&mut terminal, "(1)");
    // All at once: the interface is gone before anything is answered.
    terminal.tell("K<<<<<<<<out of here~qq");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
    let client = client.succeed();
    assert!(client.contains("out of here"), "{client}");
    server.succeed();
    let said = read_lines(&log).into_iter().filter(|it| it["name"] == "chat");
    let bye = said.filter(|it| it["body"].as_str().is_some_and(|body| body.ends_with("03627965")));
    assert_eq!(bye.count(), 0, "it was held");
}

/// Views a recording of another program, which has an encrypted session, in a terminal.
pub(crate) fn shows_a_recording(recording: &Path, keys: &Path) {
    let mut command = mitmcraft();
    command.args(["view", text(recording), "--keys", text(keys)]);
    let mut terminal = on_terminal(&command);
    until(&mut terminal, "login_start");
    terminal.tell("/chat and serverbound~");
    until(&mut terminal, "message=\"hello");
    terminal.tell("q");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
}

#[test]
fn a_capture_in_parquet_is_viewed_in_the_terminal() {
    let columns = scratch_file("viewed.parquet");
    let capture = crate::support::root().join("captures/session-1.8.jsonl");
    crate::support::convert(&[text(&capture), text(&columns)]);
    let mut command = mitmcraft();
    command.args(["view", text(&columns)]);
    let mut terminal = on_terminal(&command);
    until(&mut terminal, "login_start");
    terminal.tell("q");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_no_screen() {
    let mut command = mitmcraft();
    command.arg("view").arg(crate::support::root().join("captures/session-1.8.jsonl"));
    let mut terminal = on_terminal(command.env("TERM", "dumb"));
    let line = until(&mut terminal, "TERM is `dumb`");
    assert!(
        line.contains("`view` needs a terminal, and this one cannot") && !line.contains('\x1b')
    );
    assert_eq!(until(&mut terminal, "ended with"), "ended with 2");
}

#[test]
fn the_terminal_is_given_back_when_the_program_is_told_to_end() {
    let (mut terminal, _) = proxy("127.0.0.1:1", &scratch_file("ended.jsonl"), &[]);
    terminal.tell("!TERM");
    until(&mut terminal, "[?1049l");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
}

#[test]
fn a_program_whose_terminal_is_gone_ends() {
    let (mut terminal, _) = proxy("127.0.0.1:1", &scratch_file("hangup.jsonl"), &[]);
    terminal.tell("!HANGUP");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
    let mut command = mitmcraft();
    command.arg("view").arg(crate::support::root().join("captures/session-1.8.jsonl"));
    let mut terminal = on_terminal(&command);
    until(&mut terminal, "login_start");
    terminal.tell("!HANGUP");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 0");
}

#[test]
fn the_terminal_is_given_back_before_a_panic_is_printed() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "screen::panics_on_a_terminal", "--nocapture"]);
    let mut terminal = on_terminal(&command);
    until(&mut terminal, "[?1049h");
    until(&mut terminal, "[?1049l");
    until(&mut terminal, "a fault of the program");
    assert_eq!(until(&mut terminal, "ended with"), "ended with 101");
}

/// Does nothing unless the test above runs it, on a terminal.
#[test]
fn panics_on_a_terminal() {
    if std::io::stdout().is_terminal()
        && std::env::args().any(|it| it == "screen::panics_on_a_terminal")
    {
        let _screen = Screen::open().unwrap();
        panic!("a fault of the program");
    }
}
