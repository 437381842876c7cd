//! The table of keys, compared with what the parser and the checks do, and written into the schema and the docs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::faults::faults;
use super::*;
use crate::filter::rules::keys::{self, KeyInfo, KeyKind, RuleKey};

/// Returns a rule with the examples of these keys and of what they need, and what is wrong with it.
fn rule(keys: &[RuleKey]) -> (Option<RuleSet>, String) {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys.dedup();
    for key in keys.clone() {
        if let [needed, ..] = key.info().needs
            && !keys.contains(needed)
        {
            keys.push(*needed);
        }
    }
    let mut file = "[capture]\nfile = 'a.pcapng'\nring = '30s'\n[[rule]]\n".to_owned();
    if !keys.contains(&RuleKey::When) {
        let timed = keys.contains(&RuleKey::Timer);
        file.push_str(if timed { "when = 'play'\n" } else { "when = 'chat and serverbound'\n" });
    }
    for key in keys {
        let KeyInfo { name, example, .. } = key.info();
        let example = if key == RuleKey::When { "'play'" } else { example };
        writeln!(file, "{name} = {example}").unwrap();
    }
    let Checked { rules, faults } = RuleSet::parse(&file, &Catalog::embedded().only(&[47]));
    let faults: Vec<String> = faults.iter().map(|it| it.render("f")).collect();
    (rules, faults.join("\n"))
}

#[test]
fn each_line_of_the_table_is_that_of_its_key() {
    for (place, info) in RuleKey::TABLE.iter().enumerate() {
        assert_eq!(info.key as usize, place, "{}", info.name);
        assert_eq!(RuleKey::named(info.name), Some(info.key));
        assert!(info.help.ends_with('.'), "{}", info.name);
    }
    assert_eq!(RuleKey::TABLE.len(), RuleKey::Close as usize + 1);
}

#[test]
fn each_key_is_of_its_kind_and_its_example_is_right() {
    for KeyInfo { key, name, kind, .. } in RuleKey::TABLE {
        // A condition is of use beside an action, and a seed beside chance.
        let beside = match kind {
            KeyKind::Condition if *key == RuleKey::Timer => &[RuleKey::Send][..],
            KeyKind::Condition => &[RuleKey::Tag, RuleKey::Chance],
            _ => &[],
        };
        let mut keys = vec![*key];
        keys.extend(beside.iter().filter(|it| *it != key));
        let (rules, faults) = rule(&keys);
        assert_eq!(faults, "", "{name}");
        let set = rules.unwrap();
        let actions = &set.rules()[0].actions;
        assert_eq!(actions.rewrites(), *kind == KeyKind::Rewrites, "{name}");
        assert_eq!(actions.drops(), *kind == KeyKind::Ends, "{name}");
        assert_eq!(actions.delays() || actions.copy > 0, *kind == KeyKind::Late, "{name}");
        let sends = *kind == KeyKind::Sends || *key == RuleKey::Timer;
        assert_eq!(!actions.send.is_empty(), sends, "{name}");
    }
}

#[test]
fn what_has_no_effect_beside_another_key_is_an_error_for_every_key_of_its_kind() {
    for KeyInfo { key, name, kind, timed, excludes, needs, .. } in RuleKey::TABLE {
        for end in [RuleKey::Drop, RuleKey::Close] {
            let (rules, faults) = rule(&[end, *key, RuleKey::Chance]);
            let idle = matches!(kind, KeyKind::Rewrites | KeyKind::Late);
            let said =
                faults.contains(&format!("error: `{name}` has no effect on a dropped packet"));
            assert_eq!(said, idle, "{name} beside {}: {faults}", end.name());
            let close = idle && end == RuleKey::Close;
            assert_eq!(faults.contains("`close` ends the session without"), close, "{faults}");
            assert_eq!(rules.is_none(), faults.contains("error: "), "{faults}");
        }
        let (_, faults) = rule(&[RuleKey::Timer, *key]);
        let said =
            faults.contains(&format!("`{name}` needs a packet; a rule with `timer` has none"));
        assert_eq!(said, !timed, "{name}: {faults}");
        for other in *excludes {
            let (_, faults) = rule(&[*key, *other]);
            let message = format!("`{name}` and `{}` exclude each other", other.name());
            assert_eq!(faults.matches(&message).count(), 1, "{faults}");
        }
        if let [needed, ..] = needs {
            let file = format!("[[rule]]\n{name} = {}\n", key.info().example);
            let faults = RuleSet::parse(&file, &Catalog::embedded().only(&[47])).faults;
            let hint = format!("add `{} = {}`", needed.name(), needed.info().example);
            assert_eq!(faults[0].hint, Some(hint), "{name}");
        }
    }
}

#[test]
fn a_seed_without_anything_random_is_a_warning() {
    let warned = |more: &str| {
        let file = format!("[[rule]]\nwhen = 'chat and serverbound'\nseed = 1\n{more}\n");
        let checked = RuleSet::parse(&file, &Catalog::embedded().only(&[47]));
        let warned = checked.faults.iter().any(|it| it.message.starts_with("`seed` has no effect"));
        assert!(!warned || checked.rules.is_some(), "it is no error");
        warned
    };
    for more in ["drop = true", "limit = 2\ntag = 'x'", "delay = '1s'", "throttle = '1kB/s'", ""] {
        assert!(warned(more), "{more}");
    }
    for more in ["chance = 0.5\ndrop = true", "corrupt = 1", "delay = '1s ± 1ms'", "delay = 'x'"] {
        assert!(!warned(more), "{more}");
    }
}

