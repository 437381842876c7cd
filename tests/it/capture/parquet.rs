//! Parquet: rows that read back as the entries they were, and files that do not read.

use std::fs::{self, File};
use std::io::{self, Cursor, Write as _};

use mitmcraft_engine::capture::{
    Cell, ColumnKind, Entry, ParquetSink, ReadError, Sink as _, TableColumn, TableWriter,
    open_table, read_capture,
};
use mitmcraft_protocol::packet::Diagnostic;
use mitmcraft_protocol::schema::{Catalog, random_body};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{put, sorted, tables, to_file, to_jsonl, without_first_line};
use crate::support::samples::*;
use crate::support::shared::Shared;
use crate::support::{Program, convert, mitmcraft, refuses, root, scratch_file, text};

pub(super) fn to_parquet(entries: &[Entry]) -> Vec<u8> {
    let shared = Shared::default();
    put(ParquetSink::new(Box::new(shared.clone())).unwrap(), entries);
    shared.bytes()
}

pub(super) fn from_parquet(bytes: &[u8]) -> (Vec<Entry>, Vec<ReadError>) {
    sorted(open_table(file_of(bytes), Catalog::embedded(), 64 << 20, |_| {}).unwrap())
}

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Returns the error of opening a file.
fn refused(bytes: &[u8]) -> String {
    let opened = open_table(file_of(bytes), Catalog::embedded(), 64 << 20, |_| {});
    opened.err().expect("the file is refused").to_string()
}

#[test]
fn every_capture_of_the_repository_is_the_same_after_parquet() {
    let mut captures = 0;
    for found in fs::read_dir(root().join("captures")).unwrap() {
        let name = found.unwrap().file_name().into_string().unwrap();
        // A recording of the proxy's two connections is no capture.
        if !(name.ends_with(".jsonl") || name.ends_with("encrypted.pcapng")) {
            continue;
        }
        let from = root().join("captures").join(&name);
        let (columns, lines, back) =
            (scratch_file("a.parquet"), scratch_file("a.jsonl"), scratch_file("b.jsonl"));
        convert(&[text(&from), text(&columns)]);
        convert(&[text(&from), text(&lines)]);
        convert(&[text(&columns), text(&back)]);
        assert!(fs::read(&back).unwrap() == fs::read(&lines).unwrap(), "{name}");
        if name.ends_with(".jsonl") {
            // The first line names the tables of the program that wrote the file.
            let lines = |path| fs::read_to_string(path).unwrap();
            let (read, written) = (lines(&back), lines(&from));
            assert!(without_first_line(&read) == without_first_line(&written), "{name}");
        }
        captures += 1;
    }
    assert!(captures > 8, "{captures}");
}

#[test]
fn a_capture_with_descriptions_of_its_own_is_the_same_after_parquet() {
    let entries = tables::entries(1, "mine");
    let (read, errors) = from_parquet(&to_parquet(&entries));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_file(&read), to_file(&entries));
}

#[test]
fn diagnostics_and_moments_after_2262_are_the_same_after_parquet() {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.context.session = u64::MAX;
    stage.open();
    stage.at.0 = u64::MAX - 2_000_000_000;
    let record = stage.body(Clientbound, Play, &[0x00, 5]);
    record.packet.note([Diagnostic::ALL[0]].into_iter().collect());
    let record = stage.body(Clientbound, Play, &[0x00, 5]);
    record.of = Some(u64::MAX);
    let (read, errors) = from_parquet(&to_parquet(&stage.entries));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(to_jsonl(&read), to_jsonl(&stage.entries));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn random_packets_of_every_kind_are_the_same_after_parquet(
        version in prop::sample::select(vec![47, 340, 765, 777]),
        choices in vec(any::<u8>(), 0..200),
    ) {
        let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        stage.context.protocol = protocol.clone();
        for packet in protocol.packets() {
            let body = random_body(&protocol, packet, &choices);
            stage.body(packet.direction(), packet.state(), &body);
        }
        let (read, errors) = from_parquet(&to_parquet(&stage.entries));
        prop_assert!(errors.is_empty(), "{errors:?}");
        prop_assert_eq!(to_jsonl(&read), to_jsonl(&stage.entries));
    }
}

