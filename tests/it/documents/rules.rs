//! `examples/rules`: each file passes `check`, and does on a capture what its comments say.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{mitmcraft, root};

/// The effect of a file on the capture of its line `Try it`: the counts of its rules (matched, acted), and
/// a part of what is printed.
struct Example {
    file: &'static str,
    counts: &'static [(&'static str, u64, u64)],
    shows: &'static str,
    /// `check` warns about packets that the rule leaves as they are, or that only some versions have.
    warned: bool,
}

const EXAMPLES: &[Example] = &[
    Example {
        file: "block-channel.toml",
        counts: &[("no test channels", 4, 4)],
        shows: "channel=\"test|empty\" data=[0 B]  // rule `no test channels`",
        warned: false,
    },
    Example {
        file: "incident.toml",
        counts: &[("an incident", 1, 1)],
        shows: "kick_disconnect      reason=\"see you\"",
        warned: false,
    },
    Example {
        file: "kick.toml",
        counts: &[("kick", 1, 1)],
        shows: "closed by a rule: good bye, Tester",
        warned: false,
    },
    Example {
        file: "lag.toml",
        counts: &[("slow download", 30, 30), ("slow upload", 15, 15)],
        shows: "delayed by 40ms",
        warned: true,
    },
    Example {
        file: "modem.toml",
        counts: &[("modem", 459, 459)],
        shows: "`modem`; delayed by ",
        warned: true,
    },
    Example {
        file: "motd.toml",
        counts: &[("another entry", 1, 1)],
        shows: "response=\"under maintenance\" (1.8.8, 0 of 20 players)",
        warned: false,
    },
    Example {
        file: "mute-chat.toml",
        counts: &[("mute", 1, 1), ("shout", 1, 1)],
        shows: "message=\"!PING\"",
        warned: true,
    },
    Example {
        file: "no-creative-items.toml",
        counts: &[("no creative items", 1, 1)],
        shows: "slot 36",
        warned: false,
    },
    Example {
        file: "ping-command.toml",
        counts: &[
            ("ping up to 1.15", 0, 0),
            ("ping in 1.16 to 1.18", 0, 0),
            ("ping in 1.19", 0, 0),
            ("ping since 1.19.1", 1, 1),
        ],
        shows: "content=\"pong\"",
        warned: false,
    },
    Example {
        file: "quiet-movement.toml",
        counts: &[("entities that move", 402, 402), ("the player's own movement", 13, 13)],
        shows: "hidden from the log",
        warned: false,
    },
    Example {
        file: "slow-chunks.toml",
        counts: &[("slow chunks", 1, 1)],
        shows: "`slow chunks`; delayed by ",
        warned: false,
    },
];

#[test]
fn every_example_of_rules_does_what_it_says() {
    let folder = fs::read_dir(root().join("examples/rules")).unwrap();
    let files: BTreeSet<String> =
        folder.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(files.iter().eq(EXAMPLES.iter().map(|it| it.file)), "{files:?}");
    for example in EXAMPLES {
        let path = format!("examples/rules/{}", example.file);
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let (_, warnings) = run(&["check", &path]);
        assert_eq!(warnings.contains("warning: "), example.warned, "{warnings}");
        let command = text.split_once("Try it:").unwrap().1.lines().next().unwrap();
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        assert_eq!(words.last(), Some(&&*path));
        assert_eq!(counts(&words), expected(example.counts), "{}", example.file);
        let (_, printed) = run(&words);
        assert!(printed.contains(example.shows), "{printed}");
        // The comments name the versions and a command, and the rules do nothing where nothing matches.
        assert!(text.contains("# Versions: ") && text.contains("#   mitmcraft proxy "), "{path}");
        let none: Vec<_> = example.counts.iter().map(|(name, ..)| (*name, 0, 0)).collect();
        let quiet = ["replay", "filters", "captures/query.jsonl", "-f", &path];
        assert_eq!(counts(&quiet), expected(&none), "{}", example.file);
    }
}

#[test]
fn the_ping_command_is_answered_in_older_versions_too() {
    let rules = ["-f", "examples/rules/ping-command.toml"];
    let words = [&["replay", "filters", "captures/session-1.12.2.jsonl"][..], &rules].concat();
    assert_eq!(counts(&words)[0], "rule `ping up to 1.15`: 1 matched, 1 acted, 0 failed");
}

/// Returns the lines with the counts of rules.
fn counts(words: &[&str]) -> Vec<String> {
    let (said, printed) = run(words);
    let lines = said.lines().chain(printed.lines()).filter(|line| line.starts_with("rule `"));
    lines.map(str::to_owned).collect()
}

fn expected(counts: &[(&str, u64, u64)]) -> Vec<String> {
    let line = |(name, matched, acted): &(&str, u64, u64)| {
        format!("rule `{name}`: {matched} matched, {acted} acted, 0 failed")
    };
    counts.iter().map(line).collect()
}

/// Runs a command in the project's folder; returns stderr and stdout.
fn run(words: &[&str]) -> (String, String) {
    let output = mitmcraft().args(words).current_dir(root()).output().unwrap();
    let [said, printed] = [output.stderr, output.stdout].map(|it| String::from_utf8(it).unwrap());
    assert!(output.status.success(), "{words:?}: {said}{printed}");
    (said, printed)
}
