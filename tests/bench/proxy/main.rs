//! The cost of the whole program between a server and a client: `tests/bench/run`.
//!
//! Server and client are threads of this process; the proxies are programs. Each round plays the same
//! bytes through every one of them in turn, so that all suffer alike from what else the machine does, and
//! the medians are printed. `relay` is a plain Tokio relay, the floor of every proxy: it copies bytes and
//! knows nothing of them. Then the memory of idle sessions is measured, and reading captures.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub)]

#[path = "../../support/mod.rs"]
mod support;

mod game;
#[path = "../shared/page.rs"]
mod page;
#[path = "../shared/playing.rs"]
mod playing;
mod reading;
mod relay;
mod target;
#[path = "../shared/traffic.rs"]
mod traffic;

use std::fmt::Write as _;
use std::fs;

use game::Server;
use mitmcraft_protocol::codec::Leg;
use target::{Kind, Measured, Target};
use traffic::Traffic;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, upstream, ..] = &arguments[..]
        && mode == "relay"
    {
        return relay::run(upstream);
    }
    let values = |name: &str| -> Vec<&str> {
        arguments.iter().filter_map(|argument| argument.strip_prefix(name)).collect()
    };
    let rounds = values("rounds=").first().map_or(7, |it| it.parse().expect("a number of rounds"));
    let only = values("only=");

    let rules = support::scratch_file("rules.toml");
    fs::write(&rules, two_hundred_rules()).unwrap();
    let rules = support::text(&rules);
    let kinds = [
        Kind::direct(),
        Kind::relay(),
        Kind::ours(PLAIN, &[]),
        Kind::ours("no capture, 200 rules", &["-f", rules]),
        Kind::ours(PCAPNG, &["-w", "{}.pcapng"]),
        Kind::ours(RECORDER, &["--recorder", "10m"]),
        Kind::ours("pcapng.zst", &["-w", "{}.pcapng.zst"]),
        Kind::ours(JSONL, &["-w", "{}.jsonl"]),
        Kind::ours(LINTED, &["-w", "{}.jsonl", "--lint"]),
        Kind::ours(WITH_A_PAGE, &["-w", "{}.jsonl", "--web", "127.0.0.1:0"]),
        Kind::ours(PLAIN, &[]).encrypted(),
        Kind::ours(PCAPNG, &["-w", "{}.pcapng"]).encrypted(),
        Kind::ours(JSONL, &["-w", "{}.jsonl"]).encrypted(),
        Kind::relay().sessions(100),
        Kind::ours(PLAIN, &[]).sessions(100),
        Kind::node(),
        Kind::quarry(),
    ];
    let mut kinds: Vec<Kind> = kinds
        .into_iter()
        .filter(|kind| kind.is_floor() || only.is_empty() || only.contains(&&*kind.title()))
        .collect();
    let ours = kinds.len();
    for build in values("against=") {
        let others: Vec<Kind> =
            kinds[..ours].iter().filter_map(|kind| kind.against(build.as_ref())).collect();
        kinds.extend(others);
    }
    let many: Vec<Kind> =
        [Kind::relay(), Kind::ours(PLAIN, &[])].map(|it| it.sessions(1000)).into();
    for (traffic, kinds) in [
        (Traffic::play_of(200_000), &kinds),
        (Traffic::chunks_of(20_000), &kinds),
        (Traffic::play_of(2_000), &many),
    ] {
        let (server, hashes) = (Server::start(&traffic), game::hashes(&traffic));
        let mut targets: Vec<Target> =
            kinds.iter().map(|kind| Target::start(kind, &server, &hashes)).collect();
        let mut measured: Vec<Vec<Measured>> = kinds.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (target, measured) in targets.iter_mut().zip(&mut measured) {
                measured.push(target.measure(&hashes));
            }
        }
        print(&traffic, kinds, &measured);
    }
    idle();
    if only.is_empty() || only.contains(&"reading") {
        reading::print(rounds);
    }
}

/// Prints the memory that a session takes which says nothing.
fn idle() {
    let server = Server::start(&Traffic::play_of(1));
    println!("\nAn idle session of the game takes");
    let kinds = [
        Kind::relay(),
        Kind::ours(PLAIN, &[]),
        Kind::ours(PLAIN, &[]).encrypted(),
        Kind::ours(PCAPNG, &["-w", "{}.pcapng"]),
    ];
    for kind in kinds {
        println!("* {}: {:.1} KiB", kind.title(), Target::idle_memory(&kind, &server) / 1024.0);
    }
}

const PLAIN: &str = "no capture";
const PCAPNG: &str = "pcapng";
const RECORDER: &str = "recorder";
const JSONL: &str = "JSONL";
const LINTED: &str = "JSONL, with --lint";
const WITH_A_PAGE: &str = "JSONL, with a page";

