use std::fs;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use mitmcraft_engine::capture::{
    CreateError, CreateOptions, Entry, ReadError, create_sink, open_capture, read_capture,
    read_capture_within,
};
use mitmcraft_protocol::schema::Catalog;

use super::{to_jsonl, to_pcapng};
use crate::support::samples::*;

fn entries() -> Vec<Entry> {
    everything(1, "127.0.0.1:51234", "192.0.2.7:25565")
}

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capture");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

#[test]
fn the_ending_chooses_the_format_to_write_and_the_content_the_format_to_read() {
    for (name, first) in [
        ("a.jsonl", b'{'),
        ("b.pcapng", 0x0a),
        ("C.PCAPNG", 0x0a),
        ("d.jsonl.gz", 0x1f),
        ("e.pcapng.GZ", 0x1f),
        ("f.jsonl.zst", 0x28),
        ("g.pcapng.zst", 0x28),
    ] {
        let path = path(name);
        let mut sink = create_sink(&path, &CreateOptions::default()).unwrap();
        for entry in entries() {
            sink.write(&entry).unwrap();
        }
        sink.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap()[0], first);
        let renamed = path.with_extension("other");
        fs::rename(&path, &renamed).unwrap();
        let read: Vec<Entry> =
            open_capture(&renamed, Catalog::embedded()).unwrap().map(Result::unwrap).collect();
        assert_eq!(to_jsonl(&read), to_jsonl(&entries()));
    }
}

#[test]
fn an_unknown_ending_is_an_error_that_lists_the_known_ones() {
    for name in ["capture", "capture.txt", "capture.gz", "capture.jsonl.xz"] {
        let Err(error) = create_sink(name.as_ref(), &CreateOptions::default()) else { panic!() };
        assert_eq!(
            error.to_string(),
            format!(
                "`{name}`: a capture's name ends in `.jsonl`, `.pcapng` or `.pcap`, and `.gz` or \
                 `.zst` may follow to compress it"
            )
        );
    }
    let nowhere = path("no/such/folder.jsonl");
    match create_sink(&nowhere, &CreateOptions::default()) {
        Err(error @ CreateError::Io { .. }) => {
            assert!(error.to_string().contains("folder.jsonl`: No such file"), "{error}");
        }
        _ => panic!(),
    }
}

#[test]
fn a_file_that_is_not_a_capture_is_an_error_that_names_its_type() {
    let outcome = |bytes: &'static [u8]| match read_capture(bytes, Catalog::embedded()) {
        Ok(entries) => format!("{} entries", entries.count()),
        Err(error) => error.to_string(),
    };
    assert_eq!(outcome(b""), "0 entries");
    assert_eq!(outcome(b"\n"), "0 entries");
    assert_eq!(outcome(b"hello world"), "not a capture: neither JSON lines nor pcapng");
    assert!(outcome(&[0x4d, 0x3c, 0xb2, 0xa1, 2]).starts_with("this is a pcap recording"));
    assert!(outcome(&[0xd4, 0xc3, 0xb2, 0xa1, 2]).starts_with("this is a pcap recording"));
    assert!(outcome(&[0x1f, 0x8b, 8, 0]).contains("the file ends within"));
    assert!(outcome(&[0x1f, 0x8b, 7, 7, 7, 7, 7, 7, 7, 7, 7]).contains("cannot decompress"));
    match open_capture(&path("missing.jsonl"), Catalog::embedded()) {
        Err(ReadError::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        _ => panic!(),
    }
}

#[test]
fn a_pipe_is_read_one_byte_at_a_time() {
    struct Slow(io::Cursor<Vec<u8>>);
    impl Read for Slow {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let count = bytes.len().min(1);
            self.0.read(&mut bytes[..count])
        }
    }
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.open();
    stage.body(Clientbound, Play, &[0x00, 5]);
    let entries = stage.entries;
    for file in [to_jsonl(&entries).into_bytes(), to_pcapng(&entries)] {
        let reader = BufReader::with_capacity(1, Slow(io::Cursor::new(file)));
        let read = read_capture(reader, Catalog::embedded()).unwrap();
        let read: Vec<Entry> = read.map(Result::unwrap).collect();
        assert_eq!(to_jsonl(&read), to_jsonl(&entries));
    }
}

