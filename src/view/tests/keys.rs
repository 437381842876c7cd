//! The table of actions, and the page that is written from it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::view::{Action, Group, Interface};

#[test]
fn a_key_means_one_thing_also_where_an_interface_lacks_it() {
    let (mut keys, mut names, mut actions) = (HashSet::new(), HashSet::new(), HashSet::new());
    for binding in Action::TABLE {
        assert!(binding.keys.iter().all(|key| keys.insert(key)), "{binding:?}");
        assert!(names.insert(binding.name) && actions.insert(binding.action), "{binding:?}");
        let of = |interface| Action::of(binding.keys[0], interface);
        let has = |interface| binding.only.is_none_or(|only| only == interface);
        for interface in [Interface::Terminal, Interface::Page] {
            assert_eq!(of(interface), has(interface).then_some(binding.action), "{binding:?}");
        }
    }
    let groups: Vec<_> = Action::TABLE.iter().map(|it| it.group).collect();
    assert!(groups.is_sorted_by_key(|group| Group::ALL.iter().position(|it| it == group)));
}

// As in `tests/real/page/palette.test.mjs`.
#[test]
fn actions_are_found_by_all_words_of_their_name_text_and_heading_the_name_first() {
    let found = |text, live| {
        let found = Interface::Terminal.find(text, live).into_iter();
        found.map(|it| it.action).collect::<Vec<_>>()
    };
    assert_eq!(found(" HIDE  type ", false), [Action::HideType]);
    assert_eq!(found("kick", true), [Action::Kick]);
    assert_eq!(found("hol", true)[0], Action::Hold, "its name begins so");
    for text in ["jump", "go to", "number", "row number"] {
        assert_eq!(found(text, false), [Action::GoTo], "{text}");
    }
    assert!(!found("", true).contains(&Action::Palette));
    let rest = |live| found("", live).len();
    assert!(rest(false) < rest(true), "traffic needs a proxy");
    assert_eq!(found("nothing like it", true), []);
}

#[test]
fn the_page_on_screens_has_all_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screens.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (prose, _) = page.split_once(MARK).unwrap();
    let fresh = format!("{prose}{MARK}\n{}", tables());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    let stale = "is stale: UPDATE_DOCS=1 cargo test --lib view::tests::keys";
    assert!(page == fresh, "docs/screens.md {stale}");
}

/// Returns a table for each group.
fn tables() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        let _ = write!(text, "\n| {} | |\n| --- | --- |\n", group.title());
        for binding in Action::TABLE.iter().filter(|it| it.group == group) {
            let keys = binding.key_names();
            let keys: Vec<_> = keys.split(' ').map(|key| format!("`{key}`")).collect();
            let only = match binding.only {
                None => "",
                Some(Interface::Terminal) => " (in the terminal)",
                Some(Interface::Page) => " (on the page)",
            };
            let _ = writeln!(text, "| {} | {}{only} |", keys.join(" "), binding.help);
        }
    }
    text
}

/// Everything after it is written by this test.
const MARK: &str = "<!-- What follows is generated from the table of actions. -->";
