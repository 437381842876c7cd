//! Folders and patterns: verbs read many captures at the same time, and say the same as one after the other.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Program, convert, read_lines, refuses, root, scratch_file, text};

/// A folder with 24 captures in two subfolders, four of which are empty.
fn folder() -> PathBuf {
    let folder = scratch_file("many");
    let names =
        ["session-1.8.jsonl", "session-1.12.2.jsonl", "session-26.3.jsonl", "session-alpha.jsonl"];
    for place in 0..24 {
        let host = folder.join(format!("host={}", place % 2));
        fs::create_dir_all(&host).unwrap();
        let to = host.join(format!("part-{place}.jsonl"));
        match names.get(place % 6) {
            Some(name) => convert(&[text(&root().join("captures").join(name)), text(&to)]),
            None if place % 6 == 4 => fs::write(to, "").unwrap(),
            None => convert(&[text(&root().join("captures/session-1.8.jsonl")), text(&to)]),
        }
    }
    folder
}

fn stats(captures: &[&str]) -> serde_json::Value {
    let json = Program::mitmcraft(&[&["stats", "--json"], captures].concat()).succeed();
    serde_json::from_str(&json).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn a_folder_is_shown_and_counted_as_its_captures_one_by_one() {
    let folder = folder();
    let mut sorted = files(&folder);
    let number = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        (path.parent().unwrap().to_owned(), name[5..].parse::<u32>().unwrap())
    };
    sorted.sort_by_key(number);
    for arguments in [
        &["show"][..],
        &["show", "-Y", "chat or pkt.error", "--events"],
        &["show", "-Y", "chat", "--fields", "pkt.time,message"],
    ] {
        let shown = Program::mitmcraft(&[arguments, &[text(&folder)]].concat()).succeed();
        let shown: Vec<&str> = shown.lines().collect();
        let each: String = sorted
            .iter()
            .map(|path| Program::mitmcraft(&[arguments, &[text(path)]].concat()).finish().1)
            .collect();
        let each: Vec<&str> = each.lines().collect();
        assert!(shown.len() > 20, "{arguments:?}: {shown:?}");
        assert!(shown == each, "{arguments:?}");
    }
    let whole = stats(&[text(&folder)]);
    let each: Vec<_> = sorted.iter().map(|path| stats(&[text(path)])).collect();
    let sum = |pointer: &str| {
        each.iter().map(|it| it.pointer(pointer).unwrap().as_u64().unwrap()).sum::<u64>()
    };
    for pointer in ["/total/packets", "/total/wire", "/total/bytes"] {
        assert_eq!(whole.pointer(pointer).unwrap().as_u64().unwrap(), sum(pointer), "{pointer}");
    }
    let sessions = |it: &serde_json::Value| it["sessions"].as_array().unwrap().len();
    assert_eq!(sessions(&whole), each.iter().map(sessions).sum::<usize>());
}

#[test]
fn a_folder_is_converted_file_by_file_and_back() {
    let folder = folder();
    let (lake, back) = (scratch_file("many-lake"), scratch_file("many-back"));
    let errors = |arguments: &[&str]| Program::mitmcraft(arguments).succeed_with_errors().1;
    let said = errors(&["convert", text(&folder), text(&lake.join("")), "--format", "parquet"]);
    assert!(said.contains("24 of 24 captures written to `"), "{said}");
    errors(&["convert", text(&lake), text(&back.join("")), "--format", "jsonl"]);
    let lines = |path: &Path| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .filter(|line| !line.contains("\"event\":\"capture\""))
            .map(str::to_owned)
            .collect()
    };
    for path in files(&folder) {
        let name = path.strip_prefix(&folder).unwrap();
        assert!(lake.join(name).with_extension("parquet").exists(), "{}", name.display());
        assert!(lines(&back.join(name)) == lines(&path), "{}", name.display());
    }
    // Without a format, each keeps its own.
    let copies = scratch_file("many-copies");
    fs::create_dir(&copies).unwrap();
    errors(&["convert", text(&folder), text(&copies), "--only", "events"]);
    assert_eq!(files(&copies).len(), 24);
}

#[test]
fn what_is_wrong_with_one_of_many_is_said_and_the_others_are_converted() {
    let folder = folder();
    let damaged = folder.join("host=1/part-9.jsonl");
    let whole = fs::read(&damaged).unwrap();
    fs::write(&damaged, &whole[..whole.len() - 9]).unwrap();
    fs::write(folder.join("host=0/part-2.jsonl"), "no capture").unwrap();
    let lake = scratch_file("damaged-many");
    let to = lake.join("");
    let arguments = ["convert", text(&folder), text(&to), "--format", "parquet"];
    let (status, said) = Program::mitmcraft(&arguments).fail();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("23 of 24 captures written"), "{said}");
    assert!(said.contains("part-2.jsonl`: ") && said.contains("part-9.jsonl`: "), "{said}");
    assert_eq!(files(&lake).len(), 23);
    let (status, said) = Program::mitmcraft(&["stats", text(&folder)]).fail();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("part-2.jsonl`") && said.contains("part-9.jsonl`: "), "{said}");
}

