//! The recipes in `docs/captures.md`, run by jq, DuckDB and pandas.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use mitmcraft_engine::capture::{Entry, Record};

use crate::support::root;
use crate::support::samples::*;

/// Returns the output of each recipe for a question, by the language it is written in.
fn answers(environment: &str, question: &str) -> BTreeMap<String, String> {
    let page = fs::read_to_string(root().join("docs/captures.md")).unwrap();
    let recipes = page.split_once("## Recipes").unwrap().1;
    let recipes = recipes.split_once(question).unwrap().1;
    let mut blocks = recipes.split("```");
    let mut answers = BTreeMap::new();
    for _ in 0..3 {
        let block = blocks.nth(1).unwrap();
        let (language, code) = block.split_once('\n').unwrap();
        answers.insert(language.to_owned(), answer(environment, language, code));
    }
    answers
}

fn answer(environment: &str, language: &str, code: &str) -> String {
    let python = root().join(environment).join("bin/python");
    let mut command = match language {
        "jq" => Command::new("jq"),
        "sql" | "python" => Command::new(python),
        other => panic!("no program for {other}"),
    };
    match language {
        "jq" => command.args(["-nr", code, "captures/session-1.8.jsonl"]),
        "sql" => command.args(["-c", DUCKDB, code]),
        _ => command.args(["-c", code]),
    };
    let output = command.current_dir(root()).output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{language}: {complaints}");
    String::from_utf8(output.stdout).unwrap()
}

/// Prints the rows of a query.
const DUCKDB: &str = "\
import duckdb, sys
for row in duckdb.sql(sys.argv[1]).fetchall():
    print(*row)
";

fn name(record: &Record) -> String {
    record.packet.kind().map(|kind| kind.name().to_string()).unwrap_or_default()
}

#[test]
fn packets_and_bytes_by_name() {
    check_packets_and_bytes(PINNED);
}

#[test]
fn chat_with_its_time() {
    check_chat(PINNED);
}

#[test]
#[ignore = "needs the newest packages: tests/run --long"]
fn the_newest_packages_follow_the_recipes() {
    check_packets_and_bytes("target/tools/newest");
    check_chat("target/tools/newest");
}

const PINNED: &str = "tests/real/venv";

fn check_packets_and_bytes(environment: &str) {
    let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let entries = repository_capture("session-1.8.jsonl");
    for record in entries.iter().filter_map(Entry::record) {
        let (packets, bytes) = expected.entry(name(record)).or_default();
        *packets += 1;
        *bytes += record.packet.wire_size() as u64;
    }
    let mut expected: Vec<_> =
        expected.into_iter().map(|(name, (packets, bytes))| (name, packets, bytes)).collect();
    expected.sort_by_key(|(.., bytes)| std::cmp::Reverse(*bytes));
    expected.truncate(3);
    let answers = answers(environment, "Packets and bytes by name");
    assert_eq!(answers.len(), 3);
    for (language, answer) in answers {
        // pandas prints two lines of headings.
        let rows: Vec<(String, u64, u64)> = answer
            .lines()
            .filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                [name, packets, bytes] => {
                    Some((name.to_owned(), packets.parse().ok()?, bytes.parse().ok()?))
                }
                _ => None,
            })
            .collect();
        assert_eq!(rows, expected, "{language}: {answer}");
    }
}

fn check_chat(environment: &str) {
    let entries = repository_capture("session-1.8.jsonl");
    let chat = entries
        .iter()
        .filter_map(Entry::record)
        .filter(|record| name(record) == "chat" && record.packet.direction() == Serverbound);
    let expected: Vec<(u64, String)> = chat
        .map(|record| {
            let packet = &record.packet;
            let value = packet.value().unwrap();
            let text = value.get("message").unwrap().as_text().unwrap().to_owned();
            (packet.at().0 / 1000 - packet.context().opened.0 / 1000, text)
        })
        .collect();
    assert_eq!(expected.len(), 3);
    for (language, answer) in answers(environment, "What players wrote") {
        let rows: Vec<(u64, String)> = answer
            .lines()
            .map(|line| {
                let (t, text) = line.split_once(' ').unwrap();
                ((t.parse::<f64>().unwrap() * 1e6).round() as u64, text.to_owned())
            })
            .collect();
        assert_eq!(rows, expected, "{language}: {answer}");
    }
}
