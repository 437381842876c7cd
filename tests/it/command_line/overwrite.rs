//! What happens to files that exist: nothing, unless the user asks for it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::game::Upstream;
use crate::support::{Program, convert, fails, refuses, scratch_file, text};

fn sample() -> PathBuf {
    crate::support::root().join("captures/session-1.8.jsonl")
}

fn assert_refused(path: &Path, arguments: &[&str]) {
    fs::write(path, "precious").unwrap();
    let said = refuses(arguments);
    let expected =
        format!("`{}`: it exists and is not empty; `--overwrite` replaces it", text(path));
    assert!(said.contains(&expected), "{arguments:?}: {said}");
    assert_eq!(fs::read_to_string(path).unwrap(), "precious", "{arguments:?}");
}

#[test]
fn every_verb_that_writes_keeps_a_file_with_content() {
    let (file, sample) = (scratch_file("kept.jsonl"), sample());
    let (out, from) = (text(&file), text(&sample));
    let rules = scratch_file("rules.toml");
    fs::write(&rules, "").unwrap();
    for arguments in [
        &["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", out][..],
        &["convert", from, out],
        &["replay", "server", from, "-l", "127.0.0.1:0", "-w", out],
        &["replay", "client", from, "127.0.0.1:1", "-w", out],
        &["replay", "filters", from, "-f", text(&rules), "-w", out],
        &["wireshark", "1.8.9", "-o", out],
    ] {
        assert_refused(&file, arguments);
        let again = [arguments, &["--overwrite"]].concat();
        if ["convert", "wireshark"].contains(&arguments[0]) {
            Program::mitmcraft(&again).succeed();
            assert_ne!(fs::read_to_string(&file).unwrap(), "precious");
        }
    }
    let chart = scratch_file("kept.svg");
    assert_refused(&chart, &["stats", from, "--plot", text(&chart)]);
    let replay = scratch_file("kept.mcpr");
    assert_refused(&replay, &["convert", from, text(&replay)]);
    let folder = scratch_file("man");
    fs::create_dir_all(folder.join("man1")).unwrap();
    assert_refused(&folder.join("man1/mitmcraft.1"), &["man", text(&folder)]);
}

#[cfg(unix)]
#[test]
fn an_empty_file_and_a_device_are_written() {
    let (file, sample) = (scratch_file("empty.jsonl"), sample());
    File::create(&file).unwrap();
    convert(&[text(&sample), text(&file)]);
    assert!(fs::metadata(&file).unwrap().len() > 0);
    let device = scratch_file("null.jsonl");
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    convert(&[text(&sample), text(&device)]);
    convert(&[text(&sample), text(&device)]);
}

#[test]
fn a_capture_being_written_is_nobody_elses() {
    let (file, sample) = (scratch_file("locked.jsonl"), sample());
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&file)]);
    proxy.listening();
    // It may be empty still, and that must not help.
    for more in [&[][..], &["--overwrite"]] {
        let arguments = [&["convert", text(&sample), text(&file)], more].concat();
        let said = fails(&arguments, 2);
        assert!(said.contains("another program is writing it"), "{said}");
    }
    proxy.interrupt();
    proxy.succeed();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 0);
}

#[cfg(unix)]
#[test]
fn captures_can_be_read_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = scratch_file("private.jsonl");
    convert(&[text(&sample()), text(&file)]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_capture_that_is_deleted_during_the_run_is_reported() {
    let file = scratch_file("deleted.jsonl");
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&file)]);
    let port = proxy.listening();
    fs::remove_file(&file).unwrap();
    drop(super::log::log_in(port));
    let said = proxy.wait_for_error("was deleted while it was written");
    assert!(said.contains(text(&file)), "{said}");
    proxy.interrupt();
    assert_eq!(proxy.finish().0.code(), Some(1));
}

#[test]
fn a_pipe_without_a_reader_does_not_delay_the_start() {
    let pipe = scratch_file("unread.pcapng");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&pipe)]);
    let port = proxy.listening();
    drop(super::log::log_in(port));
    proxy.wait_for_error("has taken nothing");
    // The reader gets everything from the start when it comes.
    let reading = std::thread::spawn(move || fs::read(pipe).unwrap());
    proxy.wait_for_error("the log goes on");
    proxy.interrupt();
    proxy.succeed();
    let capture = scratch_file("read.pcapng");
    fs::write(&capture, reading.join().unwrap()).unwrap();
    let shown = crate::support::show(&capture);
    assert!(shown.contains("login_start") && shown.contains("success"), "{shown}");
}
