use std::fs;
use std::path::Path;

use super::window::{kept, records};
use super::*;
use crate::store::{Annotation, SavedNotes};
use mitmcraft_engine::capture::{CommentEditor, CreateOptions, create_sink, open_capture};
use mitmcraft_protocol::codec::MemoryBudget;

/// Entries of all forms, in the stream and beside it.
fn entries() -> Vec<Entry> {
    let mut maker = Maker::new(1);
    let mut entries = vec![maker.event(EventKind::Open)];
    // This version has frames.
    let is_bare = |record: &Record| record.packet.frame().is_some_and(Frame::is_bare);
    let records = records().into_iter().filter(|record| !is_bare(record));
    for (number, mut record) in records.enumerate() {
        entries.push(maker.chat("hello"));
        // Streams have frames or other bytes, not both.
        record.packet.set_context(Maker::new(2 + number as u64).context);
        entries.push(Entry::Packet(record));
        entries.push(maker.chat(&"long".repeat(20_000)));
    }
    entries
}

fn write(path: &Path, entries: &[Entry]) {
    let mut sink = create_sink(path, &CreateOptions::default()).unwrap();
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
}

/// Reads a capture as `view` does.
fn view(path: &Path) -> Arc<Store> {
    let store = Arc::new(store());
    add(&store, path);
    store
}

fn add(store: &Store, path: &Path) {
    store.begin(&path.display().to_string());
    let catalog = Catalog::embedded();
    store.save_in(CommentEditor::open(path, catalog, MemoryBudget::DEFAULT).unwrap());
    for entry in open_capture(path, catalog).unwrap() {
        store.push(&entry.unwrap());
    }
}

fn note(marked: bool, comment: &str) -> Annotation {
    Annotation { marked, comment: comment.to_owned() }
}

/// Saves notes of the only capture. Returns the number of packets with notes, and how many the capture has.
fn saved(store: &Store) -> (usize, Result<usize, String>) {
    let saved = store.save_notes();
    let SavedNotes::Saved { captures, missing: 0 } = &*saved else { panic!("{saved:?}") };
    let [capture] = &captures[..] else { panic!("{saved:?}") };
    let result = capture.result.as_ref().map_err(ToString::to_string);
    (capture.packets, result.copied())
}

#[test]
fn marks_and_comments_are_saved_in_the_capture_and_nothing_else_in_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "a.pcapng", "a.jsonl.zst", "a.pcapng.gz"] {
        let path = folder.path().join(name);
        write(&path, &entries());
        let before = fs::read(&path).unwrap();
        let store = view(&path);
        assert!(matches!(*store.save_notes(), SavedNotes::Nothing));
        let plain = store.snapshot();
        let all = plain.end();
        for row in 0..all {
            let comment =
                if row % 2 == 0 { format!("\"ü\" {row}; , \\ {{}}") } else { String::new() };
            store.annotate(row, note(row % 3 != 1, &comment));
        }
        let all_of_them = usize::try_from(all).unwrap();
        assert_eq!(saved(&store), (all_of_them, Ok(all_of_them)));

        let again = view(&path);
        let (noted, read) = (store.snapshot(), again.snapshot());
        assert_eq!(read.end(), all);
        for row in 0..all {
            assert_eq!(kept(&read.record(row).unwrap()), kept(&noted.record(row).unwrap()));
            assert_eq!(read.annotation(row).is_some_and(|it| it.marked), row % 3 != 1, "{row}");
        }
        // Without the marks and comments, it is what it was.
        for row in 0..all {
            store.annotate(row, Annotation::default());
        }
        store.save_notes();
        if name.ends_with("l") || name.ends_with("g") {
            assert!(fs::read(&path).unwrap() == before, "{name}");
        }
        let bare = view(&path).snapshot();
        for row in 0..all {
            assert_eq!(kept(&bare.record(row).unwrap()), kept(&plain.record(row).unwrap()));
        }
    }
}

#[test]
fn a_mark_that_was_read_is_taken_away_and_a_comment_is_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    write(&path, &entries());
    let first = view(&path);
    first.annotate(0, note(true, "one"));
    first.save_notes();
    let second = view(&path);
    let comment = |store: &Store| store.snapshot().record(0).unwrap().comment;
    assert_eq!(comment(&second).as_deref(), Some("one; #marked"));
    second.annotate(0, note(false, "two"));
    second.save_notes();
    assert_eq!(comment(&view(&path)).as_deref(), Some("one; two"));
}

#[test]
fn each_of_several_captures_gets_its_own_notes() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.jsonl", "b.pcapng"].map(|name| folder.path().join(name));
    paths.iter().for_each(|path| write(path, &entries()));
    let before = fs::read(&paths[0]).unwrap();
    let store = Arc::new(store());
    paths.iter().for_each(|path| add(&store, path));
    let rows = store.snapshot().end();
    store.annotate(rows / 2, note(false, "in the second"));
    store.save_notes();
    assert!(fs::read(&paths[0]).unwrap() == before);
    let again = view(&paths[1]).snapshot();
    assert_eq!(again.record(0).unwrap().comment.as_deref(), Some("in the second"));
}

