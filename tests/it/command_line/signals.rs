//! A first signal lets a run complete its captures; a second one ends it whatever it waits for.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use super::log::log_in;
use crate::support::game::Upstream;
use crate::support::{Program, mitmcraft, read_lines, root, scratch_file, text, wait_for};

#[test]
fn a_second_signal_ends_a_run_whose_output_nobody_reads() {
    let capture = &["-q", "-w", "-", "--format", "jsonl"][..];
    for (options, signal) in [(capture, "INT"), (capture, "TERM"), (&["-vv"], "TERM")] {
        let (mut proxy, _client) = flooded(options);
        proxy.signal(signal);
        proxy.wait_for_error("Ctrl-C again ends at once");
        proxy.signal(signal);
        let code = proxy.end_unread().code();
        assert_eq!(code, Some(130), "{options:?} {signal}: {}", proxy.errors());
    }
}

/// The run has ended with its last player, and the capture is a pipe that nobody reads.
#[test]
fn a_second_signal_ends_a_run_that_has_drained() {
    let pipe = scratch_file("unread.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let upstream = Upstream::answering();
    let options = ["-w", text(&pipe), "--drain", "1h"];
    let mut proxy = Program::proxy(&upstream.address, &options);
    let _reader = File::open(&pipe).unwrap();
    let port = proxy.listening();
    let mut client = log_in(port);
    client.write_all(&b"\x0a\x01\x08griefing".repeat(10_000)).unwrap();
    proxy.wait_for_error("has taken nothing");
    proxy.signal("TERM");
    proxy.wait_for_error("another signal ends the run");
    drop(client);
    assert!(wait_for(|| TcpStream::connect(("127.0.0.1", port)).is_err()));
    assert!(wait_for(|| {
        proxy.signal("TERM");
        proxy.has_ended()
    }));
    let code = proxy.end_unread().code();
    assert_eq!(code, Some(130), "{}", proxy.errors());
}

/// A terminal takes some kilobytes that nobody reads; the first screen of this one is larger.
#[test]
fn a_second_signal_ends_an_interface_whose_terminal_takes_nothing() {
    let capture = root().join("captures/session-1.8.jsonl");
    let verbs =
        [&["view", text(&capture)][..], &["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "--tui"]];
    for arguments in verbs {
        let mut command = Command::new("python3");
        command.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_mitmcraft")]).args(arguments);
        let mut terminal = Program::start("python3", command);
        let status = terminal.line();
        assert_eq!(status, "130", "{arguments:?}");
        terminal.succeed();
    }
}

/// Runs a program on a terminal of 300 by 200 that is never read, and terminates it twice once it has
/// written all that the terminal takes: a thread waits for it. Prints its exit code.
const TERMINAL: &str = r"
import fcntl, glob, os, pty, signal, struct, sys, termios, time
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 200, 300, 0, 0))
    os.environ['TERM'] = 'xterm'
    os.execv(sys.argv[1], sys.argv[1:])
def blocked():
    for thread in glob.glob(f'/proc/{child}/task/*/syscall'):
        try:
            call = open(thread).read().split()
        except OSError:
            continue
        # write(1, ..), which does not return.
        if call[:2] == ['1', '0x1']:
            return True
height = 200
while not blocked():
    # Another size is drawn anew, and so is another view, all of it text.
    height = 399 - height
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', height, 300, 0, 0))
    os.write(terminal, b'?')
    time.sleep(0.01)
os.kill(child, signal.SIGTERM)
ended, tries = 0, 0
while not ended:
    time.sleep(0.05)
    tries += 1
    assert tries < 1000, 'it does not end'
    try:
        os.kill(child, signal.SIGTERM)
    except ProcessLookupError:
        pass
    ended, status = os.waitpid(child, os.WNOHANG)
print(os.waitstatus_to_exitcode(status), flush=True)
";

/// A name server that does not answer, in a network of its own.
#[test]
fn a_signal_ends_a_verb_that_waits_for_a_name() {
    let capture = root().join("captures/session-1.8.jsonl");
    let resolver = scratch_file("resolv.conf");
    std::fs::write(&resolver, "nameserver 127.0.0.1\noptions timeout:60\n").unwrap();
    let verbs = [
        &["proxy", "example.com", "-l", "127.0.0.1:0"][..],
        &["ping", "example.com"],
        &["query", "example.com"],
        &["replay", "client", text(&capture), "example.com"],
        &["regress", text(&capture), "example.com"],
    ];
    for arguments in verbs {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--mount", "python3", "-c", RESOLVER]);
        command.args([text(&resolver), env!("CARGO_BIN_EXE_mitmcraft")]).args(arguments);
        let mut verb = Program::start("unshare", command);
        assert_eq!(verb.line(), "asked", "{arguments:?}");
        assert_eq!(verb.line(), "-15", "{arguments:?}");
        verb.succeed();
    }
}

/// Runs a program whose name server takes a question and does not answer; terminates it then.
const RESOLVER: &str = r"
import os, signal, socket, subprocess, sys
subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
subprocess.run(['mount', '--bind', sys.argv[1], os.path.realpath('/etc/resolv.conf')], check=True)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.0.0.1', 53))
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
server.recv(512)
print('asked', flush=True)
child.send_signal(signal.SIGTERM)
print(child.wait(), flush=True)
";

/// As `tcpdump -w - | mitmcraft decode -`, where tcpdump goes on.
#[test]
fn decode_completes_its_captures_when_it_is_interrupted() {
    let capture = scratch_file("decoded.jsonl");
    let recording = root().join("captures/session-1.20.4-wire.pcapng");
    let keys = root().join("captures/session-1.20.4-wire.keys");
    let (stdin, mut recorder) = std::io::pipe().unwrap();
    let mut command = mitmcraft();
    command.args(["decode", "-", "--keys", text(&keys), "-w", text(&capture)]);
    command.stdin(stdin);
    let mut decoding = Program::start_with("decode", command);
    let recorded = std::fs::read(&recording).unwrap();
    // The last segments are missing: no session has ended.
    recorder.write_all(&recorded[..recorded.len() / 2]).unwrap();
    assert!(decoding.line().contains("opened"));
    decoding.interrupt();
    decoding.wait_for_error("stopping: completing captures");
    // The next packet, or the end, is what it waits for. It need not read the rest.
    let _ = recorder.write_all(&recorded[recorded.len() / 2..]);
    drop(recorder);
    decoding.succeed();
    let lines = read_lines(&capture);
    let last = lines.last().unwrap();
    assert!(
        last["event"] == "close" && last["reason"].as_str().unwrap().contains("recording"),
        "{last}"
    );
}

/// Starts a proxy whose server sends without end, and whose stdout is not read; returns it with a client
/// that has received more than pipes hold.
fn flooded(options: &[&str]) -> (Program, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        while socket.write_all(&[0; 65536]).is_ok() {}
    });
    let arguments = [&["proxy", &upstream, "-l", "127.0.0.1:0"], options].concat();
    let mut proxy = Program::mitmcraft(&arguments);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(b"hello\r\n").unwrap();
    client.read_exact(&mut vec![0; 4 << 20]).unwrap();
    (proxy, client)
}
