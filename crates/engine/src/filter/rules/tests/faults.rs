use super::*;

/// Returns all errors and warnings of a file as a user sees them.
pub(super) fn faults(text: &str) -> String {
    let checked = RuleSet::parse(text, &Catalog::embedded().only(&[47]));
    let faults: Vec<String> =
        checked.faults.iter().map(|fault| fault.render("rules.toml")).collect();
    let errors = checked.faults.iter().any(|fault| fault.severity == Severity::Error);
    assert_eq!(checked.rules.is_none(), errors);
    faults.join("\n")
}

#[test]
fn every_error_of_a_file_is_reported_at_once() {
    let text = include_str!("faulty.toml");
    let output = faults(text);
    let expected = include_str!("faulty.txt");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/filter/rules/tests/faulty.txt");
        std::fs::write(path, format!("{output}\n")).unwrap();
        return;
    }
    assert_eq!(output, expected.trim_end(), "UPDATE_DOCS=1 writes it again");
}

#[test]
fn invalid_toml_is_reported_with_its_place() {
    let output = faults("[[rule]\nname = 'x'\nwhen = 'chat'\n");
    assert_eq!(output.matches("error: ").count(), 1, "{output}");
    assert!(output.contains(" --> rules.toml:1:8\n  | [[rule]\n  |        ^"), "{output}");
    let output = faults("[[rule]]\nname = \nwhen = 'chat\n");
    assert!(output.contains("rules.toml:2:") && output.contains("rules.toml:3:"), "{output}");
}

#[test]
fn a_path_without_quotes_is_shown_how_to_write_it() {
    let said = faults("[[rule]]\nwhen = 'custom_payload'\nset = { payload.a/b = 1 }\n");
    assert!(said.contains("invalid unquoted key"), "{said}");
    assert!(said.contains("put a path in quotes: `\"payload.x/y\" = ..`"), "{said}");
}

#[test]
fn curly_quotes_are_reported_with_their_places() {
    let output = faults("[[rule]]\nwhen = “chat”\n");
    assert!(output.contains("rules.toml:2:8\n  | when = “chat”\n"), "{output}");
    for when in ["“chat", "\"chat“", "“", "\"chat\\ “", "'chat ”", "\"\"\"“"] {
        let output = faults(&format!("[[rule]]\nwhen = {when}\n"));
        assert!(output.contains(" --> rules.toml:2:"), "{output}");
    }
}

#[test]
fn an_empty_file_has_no_rules_and_no_faults() {
    assert_eq!(faults(""), "");
    assert_eq!(faults("# nothing\n"), "");
}

#[test]
fn rules_that_cannot_work_are_rejected_with_the_reason() {
    for (when, action, why) in [
        ("compress", "drop = true", "begin to compress"),
        ("compress", "copy = 1", "begin to compress"),
        ("set_compression", "delay = '1s'", "begin to compress"),
        ("encryption_begin and clientbound", "set = { serverId = 'x' }", "exchanges keys"),
        ("encryption_begin and serverbound", "corrupt = 1", "exchanges keys"),
        ("encryption_begin", "close = 'x'", "exchanges keys"),
        ("encryption_begin", "send = { to = 'client', raw = '00' }", "exchanges keys"),
        ("success and state.login", "drop = true", "does not enter"),
        ("success and state.login", "delay = '1s'", "what comes next"),
        ("set_protocol", "drop = true", "what the connection is for"),
        ("set_protocol", "set = { protocolVersion = 5 }", "has read version"),
        ("set_protocol", "replace = { fields = { } }", "has read version"),
    ] {
        let output = faults(&format!("[[rule]]\nwhen = '{when}'\n{action}\n"));
        assert!(output.contains("error: ") && output.contains(why), "{when} {action}: {output}");
    }
}