#[test]
fn many_rows_are_several_row_groups() {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.open();
    for number in 0..123_000u32 {
        stage.body(Clientbound, Play, &[0x00, (number % 100) as u8]);
    }
    let file = to_parquet(&stage.entries);
    let (read, errors) = from_parquet(&file);
    assert!(errors.is_empty(), "{errors:?}");
    assert!(to_jsonl(&read) == to_jsonl(&stage.entries));
    // Not one of the two row groups fits.
    let read = open_table(file_of(&file), Catalog::embedded(), 1 << 20, |_| {}).unwrap();
    let (read, errors) = sorted(read);
    assert!(read.is_empty());
    assert_eq!(errors.len(), 1);
    let said = errors[0].to_string();
    assert_eq!(said, "row 1: the file is damaged: longer than 1048576 bytes");
}

#[test]
fn a_file_that_is_incomplete_or_foreign_says_so() {
    let file = to_parquet(&repository_capture("session-alpha.jsonl"));
    for end in [4, 11, file.len() / 2, file.len() - 1] {
        let said = refused(&file[..end]);
        assert!(said.starts_with("the Parquet file is incomplete or damaged ("), "{said}");
    }
    let shared = Shared::default();
    let column = |name: &str, kind| TableColumn { name: name.into(), kind };
    let columns = [column("seq", ColumnKind::Int), column("session_number", ColumnKind::Text)];
    let mut table = TableWriter::new(Box::new(shared.clone()), &columns, &[]).unwrap();
    table.put(0, Cell::Int(1));
    table.end_row().unwrap();
    table.finish().unwrap();
    let said = refused(&shared.bytes());
    assert!(
        said.contains("a Parquet file without a column `session_number` of its type"),
        "{said}"
    );
    match read_capture(Cursor::new(file), Catalog::embedded()) {
        Err(error @ ReadError::Pipe) => assert!(error.to_string().contains("not from a pipe")),
        _ => panic!(),
    }
}

#[test]
fn a_damaged_file_never_panics() {
    let file = to_parquet(&repository_capture("ping-1.6.jsonl"));
    for place in (4..file.len()).step_by(4) {
        let mut damaged = file.clone();
        damaged[place] ^= [0x41, 0x80, 0xff, 0x01][place / 4 % 4];
        if let Ok(entries) = open_table(file_of(&damaged), Catalog::embedded(), 64 << 20, |_| {}) {
            // What is read is bounded, whatever the file says.
            assert!(entries.take(1000).count() < 1000, "byte {place}");
        }
    }
}

/// Millions of rows take a few bytes: whoever reads them does not wait for all.
#[test]
fn a_file_of_rows_that_say_nothing_is_not_read_to_its_end() {
    use ColumnKind::{Int, Json, Short, Text, Time};
    let shared = Shared::default();
    let columns = [
        ("session_number", Int),
        ("seq", Int),
        ("time", Time),
        ("event", Text),
        ("direction", Text),
        ("state", Text),
        ("protocol", Short),
        ("wire", Int),
        ("fields", Json),
    ];
    let columns = columns.map(|(name, kind)| TableColumn { name: name.into(), kind });
    let mut table = TableWriter::new(Box::new(shared.clone()), &columns, &[]).unwrap();
    (0..250_000).for_each(|_| table.end_row().unwrap());
    table.finish().unwrap();
    let bytes = shared.bytes();
    assert!(bytes.len() < 20_000, "{}", bytes.len());
    let (entries, errors) = from_parquet(&bytes);
    assert!(entries.is_empty());
    assert_eq!(errors.len(), 100_000);
    let last = errors.last().unwrap().to_string();
    assert!(last.starts_with("row 100000: the file is damaged: 100000 rows"), "{last}");
}

#[test]
fn options_of_convert_select_what_the_rows_are() {
    let from = root().join("captures/session-1.8.jsonl");
    for options in [
        &["-Y", "chat"][..],
        &["--only", "events"],
        &["--only", "packets", "-Y", "serverbound"],
        &["--session", "1"],
        &["--redact", "--redact-seed", "a seed"],
        &["--no-body", "-Y", "not pkt.error"],
        &["--annotate"],
    ] {
        let (columns, lines, back) =
            (scratch_file("o.parquet"), scratch_file("o.jsonl"), scratch_file("p.jsonl"));
        convert(&[options, &[text(&from), text(&columns)]].concat());
        convert(&[options, &[text(&from), text(&lines)]].concat());
        // What a packet means is found again, and bodies are encoded.
        let again: &[&str] = match options[0] {
            option @ ("--no-body" | "--annotate") => &[option],
            _ => &[],
        };
        convert(&[again, &[text(&columns), text(&back)]].concat());
        assert!(fs::read(&back).unwrap() == fs::read(&lines).unwrap(), "{options:?}");
    }
}

