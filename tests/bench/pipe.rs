//! The cost of a program that decides on packets: `cargo bench --bench pipe`.
//!
//! A client sends chat through the real proxy to a server that sends each message back. Without a program,
//! with one that is compiled (this one, started as `echo`) and with one in Python, each of which passes every
//! message of the client: round trips of one message at a time, and the rate of messages sent at once.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub, dead_code, missing_docs)]

#[path = "shared/chat.rs"]
mod chat;
#[path = "../support/game.rs"]
mod game;

use chat::{Client, Proxy};

const PYTHON: &str = "import json, sys
for line in sys.stdin:
    print('{\"id\":%d,\"pass\":true}' % json.loads(line)['id'], flush=True)
";

const ROUNDS: usize = 5;
const ROUND_TRIPS: usize = 1_000;
const MESSAGES: usize = 20_000;

fn main() {
    if std::env::args().any(|argument| argument == "echo") {
        return chat::echo();
    }
    let server = chat::serve();
    let script = std::env::temp_dir().join(format!("mitmcraft-pipe-{}.py", std::process::id()));
    std::fs::write(&script, PYTHON).unwrap();
    let this = std::env::current_exe().unwrap();
    let programs = [
        ("no program", String::new()),
        ("compiled", format!("'{}' echo", this.display())),
        ("Python", format!("python3 '{}'", script.display())),
    ];
    println!("{:<12} {:>14} {:>8} {:>14}", "program", "p50 round trip", "p99", "messages/s");
    for (name, program) in programs {
        let mut options = Vec::new();
        if !program.is_empty() {
            let condition = "serverbound and chat";
            options.extend([
                "--pipe",
                &program,
                "--pipe-where",
                condition,
                "--pipe-timeout",
                "20s",
            ]);
            options.extend(["--on-pipe-error", "close"]);
        }
        let mut proxy = Proxy::start(&server, &options);
        let (mut trips, mut rates) = (Vec::new(), Vec::new());
        let mut client = Client::join(&proxy.address);
        for _ in 0..ROUNDS {
            trips.extend((0..ROUND_TRIPS).map(|_| client.exchange("hello from a benchmark", 1)));
            rates.push(
                MESSAGES as f64 / client.exchange("hello from a benchmark", MESSAGES).as_secs_f64(),
            );
        }
        trips.sort_unstable();
        rates.sort_by(f64::total_cmp);
        let micros = |part: usize| trips[trips.len() * part / 100].as_secs_f64() * 1e6;
        let (half, most, rate) = (micros(50), micros(99), rates[ROUNDS / 2]);
        println!("{name:<12} {half:>11.0} µs {most:>5.0} µs {rate:>14.0}");
        proxy.end();
    }
    std::fs::remove_file(script).unwrap();
}