#[test]
fn rules_that_can_work_on_connection_packets_are_accepted() {
    for (when, action) in [
        ("set_protocol", "set = { serverHost = 'x', serverPort = 1 }"),
        ("success and state.login", "set = { username = 'x' }"),
        ("login_start", "set = { username = 'x' }"),
        ("compress", "log = false"),
        ("disconnect", "set = { 'reason#/text' = 'x' }"),
        ("server_info", "set = { 'response#/players/online' = 5 }"),
    ] {
        assert_eq!(faults(&format!("[[rule]]\nwhen = '{when}'\n{action}\n")), "", "{when}");
    }
    let output = faults("[[rule]]\nwhen = 'clientbound'\ndrop = true\n");
    assert!(output.starts_with("warning: `drop` does not apply to `compress`"), "{output}");
    let output = faults("[[rule]]\ndrop = true\n");
    assert!(output.starts_with("warning: `drop` does not apply to `compress`"), "{output}");
}

#[test]
fn the_key_of_a_condition_is_found_by_its_other_names() {
    for name in ["where", "if", "filter", "whne"] {
        let output = faults(&format!("[[rule]]\n{name} = 'chat'\ndrop = true\n"));
        assert!(output.contains("did you mean `when`?"), "{output}");
    }
}

#[test]
fn names_of_only_some_releases_are_warnings_that_list_them() {
    let warnings = |when: &str| -> Vec<String> {
        let file = format!("[[rule]]\nwhen = '{when}'\ndrop = true\n");
        let checked = RuleSet::parse(&file, Catalog::embedded());
        checked.faults.into_iter().map(|fault| fault.message).collect()
    };
    assert_eq!(
        warnings("chat_message"),
        ["only versions 1.19 and later have a packet `chat_message`"]
    );
    assert_eq!(
        warnings("chat"),
        ["only versions up to 1.18.2, Alpha and Beta 1.0 to 1.6.4 have a packet `chat`"]
    );
    assert_eq!(
        warnings("pre_chunk"),
        ["only Alpha and Beta 1.0 to 1.6.4 have a packet `pre_chunk`"]
    );
    assert_eq!(
        warnings("kick_disconnect and motd.exists"),
        [
            "only versions 1.19 and later, Alpha, Beta 1.0 to 1.6.4 and pings before 1.7 have a field `motd`"
        ]
    );
    assert_eq!(warnings("stat"), ["only Query has a packet `stat`"]);
    assert_eq!(
        warnings("map_chunk.bitMap == 3"),
        ["only versions up to 1.17.1 and Beta 1.0 to 1.6.4 have a field `map_chunk.bitMap`"]
    );
    for when in ["chat or chat_message", "map_chunk.x == -9", "keep_alive", "message == \"x\""] {
        assert_eq!(warnings(when), [""; 0], "{when}");
    }
}

#[test]
fn a_rule_that_only_splits_bundles_is_rejected() {
    let text = "[[rule]]\nwhen = 'bundle_delimiter'\ndrop = true\n";
    let checked = RuleSet::parse(text, Catalog::embedded());
    assert!(checked.rules.is_none());
    assert!(checked.faults.iter().any(|fault| fault.message.contains("the client waits")));
}

#[test]
fn a_rule_on_what_changes_the_state_is_rejected() {
    for when in ["login_acknowledged", "start_configuration", "configuration_acknowledged"] {
        let text = format!("[[rule]]\nwhen = '{when}'\ndrop = true\n");
        let checked = RuleSet::parse(&text, Catalog::embedded());
        assert!(checked.rules.is_none());
        let why = "what the next ids mean";
        assert!(checked.faults.iter().any(|fault| fault.message.contains(why)), "{when}");
    }
}

#[test]
fn fields_and_packets_of_versions_between_the_oldest_and_the_newest_are_known() {
    let faults = |rule: &str| -> Vec<String> {
        let checked = RuleSet::parse(&format!("[[rule]]\n{rule}\n"), Catalog::embedded());
        let errors = checked.faults.into_iter().filter(|it| it.severity == Severity::Error);
        errors.map(|fault| fault.message).collect()
    };
    assert_eq!(faults("when = 'chat_message'\nset = { signedPreview = true }"), [""; 0]);
    assert_eq!(
        faults("when = 'chat_preview'\nset = { nothing = 1 }"),
        ["no packet that this rule can match has a field `nothing`"]
    );
}

