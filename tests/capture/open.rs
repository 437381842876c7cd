use std::fs;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use mitmcraft::capture::{
    CreateError, CreateOptions, Entry, ReadError, create_sink, open_capture, read_capture,
};
use mitmcraft::schema::Catalog;

use crate::samples::*;
use crate::{to_jsonl, to_pcapng};

fn entries() -> Vec<Entry> {
    everything(1, "127.0.0.1:51234", "192.0.2.7:25565")
}

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capture");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

#[test]
fn the_ending_chooses_the_format_and_the_content_tells_it() {
    for (name, first) in [("a.jsonl", b'{'), ("b.pcapng", 0x0a), ("C.PCAPNG", 0x0a)] {
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
fn a_name_that_names_no_format_is_an_error_with_those_that_do() {
    for name in ["capture", "capture.txt", "capture.jsonl.gz"] {
        let Err(error) = create_sink(name.as_ref(), &CreateOptions::default()) else { panic!() };
        assert_eq!(
            error.to_string(),
            format!("`{name}`: a capture's name ends in `.jsonl`, `.pcapng` or `.pcap`")
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
fn what_is_no_capture_says_what_it_is() {
    let said = |bytes: &'static [u8]| match read_capture(bytes, Catalog::embedded()) {
        Ok(entries) => format!("{} entries", entries.count()),
        Err(error) => error.to_string(),
    };
    assert_eq!(said(b""), "0 entries");
    assert_eq!(said(b"\n"), "0 entries");
    assert_eq!(said(b"hello world"), "not a capture: neither JSON lines nor pcapng");
    assert!(said(&[0x4d, 0x3c, 0xb2, 0xa1, 2]).starts_with("not a capture: classic pcap"));
    assert!(said(&[0xd4, 0xc3, 0xb2, 0xa1, 2]).starts_with("not a capture: classic pcap"));
    assert!(said(&[0x1f, 0x8b, 8, 0]).contains("gzip"));
    match open_capture(&path("missing.jsonl"), Catalog::embedded()) {
        Err(ReadError::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        _ => panic!(),
    }
}

#[test]
fn a_pipe_that_gives_a_byte_at_a_time_is_read_too() {
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
