//! What a player notices of ten others: `cargo bench --bench crowd [-- WORD..]`, what has one of the words.
//!
//! Ten sessions send chat as fast as they can, once messages that mean nothing to the proxy, and once messages of the
//! same length that make it work. Printed is the 99th percentile of an eleventh player's round trips beside the former
//! and beside the latter, which is at most three times as long.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub, dead_code, missing_docs)]

#[path = "shared/chat.rs"]
mod chat;
#[path = "../support/game.rs"]
mod game;

use std::time::Duration;

use chat::{Client, Flood, Proxy};

fn main() {
    if std::env::args().any(|argument| argument == "echo") {
        return chat::echo();
    }
    let server = chat::serve();
    let folder = std::env::temp_dir().join(format!("mitmcraft-crowd-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let program = format!("'{}' echo", std::env::current_exe().unwrap().display());
    let asked = "serverbound and chat and (message contains \"!\" or message == \"good\")";
    let pipe = ["--pipe", &program, "--pipe-where", asked, "--pipe-timeout", "20s"];
    println!(
        "{:<36} {:>12} {:>12} {:>6}",
        "ten players make the proxy", "p99 beside", "then", "ratio"
    );
    let words: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let print = |name: &str, options: &[&str]| {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
            return;
        }
        let mut proxy = Proxy::start(&server, options);
        let mut rounds: Vec<[f64; 2]> =
            (0..ROUNDS).map(|_| ["hello", "!ello"].map(|text| p99(&proxy.address, text))).collect();
        proxy.end();
        rounds.sort_by(|one, other| (one[1] / one[0]).total_cmp(&(other[1] / other[0])));
        let [honest, hostile] = rounds[ROUNDS / 2];
        let ratio = hostile / honest;
        let met = if ratio <= BAR { "" } else { ", not met" };
        println!(
            "{name:<36} {honest:>9.0} µs {hostile:>9.0} µs {ratio:>6.2} (at most {BAR:.0}{met})"
        );
    };
    print("ask a program", &pipe);
    for (name, text) in FILES {
        let file = folder.join(if text.starts_with('[') { "it.toml" } else { "it.lua" });
        std::fs::write(&file, text).unwrap();
        print(name, &["-f", file.to_str().unwrap()]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The most that the latter may be of the former.
const BAR: f64 = 3.0;

/// Returns the 99th percentile in microseconds of a player's round trips beside ten others who say `text`.
fn p99(address: &str, text: &str) -> f64 {
    let _floods: Vec<Flood> = (0..10).map(|_| Client::join(address).flood(text)).collect();
    let mut client = Client::join(address);
    std::thread::sleep(Duration::from_millis(200));
    let mut trips: Vec<Duration> = (0..TRIPS)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(2));
            client.exchange("good", 1)
        })
        .collect();
    trips.sort_unstable();
    trips[(TRIPS * 99).div_ceil(100) - 1].as_secs_f64() * 1e6
}

/// What the proxy does with a message that has an exclamation mark.
const FILES: [(&str, &str); 5] = [
    (
        "send copies",
        "[[rule]]\nwhen = 'serverbound and chat and message contains \"!\"'\ncopy = 1000",
    ),
    (
        "send to the client",
        "[[rule]]\nwhen = 'serverbound and chat and message contains \"!\"'\nsend = [{ to = 'client', packet = 'update_time', fields = { age = 1, time = 1 } }]",
    ),
    (
        "delay packets",
        "[[rule]]\nwhen = 'serverbound and chat and message contains \"!\"'\ndelay = '1s'",
    ),
    (
        "run a script for long",
        "on('serverbound and chat and message contains \"!\"', function() for i = 1, 100000 do end end)",
    ),
    (
        "start timers",
        "on('serverbound and chat and message contains \"!\"', function() after('10ms', function(session) end) end)",
    ),
];

const ROUNDS: usize = 3;
const TRIPS: usize = 100;
