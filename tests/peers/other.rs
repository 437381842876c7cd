//! The program for another system, next to the one for this system. `tests/other/run` builds it, and names in
//! `PROGRAM_UNDER_TEST` a script that runs it.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;

use crate::screen::{on_terminal, until};
use crate::support::game::{Upstream, first_body, hello};
use crate::support::{PATIENCE, Program, read_lines, refuses, root, scratch_file, text, wait_for};

/// Returns `tests/other/helper.c`, built for Windows beside the program.
pub(crate) fn helper() -> PathBuf {
    root().join("target/cross/x86_64-pc-windows-gnu/debug/helper.exe")
}

/// Starts the program for this system.
fn here(arguments: &[&str]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mitmcraft"));
    command.args(arguments).env("NO_COLOR", "1").current_dir(root());
    Program::start("mitmcraft here", command)
}

/// Starts the program for the other system.
fn there(arguments: &[&str]) -> Program {
    let mut command = crate::support::mitmcraft();
    command.args(arguments).current_dir(root());
    Program::start("mitmcraft there", command)
}

/// Returns a new folder whose name has a space and an umlaut.
pub(crate) fn folder() -> PathBuf {
    let folder = scratch_file("ü b");
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
#[ignore = "needs a program for another system: `tests/other/run`"]
fn other_systems_record_the_same() {
    let folder = folder();
    let [there_jsonl, there_pcapng, here_jsonl, here_pcapng] =
        ["there.jsonl", "there.pcapng", "here.jsonl", "here.pcapng"].map(|it| folder.join(it));
    let mut server = Program::node("server.js", &["--port", "0", "--threshold", "64", "--odd"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    // Both record what passes between them.
    let options = ["-l", "127.0.0.1:0", "-q", "--keep-host"];
    let captures = ["-w", text(&here_jsonl), "-w", text(&here_pcapng)];
    let mut second = here(&[&["proxy", &upstream], &options[..], &captures].concat());
    let between = format!("127.0.0.1:{}", second.listening());
    let captures = ["-w", text(&there_jsonl), "-w", text(&there_pcapng)];
    let mut first = there(&[&["proxy", &between], &options[..], &captures].concat());
    let port = first.listening().to_string();
    let client = Program::node("client.js", &["--port", &port, "--odd"]).succeed();
    assert!(client.contains("see you"), "{client}");
    server.succeed();
    for proxy in [first, second] {
        proxy.interrupt();
        proxy.succeed();
    }
    assert!(read_lines(&there_jsonl).len() > 100);
    for (one, other) in
        [(&there_jsonl, &here_jsonl), (&there_pcapng, &here_pcapng), (&there_jsonl, &there_pcapng)]
    {
        here(&["diff", "--bytes", text(one), text(other)]).succeed();
    }
}

#[test]
#[ignore = "needs a program for another system: `tests/other/run`"]
fn other_systems_announce_the_proxy_to_games() {
    let game = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 4445)).unwrap();
    game.set_read_timeout(Some(PATIENCE)).unwrap();
    game.join_multicast_v4(&Ipv4Addr::new(224, 0, 2, 60), &Ipv4Addr::LOCALHOST).unwrap();
    let options = ["-l", "127.0.0.1:0", "-q", "--lan"];
    let mut proxy = there(&[&["proxy", "127.0.0.1:9"], &options[..]].concat());
    let expected = format!("[MOTD]mitmcraft[/MOTD][AD]{}[/AD]", proxy.listening());
    // Two rounds, each of which comes to the group, and to the game alone.
    for _ in 0..4 {
        let mut heard = [0; 100];
        let (length, from) = game.recv_from(&mut heard).unwrap();
        assert_eq!(String::from_utf8_lossy(&heard[..length]), expected);
        assert_eq!(from.ip(), Ipv4Addr::LOCALHOST);
    }
    proxy.interrupt();
    proxy.succeed();
}

#[test]
#[ignore = "needs a program for another system: `tests/other/run`"]
fn other_systems_print_and_write_the_same() {
    let folder = folder();
    let rules = folder.join("rules with CRLF.toml");
    let text_of = fs::read_to_string(root().join("examples/rules/mute-chat.toml")).unwrap();
    fs::write(&rules, text_of.replace('\n', "\r\n")).unwrap();
    let faulty = folder.join("faulty.toml");
    fs::write(&faulty, "[[rule]]\r\nname = 'ü'\r\nwhen = 'chat and mesage'\r\ndrop = true\r\n")
        .unwrap();
    let old = "captures/session-1.8.jsonl";
    let session = "captures/session-1.20.4-wire.pcapng";
    let keys = "captures/session-1.20.4-wire.keys";
    for words in [
        &["--version"][..],
        &["check", text(&rules)],
        &["check", text(&faulty)],
        &["show", "-v", old],
        &["show", "--fields", "pkt.seq,pkt.time,x,y,z", "--csv", "captures/session-26.3.jsonl"],
        &["stats", "--json", old],
        &["stats", "captures/*.jsonl"],
        &["diff", "--legs", old],
        &["diff", old, "captures/session-1.12.2.jsonl"],
        &["protocols", "1.21.4", "map_chunk"],
        &["protocols", "diff", "1.8.9", "1.21.1"],
        &["lint", "--capture", "captures/session-26.3.jsonl"],
        &["replay", "filters", old, "-f", text(&rules)],
        &["decode", session, "--keys", keys],
        &["wireshark", "--versions", "47"],
        &["help", "filters"],
    ] {
        let (is, stdout) = there(words).finish();
        let (should_be, expected) = here(words).finish();
        assert_eq!((is.code(), stdout), (should_be.code(), expected), "{words:?}");
    }
    for (words, ending) in [
        (&["convert", old][..], "pcapng"),
        (&["convert", old], "jsonl.zst"),
        (&["convert", "captures/session-26.3.jsonl"], "jsonl"),
        (&["convert", old], "mcpr"),
        (&["convert", old], "parquet"),
        (&["decode", session, "--keys", keys, "-w"], "jsonl"),
        (&["replay", "filters", old, "-f", text(&rules), "-w"], "pcapng"),
    ] {
        let written = ["there", "here"].map(|place| scratch_file(&format!("{place}.{ending}")));
        there(&[words, &[text(&written[0])]].concat()).succeed();
        here(&[words, &[text(&written[1])]].concat()).succeed();
        let [is, should_be] = written.map(|file| without_system(fs::read(file).unwrap()));
        assert!(is == should_be, "{words:?}: {} and {} bytes", is.len(), should_be.len());
    }
}

/// Clears the byte of each entry of a ZIP's directory that names the system on which it was made.
fn without_system(mut file: Vec<u8>) -> Vec<u8> {
    let is_entry = |at: &usize| file[*at..].starts_with(b"PK\x01\x02");
    let entries: Vec<usize> = (0..file.len()).filter(is_entry).collect();
    entries.into_iter().for_each(|at| file[at + 5] = 0);
    file
}

#[test]
#[ignore = "needs a program for another system: `tests/other/run`"]
fn other_systems_run_the_demo() {
    let folder = folder();
    there(&["demo", "--all", "-q", "--folder", text(&folder)]).succeed();
    let [jsonl, pcapng] = ["demo.jsonl", "demo.pcapng"].map(|name| folder.join(name));
    here(&["diff", "--bytes", text(&jsonl), text(&pcapng)]).succeed();
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn windows_refuses_what_it_lacks_by_name() {
    let proxy = |name: &str| refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", name]);
    for (name, said) in [
        ("NUL.jsonl", "Windows reserves this name for a device"),
        ("C:\\con.pcapng", "Windows reserves this name for a device"),
        ("\\\\.\\pipe\\wireshark.pcapng", "named pipes are not supported on Windows"),
        ("notes.txt:session.jsonl", "a file name must not contain `:` on Windows"),
    ] {
        let error = proxy(name);
        assert!(error.contains(name) && error.contains(said), "{error}");
        let old = text(&root().join("captures/session-1.8.jsonl")).to_owned();
        let error = refuses(&["convert", &old, name]);
        assert!(error.contains(name) && error.contains(said), "{error}");
    }
    for name in ["NUL", "x.txt:keys"] {
        let line = ["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "--key-log", name];
        assert!(
            refuses(&line).contains("on Windows") || refuses(&line).contains("Windows reserves")
        );
    }
    let error = refuses(&["proxy", "--transparent", "-l", "127.0.0.1:0"]);
    assert!(error.contains("`--transparent` needs Linux"), "{error}");
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn windows_lets_others_read_a_capture_that_is_written_but_not_write_it() {
    let capture = folder().join("session.jsonl");
    let mut server = Program::node("server.js", &["--port", "0", "--sessions", "0"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let mut proxy = Program::proxy(&upstream, &["-w", text(&capture)]);
    let port = proxy.listening().to_string();
    Program::node("ping.js", &["--port", &port]).succeed();
    let shown = || Program::mitmcraft(&["show", text(&capture)]).succeed();
    assert!(wait_for(|| shown().contains("server_info")), "{}", shown());
    let old = root().join("captures/session-1.8.jsonl");
    let error = refuses(&["convert", text(&old), text(&capture), "--overwrite"]);
    assert!(error.contains("another program is writing it"), "{error}");
    proxy.interrupt();
    proxy.succeed();
    assert_eq!(read_lines(&capture).last().unwrap()["event"], "close");
    Program::mitmcraft(&["convert", text(&old), text(&capture), "--overwrite"]).succeed();
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn windows_has_settings_in_the_users_folder() {
    let there = |words: &[&str]| {
        let mut command = crate::support::mitmcraft();
        command.args(words);
        Program::start("mitmcraft there", command).succeed()
    };
    let printed = there(&["config", "--write"]);
    let path = printed.trim_end();
    assert!(path.ends_with(r"\AppData\Roaming\mitmcraft\config.toml"), "{path}");
    let edited = "[proxy]\r\nlisten = \"127.0.0.1:25599\"\r\n";
    let file = scratch_file("config.toml");
    fs::write(&file, edited).unwrap();
    let shown = there(&["--config", text(&file), "config", "proxy", "localhost"]);
    assert!(shown.contains("127.0.0.1:25599"), "{shown}");
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn windows_completes_captures_when_the_console_is_closed() {
    let upstream = Upstream::answering();
    let folder = folder();
    let [jsonl, pcapng] = ["closed.jsonl", "closed.pcapng"].map(|name| folder.join(name));
    let mut command = crate::support::mitmcraft();
    command.env("WINDOWS_PROGRAM", helper()).args(["close", "proxy", &upstream.address, "-q"]);
    command.args(["-l", "127.0.0.1:0", "-w", text(&jsonl), "-w", text(&pcapng)]);
    let mut run = Program::start("helper.exe", command);
    // A session is open when the console is closed.
    let mut client = TcpStream::connect(("127.0.0.1", run.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    run.tell("close");
    run.succeed();
    let lines = read_lines(&jsonl);
    let last = lines.last().unwrap();
    assert_eq!((&last["event"], &last["reason"]), (&"close".into(), &"stopped by the user".into()));
    let packets: Vec<_> = lines.iter().filter_map(|line| line["packet"].as_str()).collect();
    // The handshake before and after its address is rewritten; the player is told why the session ends.
    let expected = ["set_protocol", "set_protocol", "login_start", "success", "kick_disconnect"];
    assert_eq!(packets, expected);
    here(&["diff", "--bytes", text(&jsonl), text(&pcapng)]).succeed();
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn windows_deletes_old_files_of_a_rotated_capture_while_another_program_reads_them() {
    let folder = folder();
    let capture = folder.join("rotated.jsonl");
    let first = folder.join("rotated-00001.jsonl");
    let mut server = Program::node("server.js", &["--port", "0", "--sessions", "2"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let mut proxy =
        Program::proxy(&upstream, &["-w", text(&capture), "--rotate", "100K", "--keep", "2"]);
    let port = proxy.listening().to_string();
    Program::node("ping.js", &["--port", &port]).succeed();
    let mut reader = Program::mitmcraft(&["show", "--follow", text(&first)]);
    assert!(reader.line().contains("127.0.0.1"));
    for _ in 0..2 {
        Program::node("client.js", &["--port", &port]).succeed();
    }
    server.succeed();
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    assert!(!said.contains("warning") && !said.contains("error"), "{said}");
    drop(reader);
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name.starts_with("rotated"));
    names.sort_unstable();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(!names.contains(&"rotated-00001.jsonl".to_owned()), "{names:?}");
    assert_eq!(read_lines(&folder.join(&names[1])).last().unwrap()["event"], "close");
    for name in names {
        here(&["show", text(&folder.join(name))]).succeed();
    }
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn windows_opens_the_page_in_the_browser() {
    let (folder, seen) = (scratch_file("bin"), scratch_file("seen.html"));
    fs::create_dir_all(&folder).unwrap();
    // Wine gives what it opens to the system around it.
    let script = "#!/bin/sh\nfile=${1#file://}\ncat \"$file\" > \"$SEEN.new\" && mv \"$SEEN.new\" \"$SEEN\"\n";
    let browser = folder.join("xdg-open");
    fs::write(&browser, script).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&browser).status().unwrap().success());
    let path = format!("{}:{}", text(&folder), std::env::var("PATH").unwrap());
    let mut command = crate::support::mitmcraft();
    command.env("PATH", path).env("SEEN", &seen).current_dir(root());
    command.args(["view", "captures/session-1.8.jsonl", "--web", "127.0.0.1:0", "--open"]);
    let mut view = Program::start("mitmcraft there", command);
    let said = view.wait_for_error("in a browser; Ctrl-C ends");
    let url = said.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    assert!(wait_for(|| seen.exists()), "{}", view.errors());
    let page = fs::read_to_string(&seen).unwrap();
    assert!(page.contains(&format!("url={url}\"")), "{page}");
    view.interrupt();
    view.succeed();
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn windows_tells_the_console_to_interpret_colours() {
    let interprets = |color: &str| {
        let mut command = crate::support::mitmcraft();
        command.env("WINDOWS_PROGRAM", helper()).env_remove("NO_COLOR").env("TERM", "xterm");
        let capture = root().join("captures/session-26.3.jsonl");
        command.args(["mode", "show", "--color", color, text(&capture)]);
        let mut terminal = on_terminal(&command);
        let code = until(&mut terminal, "ended with").replace("ended with ", "");
        code.parse::<u32>().unwrap() & 4 != 0
    };
    assert_eq!(["auto", "always", "never"].map(interprets), [true, true, false]);
}
