//! The examples of `docs/expectations.md`.

use super::*;

#[test]
fn every_example_of_the_page_has_no_fault() {
    let page = include_str!("../../../../../docs/expectations.md");
    let examples: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(examples.len() >= 6);
    for example in examples {
        let example = example.split("```").next().unwrap();
        let checked = RuleSet::parse(example, Catalog::embedded());
        let faults: Vec<String> = checked.faults.iter().map(|it| it.render("f")).collect();
        assert_eq!(faults, Vec::<String>::new(), "{example}");
        assert!(!checked.rules.unwrap().expectations().is_empty(), "{example}");
    }
}