#[test]
fn every_verb_that_reads_a_capture_reads_parquet() {
    let from = root().join("captures/session-1.8.jsonl");
    let columns = scratch_file("verbs.parquet");
    convert(&[text(&from), text(&columns)]);
    let of = |verb: &str, file| Program::mitmcraft(&[verb, text(file)]).succeed();
    for verb in ["show", "stats"] {
        assert_eq!(of(verb, &columns).replace("verbs.parquet", ""), of(verb, &from), "{verb}");
    }
    let same = Program::mitmcraft(&["diff", text(&from), text(&columns)]).succeed();
    assert!(!same.contains("only in"), "{same}");
}

#[test]
fn what_fails_says_what_to_do_and_leaves_the_old_file_as_it_was() {
    let (whole, cut, old) =
        (scratch_file("whole.parquet"), scratch_file("cut.parquet"), scratch_file("old.parquet"));
    let from = root().join("captures/session-1.8.jsonl");
    convert(&[text(&from), text(&whole)]);
    let bytes = fs::read(&whole).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    fs::write(&old, "old").unwrap();
    let said = refuses(&["convert", text(&from), text(&old)]);
    assert!(said.contains("old.parquet") && said.contains("--overwrite"), "{said}");
    let said = refuses(&["convert", text(&cut), text(&old), "--overwrite"]);
    assert!(said.contains("cut.parquet") && said.contains("copy it again"), "{said}");
    let full = refuses(&["convert", text(&from), "/proc/x.parquet", "--overwrite"]);
    assert!(full.contains("/proc/x.parquet"), "{full}");
    assert_eq!(fs::read(&old).unwrap(), b"old");
    assert!(!old.with_extension("parquet.part").exists());
    convert(&[text(&from), text(&old), "--overwrite"]);
    assert_eq!(fs::read(&old).unwrap(), bytes);
    let said = refuses(&["proxy", "127.0.0.1:1", "-w", text(&old), "--overwrite"]);
    assert!(said.contains("convert"), "{said}");
}

#[test]
fn a_table_that_cannot_be_made_says_why() {
    let from = root().join("captures/session-1.8.jsonl");
    let file = scratch_file("no.parquet");
    let table = |spec: &str| refuses(&["convert", "--table", spec, text(&from), text(&file)]);
    assert!(table("chat").contains("expected `PACKET: column, ..`"));
    assert!(table("chatt: message").contains("did you mean"));
    assert!(table("chat: mesage").contains("did you mean `message`?"));
    assert!(table("chat: time, time").contains("`time` is given twice"));
    let said = refuses(&["convert", "--table", "chat: time", text(&from), "-"]);
    assert!(said.contains("ends in `.parquet`"), "{said}");
    convert(&["--table", "chat: time, message", text(&from), text(&file)]);
    let said = refuses(&["show", text(&file)]);
    assert!(said.contains("a Parquet file without a column `session_number`"), "{said}");
}

#[test]
fn a_pipe_and_a_file_that_would_have_to_grow_are_refused() {
    let columns = scratch_file("pipe.parquet");
    convert(&[text(&root().join("captures/ping-1.6.jsonl")), text(&columns)]);
    let mut command = mitmcraft();
    command.args(["stats", "-"]).stdin(File::open(&columns).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "error: cannot read `stdin`: a Parquet file can only be read by its name, not from a pipe\n";
    assert_eq!(said, expected);
    let said = refuses(&["show", "--follow", text(&columns)]);
    assert!(said.contains("a Parquet file is complete"), "{said}");
}

#[test]
fn a_full_disk_is_the_error_that_it_is() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut sink = ParquetSink::new(Box::new(Full)).unwrap();
    let entries = repository_capture("session-1.8.jsonl");
    let written = entries.iter().try_for_each(|entry| sink.write(entry));
    let error = written.and_then(|()| sink.finish()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
