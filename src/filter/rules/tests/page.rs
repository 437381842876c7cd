//! The examples of `docs/filters.md`.

use super::*;

#[test]
fn every_example_of_the_page_works_as_described() {
    let page = include_str!("../../../../docs/filters.md");
    let mut ran = 0;
    for example in page.split("```toml\n").skip(1) {
        let example = example.split("```").next().unwrap();
        let (mut pipeline, _) = rules(example);
        let Some(change) = example.strip_prefix("# chat: ") else { continue };
        let (came, went) = change.lines().next().unwrap().split_once(" -> ").unwrap();
        let packet = chat(came.trim_matches('"'));
        let judgement = pipeline.apply(&packet);
        assert_eq!(judgement.effects.notes.comments, Vec::<String>::new());
        match went {
            "drop" => assert_eq!(judgement.verdict, Verdict::Drop, "{example}"),
            went => {
                let value = after(&packet, &judgement);
                let message = value.get("message").unwrap().as_text().unwrap();
                assert_eq!(message, went.trim_matches('"'), "{example}");
            }
        }
        ran += 1;
    }
    assert_eq!(ran, 5);
}

#[test]
fn the_page_documents_every_key() {
    let page = include_str!("../../../../docs/filters.md");
    for key in keys::RULE.iter().chain(keys::CAPTURE).chain(keys::SEND).chain(keys::REPLACE) {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!("\n{key} ")), "{key}");
    }
}