#[test]
fn an_unknown_field_comes_with_the_fields_that_there_are_if_they_are_few() {
    for (when, hint) in [
        ("chat and serverbound", Some("it has message")),
        (
            "pkt.family == \"java\" and (world_particles or chat and serverbound)",
            Some(
                "it has data, longDistance, message, offsetX, offsetY, offsetZ, particleData, \
                 particleId, particles, x, y, z",
            ),
        ),
        ("world_particles or chat", None),
        ("ping_start", None),
    ] {
        let output = faults(&format!("[[rule]]\nwhen = '{when}'\nset = {{ qqqqqqqq = 1 }}\n"));
        assert!(output.contains("has a field `qqqqqqqq`"), "{output}");
        assert_eq!(output.contains("it has"), hint.is_some(), "{output}");
        assert!(output.contains(hint.unwrap_or_default()), "{output}");
    }
}

#[test]
fn faults_of_actions_are_reported_once() {
    for (rule, message) in [
        ("reorder = true", "`reorder` needs `delay` or `throttle`"),
        ("when = 'chat'\nreorder = true\ndelay = 5", "`delay` must be text, not an integer"),
        ("when = 'chat'\nreorder = true\nthrottle = 5", "`throttle` must be text, not an integer"),
        ("when = 'chat'\nreplace = { fields = 'x' }", "`fields` must be a table, not text"),
        ("when = 'chat'\nreplace = { raw = 'ff' }", "unknown key `raw`"),
        ("when = 'chat'\nreplace = { hex = 'ff', hey = 'ff' }", "unknown key `hey`"),
        ("when = 'chat'\nreplace = { packet = 'keep_alive' }", "the packet is missing"),
        ("when = 'chat'\nreplace = {}", "the packet is missing"),
        ("when = 'chat'\nsend = { to = 'client' }", "the packet is missing"),
        (
            "when = 'chat'\nsend = { to = 'client', fields = { message = 'x' } }",
            "`packet` is missing",
        ),
        (
            "when = 'chat and serverbound'\nset = { message = { a = '=message' } }",
            "`message`: expected text, found a table",
        ),
        (
            "when = 'chat and serverbound'\nset = { message = {} }",
            "`message`: expected text, found a table",
        ),
    ] {
        let checked =
            RuleSet::parse(&format!("[[rule]]\n{rule}\n"), &Catalog::embedded().only(&[47]));
        let said: Vec<_> = checked.faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(said[0], message, "{rule}");
        assert!(rule.contains("fields = 'x'") || said[1..].is_empty(), "{rule}: {said:?}");
    }
}

#[test]
fn a_rule_without_a_name_of_its_own_is_shown_where_it_begins() {
    let output = faults("[[rule]]\nname = 'rule 2'\n[[rule]]\nwhen = 'chat'\nshow = true\n");
    assert!(output.contains("another rule is named `rule 2`"), "{output}");
    assert!(output.contains("rules.toml:4:1"), "{output}");
}

#[test]
fn a_value_without_quotes_is_one_fault() {
    for value in ["maybe", "yes", "a b"] {
        let file = format!("[[rule]]\nname = 'a'\nwhen = 'play'\ndrop = {value}\n");
        let faults = RuleSet::parse(&file, Catalog::embedded()).faults;
        let texts: Vec<String> = faults.iter().map(|fault| fault.render("f")).collect();
        assert_eq!(texts.len(), 1, "{}", texts.join("\n"));
    }
}

