use std::fs::File;
use std::io::{self, BufReader, IsTerminal as _, Read, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use mitmcraft::proxy::{NamedSink, read_source};
use mitmcraft_engine::capture::{CreateOptions, Entry, InflationBudget, unpack};
use mitmcraft_engine::decode::{PcapReadError, PcapReader, Traffic, TrafficCounts, TrafficOptions};
use mitmcraft_protocol::codec::KeyRing;

use super::args::{Condition, Lines, MaxInflate, Memory, OutputFiles, Protocols, Quiet, Verbose};
use super::exit::{Done, last_error};
use super::input::{Progress, recording_files};
use super::notice::{decode_notice, inflates_too_much};
use super::output::Output;
use super::plural::count;
use super::screen::Screen;
use super::signals::Interrupted;
use super::stdio::is_stdio;

/// Decode the game's sessions in recordings of tcpdump or Wireshark
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft decode evening.pcap
  mitmcraft decode evening.pcap -w evening.jsonl -w evening.pcapng -q
  mitmcraft decode evening.pcapng --keys keys.txt -Y '*chat*'
  tcpdump -i any -s 0 -U -w - port 25565 | mitmcraft decode -
  mitmcraft decode part.pcap part.pcap1 part.pcap2
  mitmcraft decode 'part.pcap*' -w part.jsonl -q

Sessions are detected by their first bytes, on any port. A session that began before the \
recording is detected only on port 25565, or on the ports of `--port`. Several files are read as \
one recording, one after the other. `-Y` does not affect captures that `-w` writes.

Encrypted sessions need a key log: lines of `<first 4 bytes of the verify token> <shared secret>` \
in hex, as `proxy --key-log` writes them.

Exit code: 1 if there is no Minecraft session, 2 if a file is damaged (it is read up to the \
damage).")]
pub(crate) struct Arguments {
    /// Recordings: pcap or pcapng, may be compressed (.gz, .zst); `-` is stdin. A folder means all
    /// recordings in it and its subfolders; a quoted pattern (`'evening.pcap*'`) means the files that
    /// match it, in the order of their numbers
    #[arg(required = true, value_name = "PCAP")]
    recordings: Vec<PathBuf>,

    /// A key log (repeatable) [default: the file named by MINECRAFT_KEY_LOG_FILE, if it exists]
    #[arg(short, long, value_name = "FILE")]
    keys: Vec<PathBuf>,

    #[command(flatten)]
    files: OutputFiles,

    /// Read only connections to this port of a server, including traffic that is not Minecraft
    /// (repeatable)
    #[arg(short, long, value_name = "N")]
    port: Vec<u16>,

    #[command(flatten)]
    memory: Memory,

    #[command(flatten)]
    max_inflate: MaxInflate,

    #[command(flatten)]
    condition: Condition,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    quiet: Quiet,

    #[command(flatten)]
    protocols: Protocols,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    let keys = read_keys(&arguments.keys)?;
    let files = recording_files(&arguments.recordings)?;
    let silent = arguments.quiet.quiet || !stdout().is_terminal();
    let progress = Progress::new(&files, silent);
    let open =
        |path: &PathBuf| Ok((path.clone(), PcapReader::new(open(path, &progress)?).peekable()));
    let recordings = files.iter().map(open);
    let mut recordings = recordings.collect::<anyhow::Result<Vec<_>>>()?;
    let interrupted = Interrupted::watch(*output)?;
    let planned = arguments.files.plan(CreateOptions::default(), None)?;
    // Files that are no recordings must not cost the user an existing capture.
    let unreadable = recordings.iter_mut().all(|(_, it)| matches!(it.peek(), Some(Err(_))));
    let mut sinks = if unreadable { Vec::new() } else { planned.create()? };
    if !arguments.quiet.quiet {
        let on_stdout = arguments.files.on_stdout();
        let screen = Screen::new(arguments.verbose.verbosity(), arguments.lines, on_stdout, output);
        sinks.push(screen.only(condition).named());
    }
    let memory = arguments.memory.budget();
    let mut options = TrafficOptions::default();
    options.catalog = Some(catalog);
    options.keys = keys;
    options.memory = memory.clone();
    options.ports = arguments.port.clone();
    let mut run = Run {
        traffic: Traffic::new(options),
        inflation: InflationBudget::new(arguments.max_inflate.bytes()),
        sinks,
        entries: Vec::new(),
        progress,
        output,
    };
    let mut faults = Vec::new();
    'recordings: for (path, recording) in recordings {
        for captured in recording {
            if interrupted.get() {
                break 'recordings;
            }
            match captured {
                Ok(captured) => run.traffic.handle(&captured),
                Err(fault) => {
                    let hint = match fault {
                        PcapReadError::JsonLines => " (`mitmcraft show` prints it)",
                        _ => "",
                    };
                    faults.push(anyhow!("{fault}{hint}").context(format!("`{}`", path.display())));
                }
            }
            run.hand_on()?;
        }
    }
    run.traffic.finish();
    run.hand_on()?;
    for (name, sink) in &mut run.sinks {
        sink.finish().with_context(|| format!("cannot write `{name}`"))?;
    }
    let seen = run.traffic.counts();
    drop(run.progress);
    output.note(&summary(seen));
    arguments.memory.report(&memory, output);
    // A stream from tcpdump ends in no other way; of a file, the rest was not read.
    if interrupted.get() && !files.iter().all(|path| is_stdio(path)) {
        faults.push(anyhow!("interrupted: the captures contain everything up to here"));
    }
    match last_error(faults, output) {
        Some(fault) => Err(fault),
        None if seen.sessions == 0 => Ok(Done::No),
        None => Ok(Done::Yes),
    }
}

