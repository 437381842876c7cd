//! A folder with the files that the pages speak of, and a server.

#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::UdpSocket;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mitmcraft::proxy::Clock;
use mitmcraft_engine::query::{FullStat, QueryServer};

use super::page::Command;
use crate::support::{
    Program, convert, mitmcraft, root, scratch_file, text, wait_for, write_reports,
};

/// Where commands run.
pub(crate) struct Place {
    folder: PathBuf,
    /// The sample files by name.
    samples: Vec<(&'static str, PathBuf)>,
    count: AtomicUsize,
    /// Plays the recorded session to clients.
    recorded: Program,
    /// Its port, at which Query is answered too.
    port: u16,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = scratch_file("pages");
        fs::create_dir(&folder).unwrap();
        let session = root().join("captures/session-1.8.jsonl");
        let made = |name: &str| {
            let file = folder.join(name);
            convert(&[text(&session), text(&file)]);
            file
        };
        let (zst, gz, pcap) = (made("made.jsonl.zst"), made("made.jsonl.gz"), made("made.pcap"));
        let parquet = made("made.parquet");
        let version = folder.join("778.json");
        fs::write(&version, r#"{ "extends": "26.3" }"#).unwrap();
        let reports = folder.join("generated/reports");
        write_reports(&reports);
        let jar = folder.join("server.jar");
        fs::write(&jar, "").unwrap();
        let pcapng = root().join("captures/session-1.8-encrypted.pcapng");
        let settings = folder.join("settings.toml");
        fs::write(&settings, "").unwrap();
        let runs = folder.join("runs.jsonl");
        fs::write(&runs, three_sessions(&fs::read_to_string(&session).unwrap())).unwrap();
        let wire = root().join("captures/session-1.20.4-wire.pcapng");
        let keys = root().join("captures/session-1.20.4-wire.keys");
        let rules = root().join("examples/rules/motd.toml");
        let mut samples = Vec::new();
        for (source, names) in [
            (session, JSONL),
            (pcapng, PCAPNG),
            (pcap, PCAP),
            (zst, &["session.jsonl.zst"]),
            (gz, &["session.jsonl.gz"]),
            (parquet, &["session.parquet"]),
            (version, &["778.json"]),
            (folder.join("generated"), &["generated", "reports"]),
            (jar, &["server.jar"]),
            (wire, &["evening.pcapng"]),
            (runs, &["runs.jsonl"]),
            (settings, &["other.toml", "normal.toml"]),
            (keys, &["keys.txt"]),
            (rules, &["rules.toml", "more.toml"]),
            (root().join("examples/scripts/answer.lua"), &["greet.lua"]),
            (root().join("examples/expectations/join.toml"), &["tests.toml"]),
            (root().join("captures"), &["captures", "logs", "before", "after"]),
            (root().join("examples"), &["examples"]),
        ] {
            samples.extend(names.iter().map(|name| (*name, source.clone())));
        }
        let session = root().join("captures/session-1.8.jsonl");
        let replay = ["replay", "server", text(&session), "-l", "127.0.0.1:0", "-q"];
        let mut recorded = Program::mitmcraft(&[&replay[..], &["--pace", "lockstep"]].concat());
        let port = recorded.listening();
        answer_query(port);
        Self { folder, samples, count: AtomicUsize::new(0), recorded, port }
    }

    /// Checks the command's options without running it.
    pub(crate) fn parse(&self, command: &Command) -> Result<(), String> {
        let output = mitmcraft().args(&command.words).arg("--help").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    }

    /// Runs the command in a folder of its own.
    pub(crate) fn run(&self, command: &Command) -> Result<(), String> {
        let folder = self.folder.join(self.count.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&folder).unwrap();
        let rules = fs::read_dir(root().join("examples/rules")).unwrap();
        let rules = rules.map(|rules| rules.unwrap().path());
        for (name, source) in &self.samples {
            symlink(source, folder.join(name)).unwrap();
        }
        for rules in rules {
            symlink(&rules, folder.join(rules.file_name().unwrap())).unwrap();
        }
        let words = self.substitute(&command.words);
        for output in outputs(&words) {
            let _ = fs::remove_file(folder.join(output));
        }
        if words.iter().any(|word| word == "--session") {
            fs::remove_file(folder.join("session.jsonl")).unwrap();
            symlink("runs.jsonl", folder.join("session.jsonl")).unwrap();
        }
        let mut process = mitmcraft();
        process
            .args(&words)
            .current_dir(&folder)
            .env("XDG_CONFIG_HOME", &folder)
            .env("HOME", &folder);
        let input: &OsStr = match words[0].as_str() {
            "decode" => OsStr::new("evening.pcap"),
            _ => OsStr::new("session.jsonl"),
        };
        let input = if command.piped { folder.join(input) } else { "/dev/null".into() };
        process.stdin(fs::File::open(input).unwrap());
        let name: String = words.join(" ").chars().take(60).collect();
        let mut program = Program::start_with(&name, process);
        let mut stdout = program.take_stdout();
        let reading = thread::spawn(move || io::copy(&mut stdout, &mut io::sink()));
        if serves(&words) {
            // One that prints its help listens nowhere.
            assert!(wait_for(|| program.has_ended() || program.errors().contains("listening on ")));
            if !program.has_ended() {
                program.interrupt();
            }
        }
        let code = program.end_unread().code();
        reading.join().unwrap().unwrap();
        let said = program.errors();
        match code {
            Some(0) => Ok(()),
            Some(1)
                if words
                    .iter()
                    .any(|word| ["diff", "explain", "lint", "regress"].contains(&&**word)) =>
            {
                Ok(())
            }
            // No client came whose session could be judged.
            Some(1) if said.contains(": 0 passed, 0 failed, ") => Ok(()),
            _ if command.partial && INCOMPLETE.iter().any(|it| said.contains(it)) => Ok(()),
            code => Err(format!("{words:?}: {code:?}: {said}")),
        }
    }

    /// Replaces hosts, addresses and placeholders.
    fn substitute(&self, words: &[String]) -> Vec<String> {
        let server = format!("127.0.0.1:{}", self.port);
        let mut fresh: Vec<String> = Vec::new();
        for word in words {
            let before = fresh.last().map(String::as_str);
            let host = word.rsplit_once(':').map_or(word.as_str(), |(host, _)| host);
            match (before, word.as_str()) {
                (Some(option), _) if ADDRESSES.contains(&option) => {
                    fresh.push("127.0.0.1:0".into())
                }
                (Some("--clients"), _) => fresh.push("2".into()),
                _ if HOSTS.contains(&host) => fresh.push(server.clone()),
                (_, "..") if words[0] == "proxy" => fresh.push(server.clone()),
                (_, "..") if words[0] == "diff" => {
                    fresh.extend(["a.jsonl".into(), "b.pcapng".into()]);
                }
                (_, "..") => fresh.push("session.jsonl".into()),
                (_, word) if word.starts_with("~/") => {
                    // The shell would do this; the folder is one that a user has.
                    let path = self.folder.join(&word[2..]);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fresh.extend([text(&path).to_owned(), "--overwrite".to_owned()]);
                }
                (_, word) => {
                    let sample = PLACEHOLDERS.iter().find(|(name, _)| *name == word);
                    let word = sample.map_or(word, |(_, value)| *value);
                    fresh.extend(word.split(' ').map(str::to_owned).filter(|_| sample.is_some()));
                    if sample.is_none() {
                        fresh.push(word.to_owned());
                    }
                }
            }
        }
        if words[0] == "lint" && fresh.contains(&server) {
            fresh.extend(["--stay", "0", "--pause", "0"].map(str::to_owned));
        }
        if serves(words) && !fresh.iter().any(|word| ["-l", "--listen"].contains(&word.as_str())) {
            fresh.extend(["-l".into(), "127.0.0.1:0".into()]);
        }
        fresh
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.recorded.interrupt();
    }
}

/// Answers Query at that UDP port as long as the tests run.
fn answer_query(port: u16) {
    let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let (server, clock, stat) = (QueryServer::new(1), Clock::new(), FullStat::default());
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((count, client)) = socket.recv_from(&mut buffer) {
            if let Some(answer) = server.answer(clock.now(), client, &buffer[..count], &stat) {
                let _ = socket.send_to(&answer, client);
            }
        }
    });
}

