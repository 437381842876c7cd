//! Worlds that `convert` makes, and the folders that it does not touch.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Program, refuses, root, scratch_file, text};

fn sample() -> PathBuf {
    root().join("captures/session-1.8.jsonl")
}

/// The names of files and folders in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_world_appears_when_it_is_complete_and_replaces_only_a_world() {
    let parent = scratch_file("saves");
    let world = parent.join("My world");
    let sample = sample();
    let convert = ["convert", text(&sample), text(&world), "--format", "world"];
    let (status, out) = Program::mitmcraft(&convert).finish();
    assert!(status.success(), "{out}");
    assert_eq!(names(&world), ["level.dat", "region"]);
    assert_eq!(names(&parent), ["My world"]);
    let regions = names(&world.join("region"));
    assert!(regions.len() == 1 && regions[0].ends_with(".mca"), "{regions:?}");
    // Not again, unless the user says so.
    fs::write(world.join("mine"), "precious").unwrap();
    assert!(refuses(&convert).contains("it is a world already; `--overwrite` replaces it"));
    assert_eq!(names(&world), ["level.dat", "mine", "region"]);
    let overwrite = [&convert[..], &["--overwrite"]].concat();
    Program::mitmcraft(&overwrite).succeed();
    assert_eq!(names(&world), ["level.dat", "region"]);
    // Nor with a capture in it.
    let inside = world.join("region/run.jsonl");
    fs::copy(&sample, &inside).unwrap();
    let said =
        refuses(&["convert", text(&inside), text(&world), "--format", "world", "--overwrite"]);
    assert!(said.contains("is in it; move it elsewhere first"), "{said}");
    fs::remove_file(&inside).unwrap();
    // A folder that is no world is never replaced.
    fs::remove_file(world.join("level.dat")).unwrap();
    let said = refuses(&overwrite);
    assert!(said.contains("the folder is not empty, and is no world"), "{said}");
    assert_eq!(names(&world), ["region"]);
    // An empty one is.
    fs::remove_dir_all(&world).unwrap();
    fs::create_dir(&world).unwrap();
    Program::mitmcraft(&convert).succeed();
    assert_eq!(names(&parent), ["My world"]);
}

#[test]
fn a_world_that_cannot_be_made_leaves_nothing_behind() {
    let parent = scratch_file("none");
    let world = parent.join("world");
    let sample = sample();
    let convert = ["convert", text(&sample), text(&world), "--format", "world"];
    let before = [&convert[..], &["--at", "@12"]].concat();
    assert!(refuses(&before).contains("no whole chunk of 1.2 or later"));
    assert_eq!(names(&parent), [""; 0]);
    // A condition is about blocks, not about what says in which dimension they are.
    let chunks = [&convert[..], &["--where", "*chunk*"]].concat();
    let (_, said) = Program::mitmcraft(&chunks).succeed_with_errors();
    assert!(said.contains("1 chunk in ") && !said.contains("beginning is missing"), "{said}");
    fs::remove_dir_all(&world).unwrap();
    for (more, said) in [
        (&["--at", "x"][..], "expected seconds since the session began (`12.5`)"),
        (&["--redact"], "`--redact` is for captures, not for a world or a map"),
        (&["--only", "packets"], "`--only` is for captures, not for a world or a map"),
    ] {
        let said_so = refuses(&[&convert[..], more].concat());
        assert!(said_so.contains(said), "{said_so}");
    }
    let plain = ["convert", text(&sample), text(&world), "--at", "@9"];
    assert!(refuses(&plain).contains("it needs `--format world`, or a map"));
    assert_eq!(names(&parent), [""; 0]);
    for at in ["@13", "1.5", "2026-11-21T02:20:01.6Z"] {
        Program::mitmcraft(&[&convert[..], &["--at", at, "--overwrite"]].concat()).succeed();
    }
    assert_eq!(names(&parent), ["world"]);
}