#[test]
fn a_warning_about_versions_says_what_the_others_have() {
    for (when, hint) in [
        ("chat_message", "others have `chat`; `role.chat` matches all of them"),
        ("system_chat", "others have `chat`; `role.chat` matches all of them"),
        (
            "title",
            "others have `action_bar`, `set_title_subtitle`, `set_title_text`, `set_title_time`; \
             `role.title` matches all of them",
        ),
        ("set_slot and item.blockId == 1", "others have a field `itemId`"),
    ] {
        let file = format!("[[rule]]\nwhen = '{when}'\ndrop = true\n");
        let checked = RuleSet::parse(&file, Catalog::embedded());
        let hints: Vec<_> = checked.faults.iter().filter_map(|it| it.hint.as_deref()).collect();
        assert!(hints.contains(&hint), "{when}: {hints:?}");
    }
}

#[test]
fn a_name_that_the_checked_version_lacks_is_no_error_in_an_alternative() {
    let only = Catalog::embedded().only(&[47]);
    let check = |when: &str| {
        let file = format!("[[rule]]\nwhen = '{when}'\ndrop = true\n");
        let checked = RuleSet::parse(&file, &only);
        let messages = checked.faults.iter().map(|fault| fault.message.clone());
        (checked.rules.is_some(), messages.collect::<Vec<_>>())
    };
    assert_eq!(check("serverbound and (chat or chat_message)"), (true, Vec::new()));
    assert_eq!(
        check("chat_message"),
        (true, vec!["no packet of the versions checked can match this".to_owned()])
    );
    assert_eq!(check("chatmessage"), (false, vec!["no packet `chatmessage`".to_owned()]));
}

#[test]
fn a_rule_without_an_action_is_a_warning() {
    let warned =
        |rule: &str| faults(rule).contains("warning: this rule has no action\n --> rules.toml:2:1");
    assert!(warned("[[rule]]\nname = 'x'\nwhen = 'chat or chat_message'\nlimit = 3\n"));
    for action in ["drop = true", "log = false", "tag = 'x'", "show = true", "copy = 1"] {
        assert!(!faults(&format!("[[rule]]\nname = 'x'\n{action}\n")).contains("no action"));
    }
}

#[test]
fn a_file_with_more_errors_than_anyone_reads_is_not_checked_to_its_end() {
    let mut text = "[[rule]]\nwhen = '('\n".repeat(1000);
    text.push_str("[[rule]]\nset = { nothing = 1 }\n");
    let checked = RuleSet::parse(&text, Catalog::embedded());
    assert!(checked.rules.is_none());
    assert_eq!(checked.faults.len(), 1001);
    let end = "the rules from here on are not checked: 1000 faults";
    assert!(checked.faults.iter().any(|fault| fault.message == end));
}

#[test]
fn a_file_with_more_warnings_than_anyone_reads_is_checked_to_its_end() {
    let mut text = "[[rule]]\n".repeat(1200);
    let checked = RuleSet::parse(&text, Catalog::embedded());
    assert!(checked.rules.is_some());
    assert_eq!(checked.faults.len(), 1001);
    let last = checked.faults.last().unwrap();
    assert_eq!((last.severity, last.line), (Severity::Warning, 1001));
    assert_eq!(last.message, "only errors are looked for from here on: 1000 faults");

    text.push_str("[[rule]]\nset = { nothing = 1 }\n");
    let checked = RuleSet::parse(&text, Catalog::embedded());
    assert!(checked.rules.is_none());
    assert_eq!(checked.faults.len(), 1002);
    let last = checked.faults.last().unwrap();
    assert_eq!((last.severity, last.line), (Severity::Error, 1202));
}

/// Returns the faults of a file that is checked against every version.
fn all_faults(text: &str) -> String {
    let checked = RuleSet::parse(text, Catalog::embedded());
    let faults: Vec<String> = checked.faults.iter().map(|it| it.render("rules.toml")).collect();
    faults.join("\n")
}

