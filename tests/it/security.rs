//! The page on security names the test behind each promise.

use std::fs;
use std::path::Path;

use crate::support::root;

#[test]
fn every_test_that_the_page_on_security_names_exists() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let table = |head: &str| {
        let rows = page.lines().skip_while(|line| *line != head).skip(2);
        rows.take_while(|line| line.starts_with('|')).collect::<Vec<_>>()
    };
    let promises = table("| promise | test |");
    let bounds = table("| what grows | bound | at the bound | test |");
    assert!(promises.len() > 20 && bounds.len() > 3, "{} {}", promises.len(), bounds.len());
    let mut code = String::new();
    for folder in ["crates", "src", "tests"] {
        read(&root().join(folder), &mut code);
    }
    for row in promises.into_iter().chain(bounds) {
        let cell = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap();
        for name in cell.split('`').skip(1).step_by(2).filter(|name| name.contains('_')) {
            assert!(code.contains(&format!("fn {name}(")), "{name}");
        }
    }
}

/// Appends all Rust files below a folder.
fn read(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("real") {
            read(&path, code);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            code.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
