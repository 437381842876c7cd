//! `show`, `stats`, `diff` and `convert`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, convert, mitmcraft, read_lines, refuses, root, scratch_file, text};

#[test]
fn show_prints_what_the_condition_lets_through() {
    let capture = root().join("captures/session-1.8.jsonl");
    let condition = "serverbound and chat and message contains \"hello\"";
    let shown = Program::mitmcraft(&["show", "-Y", condition, text(&capture)]).succeed();
    let packets: Vec<&str> = shown.lines().filter(|line| line.contains("0x")).collect();
    assert_eq!(packets.len(), 1, "{shown}");
    assert!(packets[0].contains("hello from a real client"), "{shown}");
    let said = refuses(&["show", "-Y", "mesage == 1", text(&capture)]);
    assert!(said.contains("did you mean `message`?"), "{said}");
}

#[test]
fn show_prints_events_if_there_is_no_condition_or_the_user_asks_for_them() {
    let capture = root().join("captures/session-1.8.jsonl");
    let show = |arguments: &[&str]| {
        let lines = Program::mitmcraft(&[&["show", text(&capture)], arguments].concat()).succeed();
        let events = lines.lines().filter(|line| !line.contains(" 0x")).count();
        (events, lines.lines().count() - events)
    };
    let (events, packets) = show(&[]);
    assert!(events == 5 && packets > 400, "{events} {packets}");
    assert_eq!(show(&["--only", "events"]), (events, 0));
    assert_eq!(show(&["--only", "packets"]), (0, packets));
    let (none, chat) = show(&["-Y", "chat"]);
    assert!(none == 0 && chat > 1, "{none} {chat}");
    assert_eq!(show(&["-Y", "chat", "--events"]), (events, chat));
    let said = refuses(&["show", "-Y", "chat", "--only", "events", text(&capture)]);
    assert!(said.contains("use one of them"), "{said}");
}

#[test]
fn show_prints_lines_around_matches_with_numbers_and_cut_to_a_width() {
    let capture = root().join("captures/session-1.8.jsonl");
    let show = |arguments: &[&str]| {
        Program::mitmcraft(&[&["show", text(&capture)], arguments].concat()).succeed()
    };
    let numbers = |lines: &str| -> Vec<String> {
        let number = |line: &str| match line.split_once('@') {
            Some((_, rest)) => rest.split(' ').next().unwrap().to_owned(),
            None => line.to_owned(),
        };
        lines.lines().map(number).collect()
    };
    let condition = "pkt.n in {12, 14, 40}";
    let lines = show(&["-Y", condition, "--number", "-B", "1", "-A", "2"]);
    assert_eq!(
        numbers(&lines),
        ["11", "12", "13", "14", "15", "16", "--", "39", "40", "41", "42"],
        "{lines}"
    );
    let lines = show(&["-Y", condition, "--number", "-C", "1"]);
    assert_eq!(numbers(&lines), ["11", "12", "13", "14", "15", "--", "39", "40", "41"], "{lines}");
    let lines = show(&["--width", "40", "--time", "relative"]);
    assert!(lines.lines().all(|line| line.chars().count() <= 40), "{lines}");
    assert!(lines.lines().any(|line| line.ends_with('…')), "{lines}");
    assert!(
        lines.lines().nth(1).unwrap().trim_start_matches(['~', ' ']).starts_with("0."),
        "{lines}"
    );
    assert!(refuses(&["show", "-C", "1", text(&capture)]).contains("--where"));
    assert!(refuses(&["show", "--width", "0", text(&capture)]).contains("columns"));
}

#[test]
fn convert_leaves_out_packets_or_events() {
    let capture = root().join("captures/session-1.8.jsonl");
    let convert = |only: &str| {
        let lines = Program::mitmcraft(&["convert", "--only", only, text(&capture), "-"]).succeed();
        // Both begin with the line that names the tables.
        let (head, rest) = lines.split_once('\n').unwrap();
        assert!(head.contains("\"event\":\"capture\""), "{head}");
        rest.to_owned()
    };
    let (packets, events) = (convert("packets"), convert("events"));
    let is_event = |line: &str| line.contains("\"event\":");
    assert!(packets.lines().count() > 400 && !packets.lines().any(is_event));
    assert!(events.lines().count() >= 5 && events.lines().all(is_event));
}

