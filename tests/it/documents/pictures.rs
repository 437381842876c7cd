//! The index of the documentation: its pictures are what commands print, and it leaves no page out.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use super::page::pages;
use crate::support::{mitmcraft, root, scratch_file, text};

/// Pages whose output needs a server of its own, and the test that shows that they are right.
const ELSEWHERE: &[(&str, &str)] = &[
    ("docs/diagnostics.md", "no capture of the repository has a diagnostic: it/diagnostics.rs"),
    ("docs/regress.md", "another build of a server: engine/regress"),
    ("docs/testing-a-server.md", "another build of a server: peers/testing_a_server.rs"),
];

/// A command stands in a block before its output, or in a comment where another one is the reader's.
#[test]
fn what_commands_print_is_what_the_pages_show() {
    let packet = Regex::new(r"(?m)^\S{0,2} +\S{0,5} *\d\d:\d\d:\d\d\.\d{3} #\d").unwrap();
    let (mut shown, mut elsewhere) = (0, BTreeSet::new());
    for (name, page) in pages().into_iter().filter(|(name, _)| name != "docs/command-line.md") {
        let parts: Vec<&str> = page.split("```").collect();
        for index in (1..parts.len()).step_by(2) {
            let (language, picture) = parts[index].split_once('\n').unwrap();
            if language != "text" && !(language.is_empty() && packet.is_match(picture)) {
                continue;
            }
            if let Some((known, _)) = ELSEWHERE.iter().find(|(page, _)| *page == name) {
                elsewhere.insert(known);
                continue;
            }
            let comment = parts[index - 1].trim_end().rsplit_once("<!-- mitmcraft ");
            let comment = comment.and_then(|(_, rest)| rest.strip_suffix(" -->"));
            let block = parts.get(index.wrapping_sub(2));
            let block = block.and_then(|it| it.strip_prefix("sh\nmitmcraft ")).map(str::trim_end);
            let block = block.filter(|_| parts[index - 1].trim().is_empty());
            let Some(command) = comment.or(block).filter(|it| !it.contains('\n')) else {
                assert!(!packet.is_match(picture), "{name}: which command prints this?\n{picture}");
                continue;
            };
            let output = printed(command, &page);
            assert!(output.contains(picture.trim_end()), "{name}: {command} prints:\n{output}");
            shown += 1;
        }
    }
    assert!(shown >= 11, "{shown}");
    assert_eq!(elsewhere.len(), ELSEWHERE.len(), "a line of ELSEWHERE has no page");
}

/// Returns what a command prints in the project's folder; `tests.toml` is the first TOML of the page.
fn printed(command: &str, page: &str) -> String {
    let tests = scratch_file("tests.toml");
    let toml = page.split("```toml\n").nth(1).map_or("", |rest| rest.split("```").next().unwrap());
    fs::write(&tests, toml).unwrap();
    let words = command.split('\'').enumerate().flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    let words = words.map(|word| if word == "tests.toml" { text(&tests).to_owned() } else { word });
    let mut process = mitmcraft();
    process.args(words).current_dir(root()).env("TZ", "UTC");
    let output = String::from_utf8(process.output().unwrap().stdout).unwrap();
    output.replace(text(&tests), "tests.toml")
}

#[test]
fn every_page_is_in_the_index() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    for (folder, prefix) in [("docs", ""), ("docs/protocols", "protocols/")] {
        for file in fs::read_dir(root().join(folder)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if name.contains('.') && name != "README.md" {
                assert!(index.contains(&format!("]({prefix}{name})")), "{prefix}{name}");
            }
        }
    }
    for link in index.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        let path = root().join("docs").join(link.split('#').next().unwrap());
        assert!(path.exists(), "{link}");
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains("(docs/README.md)"));
}