#[test]
fn a_capture_that_is_another_one_now_or_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let refused = |store: &Arc<Store>, path: &Path, why: &str| {
        let before = fs::read(path).unwrap();
        store.annotate(0, note(true, ""));
        let (_, result) = saved(store);
        assert!(result.as_ref().is_err_and(|it| it.contains(why)), "{result:?}");
        assert!(fs::read(path).unwrap() == before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    };
    write(&path, &entries());
    let store = view(&path);
    let mut text = fs::read(&path).unwrap();
    text.push(b'\n');
    fs::write(&path, &text).unwrap();
    refused(&store, &path, "it has changed since it was read");

    let store = view(&path);
    let locked = fs::File::open(&path).unwrap();
    locked.lock().unwrap();
    refused(&store, &path, "another program is writing it");
    drop(locked);

    // The same text, as another program writes it.
    let text = String::from_utf8(text).unwrap().replace("\":", "\": ");
    fs::write(&path, text).unwrap();
    refused(&view(&path), &path, "has a form that cannot be changed");

    let twice: Vec<Entry> = [entries(), entries()].concat();
    fs::remove_file(&path).unwrap();
    write(&path, &twice);
    refused(&view(&path), &path, "two packets have the number 1 in session #1");

    fs::write(&path, [0xd4, 0xc3, 0xb2, 0xa1, 0, 0, 0, 0]).unwrap();
    let store = Arc::new(self::store());
    store.begin("a");
    let (catalog, memory) = (Catalog::embedded(), MemoryBudget::DEFAULT);
    store.save_in(CommentEditor::open(&path, catalog, memory).unwrap());
    store.push(&Maker::new(1).time(1));
    refused(&store, &path, "it is a recording of another program");
}

#[test]
fn what_became_of_the_notes_is_told_and_those_of_a_run_wait_for_its_end() {
    let store = Arc::new(store());
    store.push(&Maker::new(1).time(1));
    store.annotate(0, note(true, ""));
    assert!(matches!(*store.save_notes(), SavedNotes::AtEnd));
    store.set_complete();
    assert!(matches!(*store.save_notes(), SavedNotes::NoCapture));
    assert!(matches!(*store.saved().unwrap(), SavedNotes::NoCapture));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    write(&path, &[Maker::new(1).time(1)]);
    let (catalog, memory) = (Catalog::embedded(), MemoryBudget::DEFAULT);
    store.save_in(CommentEditor::open(&path, catalog, memory).unwrap());
    assert_eq!(saved(&store), (1, Ok(1)));
    assert!(fs::read_to_string(&path).unwrap().contains("\"comment\":\"#marked\""));
}

#[cfg(unix)]
#[test]
fn a_saved_capture_keeps_its_owner_and_its_mode() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    write(&path, &entries());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root can give files away; for others, the owner is the same in any case.
    let _ = chown(&path, Some(1234), Some(1234));
    let of = |path: &Path| {
        let it = fs::metadata(path).unwrap();
        (it.uid(), it.gid(), it.mode())
    };
    let before = of(&path);
    let store = view(&path);
    store.annotate(0, note(true, ""));
    assert_eq!(saved(&store), (1, Ok(1)));
    assert_eq!(of(&path), before);
}

#[cfg(unix)]
#[test]
fn a_capture_with_another_name_is_not_replaced_under_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    write(&path, &entries());
    fs::hard_link(&path, folder.path().join("b.jsonl")).unwrap();
    let before = fs::read(&path).unwrap();
    let store = view(&path);
    store.annotate(0, note(true, ""));
    let (_, result) = saved(&store);
    assert!(result.is_err_and(|it| it.starts_with("it has another name (a hard link)")));
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn what_a_program_that_was_killed_has_left_is_removed_when_the_capture_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    write(&file("a.jsonl"), &entries());
    for name in
        [".a.jsonl.x1.mitmcraft-new", ".a.jsonl.x2.mitmcraft-new", ".b.jsonl.x1.mitmcraft-new"]
    {
        fs::write(file(name), "half").unwrap();
    }
    let written = fs::File::open(file(".a.jsonl.x2.mitmcraft-new")).unwrap();
    written.lock().unwrap();
    let store = view(&file("a.jsonl"));
    assert!(!file(".a.jsonl.x1.mitmcraft-new").exists());
    assert!(file(".a.jsonl.x2.mitmcraft-new").exists(), "another program still writes it");
    assert!(file(".b.jsonl.x1.mitmcraft-new").exists(), "it is another capture's");
    store.annotate(0, note(true, ""));
    assert_eq!(saved(&store), (1, Ok(1)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}