/// A protocol of two versions was 1.20.3 in one command, 1.20.4 in the next, and both in the third.
#[test]
fn every_command_calls_a_version_by_the_same_name() {
    let capture = root().join("captures/session-1.20.4-wire.pcapng");
    for words in [
        &["show", "-Y", "pkt.error", "--events"][..],
        &["stats", "--json"],
        &["explain"],
        &["explain", "--json"],
        &["lint", "--capture"],
        &["lint", "--json", "--capture"],
    ] {
        let (_, said) = Program::mitmcraft(&[words, &[text(&capture)]].concat()).finish();
        assert!(said.contains("1.20.4") && !said.contains("1.20.3"), "{words:?}: {said}");
    }
}

#[test]
fn stats_counts_captures_as_a_table_as_json_and_as_a_picture() {
    let capture = root().join("captures/session-1.8.jsonl");
    let picture = scratch_file("timeline.svg");
    let arguments = ["stats", "-Y", "play and chat", "--plot", text(&picture), text(&capture)];
    let table = Program::mitmcraft(&arguments).succeed();
    assert!(table.starts_with("1 session, 6 packets in "), "{table}");
    assert!(fs::read_to_string(&picture).unwrap().contains("<title>chat</title>"));
    let other = ["stats", "--json", "--session", "2", text(&capture)];
    assert!(refuses(&other).contains("there is no session 2"));
    let cut = scratch_file("cut.jsonl");
    let whole = fs::read(&capture).unwrap();
    fs::write(&cut, &whole[..whole.len() - 9]).unwrap();
    let (status, said) = Program::mitmcraft(&["stats", text(&cut)]).fail();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("the file ends within this entry"), "{said}");
}

#[test]
fn stats_says_when_a_session_lagged_and_where_that_came_from() {
    let healthy = root().join("captures/session-1.8.jsonl");
    let page = Program::mitmcraft(&["stats", "--lag", text(&healthy)]).succeed();
    assert!(page.starts_with("No lag in 1 session.\n"), "{page}");
    // A server that sends the time of its world each second, and stands still for five.
    let capture = scratch_file("lag.jsonl");
    let begin = "2026-11-20T12:0";
    let mut lines = format!(
        "{{\"v\":2,\"session\":1,\"event\":\"open\",\"time\":\"{begin}0:00Z\",\"client\":{{\"address\":\
         \"127.0.0.1:45084\"}},\"upstream\":\"a:1\",\"server\":{{\"address\":null}}}}\n"
    );
    for second in 0..100 {
        let at = if second > 30 { second + 5 } else { second };
        lines += &format!(
            "{{\"v\":2,\"session\":1,\"seq\":{},\"time\":\"{begin}{}:{:02}Z\",\"dir\":\"clientbound\",\
             \"origin\":\"server\",\"state\":\"play\",\"protocol\":47,\"packet\":\"update_time\",\"wire\":18,\
             \"verdict\":\"pass\",\"fields\":{{\"age\":{},\"time\":6000}}}}\n",
            second + 1,
            at / 60,
            at % 60,
            1000 + 20 * second,
        );
    }
    fs::write(&capture, lines).unwrap();
    let page = Program::mitmcraft(&["stats", "--lag", text(&capture)]).succeed();
    let found = "2026-11-20T12:00:30.000 for 6.0 s, #1: server, likely\n  \
                 the server stood still for 5.0 s: its world is 5.0 s behind since\n";
    assert!(page.contains(found), "{page}");
    assert!(
        page.contains("packet 31: the server sent nothing for 6.0 s after this packet"),
        "{page}"
    );
    let json = Program::mitmcraft(&["stats", "--lag", "--json", text(&capture)]).succeed();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["lag"].as_array().unwrap().len(), 1, "{json}");
    assert_eq!(json["lag"][0]["where"], "server");
    assert_eq!(json["lag"][0]["begin"], "2026-11-20T12:00:30.000000000Z");
    assert!(
        refuses(&["stats", "--lag", "--session", "2", text(&capture)]).contains("no session 2")
    );
    assert!(refuses(&["stats", "--lag", "-Y", "chat", text(&capture)]).contains("--lag"));
}

