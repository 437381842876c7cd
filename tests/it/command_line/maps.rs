//! Maps that `convert` draws, and the files that it does not touch.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::ZlibDecoder;

use crate::support::{Program, refuses, root, scratch_file, text};

/// The names of files and folders in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The width, the height and the bytes of a picture's only chunk of data.
fn picture(path: &Path) -> (u32, u32, Vec<u8>) {
    let png = fs::read(path).unwrap();
    let int = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    let at = png.windows(4).position(|it| it == b"IDAT").unwrap();
    let mut rows = Vec::new();
    ZlibDecoder::new(&png[at + 4..]).read_to_end(&mut rows).unwrap();
    (int(16), int(20), rows)
}

#[test]
fn a_map_appears_when_it_is_complete() {
    let folder = scratch_file("maps");
    let map = folder.join("map.png");
    let sample = root().join("captures/session-1.8.jsonl");
    let convert = ["convert", text(&sample), text(&map)];
    let (_, said) = Program::mitmcraft(&convert).succeed_with_errors();
    assert!(said.contains("1 chunk in minecraft:overworld drawn to `"), "{said}");
    assert_eq!(names(&folder), ["map.png"]);
    let (width, height, rows) = picture(&map);
    assert_eq!((width, height, rows.len()), (16, 16, 16 * 17));
    // Dirt, and the end of the player's way.
    let pixels: Vec<u8> = rows.chunks(17).flat_map(|row| &row[1..]).copied().collect();
    assert_eq!(pixels.iter().filter(|it| **it == 10 * 4 + 1).count(), 256 - 9);
    // Not again, unless the user says so.
    let before = fs::read(&map).unwrap();
    assert!(refuses(&convert).contains("--overwrite"));
    Program::mitmcraft(&[&convert[..], &["--overwrite"]].concat()).succeed();
    assert_eq!(fs::read(&map).unwrap(), before);
    // As it was before the chunk came, there is nothing to draw, and the picture stays.
    let early = [&convert[..], &["--overwrite", "--at", "@12"]].concat();
    assert!(refuses(&early).contains("no whole chunk of 1.2 or later"));
    assert_eq!(fs::read(&map).unwrap(), before);
    assert_eq!(names(&folder), ["map.png"]);
    // Nor is a file replaced that has the name of a picture that is not complete.
    let part = folder.join("other.png.part");
    fs::write(&part, "mine").unwrap();
    let other = ["convert", text(&sample), text(&folder.join("other.png"))].map(str::to_owned);
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    assert!(refuses(&other).contains("other.png.part"));
    assert_eq!(fs::read(&part).unwrap(), b"mine");
    Program::mitmcraft(&[&other[..], &["--overwrite"]].concat()).succeed();
    assert_eq!(names(&folder), ["map.png", "other.png"]);
    fs::remove_file(folder.join("other.png")).unwrap();
    // In a folder, each dimension has a picture.
    let all = folder.join("all");
    let convert = ["convert", text(&sample), text(&all), "--format", "map"];
    Program::mitmcraft(&convert).succeed();
    assert_eq!(fs::read(&all).unwrap(), before);
    fs::remove_file(&all).unwrap();
    fs::create_dir(&all).unwrap();
    Program::mitmcraft(&convert).succeed();
    assert_eq!(names(&all), ["overworld.png"]);
    for (more, said) in [
        (&["--redact"][..], "`--redact` is for captures, not for a world or a map"),
        (&["--only", "packets"], "`--only` is for captures, not for a world or a map"),
        (&["--no-body"], "`--no-body` is for captures, not for a world or a map"),
        (&["--annotate"], "`--annotate` is for captures, not for a world or a map"),
        (&["--pcap-view", "json"], "`--pcap-view json` needs a `.pcapng` file"),
    ] {
        let said_so = refuses(&[&convert[..], more].concat());
        assert!(said_so.contains(said), "{said_so}");
    }
    let stdout = ["convert", text(&sample), "-", "--format", "map"];
    assert!(refuses(&stdout).contains("choose a name that ends in `.png`"));
}