/// Prints the medians of a mix as a table, and the floors of capturing and encrypting it.
fn print(traffic: &Traffic, kinds: &[Kind], measured: &[Vec<Measured>]) {
    let median = |place: usize, of: fn(&Measured) -> f64| {
        let mut all: Vec<f64> = measured[place].iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let frames = traffic.frames() as f64;
    let relay = |kind: &Kind| {
        let same = |it: &Kind| it.name == "relay" && it.sessions == kind.sessions;
        kinds.iter().position(same).unwrap_or_default()
    };
    println!(
        "\nMix `{}`: {:.0} frames, mean body {:.0} bytes, {:.1} MB on the wire\n",
        traffic.name,
        frames,
        traffic.mean_body(),
        traffic.bytes().len() as f64 / 1e6,
    );
    println!(
        "| mode | frames/s | of relay | CPU, µs per frame | bytes per frame | p50, µs | of relay | p99, µs | of relay |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (place, kind) in kinds.iter().enumerate() {
        let relay = relay(kind);
        let [rate, cpu, written, p50, p99]: [fn(&Measured) -> f64; 5] =
            [|it| 1.0 / it.wall, |it| it.cpu, |it| it.written, |it| it.p50, |it| it.p99];
        let rated = frames * median(place, rate);
        println!(
            "| {} | {:.2} M | {:.0} % | {:.3} | {:.0} | {:.0} | {:.2} | {:.0} | {:.2} |",
            kind.title(),
            rated / 1e6,
            100.0 * median(place, rate) / median(relay, rate),
            median(place, cpu) * 1e6 / frames,
            median(place, written) / frames,
            median(place, p50) * 1e6,
            median(place, p50) / median(relay, p50),
            median(place, p99) * 1e6,
            median(place, p99) / median(relay, p99),
        );
    }
    println!();
    let place = |title: &str| kinds.iter().position(|kind| kind.title() == title);
    if let (Some(plain), Some(page)) = (place(JSONL), place(WITH_A_PAGE)) {
        let ratio = median(page, |it| 1.0 / it.wall) / median(plain, |it| 1.0 / it.wall);
        let met = met(ratio >= 0.9);
        println!(
            "With a page that reads along: {:.0} % of the rate of JSONL (at least 90 %{met})",
            100.0 * ratio
        );
    }
    if let (Some(plain), Some(linted)) = (place(JSONL), place(LINTED)) {
        let ratio = median(linted, |it| it.cpu) / median(plain, |it| it.cpu);
        let met = met(ratio <= 1.5);
        println!("With --lint: {ratio:.2} of the processor time of JSONL (at most 1.5{met})");
    }
    if let (Some(capture), Some(recorder)) = (place(PCAPNG), place(RECORDER)) {
        let ratio = median(recorder, |it| it.cpu) / median(capture, |it| it.cpu);
        let met = met(ratio <= 1.0);
        println!("A recorder: {ratio:.2} of the processor time of pcapng (at most 1{met})");
    }
    let decrypting = crypt(traffic, false);
    println!("Decrypting once: {decrypting:.3} µs per frame");
    println!("Decrypting and encrypting once: {:.3} µs per frame", crypt(traffic, true));
    for (name, floor, bar) in [(PLAIN, decrypting, 1.3), (PCAPNG, 0.0, 1.2), (JSONL, 0.0, 1.2)] {
        if let (Some(plain), Some(encrypted)) = (place(name), place(&format!("{name}, encrypted")))
        {
            let [plain, encrypted] =
                [plain, encrypted].map(|place| median(place, |it| it.cpu) * 1e6 / frames);
            let ratio = encrypted / (plain + floor);
            println!(
                "{name}, encrypted: {ratio:.2} of plain{} (at most {bar}{})",
                if floor > 0.0 { " and decrypting once" } else { "" },
                met(ratio <= bar),
            );
        }
    }
    for (place, kind) in kinds.iter().enumerate() {
        let written = median(place, |it| it.written);
        if written > 0.0 {
            let floor = copy(written as usize) * 1e6 / frames;
            println!(
                "Floor of {}, as `cat` writes the same bytes: {floor:.3} µs per frame",
                kind.name
            );
        }
    }
}

/// Returns what is printed behind the bar of a figure.
fn met(is_met: bool) -> &'static str {
    if is_met { "" } else { ", not met" }
}

/// Returns the processor time in microseconds per frame that decrypting takes, and then encrypting if `both`.
fn crypt(traffic: &Traffic, both: bool) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let mut leg = Leg::default();
            leg.set_cipher(b"0123456789abcdef");
            leg.decoder.set_opaque();
            let before = target::thread_cpu();
            for read in traffic.bytes().chunks(64 << 10) {
                leg.decoder.receive(read);
                leg.decoder.poll();
                if both {
                    leg.encoder.put(read);
                    leg.encoder.advance(read.len());
                }
            }
            target::thread_cpu() - before
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[2] * 1e6 / traffic.frames() as f64
}

/// Returns the processor time of writing so many bytes to the disk as `cat` does.
fn copy(bytes: usize) -> f64 {
    use std::io::Write as _;
    let path = support::scratch_file("copy");
    let mut file = fs::File::create(&path).unwrap();
    let buffer = vec![b'x'; 128 << 10];
    let before = target::thread_cpu();
    for _ in 0..bytes.div_ceil(buffer.len()) {
        file.write_all(&buffer).unwrap();
    }
    let cpu = target::thread_cpu() - before;
    drop(file);
    fs::remove_file(path).unwrap();
    cpu
}

/// Rules of which none matches: of chat, of moved entities, of chunks.
fn two_hundred_rules() -> String {
    let mut text = String::new();
    for number in 0..200 {
        let when = match number % 3 {
            0 => format!("chat and message == \"{number}\""),
            1 => format!("entity_teleport and entityId == -{number}"),
            _ => format!("map_chunk and x == -{number}"),
        };
        writeln!(text, "[[rule]]\nname = 'rule {number}'\nwhen = '{when}'\ndrop = true\n").unwrap();
    }
    text
}
