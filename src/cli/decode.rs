use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use mitmcraft::capture::unpack;
use mitmcraft::capture::{CreateOptions, Entry, FileType, Sink};
use mitmcraft::codec::KeyRing;
use mitmcraft::decode::{PcapReader, Traffic, TrafficCounts, TrafficOptions};

use super::exit::Done;
use super::output::Output;
use super::proxy::{catalog, parse};
use super::recording::{Planned, file_type, is_stdout};
use super::screen::Screen;
use super::show::verbosity;

/// Read recordings of tcpdump or Wireshark, and print and write the game's sessions in them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft decode evening.pcap
  mitmcraft decode evening.pcap -w evening.jsonl -w evening.pcapng -q
  mitmcraft decode evening.pcapng --keys keys.txt -Y 'chat'
  tcpdump -i any -s 0 -U -w - port 25565 | mitmcraft decode -
  mitmcraft decode part.pcap part.pcap1 part.pcap2

Sessions are found by their first bytes on any port; what begins before the recording is kept only
on port 25565, or on those of `--port`. Several files are read as one recording, in the order given.
Encrypted sessions need a key log: lines of `<first 4 bytes of the verify token> <shared secret>`
in hex, as `proxy --key-log` writes them.

The exit code is 1 when there is no session of the game, and 2 when a file is damaged: all before
the damage is read.")]
pub(crate) struct Arguments {
    /// Recordings, pcap or pcapng, also compressed (.gz, .zst); `-` is stdin
    #[arg(required = true, value_name = "PCAP")]
    recordings: Vec<PathBuf>,

    /// A key log (repeatable); without one that of MINECRAFT_KEY_LOG_FILE, if it is there
    #[arg(short, long, value_name = "FILE")]
    keys: Vec<PathBuf>,

    /// Write a capture; the ending chooses the format: .jsonl, .pcapng or .pcap, with .gz or .zst
    /// behind it to compress it; `-` is stdout (repeatable)
    #[arg(short, long, value_name = "FILE")]
    write: Vec<PathBuf>,

    /// What `-w -` writes: jsonl, pcapng or pcap; pcapng.gz and so on
    #[arg(long, value_name = "FORMAT", default_value_t = FileType::JSONL, value_parser = file_type)]
    format: FileType,

    /// The server's port; all else is left out, and what is not the game is kept (repeatable)
    #[arg(short, long, value_name = "N")]
    port: Vec<u16>,

    /// Show only packets that match
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// Show all fields; twice: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Print no packets
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// A protocol description (ProtoDef JSON) to know beside the others or in their place; its
    /// name says the number: `47.json`, `my-47.json` (repeatable)
    #[arg(long, value_name = "FILE")]
    protocol: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = catalog(&arguments.protocol)?;
    let condition = parse(arguments.condition.as_deref(), "--where", &catalog, output)?;
    let keys = read_keys(&arguments.keys)?;
    let recordings: Vec<(&Path, Box<dyn Read>)> = arguments
        .recordings
        .iter()
        .map(|path| Ok((path.as_path(), open(path)?)))
        .collect::<anyhow::Result<_>>()?;
    let options = CreateOptions::default();
    let mut sinks = Planned::new(&arguments.write, arguments.format, options, None)?.create()?;
    if !arguments.quiet {
        let on_stdout = arguments.write.iter().any(|path| is_stdout(path));
        let screen = Screen::new(verbosity(arguments.verbose), on_stdout, output);
        sinks.push(screen.only(condition).named());
    }
    let options = TrafficOptions { catalog: Some(catalog), keys, ports: arguments.port.clone() };
    let mut run = Run { traffic: Traffic::new(options), sinks, entries: Vec::new(), output };
    let mut faults = Vec::new();
    for (path, recording) in recordings {
        for captured in PcapReader::new(recording) {
            match captured {
                Ok(captured) => run.traffic.handle(&captured),
                Err(fault) => faults.push(anyhow!(fault).context(format!("`{}`", path.display()))),
            }
            run.hand_on()?;
        }
    }
    run.traffic.finish();
    run.hand_on()?;
    for (name, sink) in &mut run.sinks {
        sink.finish().with_context(|| format!("cannot write `{name}`"))?;
    }
    let seen = run.traffic.seen();
    output.note(&summary(seen));
    let last = faults.pop();
    for fault in faults {
        output.error(&format!("{fault:#}"));
    }
    match last {
        Some(fault) => Err(fault),
        None if seen.sessions == 0 => Ok(Done::No),
        None => Ok(Done::Yes),
    }
}

struct Run<'a> {
    traffic: Traffic,
    sinks: Vec<(String, Box<dyn Sink>)>,
    entries: Vec<Entry>,
    output: &'a Output,
}

impl Run<'_> {
    /// Writes and tells what was found.
    fn hand_on(&mut self) -> anyhow::Result<()> {
        for notice in self.traffic.take_notices() {
            self.output.warning(&notice.to_string());
        }
        self.traffic.take_entries(&mut self.entries);
        if self.entries.is_empty() {
            return Ok(());
        }
        for (name, sink) in &mut self.sinks {
            let written = self.entries.iter().try_for_each(|entry| sink.write(entry));
            let done = written.and_then(|()| sink.batch_done());
            done.with_context(|| format!("cannot write `{name}`"))?;
        }
        self.entries.clear();
        Ok(())
    }
}

fn summary(seen: TrafficCounts) -> String {
    let count =
        |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let packets = count(seen.packets, "packet");
    let others = match seen.others {
        0 => String::new(),
        others => format!(", {} of something else", count(others, "TCP connection")),
    };
    match seen.sessions {
        0 => format!("no session of the game in {packets}{others}"),
        sessions => format!("{} in {packets}{others}", count(sessions, "session")),
    }
}

/// The file, unpacked if it is compressed.
fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    let context = || format!("cannot read `{}`", path.display());
    let file: Box<dyn Read + Send> = match is_stdout(path) {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).with_context(context)?),
    };
    Ok(Box::new(unpack(BufReader::with_capacity(CHUNK, file)).with_context(context)?))
}

fn read_keys(paths: &[PathBuf]) -> anyhow::Result<KeyRing> {
    let mut keys = KeyRing::default();
    let usual = std::env::var_os(KEY_LOG).map(PathBuf::from);
    let usual = usual.filter(|path| paths.is_empty() && path.exists());
    for path in paths.iter().chain(&usual) {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the key log `{name}`"))?;
        keys.add_log(&text).map_err(|(line, error)| anyhow!("`{name}`, line {line}: {error}"))?;
    }
    Ok(keys)
}

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Names the key log that programs write to which know it.
const KEY_LOG: &str = "MINECRAFT_KEY_LOG_FILE";
