//! How long the documentation is, and which pages are generated.

use std::collections::BTreeSet;
use std::fs;

use super::links::prose;
use super::page::pages;
use crate::support::root;

#[test]
fn the_documentation_can_be_read() {
    let counted = |name: &str| {
        name == "README.md"
            || name.starts_with("docs/")
                && name.matches('/').count() == 1
                && name != "docs/command-line.md"
    };
    let pages = pages().into_iter().filter(|(name, _)| counted(name));
    let words = |text: &str| prose(text).iter().map(|it| it.split_whitespace().count()).sum();
    let mut counts: Vec<(usize, String)> = pages.map(|(name, text)| (words(&text), name)).collect();
    counts.sort();
    let all: usize = counts.iter().map(|(count, _)| count).sum();
    assert!(all > 10_000, "{all}");
    assert!(all <= MOST_WORDS, "{all} words outside blocks of code: {counts:#?}");
}

#[test]
fn the_index_says_which_pages_are_generated() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let (_, section) = index.split_once("## Generated pages\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let links = section.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    let listed: BTreeSet<String> = links.map(|link| format!("docs/{link}")).collect();
    let mut generated = BTreeSet::new();
    for (name, text) in pages().into_iter().filter(|(name, _)| name.starts_with("docs/")) {
        let first = text.lines().next().unwrap();
        let told = first.starts_with("<!-- Generated");
        assert!(!told || first.contains("UPDATE_DOCS=1 cargo test "), "{name}: {first}");
        let part = |line: &str| line.starts_with("<!-- ") && line.contains("generated");
        assert!(told || !text.lines().any(part), "{name} has no first line that says so");
        generated.extend(told.then_some(name));
    }
    assert_eq!(listed, generated);
}

/// The words of `README.md` and `docs/*.md` outside blocks of code, without the page of the command line.
const MOST_WORDS: usize = 50_000;
