use std::process::Command;

use crate::support::{Program, mitmcraft, refuses, scratch_file};

#[test]
fn every_shell_gets_completions_of_every_verb() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Program::mitmcraft(&["completions", shell]).succeed();
        for word in ["proxy", "show", "completions", "max-frame", "write-where"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let script = scratch_file("completions.bash");
    std::fs::write(&script, Program::mitmcraft(&["completions", "bash"]).succeed()).unwrap();
    let asked = "COMP_WORDS=(mitmcraft proxy --max-f); COMP_CWORD=2; \
                 _mitmcraft mitmcraft --max-f proxy; echo ${COMPREPLY[@]}";
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("source {}; {asked}", script.display())]);
    assert_eq!(Program::start("bash", bash).succeed().trim(), "--max-frame");
}

#[test]
fn the_examples_of_completions_work_in_a_new_home() {
    let help = Program::mitmcraft(&["completions", "--help"]).succeed();
    let examples = help.split("Examples:\n").nth(1).unwrap();
    // PowerShell has a profile of its own.
    let lines: Vec<&str> = examples.lines().filter(|line| !line.contains("$PROFILE")).collect();
    let home = scratch_file("home");
    std::fs::create_dir(&home).unwrap();
    let program = mitmcraft().get_program().to_owned();
    let mut bash = Command::new("bash");
    let script = format!("set -e\nmitmcraft() {{ \"$PROGRAM\" \"$@\"; }}\n{}", lines.join("\n"));
    bash.args(["-c", &script]).env("HOME", &home).env("PROGRAM", program);
    Program::start("bash", bash).succeed();
    for file in [".zfunc/_mitmcraft", ".config/fish/completions/mitmcraft.fish"] {
        assert!(std::fs::metadata(home.join(file)).unwrap().len() > 1000, "{file}");
    }
}

#[test]
fn man_pages_have_their_names_and_are_the_same_every_time() {
    let pages = || {
        let folder = scratch_file("man");
        let written = Program::mitmcraft(&["man", folder.to_str().unwrap()]).succeed();
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        // `man -M` looks for a page of section 7 in `man7`.
        for path in written.lines() {
            let section = path.rsplit('.').next().unwrap();
            assert!(path.contains(&format!("/man{section}/")), "{path}");
        }
        written.lines().map(|path| (name(path), read(path))).collect::<Vec<_>>()
    };
    let first = pages();
    let proxy = &first.iter().find(|(name, _)| name == "mitmcraft-proxy.1").unwrap().1;
    assert!(proxy.contains("mitmcraft\\-proxy \\- Relay clients to a server"), "{proxy}");
    assert!(proxy.contains("\\fBmitmcraft proxy\\fR [") && proxy.contains(".SH EXAMPLES"));
    assert!(
        proxy.contains(".SH \"SEE ALSO\"") && proxy.contains("mitmcraft\\-filters(7)"),
        "{proxy}"
    );
    assert!(first.iter().any(|(name, _)| name == "mitmcraft.1"));
    let captures = &first.iter().find(|(name, _)| name == "mitmcraft-captures.5").unwrap().1;
    assert!(
        captures.contains("mitmcraft\\-captures \\- The formats") && captures.contains(".SH JSONL")
    );
    assert!(first.iter().any(|(name, _)| name == "mitmcraft-filters.7"));
    assert_eq!(pages(), first);
}

#[test]
fn the_configuration_file_of_the_users_folder_holds_and_config_says_so() {
    let home = scratch_file("config");
    let file = home.join("mitmcraft/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[completions]\n[proxy]\nlisten = '127.0.0.1:7'\n").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = mitmcraft();
        command.args(arguments).env("XDG_CONFIG_HOME", &home).env("MITMCRAFT_QUIET", "1");
        Program::start("mitmcraft", command)
    };
    let (status, said) = run(&["config", "proxy", "--max-frame", "1k"]).fail();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("unknown key `completions`"), "{said}");
    std::fs::write(&file, "[proxy]\nlisten = '127.0.0.1:7'\n").unwrap();
    let held = run(&["config", "proxy", "--max-frame", "1k"]).succeed();
    for line in [
        format!("listen = \"127.0.0.1:7\"  # {}:2", file.display()),
        "quiet = true  # env MITMCRAFT_QUIET".to_owned(),
        "max-frame = \"1k\"  # flag".to_owned(),
        "max-sessions = 1000  # default".to_owned(),
    ] {
        assert!(held.lines().any(|it| it == line), "{line} in {held}");
    }
    assert!(!held.contains("[ping]"), "{held}");
    assert!(run(&["config"]).succeed().contains("[ping]"));
}