#[test]
fn a_rule_is_judged_by_the_versions_that_it_can_reach() {
    // Packets and fields that only versions have which the rule excludes are neither errors nor warnings.
    let guarded = "[[rule]]\nwhen = 'clientbound and position and pkt.protocol == 769'\n";
    let sends = |fields: &str| {
        format!(
            "{guarded}send = {{ to = 'client', packet = 'position', fields = {{ {fields} }} }}\n"
        )
    };
    let missing = all_faults(&sends("x = 1, y = 2, z = 3, yaw = 0, pitch = 0, flags = 0"));
    assert!(missing.contains("teleportId: expected an integer, found nothing"), "{missing}");
    let wrong = "teleportId = 1, x = 1, y = 2, z = 3, dx = 0, dy = 0, dz = 0, yaw = 0, pitch = 0";
    let wrong = all_faults(&sends(&format!("{wrong}, flags = 0")));
    assert!(wrong.contains("flags: expected a table"), "{wrong}");
    let title = "send = { to = 'client', packet = 'title', fields = { action = 0, text = 'x' } }\n";
    let unreached = all_faults(&format!("{guarded}{title}"));
    assert!(
        unreached
            .contains("error: no version in which this rule can match has a clientbound `title`"),
        "{unreached}"
    );
    for reached in ["pkt.protocol < 735", "not (pkt.protocol >= 735)", "pkt.version == \"1.8\""] {
        let rule = format!("[[rule]]\nwhen = 'clientbound and position and {reached}'\n{title}");
        assert_eq!(all_faults(&rule), "", "{reached}");
    }
    let chat = "[[rule]]\nwhen = 'serverbound and chat and pkt.protocol < 735'\ndrop = true\n";
    assert_eq!(all_faults(chat), "");
}

#[test]
fn what_only_some_versions_can_set_or_send_is_a_warning() {
    let set = all_faults("[[rule]]\nwhen = 'login'\nset = { gameMode = 1 }\n");
    assert!(
        set.starts_with("warning: only versions up to 1.20.4 have a field `gameMode`"),
        "{set}"
    );
    let send = "send = { to = 'client', packet = 'title', fields = { action = 0, text = 'x' } }\n";
    let send = all_faults(&format!("[[rule]]\nwhen = 'clientbound and position'\n{send}"));
    let warning = "warning: only versions 1.8 to 1.16.5 have a clientbound packet `title`";
    assert!(send.starts_with(warning), "{send}");
    let guard = "[[rule]]\nwhen = 'login and pkt.protocol <= 765'\nset = { gameMode = 1 }\n";
    assert_eq!(all_faults(guard), "");
}

#[test]
fn the_rules_of_the_examples_have_no_error_in_any_version_that_is_checked() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rules");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        files += 1;
        for version in [47, 340, 754, 759, 765, 769] {
            let only = Catalog::embedded().only(&[version]);
            let checked = RuleSet::parse(&text, &only);
            let shown: Vec<String> = checked.faults.iter().map(|it| it.render("f")).collect();
            assert!(checked.rules.is_some(), "{version}: {}", shown.join("\n"));
        }
    }
    assert!(files > 8);
}

#[test]
fn mistakes_that_are_easily_made_come_with_what_to_write() {
    for (line, hint) in [
        ("delay = 200", "for example `\"200ms ± 50ms\"`"),
        ("chance = '5%'", "write `0.05`"),
        ("every = '10s'", "it counts matches: `every = 10` acts on the first of ten"),
        ("set = { gameMode = 'creativ' }", "did you mean `creative`?"),
    ] {
        let rule = format!("[[rule]]\nwhen = 'login and pkt.protocol == 47'\n{line}\n");
        assert!(faults(&rule).contains(hint), "{line}: {}", faults(&rule));
    }
    assert!(faults("[rule]\ndrop = true\n").contains("write `[[rule]]`"));
    // A misspelt condition does not make the rule one for all packets.
    let misspelt = faults("[[rule]]\nwhne = 'chat'\ndrop = true\n");
    assert_eq!(misspelt.matches("did you mean `when`?").count(), 1);
    assert!(!misspelt.contains("warning"), "{misspelt}");
}