/// Repeats the lines of a session with other numbers.
fn three_sessions(lines: &str) -> String {
    let session = |number: u32| lines.replace("\"session\":1,", &format!("\"session\":{number},"));
    [1, 2, 3].map(session).concat()
}

/// Tells commands that run until they are interrupted.
fn serves(words: &[String]) -> bool {
    words[0] == "proxy" || words.get(..2).is_some_and(|verb| verb == ["replay", "server"])
}

/// Returns the files that a command writes.
fn outputs(words: &[String]) -> Vec<&Path> {
    let options = words.windows(2).filter(|pair| WRITES.contains(&pair[0].as_str()));
    let mut outputs: Vec<&Path> = options.map(|pair| Path::new(&pair[1])).collect();
    if words[0] == "convert" {
        outputs.extend(words.iter().rev().find(|word| !word.starts_with('-')).map(Path::new));
    }
    outputs
}

const JSONL: &[&str] = &[
    "session.jsonl",
    "run-1.jsonl",
    "a.jsonl",
    "b.jsonl",
    "before.jsonl",
    "after.jsonl",
    "to-share.jsonl",
    "baseline.jsonl",
];
const PCAPNG: &[&str] = &[
    "session.pcapng",
    "b.pcapng",
    "after.pcapng",
    "demo.pcapng",
    "incident-20261120T123104Z-Steve.zip",
];
const PCAP: &[&str] = &["evening.pcap", "recording.pcap", "part.pcap", "part.pcap1", "part.pcap2"];

/// Errors of commands that a page mentions without their arguments.
const INCOMPLETE: &[&str] = &["required arguments were not provided", "a value is required for"];

/// Hosts that stand for the test's server.
const HOSTS: &[&str] =
    &["mc.example.org", "play.example.org", "localhost", "HOST", "UPSTREAM", "[::1]"];

/// Options with an address to listen on.
const ADDRESSES: &[&str] = &["-l", "--listen", "--metrics", "--query"];

/// Options with a file that is written.
const WRITES: &[&str] = &["-w", "--write", "-o", "--plot", "--icon", "--key-log"];

const PLACEHOLDERS: &[(&str, &str)] = &[
    // Two commands at a time cannot have the usual port.
    ("--control", "--control=127.0.0.1:0"),
    ("IN", "session.jsonl"),
    ("OUT", "out.jsonl"),
    ("DIR", "man"),
    ("EXPR", "chat"),
    ("VERSION", "47"),
    ("PCAP..", "evening.pcap"),
];
