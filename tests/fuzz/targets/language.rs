//! The expression language and filter files.

use std::sync::LazyLock;

use mitmcraft_engine::capture::Record;
use mitmcraft_engine::filter::{Pipeline, RuleSet, Severity};
use mitmcraft_engine::lang::amount::{Jittered, Period, Rate, Size};
use mitmcraft_engine::lang::{Expr, Formula, Vocabulary};
use mitmcraft_protocol::packet::FieldPath;
use mitmcraft_protocol::schema::Catalog;

use super::Features;

/// Two versions, so that checking is quick: 1.8, and the first with signed chat.
fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().only(&[47, 759]));
    &CATALOG
}

pub fn expression(input: &[u8]) -> Features {
    let mut features = Features::default();
    let text = String::from_utf8_lossy(input);
    amounts(&text);
    if let Ok(formula) = Formula::parse(&text, catalog()) {
        for record in records() {
            features.see(formula.value(record).map(|value| value.kind()));
        }
    }
    match Expr::parse(&text, catalog()) {
        Ok((expr, warnings)) => {
            assert_eq!(expr.to_string(), text);
            features.see(warnings.len());
            features.see(expr.version_warnings(&Vocabulary::new(catalog())).len());
            let negated = format!("not (\n{text}\n)");
            let negated = Expr::parse(&negated, catalog()).ok().map(|(negated, _)| negated);
            for (place, record) in records().iter().enumerate() {
                let matches = expr.matches(record);
                features.see((place, matches));
                assert!(
                    negated.as_ref().is_none_or(|negated| negated.matches(record) != matches),
                    "{text} and its negation are both {matches} for packet {place}"
                );
            }
        }
        Err(error) => {
            let span = &error.span;
            assert!(span.start <= span.end && span.end <= text.len(), "{error:?}");
            assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
            features.say(error);
        }
    }
    features
}

fn amounts(text: &str) {
    let _ = (text.parse::<Period>(), Period::positive(text), text.parse::<Rate>());
    let _ = (text.parse::<Size>(), Size::positive(text), text.parse::<Jittered>());
    if let Ok(path) = FieldPath::parse(text) {
        let again = FieldPath::parse(&path.to_string()).unwrap();
        assert_eq!(again.steps(), path.steps(), "{text}");
    }
}

pub fn rules(input: &[u8]) -> Features {
    let mut features = Features::default();
    let text = String::from_utf8_lossy(input);
    let checked = RuleSet::parse(&text, catalog());
    for fault in &checked.faults {
        let rendered = fault.render("rules.toml");
        assert!(rendered.contains("rules.toml"), "{rendered}");
        features.say(&fault.message);
    }
    let errors = checked.faults.iter().any(|fault| fault.severity == Severity::Error);
    assert_eq!(errors, checked.rules.is_none(), "{:?}", checked.faults);
    let Some(set) = checked.rules else { return features };
    let Some(mut other) = RuleSet::parse(&text, catalog()).rules else {
        panic!("the second parse rejects what the first accepts");
    };
    other.carry_over(&set);
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(other.filter()));
    for (place, record) in records().iter().enumerate() {
        let judgement = pipeline.apply(&record.packet);
        let verdict = std::mem::discriminant(&judgement.verdict);
        features.see((place, verdict, judgement.is_plain()));
        let effects = judgement.effects;
        features.see((place, effects.sends.len().min(3), effects.close.is_some()));
    }
    for count in set.counts() {
        assert!(!count.name.is_empty() || text.contains("name"), "{count:?}");
    }
    features
}

/// Some packets of the sample capture: one of each type.
pub fn records() -> &'static [Record] {
    thread_local! {
        static RECORDS: &'static [Record] = {
            let mut names = Vec::new();
            let mut records = Vec::new();
            for entry in super::seeds::entries() {
                let Some(record) = entry.record() else { continue };
                let name = record.packet.kind().map(|kind| (kind.name().clone(), kind.direction()));
                let size = record.packet.size();
                if !names.contains(&name) && size < 2000 {
                    names.push(name);
                    records.push(record.clone());
                }
            }
            records.leak()
        };
    }
    RECORDS.with(|records| *records)
}

