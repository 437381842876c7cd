//! Archives made by hand, byte by byte, each with one thing that is wrong.

use std::io::{BufReader, Cursor, Read as _, Write as _};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::super::{ReadError, read_capture_within};
use super::*;
use mitmcraft_protocol::schema::Catalog;

/// A member, and what its header says of it.
struct Made {
    name: &'static str,
    flags: u16,
    method: u16,
    crc: u32,
    packed: Vec<u8>,
    length: u32,
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

impl Made {
    fn new(name: &'static str, bytes: &[u8]) -> Self {
        let (crc, packed) = (crc(bytes), deflated(bytes));
        Self { name, flags: 0, method: 8, crc, packed, length: bytes.len() as u32 }
    }

    fn stored(name: &'static str, bytes: &[u8]) -> Self {
        Self { method: 0, packed: bytes.to_vec(), ..Self::new(name, bytes) }
    }

    /// Says checksum and lengths behind the bytes.
    fn behind(self) -> Self {
        Self { flags: self.flags | 8, ..self }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let numbers = [self.crc, self.packed.len() as u32, self.length];
        let is_behind = self.flags & 8 != 0;
        out.extend_from_slice(b"PK\x03\x04");
        for short in [20, self.flags, self.method, 0, 0] {
            out.extend_from_slice(&short.to_le_bytes());
        }
        for number in numbers {
            out.extend_from_slice(&(if is_behind { 0 } else { number }).to_le_bytes());
        }
        out.extend_from_slice(&(self.name.len() as u16).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(&self.packed);
        if is_behind {
            out.extend_from_slice(b"PK\x07\x08");
            numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        }
    }
}

/// An archive with these members. Of its directory there is only the end, which is all that is looked at.
fn archive(members: &[Made]) -> Vec<u8> {
    let mut out = Vec::new();
    members.iter().for_each(|member| member.write(&mut out));
    out.extend_from_slice(b"PK\x05\x06");
    out.extend_from_slice(&[0; 18]);
    out
}

/// Reads all members that can be read, and what is wrong.
fn read(zip: &[u8]) -> (Vec<(String, usize)>, Vec<String>) {
    let mut reader = ZipReader::new(BufReader::with_capacity(7, zip));
    let (mut members, mut faults) = (Vec::new(), Vec::new());
    for _ in 0..3000 {
        let name = match reader.next_member() {
            Ok(None) => return (members, faults),
            Ok(Some(name)) => name.to_owned(),
            Err(fault) => {
                faults.push(fault.to_string());
                continue;
            }
        };
        let mut bytes = Vec::new();
        match reader.read_to_end(&mut bytes) {
            Ok(_) => members.push((name, bytes.len())),
            Err(error) => faults.push(error.to_string()),
        }
    }
    panic!("there is no end: {faults:?}");
}

fn capture() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/session-1.8.jsonl");
    std::fs::read(path).unwrap()
}

#[test]
fn members_are_read_whether_they_say_their_length_before_or_behind_their_bytes() {
    let text = b"some text, some text, some text".repeat(100);
    let members = [
        Made::new("a", &text),
        Made::stored("b/c", &text),
        Made::new("d", &text).behind(),
        Made::new("e", b""),
        Made::stored("f/", b""),
    ];
    let names = ["a", "b/c", "d", "e", "f/"];
    let all = archive(&members);
    let (found, faults) = read(&all);
    assert_eq!(faults, [""; 0]);
    assert_eq!(found.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), names);
    assert!(found[..3].iter().all(|(_, length)| *length == text.len()));
    // Whoever does not read a member gets to the next one, too.
    let mut reader = ZipReader::new(&*all);
    for name in names {
        assert_eq!(reader.next_member().unwrap(), Some(name));
    }
    assert!(reader.next_member().unwrap().is_none());
}

