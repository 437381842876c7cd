//! The command as users meet it: what it says when something is wrong, and what is left behind.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, read_lines, refuses, root, scratch_file, text, wait_for};

#[test]
fn a_busy_port_is_named_with_a_free_one() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let said = refuses(&["proxy", "127.0.0.1:1", "-l", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    assert!(said.contains("is free: `-l 127.0.0.1:"), "{said}");
}

#[test]
fn an_unknown_host_is_an_error_at_once() {
    let said = refuses(&["proxy", "no-such-host.invalid:25565", "-l", "127.0.0.1:0"]);
    assert!(said.contains("unknown host `no-such-host.invalid`"), "{said}");
}

#[test]
fn a_word_that_is_no_server_says_what_is_wanted() {
    let said = refuses(&["proxy", "mc.example.org:port"]);
    assert!(said.contains("want `host`, `host:port` or `[ipv6]:port`"), "{said}");
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_before_anything_is_relayed() {
    let said =
        refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", "/no/such/dir/x.jsonl"]);
    assert!(said.contains("/no/such/dir/x.jsonl"), "{said}");
}

#[test]
fn an_unknown_ending_names_those_that_are_known() {
    let said = refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", "capture.doc"]);
    assert!(
        said.contains(".jsonl") && said.contains(".pcapng") && said.contains(".pcap"),
        "{said}"
    );
}

#[test]
fn a_full_disk_stops_the_run_and_the_other_capture_is_complete() {
    let full = scratch_file("full.jsonl");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let good = scratch_file("good.jsonl");
    let upstream = Upstream::answering();
    let mut proxy = Program::mitmcraft(&[
        "proxy",
        &upstream.address,
        "-l",
        "127.0.0.1:0",
        "-q",
        "-w",
        text(&full),
        "-w",
        text(&good),
    ]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    let said = proxy.wait_for_error("cannot write");
    assert!(said.contains("full.jsonl") && said.contains("free space"), "{said}");
    let (status, _) = proxy.finish();
    assert_eq!(status.code(), Some(2));
    let lines = read_lines(&good);
    assert!(lines.iter().any(|line| line["packet"] == "login_start"));
    assert_eq!(lines.last().unwrap()["event"], "close");
}

#[test]
fn a_player_whose_server_is_down_is_told_so_and_it_is_recorded() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let capture = scratch_file("down.jsonl");
    let mut proxy =
        Program::mitmcraft(&["proxy", &free, "-l", "127.0.0.1:0", "-q", "-w", text(&capture)]);
    let port = proxy.listening();
    for (next, expected) in [(2, "cannot reach"), (1, "cannot reach")] {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(next)).unwrap();
        let answer = first_body(&mut client);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.contains(expected) && answer.contains("connection refused"), "{answer}");
    }
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let closes: Vec<_> = lines.iter().filter(|line| line["event"] == "close").collect();
    assert_eq!(closes.len(), 2);
    let reason = closes[0]["reason"].as_str().unwrap();
    assert!(reason.contains("cannot reach"), "{reason}");
}