#[test]
fn config_creates_the_file_with_its_folder_and_leaves_an_existing_one_alone() {
    let home = scratch_file("written");
    let file = home.join("mitmcraft/config.toml");
    let run = |arguments: &[&str]| {
        let mut command = mitmcraft();
        command.args(arguments).env("XDG_CONFIG_HOME", &home).env("MITMCRAFT_WRITE", "x.jsonl");
        Program::start("mitmcraft", command).succeed()
    };
    let read = || std::fs::read_to_string(&file).unwrap();
    assert_eq!(run(&["config", "--write"]).trim(), file.to_str().unwrap());
    let created = read();
    assert!(
        created.starts_with("# color = \"auto\"\n# log-format = \"text\"\n\n[demo]\n"),
        "{created}"
    );
    assert!(created.contains("\n[replay.server]\n# "), "{created}");
    let own = "color = 'never' # no colour\n[proxy]\nkeep_host = true\n";
    std::fs::write(&file, own).unwrap();
    let mut command = mitmcraft();
    command.args(["config", "--write"]).env("XDG_CONFIG_HOME", &home);
    let (_, said) = Program::start("mitmcraft", command).fail();
    let expected = format!("error: the configuration file {} exists already", file.display());
    assert!(said.starts_with(&expected) && said.contains("`mitmcraft config` prints"), "{said}");
    assert_eq!(read(), own);
    let named = home.join("other/named.toml");
    run(&["--config", named.to_str().unwrap(), "config", "--write"]);
    assert_eq!(std::fs::read_to_string(named).unwrap(), created);
}

#[test]
fn messages_are_json_when_asked_for_wherever_they_come_from() {
    let messages = |mut command: Command| {
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<serde_json::Value> = lines.collect();
        assert!(lines.iter().all(|line| line["time"].as_str().unwrap().ends_with('Z')), "{text}");
        let said = |line: &serde_json::Value| {
            format!("{}: {}", line["level"].as_str().unwrap(), line["message"].as_str().unwrap())
        };
        lines.iter().map(said).collect::<Vec<_>>()
    };
    let command = |words: &[&str]| {
        let mut command = mitmcraft();
        command.args(words);
        command
    };
    let usage = messages(command(&["show", "--log-format", "json"]));
    assert!(usage[0].starts_with("error: the following required arguments"), "{usage:?}");
    let failed = messages(command(&["show", "--log-format=json", "no-such-file.jsonl"]));
    assert!(failed[0].starts_with("error: "), "{failed:?}");
    let mut unknown = command(&["stats", "no-such-file.jsonl"]);
    unknown.env("MITMCRAFT_LOG_FORMAT", "json").env("MITMCRAFT_LISTN", "x");
    let unknown = messages(unknown);
    assert!(unknown[0].starts_with("warning: ") && unknown[0].contains("MITMCRAFT_LISTN"));
    let mixed = messages(command(&["proxy", "127.0.0.1:1", "-w", "-", "--log-format", "json"]));
    assert!(mixed[0].contains("needs `-q`"), "{mixed:?}");
    let demo = scratch_file("json-demo");
    std::fs::create_dir_all(&demo).unwrap();
    let folder = demo.to_str().unwrap();
    let said = messages(command(&["demo", "-q", "--log-format", "json", "--folder", folder]));
    assert!(said.iter().all(|line| line.starts_with("info: ")), "{said:?}");
    assert!(said.iter().any(|line| line.contains("listening on ")), "{said:?}");
}

#[test]
fn the_summary_of_a_run_is_an_object_per_row_when_messages_are_json() {
    let demo = scratch_file("json-summary");
    std::fs::create_dir_all(&demo).unwrap();
    let folder = demo.to_str().unwrap();
    let options = ["demo", "-q", "--log-format", "json", "--folder", folder];
    let said = String::from_utf8(mitmcraft().args(options).output().unwrap().stderr).unwrap();
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let messages: Vec<_> = said.lines().map(read).collect();
    assert!(messages.iter().all(|it| !it["message"].as_str().unwrap().contains('\n')), "{said}");
    let stats =
        read(&Program::mitmcraft(&["stats", "--json", &format!("{folder}/demo.jsonl")]).succeed());
    let of = |message: &str| -> Vec<_> {
        messages.iter().filter(|it| it["message"] == message).collect()
    };
    let same = |row: &serde_json::Value, expected: &serde_json::Value| {
        let keys = ["dir", "state", "packet", "packets", "bytes", "wire", "made", "rewritten"];
        keys.iter().all(|key| row[key] == expected[key])
    };
    let [total] = of("summary of all packets")[..] else { panic!("{said}") };
    assert!(same(total, &stats["total"]), "{total}");
    let (rows, expected) = (of("summary of a packet type"), stats["packets"].as_array().unwrap());
    assert_eq!(rows.len(), expected.len());
    assert!(rows.iter().all(|row| expected.iter().any(|it| same(row, it))), "{rows:?}");
}

#[test]
fn help_prints_verbs_and_pages_of_the_manual() {
    let help = |words: &[&str]| Program::mitmcraft(&[&["help"], words].concat()).succeed();
    let all = help(&[]);
    assert!(
        all.contains("Usage: mitmcraft") && all.contains("\n  filters           The filter"),
        "{all}"
    );
    assert!(help(&["replay", "server"]).contains("Usage: mitmcraft replay server"));
    let filters = help(&["filters"]);
    assert!(filters.starts_with("FILTERS\n"), "{filters}");
    assert!(filters.contains("\n      [[rule]]\n"), "{filters}");
    assert!(help(&["captures"]).contains("\n  `verdict`\n"));
    let said = refuses(&["help", "fliters"]);
    assert!(said.contains("no command or topic `fliters`: did you mean `filters`?"), "{said}");
    assert!(refuses(&["help", "replay", "x"]).contains("`mitmcraft help` lists them"));
}