#[test]
fn a_member_that_cannot_be_read_is_named_and_those_behind_it_are_read() {
    let good = || Made::new("good", b"good");
    let bytes = b"0123456789".repeat(50);
    for (bad, said) in [
        (Made { flags: 1, ..Made::new("bad", &bytes) }, "`bad` in the zip is encrypted"),
        (Made { method: 14, ..Made::new("bad", &bytes) }, "compressed by method 14"),
        (Made { crc: 7, ..Made::new("bad", &bytes) }, "another checksum than the zip says"),
        (Made { crc: 7, ..Made::stored("bad", &bytes) }, "another checksum than the zip says"),
        (Made { length: 499, ..Made::new("bad", &bytes) }, "has 500 bytes, and the zip says 499"),
        (Made { packed: vec![0xff; 40], ..Made::new("bad", &bytes) }, "cannot decompress it"),
        (Made { packed: vec![], ..Made::new("bad", &bytes) }, "cannot decompress it"),
        (Made { crc: 7, ..Made::new("bad", &bytes) }.behind(), "another checksum"),
        (Made::new("good", &bytes), "`good` in the zip is twice"),
    ] {
        let is_twice = bad.name == "good";
        let members = if is_twice { [good(), bad] } else { [bad, good()] };
        let (found, faults) = read(&archive(&members));
        assert_eq!(found, [("good".to_owned(), 4)], "{faults:?}");
        let [fault] = &*faults else { panic!("{faults:?}") };
        let said = said.replace("`good` in the zip is twice", "`good` is in the zip twice");
        assert!(fault.contains(&said), "{fault}");
    }
}

#[test]
fn a_name_that_leads_out_of_its_folder_is_named_and_left_out() {
    for name in ["../a", "a/../../b", "/etc/passwd", "C:/a", "a\\..\\b", "..", "a//b", "./a", "a\0"]
    {
        let (found, faults) = read(&archive(&[Made::new(name, b"x"), Made::new("b", b"y")]));
        assert_eq!(found, [("b".to_owned(), 1)], "{name}");
        assert!(faults[0].contains("is not the name of a file in a folder"), "{faults:?}");
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
    let (_, faults) = read(&archive(&[Made::new("../\x1b[2J", b"x")]));
    assert!(!faults[0].contains('\x1b'), "{faults:?}");
}

#[test]
fn a_bomb_is_bounded_by_its_ratio() {
    let zeros = vec![0; 40 << 20];
    let bomb = archive(&[Made::new("bomb", &zeros), Made::new("b", b"y")]);
    let (found, faults) = read(&bomb);
    assert_eq!(found, [("b".to_owned(), 1)]);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("`bomb` in the zip inflates to more than 250 times its size"));
    // Members that say their length behind their bytes are bounded like others.
    let endless = archive(&[Made::new("bomb", &zeros).behind(), Made::new("b", b"y")]);
    let (_, faults) = read(&endless);
    assert!(faults[0].contains("250 times"), "{faults:?}");
    let many: Vec<Made> = (0..1100)
        .map(|place| Made::stored(Box::leak(format!("{place}").into_boxed_str()), b"x"))
        .collect();
    let (found, faults) = read(&archive(&many));
    assert_eq!(found.len(), 1000);
    assert_eq!(faults, ["the zip has more than 1000 members: the others are not read"]);
}

#[test]
fn an_archive_that_is_cut_off_anywhere_is_read_up_to_there() {
    let text = b"some text".repeat(30);
    let members = [Made::new("a", &text), Made::stored("b", &text), Made::new("c", &text).behind()];
    let whole = archive(&members);
    for end in 4..whole.len() {
        let (found, faults) = read(&whole[..end]);
        assert!(found.len() <= 3, "{end}");
        let last = faults.last().unwrap();
        assert!(last.starts_with("the zip is cut off"), "{end}: {faults:?}");
    }
    let (found, faults) = read(&whole[..whole.len() - 22]);
    assert_eq!((found.len(), &*faults[0]), (3, "the zip is cut off"));
    let (_, faults) = read(&[&whole[..whole.len() - 22], b"garbage".as_slice()].concat());
    assert!(faults[0].contains("neither a member nor its directory"), "{faults:?}");
    let open = Made::stored("a", b"x").behind();
    let (_, faults) = read(&archive(&[open]));
    assert!(faults[0].contains("does not say how long it is"), "{faults:?}");
}

/// Returns the number of entries of a capture in an archive, and what is wrong.
fn entries(zip: Vec<u8>) -> (usize, Vec<String>) {
    let opened = read_capture_within(Cursor::new(zip), Catalog::embedded(), 64 << 20);
    let entries = match opened {
        Ok(entries) => entries,
        Err(error) => return (0, vec![error.to_string()]),
    };
    let (mut count, mut faults) = (0, Vec::new());
    for entry in entries {
        match entry {
            Ok(_) => count += 1,
            Err(error) => faults.push(error.to_string()),
        }
    }
    (count, faults)
}

