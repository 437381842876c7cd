//! Every version through one proxy: node-minecraft-protocol on both ends, and the page that says
//! what was run.

use std::collections::BTreeMap;
use std::thread;

use mitmcraft::schema::Catalog;
use serde_json::Value as Json;

use super::{Program, Seen, capture_of, proxy, read_lines, scratch_file, text};

/// What was seen in the session of one version.
struct Run {
    lines: Vec<Json>,
}

#[test]
fn every_version_is_played_chatted_and_recorded_byte_by_byte() {
    let numbers: Vec<i32> = Catalog::embedded().versions().map(|(number, _)| number).collect();
    let groups = (0..GROUPS).map(|group| {
        let numbers: Vec<i32> = numbers.iter().copied().skip(group).step_by(GROUPS).collect();
        thread::spawn(move || play(&numbers))
    });
    let groups: Vec<_> = groups.collect();
    let runs: BTreeMap<i32, Run> =
        groups.into_iter().flat_map(|group| group.join().unwrap()).collect();
    assert!(runs.keys().copied().eq(numbers));
}

/// Sessions of these versions, through one proxy.
fn play(numbers: &[i32]) -> Vec<(i32, Run)> {
    let (log, capture) = (scratch_file("versions.log"), scratch_file("versions.jsonl"));
    let arguments = [
        ("--numbers", list(numbers)),
        ("--encrypt", list(ENCRYPTED)),
        ("--sign", list(SIGNED)),
        ("--log", text(&log).to_owned()),
    ];
    let arguments: Vec<&str> =
        arguments.iter().flat_map(|(name, value)| [*name, value.as_str()]).collect();
    let mut peers = Program::node("versions.js", &arguments);
    let mut proxy = proxy(&format!("127.0.0.1:{}", peers.port()), &capture);
    peers.tell(&proxy.listening().to_string());
    let said = peers.succeed();
    proxy.interrupt();
    proxy.succeed();
    let said: Vec<Json> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (ends, mut sessions) =
        (by(&read_lines(&log), "conn"), by(&read_lines(&capture), "session"));
    numbers
        .iter()
        .map(|number| {
            let conn = |event: &str| {
                let join = said.iter().find(|it| it["event"] == event && it["number"] == *number);
                join.unwrap_or_else(|| panic!("no {event} of {number}"))["conn"].as_u64().unwrap()
            };
            let session = sessions
                .iter()
                .find(|(_, lines)| lines.iter().any(|line| line["protocol"] == *number));
            let session = *session.unwrap_or_else(|| panic!("no session of {number}")).0;
            let lines = sessions.remove(&session).unwrap();
            compare(*number, &ends[&conn("login")], &ends[&conn("join")], &lines);
            (*number, Run { lines })
        })
        .collect()
}

/// The capture has all that each end sent and received, in order, with the same bytes.
fn compare(number: i32, client: &[Json], server: &[Json], capture: &[Json]) {
    for line in capture {
        assert!(line.get("error").is_none(), "{number}: {line}");
    }
    for (direction, sender, receiver) in
        [("serverbound", client, server), ("clientbound", server, client)]
    {
        let came = capture_of(capture, direction, &["pass", "drop", "rewrite"]);
        let went = capture_of(capture, direction, &["pass", "send"]);
        same(&format!("{number}: sent {direction}"), &end(sender, direction), &came);
        same(&format!("{number}: received {direction}"), &end(receiver, direction), &went);
    }
}

fn same(what: &str, end: &[Seen], capture: &[Seen]) {
    for (index, (end, capture)) in end.iter().zip(capture).enumerate() {
        assert_eq!(end, capture, "{what}, packet {index}");
    }
    assert_eq!(end.len(), capture.len(), "{what}");
}

fn end(lines: &[Json], direction: &str) -> Vec<Seen> {
    let lines = lines.iter().filter(|line| line["dir"] == direction);
    lines
        .map(|line| (line["state"].as_str().unwrap().into(), line["body"].as_str().unwrap().into()))
        .collect()
}

/// Lines by a number that each has.
fn by(lines: &[Json], key: &str) -> BTreeMap<u64, Vec<Json>> {
    let mut parts: BTreeMap<u64, Vec<Json>> = BTreeMap::new();
    for line in lines {
        parts.entry(line[key].as_u64().unwrap()).or_default().push(line.clone());
    }
    parts
}

fn list(numbers: &[i32]) -> String {
    numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

/// Each is a node process with its own proxy: as many as keep two cores busy.
const GROUPS: usize = 4;

/// Versions whose sessions are encrypted: each layout of the key exchange, the first and the last.
const ENCRYPTED: &[i32] =
    &[4, 47, 110, 340, 404, 498, 578, 735, 754, 757, 759, 760, 761, 763, 765, 766, 767, 770, 775];

/// Versions whose clients have a key and sign what they say.
const SIGNED: &[i32] = &[759, 760, 761, 763, 765, 767, 770, 775];