pub fn expressions() -> Vec<Vec<u8>> {
    let seeds = [
        "chat and message matches \"^!\"",
        "clientbound and not (map_chunk or pkt.size > 100)",
        "serverbound and position.x + 1 >= 3 * (y - 2)",
        "chat.message contains \"hello\" or message in {\"a\", \"b\"}",
        "x in 1..5 and y in {1, 2..3, \"z\"}",
        "pkt.error or pkt.outcome == \"drop\" and state.login",
        "items[*].blockId != 5 and len(items) > 2",
        "lower(message) == \"x\" and text(message) matches r\"\\w+\"",
        "tag.\"minecraft:x\" == 0x10",
        "*.x > 1.5 and entity* and session == 1",
        "message + \"\\u{1f600}\" == \"\\n\\\"\" xor true",
        "distance(x, y, z, 0, 64, 0) < 10",
        "-x % 3 / 0 == 9223372036854775807",
        "uuid == \"b50ad385-829d-3141-a216-7e7d7539ba7f\"",
        "bytes(data)[0..3] == 0a0b0c",
        "#",
    ];
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

pub fn files() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        "[[rule]]\nname = \"greet\"\nwhen = 'chat and message == \"hi\"'\nset = { message = '\"ho\"' }\n",
        "[[rule]]\nwhen = \"clientbound\"\ndrop = true\nchance = 0.5\nevery = 2\nlimit = 3\n",
        "[[rule]]\nwhen = 'play'\ndelay = '30ms..50ms'\nreorder = true\nrate = '10/s'\n",
        "[[rule]]\nwhen = 'keep_alive'\nsend = [{ to = 'client', packet = 'chat', fields = { message = '{}', position = 0 } }]\nclose = 'enough'\n",
        "[[rule]]\nwhen = 'chat'\nreplace = { hex = '00' }\ncopy = 2\ncomment = '{message}'\ntag = 'x'\nlog = false\n",
        "[[rule]]\nwhen = 'login_start'\nset.username = '\"Alex\"'\nonce_per = 'session'\nafter = '100ms'\n",
        "[capture]\nfile = 'ring.jsonl'\nage = '10s'\nsize = '1MiB'\n[[rule]]\nwhen = 'chat'\ncapture = 'start'\n",
        "[[rule]]\nwhen = \"chat and message == \u{201c}hi\u{201d}\"\ndrop = true\n",
        "[[rule]]\nname = '\u{201c}'\nwhen = \u{201c}chat\u{201d}\n",
        "rule = [{ when = 'chat', unset = ['message'] }]\n# \u{1f600}\r\n",
        "",
    ];
    seeds.push("[[rule]]\nwhen = 'entity_metadata'\nremove = 'metadata[0]'\nset = { 'metadata[*].value' = '5' }\n");
    let mut seeds: Vec<Vec<u8>> = seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect();
    seeds
        .push(include_bytes!("../../../crates/engine/src/filter/rules/tests/faulty.toml").to_vec());
    seeds
}

pub const WORDS: &[&str] = &[
    "[[rule]]\n",
    "when = '",
    "drop = true\n",
    "set = { ",
    "delay = '1s'\n",
    "send = [{ ",
    "to = ",
    "'client'",
    "packet = 'chat'",
    "fields = { ",
    "raw = '0a'\n",
    "hex = '00'",
    "replace = ",
    "close = 'x'\n",
    "copy = 1\n",
    "log = false\n",
    "tag = 'x'\n",
    "comment = '",
    "limit = 1\n",
    "every = 2\n",
    "chance = 0.5\n",
    "once_per = 'session'\n",
    "after = '1s'\n",
    "name = ",
    "'''",
    "\"\"\"",
    " and ",
    " or ",
    "not ",
    " == ",
    " != ",
    " matches ",
    " contains ",
    " in ",
    "(",
    ")",
    "[*]",
    "[0]",
    "..",
    "{1, 2}",
    "message",
    "position",
    "chat",
    "keep_alive",
    "map_chunk",
    "x",
    "pkt.size",
    "pkt.error",
    "state.login",
    "clientbound",
    "serverbound",
    "len(",
    "lower(",
    "text(",
    "0x7fffffff",
    "9223372036854775807",
    "1.5",
    "\"a\"",
    "r\"",
    "\\u{1f600}",
    "\u{201c}",
    "\u{feff}",
    "\u{1f600}",
    "\r\n",
    "\t",
    "# x\n",
    "*",
    "tag.\"minecraft:x\"",
    "10ms",
    "1h",
    "4KiB",
    "3/s",
];