#[test]
fn diff_tells_by_its_exit_code_whether_captures_differ() {
    let captures = root().join("captures");
    let (a, b) =
        (captures.join("session-1.8.jsonl"), captures.join("session-1.8-encrypted.pcapng"));
    let (a, b) = (text(&a), text(&b));
    assert_eq!(Program::mitmcraft(&["diff", a, a]).succeed(), "");
    let (status, lines) = Program::mitmcraft(&["diff", "-Y", "compress", a, b]).finish();
    assert_eq!(status.code(), Some(1));
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("--- ") && lines[1].starts_with("+++ "), "{lines:?}");
    assert!(lines[2].starts_with("~ ") && lines[2].ends_with("0x03 compress"), "{lines:?}");
    assert_eq!(lines[3].trim(), "threshold: 256 -> 64");
    let quiet = Program::mitmcraft(&["diff", "-q", "--ignore", "compress", "-Y", "compress", a, b]);
    assert_eq!(quiet.succeed(), "");
    Program::mitmcraft(&["diff", "--legs", b]).succeed();
    let (status, json) =
        Program::mitmcraft(&["diff", "--legs", "--json", "--ignore-nothing", b]).finish();
    assert_eq!((status.code(), json.lines().count()), (Some(1), 3));
    assert!(refuses(&["diff", a, "--session", "7", a]).contains("has no session 7"));
    assert!(refuses(&["diff", "--ignore", "a b", a, a]).contains("neither a packet"));
    assert!(refuses(&["diff", a]).contains("<B>"));
}

#[test]
fn convert_redacts_what_is_to_be_shared() {
    let capture = root().join("captures/session-1.8.jsonl");
    let redact = |name: &str, more: &[&str]| {
        let file = scratch_file(name);
        let arguments = ["convert", "--redact", text(&capture), text(&file)];
        Program::mitmcraft(&[&arguments, more].concat()).succeed();
        (fs::read(&file).unwrap(), file)
    };
    let seed = ["--redact-seed", "a secret"];
    let (first, file) = redact("first.jsonl", &seed);
    for original in ["Tester", "127.0.0.1", "hello from", "a secret"] {
        let found = String::from_utf8_lossy(&first).contains(original);
        assert!(!found, "{original}");
    }
    assert_eq!(first, redact("second.jsonl", &seed).0);
    assert_ne!(first, redact("third.jsonl", &[]).0);
    let (_, pcapng) = redact("fourth.pcapng.zst", &seed);
    Program::mitmcraft(&["diff", text(&file), text(&pcapng)]).succeed();
    let table = Program::mitmcraft(&["stats", text(&pcapng)]).succeed();
    assert!(table.starts_with("1 session, 463 packets in 0.557 s"), "{table}");
    let said = refuses(&["convert", "--redact-seed", "x", text(&capture), "-"]);
    assert!(said.contains("--redact"), "{said}");
}

#[test]
fn convert_redacts_every_generation_of_the_game() {
    let folder = scratch_file("demo");
    fs::create_dir(&folder).unwrap();
    Program::mitmcraft(&["demo", "--all", "-q", "--folder", text(&folder)]).succeed();
    let names = ["Steve", "Alex", "Steffi", "Herobrine", "Welcome", "127.0.0.1", "\u{c9}p\u{e9}e"];
    for file in ["demo.jsonl", "demo.pcapng"] {
        let (from, to) = (folder.join(file), folder.join(format!("redacted-{file}")));
        Program::mitmcraft(&["convert", "--redact", text(&from), text(&to)]).succeed();
        let (before, after) = (fs::read(&from).unwrap(), fs::read(&to).unwrap());
        for name in names {
            let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_be_bytes).collect();
            let has = |bytes: &[u8]| {
                [name.as_bytes(), &wide]
                    .iter()
                    .any(|it| bytes.windows(it.len()).any(|at| at == *it))
            };
            assert!(!has(&after), "{file}: {name}");
            // In pcapng an address is no text, and what is longer than a segment is cut.
            assert!(has(&before) || file == "demo.pcapng", "{file}: {name}");
        }
    }
}

#[test]
fn convert_writes_a_replay_for_replaymod_or_says_why_not() {
    let capture = root().join("captures/session-1.8.jsonl");
    let replay = scratch_file("session.mcpr");
    Program::mitmcraft(&["convert", text(&capture), text(&replay)]).succeed();
    let bytes = fs::read(&replay).unwrap();
    assert!(bytes.starts_with(b"PK\x03\x04"));
    let again = ["convert", "--overwrite", "--session", "2", text(&capture), text(&replay)];
    let said = refuses(&again);
    assert!(said.contains("no session that reaches the game"), "{said}");
    assert_eq!(fs::read(&replay).unwrap(), bytes, "the old replay is lost");
    let none = scratch_file("none.mcpr");
    refuses(&["convert", "--session", "2", text(&capture), text(&none)]);
    assert!(!none.exists(), "half a replay stays behind");
}