#[test]
fn an_entry_that_needs_too_much_memory_is_an_error_and_the_next_one_is_read() {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.open();
    stage.body(Clientbound, Play, &[0x00, 5]);
    let text = to_jsonl(&stage.entries);
    let (open, packet) = text.trim_end().split_once('\n').unwrap();
    let members: String = (0..50_000).map(|number| format!("\"m{number}\":0,")).collect();
    let without = packet.split_once(",\"body\"").unwrap().0;
    let ones = "1,".repeat(40_000);
    for (long, message) in [
        (format!("{{\"v\":2,\"x\":\"{}\"}}", "x".repeat(2_000_000)), "2000015 bytes long, and "),
        (format!("{{{members}\"v\":2}}"), "more than "),
        (without.replace("\"keepAliveId\":5", &format!("\"x\":[{ones}1]")) + "}", "more than "),
    ] {
        let file = format!("{open}\n{long}\n{packet}\n");
        let reader = io::Cursor::new(file.into_bytes());
        let read = read_capture_within(reader, Catalog::embedded(), 8_000_000).unwrap();
        let read: Vec<_> = read.collect();
        let shown: Vec<String> = read
            .iter()
            .map(|read| read.as_ref().map_or_else(|error| error.to_string(), |_| String::new()))
            .collect();
        assert!(shown[1].contains(message), "{shown:?}");
        assert_eq!((read.len(), shown[0].as_str(), shown[2].as_str()), (3, "", ""), "{shown:?}");
    }
}

/// Returns the entries that a truncated or changed file still gives, and the error.
fn read(bytes: Vec<u8>) -> (Vec<Entry>, Option<ReadError>) {
    let mut entries = Vec::new();
    match read_capture(io::Cursor::new(bytes), Catalog::embedded()) {
        Err(error) => (entries, Some(error)),
        Ok(read) => {
            for entry in read {
                match entry {
                    Ok(entry) => entries.push(entry),
                    Err(error) => return (entries, Some(error)),
                }
            }
            (entries, None)
        }
    }
}

/// A session of packets that hardly compress.
fn noisy(packets: usize) -> Vec<Entry> {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.open();
    let mut state = 1u32;
    for _ in 0..packets {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let body: Vec<u8> = [0x7f].into_iter().chain((0..3000).map(|_| next())).collect();
        stage.body(Clientbound, Play, &body);
    }
    stage.close("over");
    stage.entries
}

#[test]
fn a_truncated_compressed_file_gives_the_entries_before_the_cut() {
    let entries = noisy(200);
    for name in ["cut.jsonl.gz", "cut.jsonl.zst", "cut.pcapng.gz", "cut.pcapng.zst"] {
        let path = path(name);
        // Of an earlier run.
        let _ = fs::remove_file(&path);
        let mut sink = create_sink(&path, &CreateOptions::default()).unwrap();
        // A complete member, then one that is truncated.
        let (first, second) = entries.split_at(20);
        for entry in first {
            sink.write(entry).unwrap();
        }
        sink.flush().unwrap();
        let flushed = fs::read(&path).unwrap();
        let (read_back, error) = read(flushed.clone());
        assert!(error.is_none(), "{name}: what was flushed is whole: {error:?}");
        assert_eq!(to_jsonl(&read_back), to_jsonl(first), "{name}");
        for entry in second {
            sink.write(entry).unwrap();
        }
        sink.finish().unwrap();
        let file = fs::read(&path).unwrap();
        let mut most = 0;
        for part in 1..8 {
            let end = flushed.len() + (file.len() - flushed.len()) * part / 8;
            let (read_back, error) = read(file[..end].to_vec());
            assert!(matches!(error, Some(ReadError::CutOff(_))), "{name} at {end}: {error:?}");
            assert!(read_back.len() >= 20 && read_back.len() < entries.len(), "{name} at {end}");
            assert_eq!(to_jsonl(&read_back), to_jsonl(&entries[..read_back.len()]));
            most = most.max(read_back.len());
        }
        assert!(most > 100, "{name}: {most}: what unpacks before the cut is there");
    }
}

#[test]
fn a_damaged_compressed_file_is_an_error_with_its_place() {
    for name in ["bad.jsonl.gz", "bad.jsonl.zst"] {
        let path = path(name);
        // Of an earlier run.
        let _ = fs::remove_file(&path);
        let mut sink = create_sink(&path, &CreateOptions::default()).unwrap();
        for entry in noisy(200) {
            sink.write(&entry).unwrap();
        }
        sink.finish().unwrap();
        let mut file = fs::read(&path).unwrap();
        let middle = file.len() / 2;
        file[middle..middle + 50].fill(0xff);
        let mut count = 0;
        let mut last = None;
        for entry in read_capture(io::Cursor::new(file), Catalog::embedded()).unwrap() {
            match entry {
                Ok(_) => count += 1,
                Err(error) => last = Some(error),
            }
        }
        assert!(count > 50, "{name}: {count}");
        let Some(ReadError::Damaged(_, why)) = last else { panic!("{name}: {last:?}") };
        assert!(why.to_string().starts_with("cannot decompress: "), "{why}");
    }
}
