//! `proxy --lake`: parts become Parquet files, whatever ends the run.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, refuses, scratch_file, show, text, wait_for};

/// Returns the files in a folder and below whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if text(&path).ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Plays a login through a proxy, which is then ended by `end`.
fn run(lake: &Path, more: &[&str], end: impl FnOnce(Program) -> String) -> String {
    let upstream = Upstream::answering();
    let options = [&["--lake", text(lake), "--lake-host", "eu1"], more].concat();
    let mut proxy = Program::proxy(&upstream.address, &options);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    let raw = lake.join(".raw/eu1");
    // The log writes a batch later.
    let written = || {
        let texts = files(&raw, ".jsonl").into_iter().map(fs::read_to_string);
        texts.flatten().any(|text| text.contains("login_start") && text.ends_with('\n'))
    };
    assert!(wait_for(written));
    end(proxy)
}

fn interrupt(proxy: Program) -> String {
    proxy.interrupt();
    proxy.succeed_with_errors().1
}

#[test]
fn a_run_that_ends_leaves_a_file_of_its_host_and_nothing_else() {
    let lake = scratch_file("lake");
    let said = run(&lake, &[], interrupt);
    assert!(!said.contains("warning"), "{said}");
    let [part] = &files(&lake, "")[..] else { panic!("{:?}", files(&lake, "")) };
    let place = text(part.strip_prefix(&lake).unwrap());
    assert!(place.starts_with("date=20") && place.contains("/host=eu1/part-"), "{place}");
    let shown = show(part);
    assert!(shown.contains("login_start") && shown.contains(" closed after "), "{shown}");
    assert_eq!(Program::mitmcraft(&["show", text(&lake)]).succeed(), shown);
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_has_recorded_is_added_by_the_next_one() {
    let lake = scratch_file("killed-lake");
    run(&lake, &[], |proxy| {
        proxy.signal("KILL");
        proxy.finish().1
    });
    assert!(files(&lake, ".parquet").is_empty());
    assert_eq!(files(&lake, ".jsonl").len(), 1);
    let said = run(&lake, &[], interrupt);
    assert!(said.contains("added 1 part that an earlier run had left to the lake"), "{said}");
    let parts = files(&lake, ".parquet");
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|part| show(part).contains("login_start")));
    assert!(files(&lake, ".jsonl").is_empty());
}

#[test]
fn a_lake_takes_what_is_to_be_recorded_and_is_redacted() {
    let lake = scratch_file("redacted-lake");
    run(&lake, &["--redact", "--write-where", "login_start"], interrupt);
    let [part] = &files(&lake, ".parquet")[..] else { panic!("one part") };
    let shown = show(part);
    assert_eq!(shown.matches("0x").count(), 1, "{shown}");
    assert!(shown.contains("login_start") && !shown.contains("Steve"), "{shown}");
}

#[test]
fn a_part_that_cannot_be_added_is_kept_and_said() {
    let lake = scratch_file("blocked-lake");
    fs::create_dir_all(&lake).unwrap();
    // Whatever the date is, the folder of the host cannot be created.
    let day = std::time::Duration::from_secs(24 * 3600);
    let now = std::time::SystemTime::now();
    let dates: Vec<PathBuf> = [now - day, now, now + day]
        .into_iter()
        .map(|it| {
            let since = it.duration_since(std::time::UNIX_EPOCH).unwrap();
            let moment = mitmcraft_protocol::packet::Timestamp(0).plus(since).to_string();
            lake.join(format!("date={}", &moment[..10]))
        })
        .collect();
    dates.iter().for_each(|date| fs::write(date, "").unwrap());
    let said = run(&lake, &[], interrupt);
    assert!(said.contains("cannot add `") && said.contains("it is kept and tried again"), "{said}");
    assert_eq!(files(&lake.join(".raw"), ".jsonl").len(), 1);
    dates.iter().for_each(|date| fs::remove_file(date).unwrap());
    run(&lake, &[], interrupt);
    assert_eq!(files(&lake, ".parquet").len(), 2);
}

#[test]
fn a_lake_that_is_a_file_is_an_error_at_once() {
    let file = scratch_file("no-lake");
    fs::write(&file, "mine").unwrap();
    let said = refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "--lake", text(&file)]);
    assert!(said.contains("cannot write to `"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let said = refuses(&["proxy", "127.0.0.1:1", "--lake-host", "x"]);
    assert!(said.contains("--lake <DIR>"), "{said}");
}

#[test]
fn the_oldest_parts_of_a_lake_are_deleted() {
    let lake = scratch_file("kept-lake");
    let parts = || files(&lake, ".parquet");
    run(&lake, &["--keep", "1"], interrupt);
    let first = parts();
    run(&lake, &["--keep", "1"], interrupt);
    assert_eq!((first.len(), parts().len()), (1, 1));
    assert_ne!(first, parts());
}
