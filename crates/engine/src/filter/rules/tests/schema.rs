//! The JSON Schema of filter files, which editors use.

use serde_json::Value as Json;

use super::*;

/// Returns whether the schema accepts a filter file.
fn accepts(file: &str) -> bool {
    let schema: Json =
        serde_json::from_str(include_str!("../../../../../../docs/filter-file.schema.json"))
            .unwrap();
    let file: toml::Table = file.parse().unwrap();
    valid(&schema, &schema, &serde_json::to_value(file).unwrap())
}

/// Validates a value by the keywords that the schema uses.
fn valid(root: &Json, schema: &Json, value: &Json) -> bool {
    let valid = |schema: &Json, value: &Json| valid(root, schema, value);
    schema.as_object().unwrap().iter().all(|(keyword, wanted)| {
        let each = || wanted.as_array().unwrap().iter();
        let has = |key: &Json| value.get(key.as_str().unwrap()).is_some();
        let pattern =
            |text: &str| regex::Regex::new(wanted.as_str().unwrap()).unwrap().is_match(text);
        match keyword.as_str() {
            "$schema" | "$defs" | "$comment" | "title" | "description" | "default" => true,
            "$ref" => {
                let place = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                valid(root.pointer(place).unwrap(), value)
            }
            "type" => match wanted.as_str().unwrap() {
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64(),
                "number" => value.is_number(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                other => panic!("{other}"),
            },
            "enum" => each().any(|it| it == value),
            "const" => wanted == value,
            "pattern" => value.as_str().is_none_or(pattern),
            "minimum" => value.as_f64().is_none_or(|it| it >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|it| it <= wanted.as_f64().unwrap()),
            "required" => each().all(has),
            "properties" => wanted
                .as_object()
                .unwrap()
                .iter()
                .all(|(key, schema)| value.get(key).is_none_or(|value| valid(schema, value))),
            "additionalProperties" => {
                assert_eq!(wanted, false);
                let known = schema["properties"].as_object().unwrap();
                value.as_object().is_none_or(|it| it.keys().all(|key| known.contains_key(key)))
            }
            "propertyNames" => value
                .as_object()
                .is_none_or(|it| it.keys().all(|key| valid(wanted, &Json::from(key.as_str())))),
            "minItems" => {
                let least = wanted.as_u64().unwrap() as usize;
                value.as_array().is_none_or(|it| it.len() >= least)
            }
            "items" => value.as_array().is_none_or(|it| it.iter().all(|it| valid(wanted, it))),
            "allOf" => each().all(|schema| valid(schema, value)),
            "anyOf" => each().any(|schema| valid(schema, value)),
            "oneOf" => each().filter(|schema| valid(schema, value)).count() == 1,
            "not" => !valid(wanted, value),
            other => panic!("keyword {other}"),
        }
    })
}

/// Returns whether the parser accepts a filter file.
fn parses(file: &str) -> bool {
    RuleSet::parse(file, &Catalog::embedded().only(&[47])).rules.is_some()
}

#[test]
fn the_schema_rejects_faults_of_form() {
    for rule in [
        "drp = true",
        "name = 1",
        "when = true",
        "after = 5",
        "after = 'soon'",
        "after = '1.2.3s'",
        "after = '5 parsecs'",
        "for = '.'",
        "every = 0",
        "every = 'x'",
        "chance = 1.5",
        "chance = -1",
        "once_per = 'sesion'",
        "limit = 0",
        "seed = 'x'",
        "log = 'loud'",
        "show = 1",
        "record = 'yes'",
        "comment = 1",
        "tag = [1]",
        "write = 'begin'",
        "write = 'start'",
        "drop = 'yes'",
        "drop = true\nset = { message = 'x' }",
        "drop = true\ncopy = 1",
        "drop = true\ndelay = '1s'",
        "drop = true\ndelay = '1s'\nreorder = true",
        "close = 'x'\nset = { message = 'x' }",
        "close = 'x'\ncopy = 1",
        "close = 'x'\nthrottle = '1k/s'",
        "timer = '10s'\nset = { message = 'x' }",
        "timer = '10s'\nevery = 2\nclose = 'x'",
        "set = 1",
        "set = { 'message[' = 'x' }",
        "remove = 'message'",
        "remove = ['message[']",
        "replace = {}",
        "replace = { packet = 'chat' }",
        "replace = { fields = { message = 'x' }, hex = '00' }",
        "replace = { fields = { message = 'x' } }\nset = { message = 'x' }",
        "replace = { fields = { message = 'x' } }\nremove = ['message']",
        "replace = { raw = 'ff' }",
        "replace = { hex = '0' }",
        "truncate = -1",
        "truncate = 2147483648",
        "corrupt = 0",
        "corrupt = 2000000",
        "send = { packet = 'chat' }",
        "send = { to = 'nobody', hex = '00' }",
        "send = { to = 'client' }",
        "send = { to = 'client', fields = { message = 'x' } }",
        "send = { to = 'client', hex = '00', raw = '00' }",
        "send = { to = 'client', hex = ' ' }",
        "send = { to = 'client', hex = '00', place = 'behind' }",
        "delay = 'soon'",
        "delay = '200ms ± x'",
        "throttle = '64kB'",
        "throttle = '0/s'",
        "reorder = true",
        "copy = 1001",
        "close = true",
    ] {
        let file = format!("[[rule]]\nwhen = 'chat and serverbound'\n{rule}\n");
        let unconditional = format!("[[rule]]\n{rule}\n");
        let file = if rule.starts_with("when") { unconditional } else { file };
        assert!(!parses(&file), "no fault: {rule}");
        assert!(!accepts(&file), "{rule}");
    }
    for file in [
        "rul = 1",
        "rule = 1",
        "[capture]\nring = '30s'",
        "[capture]\nfile = 'a.pcapng'",
        "[capture]\nfile = 'a.pcapng'\nring = '30 parsecs'",
        "[capture]\nfile = 'a.pcapng'\nring = '30s'\nbytes = 'x'",
        "[capture]\nfile = 'a.pcapng'\nring = '30s'\nbytes = '0'",
        "[capture]\nfile = 'a.pcapng'\nring = '30s'\nbyte = '1M'",
    ] {
        assert!(!parses(file) && !accepts(file), "{file}");
    }
}

#[test]
fn the_schema_accepts_what_the_parser_accepts() {
    for rule in [
        "after = ' 1.5 s'\nfor = '2min'\ndrop = true",
        "after = '.5'\nfor = '1e3'\ndrop = true",
        "drop = false\nset = { message = 'x' }",
        "set = { 'message#/a[0]' = 'x' }",
        "delay = '200ms ± 50ms'\nreorder = true",
        "delay = '0.2s+/-50ms'",
        "delay = '1s +- 1s'",
        "throttle = '64 kB/s'",
        "throttle = '0.5MiB/s'\nreorder = false",
        "throttle = '1g/s'",
        "replace = { hex = '01 0 2 61 62' }",
        "replace = { packet = 'chat', fields = { message = 'x' } }",
        "send = { to = 'server', packet = 'chat', fields = { message = 'x' }, place = 'before' }",
        "send = [{ to = 'client', raw = '00' }]",
        "log = 'hex'\ntag = ['a']\ncomment = '=message'",
        "copy = 1000\nseed = -1\nchance = 1",
        "truncate = 0\nlimit = 3",
        "close = 'x'",
    ] {
        let file = format!("[[rule]]\nwhen = 'chat and serverbound'\n{rule}\n");
        assert!(parses(&file), "fault: {rule}");
        assert!(accepts(&file), "{rule}");
    }
    let capture = "[capture]\nfile = 'a.pcapng'\nring = '30s'\nbytes = '1.5M'\n";
    for file in ["", capture, &format!("{capture}[[rule]]\nwhen = 'chat'\nwrite = 'start'\n")] {
        assert!(parses(file) && accepts(file), "{file}");
    }
}

#[test]
fn the_schema_judges_expectations_as_the_parser_does() {
    let file = |expect: &str| format!("[[expect]]\n{expect}\n");
    for expect in [
        "when = 'chat'",
        "name = 'x'\nafter = 'success'\nwhen = 'chat'\nwithin = '1.5s'\nper = 'run'",
        "when = 'chat'\nafter = 'success'\nuntil = 'keep_alive'\nat_end = 'pass'",
        "when = 'chat'\ncount = 0",
        "when = 'chat'\ncount = ' <=3 '",
        "when = 'chat'\ncount = '> 0'",
        "when = 'chat'\nnever = true\nsame = ['message']",
        "when = 'chat'\nnever = false\ncount = '== 2'",
        "when = 'chat'\nbytes = '<= 1.5MiB'\nrate = '20/s'",
        "when = 'chat'\nbytes = 12\nrate = '>= 2 kB/s'",
        "order = ['login', 'chat']\nsame = ['keepAliveId']",
    ] {
        assert!(parses(&file(expect)), "fault: {expect}");
        assert!(accepts(&file(expect)), "{expect}");
    }
    for expect in [
        "name = 'x'",
        "wen = 'chat'",
        "when = 1",
        "when = 'chat'\nafter = 5",
        "when = 'chat'\nwithin = 'soon'",
        "when = 'chat'\nwithin = '0s'",
        "when = 'chat'\nuntil = 5",
        "when = 'chat'\nat_end = 'later'",
        "when = 'chat'\ncount = -1",
        "when = 'chat'\ncount = '>= 0'",
        "when = 'chat'\ncount = '=> 1'",
        "when = 'chat'\ncount = '1.5'",
        "when = 'chat'\nnever = 1",
        "when = 'chat'\nnever = true\ncount = 0",
        "when = 'chat'\nnever = true\nrate = '<= 1/s'",
        "when = 'chat'\norder = ['login', 'chat']",
        "order = ['login']",
        "order = ['login', 'chat']\ncount = 1",
        "order = ['login', 'chat']\nnever = true",
        "when = 'chat'\nsame = []",
        "when = 'chat'\nsame = 'message'",
        "when = 'chat'\nbytes = '< 0'",
        "when = 'chat'\nrate = '20'",
        "when = 'chat'\nrate = '1 parsec/s'",
        "when = 'chat'\nper = 'player'",
    ] {
        assert!(!parses(&file(expect)), "no fault: {expect}");
        assert!(!accepts(&file(expect)), "{expect}");
    }
}
