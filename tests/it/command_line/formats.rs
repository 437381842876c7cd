//! Captures as users write and convert them: compressed, through pipes, cut off, killed.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{
    Program, convert, mitmcraft, read_lines, refuses, root, scratch_file, show, text, wait_for,
};

#[test]
fn a_capture_goes_through_every_format_and_comes_back_the_same() {
    for kept in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let mut from = root().join("captures").join(kept);
        let whole = show(&from);
        for name in ["a.pcapng.zst", "b.jsonl.gz", "c.pcapng", "d.pcapng.gz", "e.jsonl.zst"] {
            let to = scratch_file(name);
            convert(&[text(&from), text(&to)]);
            assert_eq!(show(&to), whole, "{name}");
            from = to;
        }
        let first = scratch_file("first.jsonl");
        let last = scratch_file("last.jsonl");
        convert(&[text(&root().join("captures").join(kept)), text(&first)]);
        convert(&[text(&from), text(&last)]);
        assert!(fs::read(first).unwrap() == fs::read(last).unwrap(), "{kept}");
    }
}

#[test]
fn a_part_of_a_capture_is_kept() {
    let from = root().join("captures/session-1.8.jsonl");
    let to = scratch_file("chat.jsonl");
    convert(&["--where", "serverbound and chat", text(&from), text(&to)]);
    let lines = read_lines(&to);
    let packets: Vec<_> = lines.iter().filter(|line| line["event"].is_null()).collect();
    assert_eq!(packets.len(), 3);
    assert!(packets.iter().all(|line| line["packet"] == "chat" && line["dir"] == "serverbound"));
    assert!(lines.len() > packets.len(), "the events of the session are there");
}

#[test]
fn pipes_carry_captures_of_every_format() {
    let from = root().join("captures/session-1.8-encrypted.pcapng");
    let expected = show(&from);
    for format in ["jsonl", "pcapng", "jsonl.zst", "pcapng.gz"] {
        let packed = piped(&["convert", "-", "-", "--format", format], &fs::read(&from).unwrap());
        let shown = piped(&["show", "-"], &packed);
        assert_eq!(String::from_utf8(shown).unwrap(), expected, "{format}");
    }
}

#[test]
fn a_damaged_capture_is_converted_up_to_the_damage() {
    let whole = fs::read(root().join("captures/session-1.8.jsonl")).unwrap();
    let cut = scratch_file("cut.jsonl");
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let to = scratch_file("cut.pcapng");
    let said = refuses(&["convert", text(&cut), text(&to)]);
    assert!(said.contains("cut.jsonl`: line ") && said.contains("the file ends within"), "{said}");
    let back = scratch_file("back.jsonl");
    convert(&[text(&to), text(&back)]);
    let lines = whole[..whole.len() / 2].iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(read_lines(&back).len(), lines);

    let torn = scratch_file("torn.jsonl");
    fs::write(&torn, [b"{\"v\":2}\n", &whole[..]].concat()).unwrap();
    let said = refuses(&["convert", "--overwrite", text(&torn), text(&to)]);
    assert!(
        said.contains("line 1: missing key `time`") && said.contains("1 entry could not"),
        "{said}"
    );
    convert(&["--overwrite", text(&to), text(&back)]);
    assert_eq!(show(&back), show(&root().join("captures/session-1.8.jsonl")));
}

