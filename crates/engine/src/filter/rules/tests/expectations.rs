//! Faults of expectations.

use super::*;

#[test]
fn every_fault_of_an_expectation_is_reported_with_its_place_and_a_hint() {
    let text = include_str!("faulty-expectations.toml");
    let checked = RuleSet::parse(text, Catalog::embedded());
    assert!(checked.rules.is_none());
    let faults: Vec<String> = checked.faults.iter().map(|it| it.render("tests.toml")).collect();
    let output = faults.join("\n");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/filter/rules/tests");
        let path = format!("{folder}/faulty-expectations.txt");
        std::fs::write(path, format!("{output}\n")).unwrap();
        return;
    }
    let expected = include_str!("faulty-expectations.txt");
    assert_eq!(output, expected.trim_end(), "UPDATE_DOCS=1 writes it again");
}

#[test]
fn rules_and_expectations_share_a_file() {
    let text = "[[rule]]\nwhen = 'chat'\ndrop = true\n[[expect]]\nwhen = 'chat'\n\
                [[expect]]\nname = 'b'\norder = ['login', 'chat']\n";
    let (_, set) = rules(text);
    assert_eq!(set.counts().len(), 1);
    let names: Vec<_> = set.expectations().iter().map(|it| (it.name.as_str(), it.line)).collect();
    assert_eq!(names, [("expectation 1", 5), ("b", 7)]);
}

#[test]
fn the_page_of_expectations_documents_every_key() {
    let page = include_str!("../../../../../../docs/expectations.md");
    for key in keys::EXPECT {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
}
