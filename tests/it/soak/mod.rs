//! A proxy under changing load for a while: clients that play, also encrypted, ping, talk nonsense,
//! half-close and reset; filter files and captures that change; a page that follows, and one that holds
//! packets. What it needs stays the same, and nothing is lost.

mod clients;
mod people;
mod server;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mitmcraft_engine::capture::{Entry, EventKind, open_capture, unpack};
use mitmcraft_protocol::schema::{Catalog, Direction};

use crate::page::Page;
use crate::support::{Program, scratch_file, text, wait_for};

/// Bytes and packets of sessions that end in order, in both directions, as an end counts them.
#[derive(Debug, Default)]
struct Sums {
    sessions: AtomicU64,
    serverbound: AtomicU64,
    clientbound: AtomicU64,
    serverbound_packets: AtomicU64,
    clientbound_packets: AtomicU64,
}

impl Sums {
    fn add(&self, bytes: (u64, u64), packets: (u64, u64)) {
        let sums = self.all();
        let new = [1, bytes.0, bytes.1, packets.0, packets.1];
        sums.into_iter().zip(new).for_each(|(sum, new)| {
            sum.fetch_add(new, Ordering::Relaxed);
        });
    }

    fn all(&self) -> [&AtomicU64; 5] {
        let Self { sessions, serverbound, clientbound, .. } = self;
        let packets = [&self.serverbound_packets, &self.clientbound_packets];
        [sessions, serverbound, clientbound, packets[0], packets[1]]
    }

    fn values(&self) -> [u64; 5] {
        self.all().map(|sum| sum.load(Ordering::Relaxed))
    }
}

/// The resources that a process uses.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    kilobytes: u64,
    threads: u64,
    descriptors: usize,
}

impl Footprint {
    fn of(process: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let number = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
        Self { kilobytes: number("VmRSS:"), threads: number("Threads:"), descriptors }
    }
}

/// Runs for `SOAK_SECONDS` seconds, 10 unless given.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads /proc")]
fn a_proxy_under_changing_load_keeps_its_size_and_loses_nothing() {
    let seconds = std::env::var("SOAK_SECONDS").ok().and_then(|it| it.parse().ok());
    let seconds = seconds.unwrap_or(10);
    let third = Duration::from_secs(seconds) / 3;
    let folder = scratch_file("soak");
    std::fs::create_dir(&folder).unwrap();
    let [capture, blocks, filters] =
        ["all.jsonl.zst", "all.pcapng", "rules.toml"].map(|name| folder.join(name));
    std::fs::write(&filters, FILES[0]).unwrap();
    let at_server = &*Box::leak(Box::new(Sums::default()));
    let at_clients = Sums::default();
    let server = server::start(at_server);
    let mut options = vec!["--keep-host", "--rotate", "256K", "-w", text(&capture)];
    options.extend(["-w", text(&blocks), "-f", text(&filters), "--web", "127.0.0.1:0"]);
    let mut proxy = Program::proxy(&server, &options);
    let port = proxy.listening();
    let said = proxy.wait_for_error("/#");
    let url = said.split_whitespace().find(|word| word.contains("/#")).unwrap();
    Page::open(url).read_along();

    // Each session of a client holds this for reading.
    let running = RwLock::new(());
    let over = AtomicBool::new(false);
    let (first, last) = std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (running, over, sums) = (&running, &over, &at_clients);
            scope.spawn(move || clients::run(number, port, running, over, sums));
        }
        scope.spawn(|| {
            for file in FILES.iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                std::fs::write(&filters, file).unwrap();
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        scope.spawn(|| people::hold(url, &running, &over));
        std::thread::sleep(third);
        let first = at_rest(&running, proxy.id(), None);
        std::thread::sleep(third * 2);
        let last = at_rest(&running, proxy.id(), Some(first.descriptors));
        over.store(true, Ordering::Relaxed);
        (first, last)
    });
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();

    assert!(said.contains("reloaded"), "{said}");
    assert_eq!(first.descriptors, last.descriptors, "{first:?}, {last:?}");
    // Those of blocking work come and go.
    assert!(last.threads <= first.threads + 8, "{first:?}, {last:?}");
    let window = if seconds < FULL { WINDOW } else { 0 };
    let most = first.kilobytes + first.kilobytes / 4 + 16 * 1024 + window;
    assert!(last.kilobytes <= most, "{first:?}, {last:?}");
    let sums = at_clients.values();
    assert!(sums[0] > 0);
    assert_eq!(at_server.values(), sums, "sessions, bytes, packets at the server and the clients");
    assert_eq!(recorded(&folder), sums, "sessions, bytes, packets in the captures: {said}");
    let counts = [sums[0], sums[3], sums[4]];
    assert_eq!(recorded_in_blocks(&folder), counts, "sessions, packets in pcapng");
}