/// Traffic that is being decoded, and where its entries go.
struct Run<'a> {
    traffic: Traffic,
    inflation: InflationBudget,
    sinks: Vec<NamedSink>,
    entries: Vec<Entry>,
    progress: Progress,
    output: &'a Output,
}

impl Run<'_> {
    /// Writes the entries found so far, and prints the notices.
    fn hand_on(&mut self) -> anyhow::Result<()> {
        for notice in self.traffic.take_notices() {
            self.progress.say(|| self.output.warning(&decode_notice(&notice)));
        }
        self.traffic.take_entries(&mut self.entries);
        if self.entries.is_empty() {
            return Ok(());
        }
        for entry in &mut self.entries {
            if let Some(session) = self.inflation.bound(entry) {
                let text = inflates_too_much(session);
                self.progress.say(|| self.output.warning(&text));
            }
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
    let packets = count(seen.packets, "packet");
    let others = match seen.others {
        0 => String::new(),
        others => format!(", {} of other protocols", count(others, "TCP connection")),
    };
    match seen.sessions {
        0 => format!("no Minecraft session in {packets}{others}"),
        sessions => format!("{} in {packets}{others}", count(sessions, "session")),
    }
}

/// Opens a recording, decompressing it if needed.
pub(super) fn open(path: &Path, progress: &Progress) -> anyhow::Result<Box<dyn Read>> {
    let context = || format!("cannot read `{}`", path.display());
    let file: Box<dyn Read + Send> = if is_stdio(path) {
        Box::new(io::stdin())
    } else {
        progress.of(File::open(path).with_context(context)?)
    };
    Ok(Box::new(unpack(BufReader::with_capacity(CHUNK, file)).with_context(context)?))
}

pub(super) fn read_keys(paths: &[PathBuf]) -> anyhow::Result<KeyRing> {
    let mut keys = KeyRing::default();
    let shared = std::env::var_os(KEY_LOG).map(PathBuf::from);
    let shared = shared.filter(|path| paths.is_empty() && path.exists());
    for path in paths.iter().chain(&shared) {
        let name = path.display();
        let text =
            read_source(path).with_context(|| format!("cannot read the key log `{name}`"))?;
        keys.add_log(&text).map_err(|(line, error)| anyhow!("`{name}`, line {line}: {error}"))?;
    }
    Ok(keys)
}

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// Environment variable that names the key log, shared with other programs.
const KEY_LOG: &str = "MINECRAFT_KEY_LOG_FILE";
