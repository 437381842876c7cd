//! The examples of `docs/filters.md`.

use super::components::{newest, said};
use super::*;
use crate::filter::rules::keys::{self, RuleKey};
use mitmcraft_protocol::packet::{plain_nbt, plain_text};

#[test]
fn every_example_of_the_page_works_as_described() {
    let page = include_str!("../../../../../../docs/filters.md");
    let mut ran = 0;
    for example in page.split("```toml\n").skip(1) {
        let example = example.split("```").next().unwrap();
        let (mut pipeline, _) = rules(example);
        let (change, versions) = if let Some(change) = example.strip_prefix("# chat: ") {
            (change, &[47, 764, newest()][..])
        } else if let Some(change) = example.strip_prefix("# chat in 1.8: ") {
            (change, &[47][..])
        } else {
            continue;
        };
        let (came, went) = change.lines().next().unwrap().split_once(" -> ").unwrap();
        for version in versions {
            let packet = said(*version, came.trim_matches('"'));
            let judgement = pipeline.apply(&packet);
            assert_eq!(judgement.effects.notes.comments, Vec::<String>::new(), "{version}");
            match went {
                "drop" => assert_eq!(judgement.verdict, Verdict::Drop, "{version}: {example}"),
                went => {
                    let value = after(&packet, &judgement);
                    let message = value.get("message").unwrap().as_text().unwrap();
                    assert_eq!(message, went.trim_matches('"'), "{version}: {example}");
                }
            }
        }
        ran += 1;
    }
    assert_eq!(ran, 6);
}

#[test]
fn the_recipes_for_text_components_show_their_text_in_every_version() {
    let page = include_str!("../../../../../../docs/filters.md");
    let mut ran = 0;
    for example in page.split("```toml\n# text: ").skip(1) {
        let example = example.split("```").next().unwrap();
        let (came, shown) = example.lines().next().unwrap().split_once(" -> ").unwrap();
        let (mut pipeline, _) = rules(&format!("# {example}"));
        let versions = Catalog::embedded().versions().map(|(version, _)| version);
        // Those before 735 are snapshots of 1.16.
        let releases =
            |it: &i32| (47..579).contains(it) || (735..Catalog::FIRST_SNAPSHOT).contains(it);
        for version in versions.filter(releases) {
            let packet = said(version, came.trim_matches('"'));
            let judgement = pipeline.apply(&packet);
            let Effects { notes, sends, .. } = judgement.effects;
            assert_eq!(notes.comments, Vec::<String>::new(), "{version}");
            let [send] = &sends[..] else { panic!("{version}: {came} sends {sends:?}") };
            let protocol = &packet.context().protocol;
            let (ty, start) = protocol.identify(State::Play, send.direction, &send.body).unwrap();
            let sent = protocol.decode(ty, &send.body, start).unwrap();
            let texts =
                ["message", "content", "text"].into_iter().filter_map(|name| sent.get(name));
            let texts: Vec<String> = texts
                .filter_map(|value| match value.plain() {
                    Value::Nbt(nbt) => Some(plain_nbt(&nbt.root)),
                    value => value.as_text().filter(|it| it.starts_with('{')).map(plain_text),
                })
                .collect();
            assert_eq!(texts, [shown.trim_matches('"')], "{version}: {sent:?}");
        }
        ran += 1;
    }
    assert_eq!(ran, 3);
}

#[test]
fn the_page_documents_every_key() {
    let page = include_str!("../../../../../../docs/filters.md");
    let rule = RuleKey::names();
    for key in rule.iter().chain(keys::CAPTURE).chain(keys::SEND).chain(keys::REPLACE) {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!("\n{key} ")), "{key}");
    }
}