#[test]
fn many_captures_become_one_with_a_number_for_each_session() {
    let folder = folder();
    let (one, lake) = (scratch_file("one.jsonl"), scratch_file("one.parquet"));
    convert(&[text(&folder), text(&one)]);
    let (many, joined) = (stats(&[text(&folder)]), stats(&[text(&one)]));
    for pointer in ["/total", "/undecoded", "/round_trips"] {
        assert!(many.pointer(pointer).is_some(), "{pointer}");
    }
    assert_eq!(many["total"], joined["total"]);
    let count = |stats: &serde_json::Value| stats["sessions"].as_array().unwrap().len();
    assert_eq!(count(&many), count(&joined));
    convert(&["-Y", "chat", text(&folder), text(&lake)]);
    let chat = stats(&["-Y", "chat", text(&folder)]);
    assert_eq!(stats(&["-Y", "chat", text(&lake)])["total"], chat["total"]);
    // A table has rows of all.
    let table = scratch_file("chat.parquet");
    convert(&["--table", "chat: time, session, message", text(&folder), text(&table)]);
    assert!(fs::read(&table).unwrap().starts_with(b"PAR1"));
}

#[test]
fn a_run_that_was_rotated_is_replayed_and_compared_as_one() {
    let run = scratch_file("rotated");
    fs::create_dir(&run).unwrap();
    let whole = root().join("captures/session-1.8.jsonl");
    // The parts as a run writes them, each beginning with the events of its open session.
    let lines = fs::read_to_string(&whole).unwrap();
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    let is = |line: &str, event: &str| line.contains(&format!("\"event\":\"{event}\""));
    let head = lines.iter().find(|line| is(line, "capture")).map_or("", |line| line);
    let open = *lines.iter().find(|line| is(line, "open")).unwrap();
    for (number, part) in lines.chunks(120).enumerate() {
        let before = lines[..120 * number].iter().rev().find(|line| is(line, "state"));
        let introduction =
            if number == 0 { String::new() } else { [head, open, before.unwrap()].concat() };
        let part = introduction + &part.concat();
        fs::write(run.join(format!("run-{}.jsonl", number + 1)), part).unwrap();
    }
    let pattern = run.join("run-*.jsonl");
    let joined = scratch_file("joined.jsonl");
    convert(&[text(&pattern), text(&joined)]);
    // The first line names the program that wrote it.
    assert!(read_lines(&joined)[1..] == read_lines(&whole)[1..]);
    assert_eq!(Program::mitmcraft(&["diff", text(&whole), text(&run)]).succeed(), "");
    let legs = Program::mitmcraft(&["diff", "--legs", text(&run)]).finish();
    assert_eq!(legs, Program::mitmcraft(&["diff", "--legs", text(&whole)]).finish());
    let rules = scratch_file("rules.toml");
    fs::write(&rules, "[[rule]]\nname = \"mute\"\nwhen = \"chat\"\ndrop = true\n").unwrap();
    let rules = ["-f", text(&rules), "-q"];
    let replay = |capture: &Path| {
        Program::mitmcraft(&[&["replay", "filters", text(capture)], &rules[..]].concat()).succeed()
    };
    assert_eq!(replay(&run), replay(&whole));
}

#[test]
fn files_that_would_become_one_and_formats_without_a_place_are_refused() {
    let folder = folder();
    let out = scratch_file("refused");
    let (one, host, to) = (folder.join("host=0/part-0.jsonl"), folder.join("host=0"), out.join(""));
    let said = refuses(&["convert", text(&one), text(&host), text(&to)]);
    assert!(said.contains("would both become `"), "{said}");
    let said = refuses(&["convert", text(&folder), text(&folder)]);
    assert!(said.contains("is a capture that is read: choose another folder"), "{said}");
    let said = refuses(&["convert", text(&one), "-", "--format", "parquet"]);
    assert!(said.contains("are for a folder"), "{said}");
    let said = refuses(&["convert", text(&folder.join("none.jsonl")), text(&to)]);
    assert!(said.contains("cannot read `"), "{said}");
    assert!(!out.exists());
}

#[cfg(unix)]
#[test]
fn a_bar_on_a_terminal_shows_how_much_of_all_files_is_read() {
    let folder = scratch_file("large-many");
    fs::create_dir(&folder).unwrap();
    // Captures without entries: reading is not slow, only much.
    for name in ["a.jsonl", "b.jsonl"] {
        fs::write(folder.join(name), vec![b'\n'; 20 << 20]).unwrap();
    }
    let shown = |verb: &[&str]| {
        let mut command = std::process::Command::new("python3");
        command.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_mitmcraft")]).args(verb);
        Program::start("python3", command).succeed()
    };
    for verb in [&["stats", text(&folder)][..], &["diff", text(&folder), text(&folder)]] {
        let seen = shown(verb);
        assert!(
            seen.contains("MiB, ") && seen.contains("/s, ") && seen.contains(" left"),
            "{seen}"
        );
    }
    assert!(shown(&["stats", text(&folder)]).contains("% of 40.00 MiB"));
    let piped = Program::mitmcraft(&["stats", text(&folder)]).succeed_with_errors().1;
    assert_eq!(piped, "");
}

/// Prints what a program writes to a terminal on stderr.
#[cfg(unix)]
const TERMINAL: &str = r"
import os, pty, subprocess, sys
terminal, end = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=end)
os.close(end)
seen = b''
try:
    while part := os.read(terminal, 4096):
        seen += part
except OSError:
    pass
assert child.wait() == 0, seen
sys.stdout.buffer.write(seen)
";
