//! Real programs around the proxy: peers from npm, run as children that cannot outlive the test.

#![allow(dead_code, reason = "each of the two crates of tests uses a part")]
#![allow(unreachable_pub)]

pub mod game;
pub mod refusing;
pub mod samples;
pub mod shared;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::Value as Json;

pub use game::PATIENCE;

/// A program that is killed when it is dropped.
pub struct Program {
    name: String,
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: PathBuf,
}

impl Program {
    /// Starts a script of `tests/real` with node.
    pub fn node(script: &str, arguments: &[&str]) -> Self {
        let folder = root().join("tests/real");
        assert!(
            folder.join("node_modules/minecraft-protocol").is_dir(),
            "the npm packages are missing: run `tests/run`, or `npm ci --prefix tests/real`"
        );
        let mut command = Command::new("node");
        command.arg(folder.join(script)).args(arguments);
        Self::start(script, command)
    }

    /// Starts mitmcraft.
    pub fn mitmcraft(arguments: &[&str]) -> Self {
        let mut command = mitmcraft();
        command.args(arguments);
        Self::start("mitmcraft", command)
    }

    /// Starts a proxy without output, on a free port: see [`Self::listening`].
    pub fn proxy(upstream: &str, options: &[&str]) -> Self {
        Self::mitmcraft(&[&["proxy", upstream, "-l", "127.0.0.1:0", "-q"], options].concat())
    }

    /// Starts a proxy like [`Self::proxy`] in a folder, with the configuration and the colours there.
    pub fn proxy_with_config(folder: &Path, upstream: &str, options: &[&str]) -> Self {
        let mut command = mitmcraft();
        command.args(["proxy", upstream, "-l", "127.0.0.1:0", "-q"]).args(options);
        command.env("XDG_CONFIG_HOME", folder).current_dir(folder);
        Self::start("mitmcraft", command)
    }

    /// Starts mitmcraft with the accounts of a folder.
    pub fn with_state(state: &Path, arguments: &[&str]) -> Self {
        let mut command = mitmcraft();
        command.args(arguments).env("MITMCRAFT_STATE_DIR", state);
        Self::start("mitmcraft", command)
    }

    /// Starts a command; its stderr goes to a file.
    pub fn start(name: &str, mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        Self::start_with(name, command)
    }

    /// Starts a command with this stdin.
    pub fn start_with(name: &str, mut command: Command) -> Self {
        let stderr = scratch().join(format!("{}-{}.err", name.replace('/', "-"), next()));
        let file = std::fs::File::create(&stderr).unwrap();
        let child = command.stdout(Stdio::piped()).stderr(file).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        let stdout = child.stdout.take().map(BufReader::new);
        Self { name: name.to_owned(), child, stdout, stderr }
    }

    /// Returns the next line on stdout as JSON.
    pub fn event(&mut self) -> Json {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        match serde_json::from_str(&line) {
            Ok(event) => event,
            Err(error) => panic!("{}: `{line}`: {error}\n{}", self.name, self.errors()),
        }
    }

    /// Returns the next line on stdout.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let count = self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        assert_ne!(count, 0, "{} has ended: {}", self.name, self.errors());
        line.trim_end().to_owned()
    }

    /// Writes a line to its stdin.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Returns the port that a server reports in its first event.
    pub fn port(&mut self) -> u16 {
        let event = self.event();
        assert_eq!(event["event"], "listening", "{event}");
        event["port"].as_u64().unwrap().try_into().unwrap()
    }

    /// Returns the port that the proxy reports on stderr.
    pub fn listening(&mut self) -> u16 {
        let line = self.wait_for_error("listening on ");
        let address = line.split("listening on ").nth(1).unwrap().split(',').next().unwrap();
        address.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Waits for a line with that text on stderr, and returns it.
    pub fn wait_for_error(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            // What a program that has ended has written is there.
            let running = !self.has_ended();
            let errors = self.errors();
            let complete = errors.rsplit_once('\n').map_or("", |(lines, _)| lines);
            if let Some(line) = complete.lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(running && begun.elapsed() < PATIENCE, "{}: no `{text}`: {errors}", self.name);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Returns everything written to stderr so far.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Waits for the end; returns stdout and the exit status.
    pub fn finish(mut self) -> (ExitStatus, String) {
        let mut stdout = self.stdout.take().unwrap();
        let reading = std::thread::spawn(move || {
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).unwrap();
            rest
        });
        (self.end_unread(), reading.join().unwrap())
    }

    /// Returns its stdout, to be read by the test.
    pub fn take_stdout(&mut self) -> BufReader<ChildStdout> {
        self.stdout.take().unwrap()
    }

    /// Waits for the end while nothing else reads its stdout.
    pub fn end_unread(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "{} does not end: {}", self.name, self.errors());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for success; returns stdout.
    pub fn succeed(self) -> String {
        let (name, stderr) = (self.name.clone(), self.stderr.clone());
        let (status, stdout) = self.finish();
        let errors = || std::fs::read_to_string(&stderr).unwrap_or_default();
        assert!(status.success(), "{name}: {status}\n{stdout}\n{}", errors());
        stdout
    }

    /// Waits for success; returns stdout and stderr.
    pub fn succeed_with_errors(self) -> (String, String) {
        let stderr = self.stderr.clone();
        let stdout = self.succeed();
        (stdout, std::fs::read_to_string(stderr).unwrap_or_default())
    }

    /// Waits for the end; returns the exit status and stderr.
    pub fn fail(self) -> (ExitStatus, String) {
        let stderr = self.stderr.clone();
        let (status, _) = self.finish();
        (status, std::fs::read_to_string(&stderr).unwrap_or_default())
    }

    /// Waits for its end. Returns what it has printed on stdout and stderr, too.
    #[allow(dead_code, reason = "some programs do not use it")]
    pub fn finish_with_errors(self) -> (ExitStatus, String, String) {
        let stderr = self.stderr.clone();
        let (status, stdout) = self.finish();
        (status, stdout, std::fs::read_to_string(&stderr).unwrap_or_default())
    }

    /// The most memory that it has used so far, in bytes; `None` where the system does not say.
    pub fn memory(&self) -> Option<usize> {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: usize = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts it, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a new path in this test's folder.
pub fn scratch_file(name: &str) -> PathBuf {
    scratch().join(format!("{}-{name}", next()))
}

/// Writes the reports of a version 26.4, which has two packets, one of them new.
pub fn write_reports(folder: &Path) {
    let files = [
        ("version.json", r#"{ "id": "26.4", "name": "26.4", "protocol_version": 778 }"#),
        (
            "packets.json",
            r#"{ "play": { "clientbound": {
                "minecraft:keep_alive": { "protocol_id": 0 }, "minecraft:blink": { "protocol_id": 1 }
            } } }"#,
        ),
        (
            "registries.json",
            r#"{ "minecraft:item": { "protocol_id": 7, "entries": {
                "minecraft:air": { "protocol_id": 0 }, "minecraft:kite": { "protocol_id": 1 }
            } } }"#,
        ),
        ("blocks.json", r#"{ "minecraft:air": { "states": [{ "id": 0, "default": true }] } }"#),
    ];
    std::fs::create_dir_all(folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// Reads a capture's lines.
pub fn read_lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|it| panic!("{it}: {line}")))
        .collect()
}