#[test]
fn a_redacted_run_records_no_name_in_any_capture_or_file_name() {
    let upstream = Upstream::answering();
    let (folder, ring) = (scratch_file("redacted"), scratch_file("redacted-ring.jsonl"));
    let rules = scratch_file("redacted-ring.toml");
    let file = format!(
        "[capture]\nfile = '{}'\nring = '1h'\n[[rule]]\nwhen = 'success'\nwrite = 'start'\n",
        text(&ring)
    );
    fs::write(&rules, file).unwrap();
    let named = folder.join("{player}-{session}.jsonl");
    let all = folder.join("all.pcapng");
    fs::create_dir_all(&folder).unwrap();
    for old in fs::read_dir(&folder).unwrap() {
        fs::remove_file(old.unwrap().path()).unwrap();
    }
    let _ = fs::remove_file(&ring);
    let options = ["--redact", "-w", text(&named), "-w", text(&all), "-f", text(&rules)];
    let mut proxy = Program::proxy(&upstream.address, &options);
    let port = proxy.listening();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    drop(client);
    proxy.interrupt();
    proxy.succeed();
    let mut files: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    files.push(ring);
    for file in files {
        assert!(!text(&file).contains("Steve"), "{file:?}");
        let shown = Program::mitmcraft(&["show", "-vv", text(&file)]).succeed();
        assert!(shown.contains("login_start"), "{file:?}: {shown}");
        assert!(!shown.contains("Steve"), "{file:?}: {shown}");
    }
    let wire = ["proxy", "127.0.0.1:1", "--redact", "-w", "x.pcapng", "--pcap-view", "wire"];
    assert!(refuses(&wire).contains("cannot be redacted"));
}

#[test]
fn a_rewritten_packet_is_found_by_its_verdict() {
    let capture = root().join("captures/session-1.8-encrypted.pcapng");
    let condition = "pkt.verdict == \"rewrite\"";
    let shown = Program::mitmcraft(&["show", "-Y", condition, text(&capture)]).succeed();
    let packets: Vec<&str> = shown.lines().filter(|line| line.contains("0x")).collect();
    assert_eq!(packets.len(), 3, "{shown}");
    assert!(packets.iter().all(|line| line.starts_with("~ ") || line.contains(" ~ ")), "{shown}");
}

#[test]
fn a_pcapng_file_of_another_program_is_told_with_the_verb_that_reads_it() {
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let header = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
    let interface = words(&[1, 20, 1, 65535, 20]);
    let packet = words(&[6, 36, 0, 0, 0, 4, 4, 0, 36]);
    let file = scratch_file("foreign.pcapng");
    fs::write(&file, [header, interface, packet].concat()).unwrap();
    let said = refuses(&["show", text(&file)]);
    assert!(said.contains("not a capture of mitmcraft"), "{said}");
    assert!(said.contains("`mitmcraft decode` reads recordings"), "{said}");
}