/// Measures a process while no client runs, when its number of file descriptors has not changed for a while, or is
/// that number: a filter file that is read again has one for a moment.
fn at_rest(running: &RwLock<()>, process: u32, descriptors: Option<usize>) -> Footprint {
    let _stopped = running.write().unwrap();
    let mut last = Footprint::of(process);
    let mut same_since = Instant::now();
    wait_for(|| {
        let before = std::mem::replace(&mut last, Footprint::of(process));
        if last.descriptors != before.descriptors {
            same_since = Instant::now();
        }
        match descriptors {
            Some(descriptors) => last.descriptors == descriptors,
            None => same_since.elapsed() > Duration::from_secs(1),
        }
    });
    last
}

/// Returns the sums of the sessions that ended in order, as the captures have them: of the close
/// events, after comparing them with the records.
fn recorded(folder: &Path) -> [u64; 5] {
    let mut good = std::collections::HashSet::new();
    let mut closes = Vec::new();
    let mut wires = std::collections::HashMap::<u64, [u64; 4]>::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|it| it != "zst") {
            continue;
        }
        let file = BufReader::new(std::fs::File::open(&path).unwrap());
        for line in unpack(file).unwrap().lines() {
            let line = line.unwrap();
            if line.contains("\"event\":\"capture\"") {
                continue;
            }
            let session = number(&line, "\"session\":");
            if line.contains("\"event\":\"close\"") {
                closes.push((session, line));
            } else if line.contains("\"event\"") {
                if PLAYERS.iter().any(|name| line.contains(&format!("\"player\":\"{name}\""))) {
                    good.insert(session);
                }
            } else if !line.contains("\"verdict\":\"send\"") {
                let place = usize::from(line.contains("\"dir\":\"clientbound\""));
                let sums = wires.entry(session).or_default();
                sums[place] += number(&line, "\"wire\":");
                sums[2 + place] += 1;
            }
        }
    }
    let mut sums = [0; 5];
    for (session, line) in closes.iter().filter(|(session, _)| good.contains(session)) {
        let (packets, bytes) = line.split_once("\"bytes\":").unwrap();
        let counted = ["serverbound", "clientbound"].map(|it| format!("\"{it}\":"));
        let [up, down] = counted.each_ref().map(|it| number(bytes, it));
        let [packets_up, packets_down] = counted.each_ref().map(|it| number(packets, it));
        assert_eq!(wires[session], [up, down, packets_up, packets_down], "{line}");
        let new = [1, up, down, packets_up, packets_down];
        sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
    }
    sums
}

/// Returns the numbers of those sessions and of their packets in both directions, as the captures in
/// pcapng have them.
fn recorded_in_blocks(folder: &Path) -> [u64; 3] {
    let mut packets = std::collections::HashMap::<u64, [u64; 2]>::new();
    let mut good = std::collections::HashSet::new();
    let mut closed = std::collections::HashSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|it| it != "pcapng") {
            continue;
        }
        for entry in open_capture(&path, Catalog::embedded()).unwrap() {
            let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let context = entry.context();
            if context.player.as_deref().is_some_and(|name| PLAYERS.contains(&name)) {
                good.insert(context.session);
            }
            match &entry {
                Entry::Packet(record) if record.outcome.came() => {
                    let place = usize::from(record.packet.direction() == Direction::Clientbound);
                    packets.entry(context.session).or_default()[place] += 1;
                }
                Entry::Event(event) if matches!(event.kind, EventKind::Close(_)) => {
                    closed.insert(context.session);
                }
                Entry::Packet(_) | Entry::Event(_) => {}
            }
        }
    }
    let mut sums = [0; 3];
    for session in good.intersection(&closed) {
        let [up, down] = packets[session];
        sums.iter_mut().zip([1, up, down]).for_each(|(sum, new)| *sum += new);
    }
    sums
}

/// Returns the number behind a key of a line.
fn number(line: &str, key: &str) -> u64 {
    let rest = line.split_once(key).unwrap_or_else(|| panic!("no {key} in {line}")).1;
    let digits = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().unwrap()
}

/// Filter files, none of which changes a byte; one of them is faulty.
const FILES: [&str; 4] = [
    "[[rule]]\nname = 'seen'\nwhen = 'chat'\ncomment = 'seen'\n",
    "[[rule]]\nwhen = 'clientbound and chat'\ndelay = '5ms'\n",
    "[[rule]]\nwhen = 'chat and\n",
    "[[rule]]\nname = 'seen'\nwhen = 'serverbound and pkt.size > 100'\ntag = 'large'\n",
];

/// The players of sessions that end in order.
const PLAYERS: [&str; 2] = ["Good", clients::ENCRYPTED];

/// Seconds after a third of which the page's window of packets and sessions is full.
const FULL: u64 = 3600;

/// Kilobytes of that window.
const WINDOW: u64 = 128 << 10;

const CLIENTS: u64 = 6;