#[test]
fn what_was_captured_before_a_kill_is_there() {
    let capture = scratch_file("killed.jsonl");
    let upstream = Upstream::answering();
    let mut proxy = Program::mitmcraft(&[
        "proxy",
        &upstream.address,
        "-l",
        "127.0.0.1:0",
        "-q",
        "-w",
        text(&capture),
    ]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    // Within a second it is in the file: that is the promise, and the test waits for the fact.
    let found = wait_for(|| std::fs::read_to_string(&capture).unwrap().contains("\"success\""));
    assert!(found, "{}", std::fs::read_to_string(&capture).unwrap());
    drop(proxy);
    let names: Vec<String> = read_lines(&capture)
        .iter()
        .filter_map(|line| line["packet"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(names, ["set_protocol", "set_protocol", "login_start", "success"]);
}

#[test]
fn many_sessions_at_once_each_have_their_own_lines() {
    let capture = scratch_file("many.jsonl");
    let upstream = Upstream::answering();
    let mut proxy = Program::mitmcraft(&[
        "proxy",
        &upstream.address,
        "-l",
        "127.0.0.1:0",
        "-q",
        "-w",
        text(&capture),
    ]);
    let port = proxy.listening();
    let clients: Vec<_> = (0..50)
        .map(|_| {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(&hello(2)).unwrap();
            client
        })
        .collect();
    for mut client in clients {
        assert_eq!(first_body(&mut client)[0], 2);
    }
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    for session in 1..=50 {
        let own = lines.iter().filter(|line| line["session"] == session);
        let seqs: Vec<u64> = own.filter_map(|line| line["seq"].as_u64()).collect();
        assert_eq!(seqs, [1, 2, 3, 4], "session {session}");
    }
}

#[test]
fn listens_and_connects_on_ipv6() {
    if let Err(error) = TcpListener::bind("[::1]:0") {
        // A machine without IPv6, as many containers are: the proxy says so as clearly.
        let said = refuses(&["proxy", "127.0.0.1:1", "-l", "[::1]:0"]);
        assert!(said.contains("cannot listen on [::1]:0"), "{error}: {said}");
        return;
    }
    let upstream = Upstream::answering_on("[::1]:0");
    let mut proxy = Program::mitmcraft(&["proxy", &upstream.address, "-l", "[::1]:0", "-q"]);
    let mut client = TcpStream::connect(("::1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    proxy.interrupt();
    proxy.succeed();
}

#[test]
fn a_partial_frame_that_waits_costs_no_time() {
    let upstream = Upstream::answering();
    let mut proxy = Program::mitmcraft(&["proxy", &upstream.address, "-l", "127.0.0.1:0", "-q"]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    client.write_all(&[0x20, 0x01, 0x05]).unwrap();
    // Keys for encryption are made in the background from the start on.
    let mut before = cpu_ticks(&proxy);
    let settled = wait_for(|| {
        std::thread::sleep(Duration::from_millis(200));
        before == std::mem::replace(&mut before, cpu_ticks(&proxy))
    });
    assert!(settled, "the proxy does not come to rest");
    std::thread::sleep(Duration::from_secs(1));
    let after = cpu_ticks(&proxy);
    assert!(after - before <= 5, "{} ticks of 10 ms in a second of waiting", after - before);
    proxy.interrupt();
    proxy.succeed();
}

#[test]
fn check_tells_every_fault_of_a_filter_file_with_its_place() {
    let file = scratch_file("rules.toml");
    std::fs::write(&file, "[[rule]]\nwhen = 'chat and message > 3'\ndorp = true\n").unwrap();
    let (status, said) = Program::mitmcraft(&["check", "--for", "1.8.9", text(&file)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("rules.toml:2:") && said.contains("rules.toml:3:1"), "{said}");
    assert!(said.contains("did you mean `drop`?"), "{said}");
    std::fs::write(&file, "[[rule]]\nwhen = 'chat'\ndrop = true\n").unwrap();
    Program::mitmcraft(&["check", text(&file)]).succeed();
}

#[test]
fn protocols_lists_versions_packets_and_fields() {
    let versions = Program::mitmcraft(&["protocols"]).succeed();
    assert!(versions.lines().any(|line| line.trim().starts_with("47  ")), "{versions}");
    let fields =
        Program::mitmcraft(&["protocols", "1.8.9", "play", "clientbound", "map_chunk"]).succeed();
    assert!(fields.contains("0x21  map_chunk") && fields.contains("bitMap: integer"), "{fields}");
    let said = refuses(&["protocols", "1.99"]);
    assert!(said.contains("unknown version `1.99`"), "{said}");
}

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
fn stats_counts_captures_as_a_table_as_json_and_as_a_picture() {
    let capture = root().join("captures/session-1.8.jsonl");
    let picture = scratch_file("timeline.svg");
    let arguments = ["stats", "-Y", "play and chat", "--plot", text(&picture), text(&capture)];
    let table = Program::mitmcraft(&arguments).succeed();
    assert!(table.starts_with("1 session, 6 packets in "), "{table}");
    assert!(std::fs::read_to_string(&picture).unwrap().contains("<title>chat</title>"));
    let json = Program::mitmcraft(&["stats", "--json", "--session", "2", text(&capture)]).succeed();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["total"]["packets"], 0);
    let cut = scratch_file("cut.jsonl");
    let whole = std::fs::read(&capture).unwrap();
    std::fs::write(&cut, &whole[..whole.len() - 9]).unwrap();
    let (status, said) = Program::mitmcraft(&["stats", text(&cut)]).fail();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("the file ends within this entry"), "{said}");
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
        (std::fs::read(&file).unwrap(), file)
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
    std::fs::create_dir(&folder).unwrap();
    Program::mitmcraft(&["demo", "--all", "-q", "--folder", text(&folder)]).succeed();
    let names = ["Steve", "Alex", "Steffi", "Herobrine", "Welcome", "127.0.0.1", "\u{c9}p\u{e9}e"];
    for file in ["demo.jsonl", "demo.pcapng"] {
        let (from, to) = (folder.join(file), folder.join(format!("redacted-{file}")));
        Program::mitmcraft(&["convert", "--redact", text(&from), text(&to)]).succeed();
        let (before, after) = (std::fs::read(&from).unwrap(), std::fs::read(&to).unwrap());
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
    let bytes = std::fs::read(&replay).unwrap();
    assert!(bytes.starts_with(b"PK\x03\x04"));
    let said = refuses(&["convert", "--session", "2", text(&capture), text(&replay)]);
    assert!(said.contains("no session that reaches the game"), "{said}");
    assert!(!replay.exists(), "half a replay stays behind");
}

/// User and system time of a process, in ticks of 10 ms.
fn cpu_ticks(program: &Program) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", program.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
