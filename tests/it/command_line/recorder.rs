//! `proxy --recorder`: the incident files of sessions, as every command reads them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mitmcraft_protocol::schema::{Direction, State, Value};
use serde_json::Value as Json;

use crate::support::game::{body, first_body, hello, logged_in};
use crate::support::{Program, fails, mitmcraft, refuses, scratch_file, text};

/// What a server does once a player is in.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Kick,
    Close,
    Reset,
    /// Sends a packet that does not decode, and goes on.
    Damaged,
}

fn serve(ending: Ending) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            play(socket.unwrap(), ending);
        }
    });
    address
}

fn play(mut socket: TcpStream, ending: Ending) {
    let mut leg = logged_in(&mut socket);
    let success = Value::map([
        ("uuid", Value::from("069a79f4-44e9-4726-a5be-fca90e38aaf5")),
        ("username", Value::from("Steve")),
    ]);
    leg.encoder.send(&body(State::Login, Direction::Clientbound, "success", success));
    match ending {
        Ending::Kick => {
            let words = Value::map([("reason", r#"{"text":"Too much lag, Steve"}"#.into())]);
            leg.encoder.send(&body(State::Play, Direction::Clientbound, "kick_disconnect", words));
        }
        Ending::Damaged => drop(leg.encoder.send(&[0x03, 1])),
        Ending::Close | Ending::Reset => {}
    }
    socket.write_all(leg.encoder.pending()).unwrap();
    match ending {
        Ending::Reset => {
            // Only then is it a reset for the proxy, too.
            let _ = socket.read(&mut [0; 1]);
            socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
        }
        Ending::Damaged => drop(socket.read_to_end(&mut Vec::new())),
        Ending::Kick | Ending::Close => {}
    }
}

/// Runs a proxy with a recorder in a folder of its own, and a client that logs in and stays until it is sent away.
fn record(ending: Ending, options: &[&str]) -> (Vec<PathBuf>, String) {
    let folder = scratch_file(&format!("recorder-{ending:?}-{}", options.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let address = serve(ending);
    let mut command = mitmcraft();
    command.args(["proxy", &address, "-l", "127.0.0.1:0", "-q", "--recorder", "10m"]);
    command.args(options).current_dir(&folder);
    let mut proxy = Program::start("recorder", command);
    let mut player = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    player.write_all(&hello(2)).unwrap();
    first_body(&mut player);
    if matches!(ending, Ending::Reset) {
        // A message in chat.
        player.write_all(&[4, 1, 2, b'h', b'i']).unwrap();
    }
    if matches!(ending, Ending::Damaged) {
        proxy.wait_for_error("(undecodable)");
    } else {
        let _ = player.read_to_end(&mut Vec::new());
        drop(player);
        proxy.wait_for_error(": `mitmcraft explain` reads it");
    }
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    (incidents(&folder), said)
}

fn incidents(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    files.filter(|it| it.extension().is_some_and(|end| end == "zip")).collect()
}

#[test]
fn the_end_of_a_session_is_written_and_explained() {
    for (ending, trigger, kind) in [
        (Ending::Kick, "kick", "disconnected"),
        (Ending::Close, "disconnect", "server-closed"),
        (Ending::Reset, "reset", "server-lost"),
    ] {
        let (files, said) = record(ending, &[]);
        let [file] = &*files else { panic!("{ending:?}: {files:?}\n{said}") };
        assert!(said.contains(&format!("({trigger})")), "{said}");
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("incident-") && name.ends_with("Z-Steve.zip"), "{name}");
        let (status, said) = Program::mitmcraft(&["explain", "--json", text(file)]).finish();
        assert_eq!(status.code(), Some(1), "{ending:?}: {said}");
        let json: Json = serde_json::from_str(&said).unwrap();
        assert_eq!(json["sessions"][0]["ended"], kind, "{ending:?}: {said}");
        // The name is in the name of the file alone.
        assert_ne!(json["sessions"][0]["player"], "Steve", "{said}");
        assert!(!said.contains("lag, Steve"), "{said}");
    }
}

#[test]
fn a_packet_that_does_not_decode_is_written_at_once_and_private_data_if_it_is_asked_for() {
    let options = ["--recorder-unredacted", "--recorder-keep", "2"];
    let (files, said) = record(Ending::Damaged, &options);
    let [file] = &*files else { panic!("{files:?}\n{said}") };
    let shown = Program::mitmcraft(&["show", text(file)]).succeed();
    assert!(shown.contains("Steve") && shown.contains("update_time"), "{shown}");
}

#[test]
fn every_command_opens_an_incident_file_like_its_capture() {
    let (files, _) = record(Ending::Kick, &["--recorder-unredacted"]);
    let file = text(&files[0]);
    let out = |name: &str| scratch_file(name).to_str().unwrap().to_owned();
    let jsonl = out("incident.jsonl");
    Program::mitmcraft(&["convert", file, &jsonl]).succeed();
    for arguments in [&["show"][..], &["stats"], &["lint", "--side", "both"]] {
        let run = |capture: &str| {
            Program::mitmcraft(&[arguments, &[capture]].concat()).finish().1.replace(capture, "")
        };
        assert_eq!(run(file), run(&jsonl), "{arguments:?}");
    }
    let (status, said) = Program::mitmcraft(&["diff", file, &jsonl]).finish();
    assert_eq!(status.code(), Some(0), "{said}");
    let folder = files[0].parent().unwrap();
    let shown = Program::mitmcraft(&["show", text(folder)]).succeed();
    assert!(shown.contains("kick_disconnect"), "{shown}");
    let said = fails(&["show", "--follow", file], 2);
    assert!(said.contains("compressed captures cannot be followed"), "{said}");
    // Cut off, it is read up to there.
    let whole = std::fs::read(file).unwrap();
    let cut = scratch_file("cut.zip");
    std::fs::write(&cut, &whole[..whole.len() - 30]).unwrap();
    let (status, said) = Program::mitmcraft(&["show", text(&cut)]).fail();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("cut.zip`: the zip is cut off"), "{said}");
}

/// Other programs read what is written, if they are installed.
#[test]
fn python_and_unzip_read_incident_files() {
    let (files, _) = record(Ending::Close, &["--recorder-unredacted", "--recorder-keep", "1"]);
    let file = text(&files[0]);
    let code = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; \
                print(' '.join(z.namelist()))";
    let mut ran = 0;
    if let Ok(listed) = std::process::Command::new("python3").args(["-c", code, file]).output() {
        let listed = String::from_utf8(listed.stdout).unwrap();
        let names =
            "capture.pcapng report.txt report.json session.json statistics.json timeline.svg";
        assert_eq!(listed.trim(), names);
        ran += 1;
    }
    if let Ok(tested) = std::process::Command::new("unzip").args(["-t", file]).output() {
        assert!(tested.status.success(), "{tested:?}");
        ran += 1;
    }
    assert!(ran > 0 || cfg!(windows), "neither is installed");
}

#[test]
fn options_of_the_recorder_need_it() {
    for option in [["--recorder-when", "chat"], ["--recorder-keep", "3"]] {
        let said = refuses(&[&["proxy", "127.0.0.1:1"][..], &option].concat());
        assert!(said.contains("has no effect without `--recorder`"), "{said}");
    }
    let said = refuses(&["proxy", "127.0.0.1:1", "--recorder", "10m", "--recorder-when", "chta"]);
    assert!(said.contains("chta"), "{said}");
}
