//! Links between the pages: the files and the headings to which they lead exist.

use std::collections::BTreeSet;
use std::fs;

use super::page::pages;
use crate::support::root;

#[test]
fn every_link_between_the_pages_leads_to_a_file_and_a_heading() {
    let mut links = 0;
    for (name, text) in pages().into_iter().filter(|(name, _)| name.ends_with(".md")) {
        let folder = root().join(&name).parent().unwrap().to_owned();
        let prose = prose(&text).join("\n");
        let targets = prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
        for target in targets.filter(|target| !target.starts_with("http")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { root().join(&name) } else { folder.join(file) };
            assert!(file.exists(), "{name}: {target}");
            if !heading.is_empty() {
                let page = fs::read_to_string(&file).unwrap();
                assert!(anchors(&page).contains(heading), "{name}: {target}");
            }
            links += 1;
        }
    }
    assert!(links > 100, "{links}");
}

#[test]
fn the_files_that_the_recipes_for_contributors_name_exist() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, recipes) = page.split_once("\n## How to add\n").unwrap();
    let recipes = recipes.split("\n## ").next().unwrap();
    for recipe in recipes.split("\n* ").skip(1) {
        let files = recipe.split('`').skip(1).step_by(2).filter(|name| name.contains('/'));
        let missing: Vec<&str> = files.clone().filter(|name| !root().join(name).exists()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert!(files.count() > 1, "{recipe}");
    }
    assert_eq!(recipes.matches("\n* **").count(), 5);
}

/// Returns the lines outside blocks of code.
pub(crate) fn prose(page: &str) -> Vec<&str> {
    page.split("```").step_by(2).flat_map(str::lines).collect()
}

/// Returns the anchors of the headings, as GitHub forms them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).into_iter().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}