/// A packet in the log of an end or in the capture: state, body in hex.
pub type LoggedPacket = (String, String);

/// Asserts that the capture has exactly the packets of an end: all of them, in order, with the same
/// bytes.
pub fn assert_same(what: &str, end: &[LoggedPacket], capture: &[LoggedPacket]) {
    for (index, (end, capture)) in end.iter().zip(capture).enumerate() {
        assert_eq!(end, capture, "{what}, packet {index}");
    }
    assert_eq!(end.len(), capture.len(), "{what}: packets at the end and in the capture");
}

/// Returns the packets of a direction in the log of an end.
pub fn end(log: &[Json], direction: &str) -> Vec<LoggedPacket> {
    let lines = log.iter().filter(|line| line["dir"] == direction);
    lines
        .map(|line| (line["state"].as_str().unwrap().into(), line["body"].as_str().unwrap().into()))
        .collect()
}

/// Returns the packets of a direction in a capture, with these verdicts.
pub fn capture_of(lines: &[Json], direction: &str, verdicts: &[&str]) -> Vec<LoggedPacket> {
    let ours = lines.iter().filter(|line| {
        line["dir"] == direction
            && line["verdict"].as_str().is_some_and(|it| verdicts.contains(&it))
    });
    ours.map(|line| {
        let body = line["body"].as_str().unwrap_or_else(|| panic!("no body: {line}"));
        let body = base64::prelude::BASE64_STANDARD.decode(body).unwrap();
        let hex: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
        (line["state"].as_str().unwrap().to_owned(), hex)
    })
    .collect()
}

/// Polls a condition, and returns whether it became true before the tests give up.
pub fn wait_for(mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !condition() {
        if begun.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

/// Returns a path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a command line that must end with that exit code; returns stderr.
pub fn fails(arguments: &[&str], code: i32) -> String {
    let (status, output) = Program::mitmcraft(arguments).fail();
    assert_eq!(status.code(), Some(code), "{arguments:?}: {output}");
    output
}

/// Runs a command line that must be rejected with exit code 2; returns stderr.
pub fn refuses(arguments: &[&str]) -> String {
    fails(arguments, 2)
}

/// Runs `convert`.
pub fn convert(arguments: &[&str]) {
    Program::mitmcraft(&[&["convert"], arguments].concat()).succeed();
}

/// Prints a capture with `show`.
pub fn show(file: &Path) -> String {
    Program::mitmcraft(&["show", text(file)]).succeed()
}

/// mitmcraft, without colours, with accounts and settings in an empty folder instead of the user's.
pub fn mitmcraft() -> Command {
    let nowhere = scratch().join("nowhere");
    let mut command = Command::new(program());
    command.env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
    command.env("MITMCRAFT_STATE_DIR", &nowhere).env("XDG_CONFIG_HOME", &nowhere);
    command
}

/// The program to test. `PROGRAM_UNDER_TEST` names another one, such as a script that runs that of another
/// system (`tests/other`).
pub fn program() -> PathBuf {
    let other = std::env::var_os("PROGRAM_UNDER_TEST");
    other.unwrap_or_else(|| env!("CARGO_BIN_EXE_mitmcraft").into()).into()
}

/// The project's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn scratch() -> PathBuf {
    static SCRATCH: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string());
        // Of an earlier process with the same number.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    });
    SCRATCH.clone()
}

fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