#[test]
fn a_capture_in_an_archive_is_read_like_one_beside_it() {
    let capture = capture();
    let plain = entries(capture.clone());
    assert!(plain.0 > 20 && plain.1.is_empty());
    let made = || Made::new("capture.jsonl", &capture);
    for members in [
        vec![made()],
        vec![Made::new("report.txt", b"text"), made(), Made::new("timeline.svg", b"<svg/>")],
        vec![made().behind(), Made::stored("b", b"")],
        vec![Made::new("__MACOSX/a/capture.jsonl", b"\0\x05"), made()],
        vec![Made::new("a/._capture.jsonl", b"\0\x05"), made(), Made::new("._b.jsonl", b"\0\x05")],
    ] {
        assert_eq!(entries(archive(&members)), plain);
    }
    let folder = "Zürich-".repeat(30);
    for name in [format!("{folder}/capture.jsonl"), format!("{folder}.jsonl")] {
        let name = Box::leak(name.into_boxed_str());
        assert_eq!(entries(archive(&[Made::new(name, &capture)])), plain, "{name}");
        let (_, faults) = read(&archive(&[Made { crc: 1, ..Made::new(name, b"x") }]));
        assert!(faults[0].chars().count() < 180 && faults[0].contains(".jsonl`"), "{faults:?}");
    }
    let (count, faults) = entries(archive(&[
        Made::new("../x", b""),
        made(),
        Made { crc: 1, ..Made::new("report.txt", b"text") },
        Made { flags: 1, ..Made::new("secret", b"text") },
        Made::new("second.pcapng", b""),
    ]));
    assert_eq!(count, plain.0);
    let said =
        ["not the name of a file", "another checksum", "encrypted", "only the first capture"];
    assert_eq!(faults.len(), said.len(), "{faults:?}");
    for (fault, said) in faults.iter().zip(said) {
        assert!(fault.contains(said), "{fault}");
    }
}

#[test]
fn a_capture_in_an_archive_may_be_longer_than_the_memory() {
    let memory = 2 << 20;
    let capture = capture();
    let long = capture.repeat(memory / capture.len() + 1);
    let zip = archive(&[Made::new("capture.jsonl", &long)]);
    let entries = read_capture_within(Cursor::new(zip), Catalog::embedded(), memory).unwrap();
    let count = entries.map(Result::unwrap).count();
    assert_eq!(count, self::entries(long).0);
}

#[test]
fn a_capture_with_a_fault_is_read_up_to_it_and_the_fault_is_named() {
    let capture = capture();
    let (whole, _) = entries(capture.clone());
    let changed = Made { crc: 1, ..Made::new("capture.jsonl", &capture) };
    let (count, faults) = entries(archive(&[changed]));
    assert_eq!(count, whole);
    assert!(faults[0].contains("`capture.jsonl` in the zip has another checksum"), "{faults:?}");
    // In the middle of a pcapng, too.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/session-1.8-encrypted.pcapng");
    let pcapng = std::fs::read(path).unwrap();
    let changed = Made { crc: 1, ..Made::new("capture.pcapng", &pcapng) };
    let (count, faults) = entries(archive(&[changed]));
    assert_eq!((count, faults.len()), (entries(pcapng.clone()).0, 1), "{faults:?}");
    assert!(faults[0].starts_with("`capture.pcapng` in the zip has another"), "{faults:?}");
    let all = archive(&[Made::new("capture.pcapng", &pcapng)]);
    let (count, faults) = entries(all[..all.len() / 2].to_vec());
    assert!(count > 0, "{faults:?}");
    assert!(faults[0].starts_with("the zip is cut off within `capture.pcapng`"), "{faults:?}");
    let all = archive(&[Made::new("capture.jsonl", &capture)]);
    let (count, faults) = entries(all[..all.len() / 2].to_vec());
    assert!(count > 0 && count < whole, "{count} of {whole}");
    assert!(faults.iter().any(|it| it.contains("cut off within `capture.jsonl`")), "{faults:?}");
    for (member, said) in [
        (Made { flags: 1, ..Made::new("capture.jsonl", &capture) }, "is encrypted"),
        (Made { method: 99, ..Made::new("capture.jsonl", &capture) }, "by method 99"),
        (Made::new("../capture.jsonl", &capture), "not the name of a file"),
        (Made::new("notes.txt", &capture), "no member of the zip is a capture"),
    ] {
        let (count, faults) = entries(archive(&[member]));
        assert_eq!(count, 0);
        assert!(faults[0].contains(said), "{faults:?}");
    }
    assert_eq!(
        entries(archive(&[])).1,
        ["no member of the zip is a capture (`.jsonl`, `.pcapng` or `recording.tmcpr`)"]
    );
    let error = read_capture_within(Cursor::new(b"PK\x03\x04"), Catalog::embedded(), 100).err();
    assert!(matches!(error, Some(ReadError::Zip(ZipFault::CutOff(None)))), "{error:?}");
}