#[test]
fn keys_of_the_schema_are_those_of_the_parser() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../../../docs/filter-file.schema.json"))
            .unwrap();
    let keys = |pointer: &str| -> Vec<String> {
        let properties = schema.pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
        let mut keys: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    for (pointer, known) in [
        ("/properties", keys::FILE),
        ("/properties/capture/properties", keys::CAPTURE),
        ("/$defs/rule/properties", &RuleKey::names()[..]),
        ("/$defs/replace/properties", keys::REPLACE),
        ("/$defs/send/properties", keys::SEND),
    ] {
        let mut known: Vec<String> = known.iter().map(|key| (*key).to_owned()).collect();
        known.sort();
        assert_eq!(keys(pointer), known, "{pointer}");
    }
}

#[test]
fn the_parser_accepts_every_key_it_knows() {
    for key in RuleKey::names() {
        let output = faults(&format!("[[rule]]\n{key} = 1979-05-27\n"));
        assert!(!output.contains("unknown key"), "{key}: {output}");
        assert!(output.contains("error"), "{key} takes a date: {output}");
    }
    for key in keys::CAPTURE {
        assert!(!faults(&format!("[capture]\n{key} = 1\n")).contains("unknown key"), "{key}");
    }
}

/// Compares a part of a document, from one text up to another, with what it should be; `UPDATE_DOCS` writes it.
fn compare(document: &str, (begin, end): (&str, &str), fresh: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(begin).unwrap();
    let (_, tail) = rest.split_once(end).unwrap();
    let fresh = format!("{head}{begin}{fresh}{end}{tail}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &fresh).unwrap();
    }
    let stale = "is stale: UPDATE_DOCS=1 cargo test -p mitmcraft-engine --lib filter::rules";
    assert!(fs::read_to_string(&path).unwrap() == fresh, "docs/{document} {stale}");
}

#[test]
fn the_docs_list_the_keys_of_the_table() {
    let mut table = "| key | meaning | with `timer` |\n| --- | --- | --- |\n".to_owned();
    for KeyInfo { name, help, timed, .. } in RuleKey::TABLE {
        let timed = if *timed { "yes" } else { "" };
        writeln!(table, "| `{name}` | {help} | {timed} |").unwrap();
    }
    compare(
        "filters.md",
        ("<!-- The keys, written by a test: -->\n", "<!-- up to here -->\n"),
        &table,
    );
}

#[test]
fn the_schema_has_the_keys_of_the_table() {
    let required = |keys: &[RuleKey]| -> String {
        let alternatives =
            keys.iter().map(|key| format!("{{ \"required\": [\"{}\"] }}", key.name()));
        alternatives.collect::<Vec<_>>().join(", ")
    };
    let those = |wanted: fn(&KeyInfo) -> bool| -> Vec<RuleKey> {
        RuleKey::TABLE.iter().filter(|it| wanted(it)).map(|it| it.key).collect()
    };
    let properties = RuleKey::TABLE.iter().map(|it| {
        let help = serde_json::Value::from(it.help);
        format!("        \"{}\": {{ \"description\": {help}, {} }}", it.name, it.schema)
    });
    let idle = required(&those(|it| it.kind.needs_forwarding()));
    let mut all = vec![
        format!(
            "{{ \"not\": {{ \"required\": [\"drop\"], \"properties\": {{ \"drop\": {{ \"const\": true }} }}, \
             \"anyOf\": [{idle}] }} }}"
        ),
        format!("{{ \"not\": {{ \"required\": [\"close\"], \"anyOf\": [{idle}] }} }}"),
        format!(
            "{{ \"not\": {{ \"required\": [\"timer\"], \"anyOf\": [{}] }} }}",
            required(&those(|it| !it.timed))
        ),
    ];
    for KeyInfo { name, excludes, needs, .. } in RuleKey::TABLE {
        all.extend(excludes.iter().map(|other| {
            format!("{{ \"not\": {{ \"required\": [\"{name}\", \"{}\"] }} }}", other.name())
        }));
        if !needs.is_empty() {
            let needs = required(needs);
            all.push(format!(
                "{{ \"anyOf\": [{{ \"not\": {{ \"required\": [\"{name}\"] }} }}, {needs}] }}"
            ));
        }
    }
    let all: Vec<String> = all.into_iter().map(|it| format!("        {it}")).collect();
    let fresh = format!(
        "      \"type\": \"object\",\n      \"additionalProperties\": false,\n      \"properties\": {{\n{}\n      }},\n      \
         \"allOf\": [\n{}\n      ]\n    }},\n",
        properties.collect::<Vec<_>>().join(",\n"),
        all.join(",\n")
    );
    let parts = ("    \"rule\": {\n", "    \"replace\": {\n");
    compare("filter-file.schema.json", parts, &fresh);
}