#[test]
fn a_session_that_is_not_there_and_a_condition_that_nothing_matches_are_said() {
    let capture = root().join("captures/session-1.8.jsonl");
    let to = scratch_file("none.jsonl");
    for (arguments, expected) in [
        (
            vec!["stats", text(&capture), "--where", "explosion and serverbound"],
            "no packet matches",
        ),
        (vec!["convert", text(&capture), text(&to), "--session", "9"], "there is no session 9"),
    ] {
        let (_, said) = Program::mitmcraft(&arguments).succeed_with_errors();
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_folder_and_a_pattern_stand_for_the_captures_in_them() {
    let folder = scratch_file("captures");
    fs::create_dir_all(folder.join("b/empty")).unwrap();
    let session = root().join("captures/session-1.8.jsonl");
    let names = ["a.jsonl", "b/c.pcapng", "b/d.jsonl.zst"];
    for name in names {
        convert(&[text(&session), text(&folder.join(name))]);
    }
    for other in [".hidden.jsonl", "notes.txt"] {
        fs::copy(&session, folder.join(other)).unwrap();
    }
    let run = |words: &[&str]| Program::mitmcraft(words).succeed();
    let all = names.map(|name| folder.join(name));
    let [a, c, d] = all.each_ref().map(|path| text(path));
    assert_eq!(run(&["show", text(&folder)]), run(&["show", a, c, d]));
    assert_eq!(run(&["stats", "--json", text(&folder)]), run(&["stats", "--json", a, c, d]));
    let pattern = format!("{}/**/*.jsonl*", text(&folder));
    // As of a shell, a pattern finds what is hidden only if it says so.
    assert_eq!(run(&["show", "-Y", "chat", &pattern]).lines().count() % 2, 0);
    let lint =
        |paths: &[&str]| Program::mitmcraft(&[&["lint", "--capture"], paths].concat()).finish();
    assert_eq!(lint(&[text(&folder)]), lint(&[a, c, d]));

    let said = refuses(&["show", text(&folder.join("b/empty"))]);
    assert!(said.contains("no captures in the folder"), "{said}");
    let said = refuses(&["stats", text(&folder.join("*.pcap"))]);
    assert!(said.contains("no file matches"), "{said}");

    // What is wrong with one is said with its name, and the others are read.
    fs::write(folder.join("a.jsonl"), "{\n").unwrap();
    let (status, shown) = Program::mitmcraft(&["show", text(&folder)]).finish();
    assert_eq!(status.code(), Some(2));
    assert_eq!(shown, run(&["show", c, d]));
    let said = refuses(&["show", text(&folder)]);
    assert!(said.contains("a.jsonl`"), "{said}");
}

#[test]
fn decode_records_compressed_what_exceeds_its_budget() {
    let recording = root().join("captures/session-1.20.4-wire.pcapng");
    let keys = root().join("captures/session-1.20.4-wire.keys");
    let [whole, bounded] = ["whole.jsonl", "bounded.jsonl"].map(scratch_file);
    let decode = |capture: &Path, options: &[&str]| {
        let mut command = mitmcraft();
        command.args([
            "decode",
            text(&recording),
            "--keys",
            text(&keys),
            "-q",
            "-w",
            text(capture),
        ]);
        let output = command.args(options).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!decode(&whole, &[]).contains("--max-inflate"));
    let said = decode(&bounded, &["--max-inflate", "2K"]);
    assert_eq!(said.matches("inflate to more than `--max-inflate` allows").count(), 2, "{said}");
    let [whole, bounded] = [whole, bounded].map(|path| read_lines(&path));
    assert_eq!(whole.len(), bounded.len());
    let compressed: Vec<_> = bounded.iter().filter(|line| line["raw"] == "frame").collect();
    assert!(!compressed.is_empty() && compressed.len() < whole.len());
    for line in compressed {
        let same = whole.iter().find(|it| {
            (&it["session"], &it["seq"]) == (&line["session"], &line["seq"])
                && it["event"].is_null()
        });
        let same = same.unwrap();
        assert_eq!((&line["packet"], &line["wire"]), (&same["packet"], &same["wire"]));
        assert!(line["comment"].as_str().unwrap().contains("recorded compressed"), "{line}");
    }
}

#[test]
fn pings_push_out_no_players_file() {
    let folder = scratch_file("kept");
    fs::create_dir_all(&folder).unwrap();
    let upstream = Upstream::answering();
    let pattern = folder.join("{session}-{player}.jsonl");
    let run = |sessions: &[i64]| {
        let options = ["-w", text(&pattern), "--keep", "2"];
        let mut proxy = Program::proxy(&upstream.address, &options);
        let port = proxy.listening();
        for next in sessions {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(&hello(*next)).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            // The proxy closes when the server has closed.
            let _ = client.read_to_end(&mut Vec::new());
        }
        proxy.interrupt();
        proxy.succeed();
        let names = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name());
        let names =
            names.map(|name| name.into_string().unwrap()).filter(|it| it.ends_with("jsonl"));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let pings = [1; 4];
    let first = [&[2], &pings[..]].concat();
    assert_eq!(run(&first), ["1-Steve.jsonl", "4-unknown.jsonl", "5-unknown.jsonl"]);
    // Those of the earlier run count.
    let names = run(&[2, 1, 2, 1, 1]);
    assert_eq!(names, ["1-Steve-2.jsonl", "3-Steve.jsonl", "4-unknown.jsonl", "5-unknown.jsonl"]);
}

#[test]
fn diff_pairs_games_with_games_and_says_which() {
    let upstream = Upstream::answering();
    let ping = scratch_file("ping.jsonl");
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&ping)]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(1)).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let _ = client.read_to_end(&mut Vec::new());
    proxy.interrupt();
    proxy.succeed();
    let game = root().join("captures/session-1.8.jsonl");
    let both = scratch_file("both.jsonl");
    convert(&[text(&ping), text(&game), text(&both)]);
    let diff = Program::mitmcraft(&["diff", text(&game), text(&both)]);
    let (status, output, said) = diff.finish_with_errors();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("sessions compared: 1 with 2; `--session` chooses others"), "{said}");
    assert!(said.contains(" 0 changed, 0 removed, "), "{said}");
    assert!(output.lines().skip(2).all(|line| line.starts_with("+ ")), "{output}");
    // A session that is missing is told before a line is printed.
    let missing = ["diff", "--session", "1,9", text(&game), text(&both)];
    let (status, output, said) = Program::mitmcraft(&missing).finish_with_errors();
    assert_eq!((status.code(), &*output), (Some(2), ""));
    assert!(said.contains("has no session 9"), "{said}");
}
