//! Sessions with one planted cause of lag, over sockets and in real time.

use std::thread;

use serde_json::Value as Json;

use crate::support::{Program, scratch_file, text};

/// A cause: its name, what the server, the client and a link are told, on which leg the link is, and what `stats --lag`
/// has to name.
type Cause<'a> = (&'a str, [&'a [&'a str]; 3], Leg, &'a str, Option<&'a str>);

#[derive(Clone, Copy)]
enum Leg {
    Client,
    Server,
}

const CAUSES: [Cause<'static>; 6] = [
    ("server stalls", [&["--stalls", "45+6"], &[], &[]], Leg::Client, "server", None),
    ("delay", [&[], &[], &["--delay", "45-80+0.5"]], Leg::Server, "network", Some("server")),
    ("jitter", [&[], &[], &["--jitter", "45-80+1.2"]], Leg::Client, "network", Some("client")),
    ("slow reader", [&[], &["--stalls", "45+5"], &[]], Leg::Client, "client", None),
    (
        "slow pipe",
        [&["--chunks", "2000"], &[], &["--speed", "45-75+30000"]],
        Leg::Client,
        "network",
        Some("client"),
    ),
    (
        "flooding channel",
        [&["--flood", "45-75+14000"], &[], &["--speed", "0-150+250000"]],
        Leg::Client,
        "server",
        None,
    ),
];

#[test]
#[ignore = "takes three minutes: `tests/run --long`"]
fn lag_over_sockets_is_named_by_where_it_was_planted() {
    let reports: Vec<Json> = thread::scope(|scope| {
        let games: Vec<_> = CAUSES.iter().map(|cause| scope.spawn(|| play(cause))).collect();
        games.into_iter().map(|game| game.join().unwrap()).collect()
    });
    for ((name, _, _, place, leg), report) in CAUSES.iter().zip(&reports) {
        let findings = report["lag"].as_array().unwrap();
        let is_right = |it: &Json| it["where"] == *place && it["leg"].as_str() == *leg;
        assert!(findings.iter().any(is_right), "{name}: {report:#}");
        for finding in findings {
            assert!(is_right(finding) || finding["where"].is_null(), "{name}: {report:#}");
        }
    }
}

/// Plays a session of 130 seconds, and returns what `stats --lag` says of it.
fn play(&(name, [server, client, link], leg, ..): &Cause<'_>) -> Json {
    let mut server = Program::node("lag.js", &[&["--role", "server"], server].concat());
    let mut port = server.port();
    let mut links = Vec::new();
    let mut through_link = |port: u16| {
        let port = port.to_string();
        let mut link =
            Program::node("lag.js", &[&["--role", "link", "--port", &port], link].concat());
        let port = link.port();
        links.push(link);
        port
    };
    if let Leg::Server = leg {
        port = through_link(port);
    }
    let capture = scratch_file(&format!("{}.pcapng", name.replace(' ', "-")));
    let mut proxy = Program::proxy(&format!("127.0.0.1:{port}"), &["-w", text(&capture)]);
    port = proxy.listening();
    if let Leg::Client = leg {
        port = through_link(port);
    }
    let port = port.to_string();
    let options = ["--role", "client", "--port", &port, "--length", "130"];
    Program::node("lag.js", &[&options, client].concat()).succeed();
    proxy.interrupt();
    proxy.succeed();
    let report = Program::mitmcraft(&["stats", "--lag", "--json", text(&capture)]).succeed();
    serde_json::from_str(&report).unwrap()
}