#[test]
fn what_cannot_be_converted_says_so_and_leaves_no_file() {
    let from = scratch_file("in.jsonl");
    fs::copy(root().join("captures/session-1.8.jsonl"), &from).unwrap();
    let to = scratch_file("out.pcapng");
    let said = refuses(&["convert", text(&from), text(&from)]);
    assert!(said.contains("is the capture that is read"), "{said}");
    let link = scratch_file("link.jsonl");
    fs::hard_link(&from, &link).unwrap();
    assert!(refuses(&["convert", text(&from), text(&link)]).contains("is the capture"));
    assert!(fs::metadata(&from).unwrap().len() > 0);
    let said = refuses(&["convert", "/no/such/file.jsonl", text(&to)]);
    assert!(said.contains("cannot read `/no/such/file.jsonl`: No such file"), "{said}");
    let said = refuses(&["convert", text(&root().join("README.md")), text(&to)]);
    assert!(said.contains("README.md`: not a capture: neither JSON lines nor pcapng"), "{said}");
    assert!(!to.exists());
    let said = refuses(&["convert", text(&from), "out.doc"]);
    assert!(said.contains("`.pcapng`") && said.contains("`.zst`"), "{said}");
    let said = refuses(&["convert", text(&from), "/dev/full", "--format", "jsonl"]);
    assert!(said.contains("a capture's name ends in"), "{said}");
    assert!(refuses(&["convert", text(&from), "-", "--format", "xml"]).contains("expected jsonl"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let from = root().join("captures/session-1.8-encrypted.pcapng");
    let mut command = mitmcraft();
    command.args(["convert", text(&from), "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 5];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn what_was_captured_before_a_kill_is_whole_in_every_format() {
    let names = ["k.jsonl", "k.jsonl.gz", "k.jsonl.zst", "k.pcapng", "k.pcapng.gz", "k.pcapng.zst"];
    let files = names.map(scratch_file);
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    let options: Vec<&str> = files.iter().flat_map(|file| ["-w", text(file)]).collect();
    let mut proxy = Program::proxy(&address, &options);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    let mut expected = 0;
    // The second time what was flushed before is followed by more.
    for bytes in [&b"hello, this is no game\r\n"[..], b"nor is this"] {
        client.write_all(bytes).unwrap();
        expected += bytes.len();
        for file in &files {
            let found = wait_for(|| {
                let shown = Program::mitmcraft(&["show", "-vv", text(file)]).finish();
                shown.0.success() && recorded(file) == expected
            });
            assert!(found, "{}: {} of {expected} bytes", file.display(), recorded(file));
        }
    }
    drop(proxy);
    for file in &files {
        assert_eq!(recorded(file), expected, "{}", file.display());
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_does_not_end_the_run_and_shows_in_its_exit_code() {
    let full = scratch_file("full.jsonl");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let good = scratch_file("good-{session}-{player}.jsonl.gz");
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    let options = ["-w", text(&full), "-w", text(&good)];
    let mut proxy = Program::proxy(&address, &options);
    let port = proxy.listening();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(b"one").unwrap();
    let said = proxy.wait_for_error("cannot write");
    assert!(said.contains("full.jsonl`: No space left") && said.contains("left out"), "{said}");
    // What is forwarded after the error is recorded where it can be.
    let (mut server, _) = upstream.accept().unwrap();
    client.write_all(b"two").unwrap();
    let mut got = [0; 6];
    server.read_exact(&mut got).unwrap();
    drop(client);
    server.read_to_end(&mut Vec::new()).unwrap();
    drop(server);
    proxy.interrupt();
    assert_eq!(proxy.finish().0.code(), Some(1));
    let name = good.to_str().unwrap().replace("{session}-{player}", "1-unknown");
    assert_eq!(recorded(Path::new(&name)), 6);
}

/// 200 MB of packets go through programs that may not have 150 MB of addresses, code and all.
#[test]
fn a_capture_larger_than_the_memory_is_shown_and_converted() {
    let from = scratch_file("large.jsonl.zst");
    let file = File::create(&from).unwrap();
    let mut packed = zstd::stream::write::Encoder::new(file, 1).unwrap();
    let bytes = "A".repeat(133_336);
    for seq in 1..=2000 {
        writeln!(
            packed,
            r#"{{"v":2,"session":1,"seq":{seq},"time":"2026-11-20T12:31:07.{seq:09}Z","dir":"clientbound","state":"play","protocol":47,"wire":100002,"raw":"relay","raw_bytes":"{bytes}"}}"#
        )
        .unwrap();
    }
    packed.finish().unwrap();
    let to = scratch_file("large.pcapng.zst");
    let limited = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        // Of addresses, of which the thread that decodes reserves 64 MiB. The packets have 200 MB.
        command.args(["-c", "ulimit -v 180000 && exec \"$0\" \"$@\""]);
        command.arg(env!("CARGO_BIN_EXE_mitmcraft")).args(arguments);
        Program::start("limited", command).succeed()
    };
    limited(&["convert", text(&from), text(&to)]);
    assert_eq!(limited(&["show", text(&to)]).lines().count(), 2000);
}

#[test]
fn options_that_do_nothing_are_refused() {
    let run = ["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0"];
    let said = |more: &[&str]| refuses(&[&run, more].concat());
    assert!(said(&["-w", "x.jsonl", "--keep", "3"]).contains("`--keep` needs `--rotate`"));
    assert!(said(&["-w", "-", "--rotate", "1M"]).contains("stdout is one file"));
    assert!(said(&["-w", "-", "-w", "-"]).contains("stdout takes one capture"));
    assert!(said(&["-w", "{name}.jsonl"]).contains("expected `{session}`, `{player}` or `{time}`"));
}

/// Bytes of client and server in a capture; 0 while there is none.
fn recorded(file: &Path) -> usize {
    let to = scratch_file("recorded.jsonl");
    let (status, _) = Program::mitmcraft(&["convert", text(file), text(&to)]).finish();
    if !status.success() {
        return 0;
    }
    let sizes = read_lines(&to).into_iter().filter_map(|line| line["size"].as_u64());
    usize::try_from(sizes.sum::<u64>()).unwrap()
}

/// Runs mitmcraft with these bytes on stdin; stdout.
fn piped(arguments: &[&str], stdin: &[u8]) -> Vec<u8> {
    let mut command = mitmcraft();
    command.args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    let writing = std::thread::spawn(move || pipe.write_all(&stdin).unwrap());
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

/// The parser of Parquet panics on some damage, which is an error like any other.
#[test]
fn damage_in_a_parquet_file_prints_an_error_and_no_line_of_rust() {
    let whole = scratch_file("whole.parquet");
    let capture = root().join("captures/ping-1.4.jsonl");
    convert(&[text(&capture), text(&whole)]);
    let bytes = fs::read(&whole).unwrap();
    let folder = scratch_file("damaged");
    fs::create_dir(&folder).unwrap();
    for place in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x80;
        fs::write(folder.join(format!("{place:06}.parquet")), damaged).unwrap();
    }
    let (status, said) = Program::mitmcraft(&["stats", text(&folder)]).fail();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(status.code(), Some(2));
    // The text of a panic that was caught.
    assert!(said.contains("the file is damaged: Parquet error: invalid data in a column"));
    let of_rust = |line: &&str| line.contains("panicked") || line.contains("RUST_BACKTRACE");
    assert_eq!(said.lines().find(of_rust), None);
}
