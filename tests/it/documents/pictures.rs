//! The index of the documentation: its pictures are what commands print, and it leaves no page out.

use std::fs;

use crate::support::{mitmcraft, root};

#[test]
fn the_pictures_are_what_the_commands_print() {
    let page = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let mut pictures = 0;
    for part in page.split("```sh\n").skip(1) {
        let (command, rest) = part.split_once("\n```\n\n```text\n").unwrap();
        let picture = rest.split_once("\n```").unwrap().0;
        let words = command.strip_prefix("mitmcraft ").unwrap().split(' ');
        let mut process = mitmcraft();
        process.args(words).current_dir(root()).env("TZ", "UTC");
        let output = String::from_utf8(process.output().unwrap().stdout).unwrap();
        assert!(output.contains(picture), "{command} prints:\n{output}");
        pictures += 1;
    }
    assert_eq!(pictures, 4);
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
